// SPDX-License-Identifier: Apache-2.0
// The arithmetic of DSD operations: one element, and loops over contiguous elements that give the
// same bits.
#pragma once

#include <cstdint>

#include "bytecode/numeric.h"
#include "bytecode/op.h"

namespace szarena::fabric {

// Bytes of an element letter of dsd_op.def.
constexpr uint32_t ElementBytes(char letter) { return letter == 'l' || letter == 's' ? 4 : 2; }

// One element; operands as zero-extended bit patterns. `carry` is @addc16's, from element to
// element.
uint32_t Compute(bytecode::DsdOp op, bytecode::FloatFormat format, uint32_t a, uint32_t b,
                 uint32_t c, uint32_t& carry);

// n elements; dest may be equal to a source, but must not overlap one otherwise. Element sizes by
// the operation's letters.
void ComputeRun(bytecode::DsdOp op, bytecode::FloatFormat format, uint32_t n, void* dest,
                const void* a, const void* b, const void* c, uint32_t& carry);

}  // namespace szarena::fabric
