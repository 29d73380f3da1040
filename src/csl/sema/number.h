// SPDX-License-Identifier: Apache-2.0
// Arithmetic on compile-time scalars, with the same bits as the machine.
#pragma once

#include "csl/sema/value.h"
#include "csl/syntax/ast.h"

namespace szarena::csl {

// The double as a value of the float type: rounded to nearest even once.
double RoundTo(const TypeTable& types, TypeId float_type, double value);

enum class FoldStatus : uint8_t { kOk, kDivideByZero, kOverflow, kBadShift, kBadOperator };

// `a op b` for two values of one numeric type (the shift amount may have another integer type);
// `type` is that of the result (bool for comparisons). Fixed-width integers wrap; comptime_int
// reports an overflow of 128 bits.
FoldStatus FoldBinary(const TypeTable& types, BinaryOp op, const Value& a, const Value& b,
                      TypeId type, Value& out);

// Cast of @as between numeric types, bool and enums.
Value CastNumber(const TypeTable& types, const Value& value, TypeId to);

}  // namespace szarena::csl
