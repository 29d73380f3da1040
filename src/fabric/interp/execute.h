// SPDX-License-Identifier: Apache-2.0
// What every back end of the main thread shares: the state of a run, calls, and the instructions
// that reach beyond registers and plain memory, one at a time. The bytecode loop (interp.cpp) and
// compiled code (fabric/native) both end up here.
#pragma once

#include "fabric/interp/engine.h"

namespace szarena::fabric {

inline constexpr size_t kMaxFrames = 1000;
// Of the calls under way, all together.
inline constexpr uint32_t kMaxRegisters = 1u << 20;

// One run of a PE's main thread, from RunMain's begin to its end.
struct RunState {
  uint64_t clock = 0;  // the main thread's time
  uint64_t begin = 0;  // busy cycles are counted from here
  uint64_t count = 0;  // instructions
  uint64_t limit =
      0;  // a backward jump or a call at or after this cycle lets the others have a look
};
RunState BeginRun(const Pe& pe);
// Counts the run and makes its clock the PE's.
void EndRun(Pe& pe, const RunState& s);

// How an instruction ended.
enum class Outcome : uint32_t {
  kNext,   // go on behind it
  kJump,   // MapNext, exhausted: go on at its target
  kAgain,  // it did nothing, and its cost and count are taken back: run it again when the global
           // clock has come to `clock`
  kLeave,  // it is done; leave, and go on behind it
  kHalt,   // a fatal trap: the PE is halted; leave
};

// Runs instruction `pc` of `f`, whose cost and count are in `s` already: loads and stores with
// every check, blocks of memory, task bits, DSDs,
// @map, natives, and whatever can trap but calls. `r` is the register window, at `base` of the
// register stack.
Outcome Execute(Core& core, Pe& pe, const bytecode::Function& f, uint32_t pc, uint64_t* r,
                uint32_t base, RunState& s);

// The call at caller.pc: checks it, makes room in registers and stack, and gives the callee's
// frame, which is not pushed. `depth` frames are in use. False after a fatal trap. Register windows
// may move.
bool PrepareCall(Core& core, Pe& pe, const Frame& caller, size_t depth, uint64_t clock,
                 Frame& callee);

// Runs bytecode from where the PE stands until the run ends; see RunMain.
void RunBytecode(Core& core, Pe& pe, RunState& s);

}  // namespace szarena::fabric
