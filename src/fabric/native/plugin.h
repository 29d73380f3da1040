// SPDX-License-Identifier: Apache-2.0
// The border between the machine and its compiler, which is a shared library of its own
// (libszarena_native.so), loaded when first asked for: so only programs that use the native back
// end load LLVM. Both sides come from one build.
#pragma once

#include <atomic>

#include "fabric/interp/execute.h"

namespace szarena::fabric::native {

struct Context;

// How compiled code comes back.
enum class Status : uint32_t {
  kReturned,  // the function is done; its result is in its register 0
  kLeft,      // the run ends here; the frames are in Context::frames, up to `top`
  kGoOn,      // the same, but the run goes on with the top frame
  kNoEntry,   // there is no way in at that pc: nothing has happened
};
// Runs a function from `pc`, with the frame number `depth` of the thread, its registers at `base`.
using Entry = Status (*)(Context*, uint32_t pc, uint32_t depth, uint32_t base, uint32_t sp,
                         uint32_t dsp);

// A frame as compiled code leaves it.
struct LeftFrame {
  uint32_t function = 0;
  uint32_t pc = 0;
  uint32_t base = 0;
  uint32_t sp = 0;
  uint32_t dsp = 0;
};

// What compiled code knows of the run. It reads and writes these by offset.
struct Context {
  RunState run;              // up to date while C++ code runs
  uint64_t* regs = nullptr;  // the thread's register stack; calls may move it
  uint64_t regs_size = 0;
  const Page* const* read = nullptr;  // page tables of the PE's memory
  Page* const* write = nullptr;
  LeftFrame* frames = nullptr;                  // by depth; written on the way out
  const std::atomic<Entry>* entries = nullptr;  // by function; null: not compiled (yet)
  uint32_t top = 0;                             // depth of the last of `frames`
  uint32_t depth_limit = 0;            // a call that enters this depth or a deeper one goes through
                                       // Helpers::call; shallower ones have the memory they need
  Status call_status = Status::kLeft;  // where Helpers::call gives no entry
  void* runner = nullptr;              // the machine's own
};

// What compiled code calls. `where`: function index << 32 | pc.
struct Helpers {
  // Execute() (interp/execute.h) on registers in memory; the Outcome.
  uint32_t (*execute)(Context*, uint64_t where, uint32_t base) = nullptr;
  // The call at `where`, with its arguments in memory, by the function with frame number `depth`:
  // checks it and makes room. The code to call; or null: then the frames up to the caller's are
  // written already, and the caller saves its registers and returns `call_status`.
  Entry (*call)(Context*, uint64_t where, uint32_t depth, uint32_t base, uint32_t sp,
                uint32_t dsp) = nullptr;
  void (*mark_unwritten)(Context*, uint32_t address, uint32_t bytes) = nullptr;
  // Instructions that are functions of b and c alone (16-bit floats), by opcode; null: compiled
  // inline.
  uint64_t (*pure[bytecode::kOpCount])(uint64_t format, uint64_t b, uint64_t c) = {};
};

struct Settings {
  const bytecode::Program* program = nullptr;
  const CostModel* cost = nullptr;
  const Helpers* helpers = nullptr;
  bool check_uninitialised = true;
};

class Compiler {
 public:
  virtual ~Compiler() = default;
  // Machine code of a function; null where it cannot be compiled: it is too large, or counts on a
  // register that a call may have changed. Not thread-safe. Code is shared by all functions of all
  // classes that do the same.
  virtual Entry Compile(const bytecode::CodeClass& code, uint32_t function) = 0;
};

}  // namespace szarena::fabric::native

// The library's only symbol: a compiler for the caller to delete. Null: LLVM cannot compile for
// this processor, and `why` says so.
extern "C" __attribute__((visibility("default"))) szarena::fabric::native::Compiler*
szarena_native_compiler(const szarena::fabric::native::Settings* settings, char* why,
                        size_t why_size);
