// SPDX-License-Identifier: Apache-2.0
// The native back end: compiles the functions of a program's code classes to machine code, with LLVM, and runs main threads with it.
// Results, cycles, statistics and traps are those of the bytecode loop, to the bit.
#pragma once

#include <memory>

#include "base/error.h"
#include "fabric/interp/core.h"

namespace szarena::fabric {

enum class Tier : uint8_t {
  kAtOnce,   // a function is compiled when it is first entered
  kWhenHot,  // when its class has run long enough for the compiler's time not to matter
};

// Runs main threads with RunMain's contract (interp.h). One a host thread.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual void Run(Core& core, Pe& pe) = 0;
};

// The compiled code of one program under one cost model; functions are compiled once, whatever the number of PEs and host threads.
class NativeProgram {
 public:
  virtual ~NativeProgram() = default;
  // Thread-safe; it must not outlive the NativeProgram.
  virtual std::unique_ptr<Runner> NewRunner() = 0;
  virtual uint64_t compiled_functions() const = 0;
};

// `program` and `cost` must outlive it. Fails (kUnavailable) where this build has no native back end, or the LLVM library is missing here:
// the message names the package.
Result<std::unique_ptr<NativeProgram>> MakeNative(const bytecode::Program& program, const CostModel& cost, bool check_uninitialised, Tier tier);

}  // namespace szarena::fabric
