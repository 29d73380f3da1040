// SPDX-License-Identifier: Apache-2.0
// The mathematical natives (sqrt_f32, pow_f16, …) on bit patterns: one definition for the machine
// and for compile time.
#pragma once

#include <cstdint>

#include "bytecode/numeric.h"
#include "bytecode/op.h"

namespace szarena::bytecode {

// Does EvalMath know it?
bool IsMath(Native native);

// The result's bits. `x`, `y`: the bits of the arguments (`y` only where the native has a second
// one), `fp16` the program's 16-bit format. Computed in double precision of the host's library and
// rounded once; sqrt is correctly rounded.
uint64_t EvalMath(Native native, FloatFormat fp16, uint64_t x, uint64_t y);

}  // namespace szarena::bytecode
