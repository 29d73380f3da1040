// SPDX-License-Identifier: Apache-2.0
// Binding strength of the binary operators, as in Zig: * / %  >  + -  >  << >>  >  & ^ |  >
// comparisons  >  and  >  or.
#pragma once

#include "csl/syntax/ast.h"

namespace szarena::csl {

inline constexpr int kComparisonPrecedence = 3;

constexpr int Precedence(BinaryOp op) {
  switch (op) {
    case BinaryOp::kMul:
    case BinaryOp::kDiv:
    case BinaryOp::kMod:
      return 7;
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
      return 6;
    case BinaryOp::kShl:
    case BinaryOp::kShr:
      return 5;
    case BinaryOp::kBitAnd:
    case BinaryOp::kBitXor:
    case BinaryOp::kBitOr:
      return 4;
    case BinaryOp::kEq:
    case BinaryOp::kNe:
    case BinaryOp::kLt:
    case BinaryOp::kLe:
    case BinaryOp::kGt:
    case BinaryOp::kGe:
      return kComparisonPrecedence;
    case BinaryOp::kAnd:
      return 2;
    case BinaryOp::kOr:
      return 1;
  }
  return 0;
}

}  // namespace szarena::csl
