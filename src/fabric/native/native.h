// SPDX-License-Identifier: Apache-2.0
// The native back end: compiles the functions of a program's code classes to machine code, with
// LLVM, and runs main threads with it. Results, cycles, statistics and traps are those of the
// bytecode loop, to the bit.
#pragma once

#include <memory>
#include <string_view>

#include "base/error.h"
#include "fabric/interp/core.h"

namespace szarena::fabric {

// Who runs the main threads. The results are the same; so are cycles, statistics and traps.
enum class Backend : uint8_t {
  kBytecode,  // the loop of interp.cpp
  kNative,    // compiled code: a function is compiled when it is first entered
  kAuto,  // bytecode, until a class has run for as long as compiling takes; bytecode alone where
          // there is no native back end
};
// "bytecode", "native" or "auto".
Result<Backend> ParseBackend(std::string_view name);
std::string_view BackendName(Backend b);
// What the environment variable SZARENA_BACKEND names; kAuto where it is not set or empty.
Result<Backend> BackendFromEnvironment();

// Runs main threads with RunMain's contract (interp.h). One a host thread.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual void Run(Core& core, Pe& pe) = 0;
};

// The compiled code of one program under one cost model; functions are compiled once, whatever the
// number of PEs and host threads.
class NativeProgram {
 public:
  virtual ~NativeProgram() = default;
  // Thread-safe; it must not outlive the NativeProgram.
  virtual std::unique_ptr<Runner> NewRunner() = 0;
  virtual uint64_t compiled_functions() const = 0;
};

// `program` and `cost` must outlive it. Null for kBytecode. Fails (kUnavailable) for kNative where
// this build has no native back end, or the LLVM library is missing on this machine: the message
// names the package.
Result<std::unique_ptr<NativeProgram>> MakeNative(Backend backend, const bytecode::Program& program,
                                                  const CostModel& cost, bool check_uninitialised);

}  // namespace szarena::fabric
