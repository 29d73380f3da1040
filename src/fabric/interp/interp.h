// SPDX-License-Identifier: Apache-2.0
// Runs the main thread of a PE: bytecode from where it stands to the next thing that others can
// see.
#pragma once

#include "fabric/interp/core.h"

namespace szarena::fabric {

// Puts function `index` of the PE's class on an idle main thread with these arguments. The clock is
// pe.main_ready. Where its frame does not fit on the stack, the PE is halted (a fatal trap).
void StartFunction(Core& core, Pe& pe, uint32_t index, const uint64_t* args, uint32_t count);

// Runs while pe.state is kRunning and pe.main_ready <= core.now; pe.main_ready becomes the main
// thread's clock. Afterwards the state says why it stopped: kIdle (the function returned), kRunning
// (go on at main_ready), kOperation, kWait..., kHalted.
void RunMain(Core& core, Pe& pe);

// A native call. False: run it again when the global clock has come to `clock`. `cost` gets its
// cycles.
bool CallNative(Core& core, Pe& pe, bytecode::Native native, uint64_t* args, uint64_t clock,
                uint64_t& cost, uint32_t function, uint32_t pc);

// The PE's function, file and line now, for reports.
uint32_t FunctionIndexOf(const Pe& pe, const bytecode::Function* f);

}  // namespace szarena::fabric
