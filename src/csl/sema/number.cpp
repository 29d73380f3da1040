// SPDX-License-Identifier: Apache-2.0
// Compile-time arithmetic: integers to 128 bits, floats through bytecode/numeric.
#include "csl/sema/number.h"

#include <cmath>
#include <limits>

#include "bytecode/numeric.h"

namespace szarena::csl {
namespace {

bytecode::FloatFormat Half(const TypeInfo& info) {
  return static_cast<bytecode::FloatFormat>(info.format);
}

template <typename T>
bool Compare(BinaryOp op, T a, T b) {
  switch (op) {
    case BinaryOp::kEq:
      return a == b;
    case BinaryOp::kNe:
      return a != b;
    case BinaryOp::kLt:
      return a < b;
    case BinaryOp::kLe:
      return a <= b;
    case BinaryOp::kGt:
      return a > b;
    case BinaryOp::kGe:
      return a >= b;
    default:
      return false;
  }
}

bool IsComparison(BinaryOp op) { return op >= BinaryOp::kEq && op <= BinaryOp::kGe; }

FoldStatus FoldInt(const TypeInfo& info, BinaryOp op, Int128 a, Int128 b, Int128& out) {
  const bool is_fixed = info.kind == TypeKind::kInt;
  bool overflow = false;
  switch (op) {
    case BinaryOp::kAdd:
      overflow = __builtin_add_overflow(a, b, &out);
      break;
    case BinaryOp::kSub:
      overflow = __builtin_sub_overflow(a, b, &out);
      break;
    case BinaryOp::kMul:
      if (is_fixed) {
        // 64-bit factors may need 128 unsigned bits: wrap.
        out = static_cast<Int128>(static_cast<Uint128>(a) * static_cast<Uint128>(b));
      } else {
        overflow = __builtin_mul_overflow(a, b, &out);
      }
      break;
    case BinaryOp::kDiv:
    case BinaryOp::kMod: {
      if (b == 0) return FoldStatus::kDivideByZero;
      const Int128 lowest = static_cast<Int128>(Uint128{1} << 127);
      if (a == lowest && b == -1) return FoldStatus::kOverflow;
      out = op == BinaryOp::kDiv ? a / b : a % b;
      break;
    }
    case BinaryOp::kShl: {
      if (b < 0) return FoldStatus::kBadShift;
      if (is_fixed) {
        out = b >= info.bits ? 0
                             : static_cast<Int128>(static_cast<Uint128>(a) << static_cast<int>(b));
        break;
      }
      if (b > 126) {
        overflow = a != 0;
        out = 0;
        break;
      }
      out = static_cast<Int128>(static_cast<Uint128>(a) << static_cast<int>(b));
      overflow = (out >> static_cast<int>(b)) != a;
      break;
    }
    case BinaryOp::kShr:
      if (b < 0) return FoldStatus::kBadShift;
      out = b > 126 ? (a < 0 ? -1 : 0) : a >> static_cast<int>(b);
      break;
    case BinaryOp::kBitAnd:
      out = a & b;
      break;
    case BinaryOp::kBitOr:
      out = a | b;
      break;
    case BinaryOp::kBitXor:
      out = a ^ b;
      break;
    default:
      return FoldStatus::kBadOperator;
  }
  if (is_fixed) {
    out = TypeTable::Wrap(info, out);
  } else if (overflow) {
    return FoldStatus::kOverflow;
  }
  return FoldStatus::kOk;
}

FoldStatus FoldHalf(bytecode::FloatFormat f, BinaryOp op, double x, double y, double& out) {
  const uint16_t a = bytecode::F16FromDouble(f, x);
  const uint16_t b = bytecode::F16FromDouble(f, y);
  uint16_t bits = 0;
  switch (op) {
    case BinaryOp::kAdd:
      bits = bytecode::F16Add(f, a, b);
      break;
    case BinaryOp::kSub:
      bits = bytecode::F16Sub(f, a, b);
      break;
    case BinaryOp::kMul:
      bits = bytecode::F16Mul(f, a, b);
      break;
    case BinaryOp::kDiv:
      bits = bytecode::F16Div(f, a, b);
      break;
    default:
      return FoldStatus::kBadOperator;
  }
  out = bytecode::F16ToDouble(f, bits);
  return FoldStatus::kOk;
}

FoldStatus FoldSingle(BinaryOp op, double x, double y, double& out) {
  const uint32_t a = bytecode::F32FromDouble(x);
  const uint32_t b = bytecode::F32FromDouble(y);
  uint32_t bits = 0;
  switch (op) {
    case BinaryOp::kAdd:
      bits = bytecode::F32Add(a, b);
      break;
    case BinaryOp::kSub:
      bits = bytecode::F32Sub(a, b);
      break;
    case BinaryOp::kMul:
      bits = bytecode::F32Mul(a, b);
      break;
    case BinaryOp::kDiv:
      bits = bytecode::F32Div(a, b);
      break;
    default:
      return FoldStatus::kBadOperator;
  }
  out = bytecode::F32ToDouble(bits);
  return FoldStatus::kOk;
}

FoldStatus FoldDouble(BinaryOp op, double a, double b, double& out) {
  switch (op) {
    case BinaryOp::kAdd:
      out = a + b;
      return FoldStatus::kOk;
    case BinaryOp::kSub:
      out = a - b;
      return FoldStatus::kOk;
    case BinaryOp::kMul:
      out = a * b;
      return FoldStatus::kOk;
    case BinaryOp::kDiv:
      out = a / b;
      return FoldStatus::kOk;
    case BinaryOp::kMod:
      out = std::fmod(a, b);
      return FoldStatus::kOk;
    default:
      return FoldStatus::kBadOperator;
  }
}

}  // namespace

double RoundTo(const TypeTable& types, TypeId float_type, double value) {
  const TypeInfo& info = types[float_type];
  if (info.kind != TypeKind::kFloat) return value;
  if (info.format == FloatFormat::kF32) {
    return bytecode::F32ToDouble(bytecode::F32FromDouble(value));
  }
  return bytecode::F16ToDouble(Half(info), bytecode::F16FromDouble(Half(info), value));
}

FoldStatus FoldBinary(const TypeTable& types, BinaryOp op, const Value& a, const Value& b,
                      TypeId type, Value& out) {
  if (const Int128* x = a.as_int()) {
    const Int128* y = b.as_int();
    if (y == nullptr) return FoldStatus::kBadOperator;
    if (IsComparison(op)) {
      out = MakeInt(type, Compare(op, *x, *y) ? 1 : 0);
      return FoldStatus::kOk;
    }
    Int128 result = 0;
    const FoldStatus status = FoldInt(types[type], op, *x, *y, result);
    if (status == FoldStatus::kOk) out = MakeInt(type, result);
    return status;
  }
  const double* x = a.as_float();
  const double* y = b.as_float();
  if (x == nullptr || y == nullptr) return FoldStatus::kBadOperator;
  if (IsComparison(op)) {
    out = MakeInt(type, Compare(op, *x, *y) ? 1 : 0);
    return FoldStatus::kOk;
  }
  double result = 0;
  const TypeInfo& info = types[type];
  const FoldStatus status = info.kind != TypeKind::kFloat ? FoldDouble(op, *x, *y, result)
                            : info.format == FloatFormat::kF32
                                ? FoldSingle(op, *x, *y, result)
                                : FoldHalf(Half(info), op, *x, *y, result);
  if (status == FoldStatus::kOk) out = MakeFloat(type, result);
  return status;
}

Value CastNumber(const TypeTable& types, const Value& value, TypeId to) {
  const TypeInfo& target = types[to];
  if (target.kind == TypeKind::kBool) {
    if (const double* number = value.as_float()) return MakeInt(to, *number != 0 ? 1 : 0);
    return MakeInt(to, *value.as_int() != 0 ? 1 : 0);
  }
  if (target.kind == TypeKind::kFloat || target.kind == TypeKind::kComptimeFloat) {
    if (const double* number = value.as_float()) {
      return MakeFloat(to, RoundTo(types, to, *number));
    }
    const Int128 number = *value.as_int();
    if (target.kind == TypeKind::kFloat && number >= std::numeric_limits<int64_t>::min() &&
        number <= std::numeric_limits<int64_t>::max()) {
      const auto narrow = static_cast<int64_t>(number);
      if (target.format == FloatFormat::kF32) {
        return MakeFloat(to, bytecode::F32ToDouble(bytecode::F32FromI64(narrow)));
      }
      return MakeFloat(
          to, bytecode::F16ToDouble(Half(target), bytecode::F16FromI64(Half(target), narrow)));
    }
    return MakeFloat(to, RoundTo(types, to, static_cast<double>(number)));
  }
  Int128 number = 0;
  if (const double* from = value.as_float()) {
    if (target.kind == TypeKind::kComptimeInt) {
      const double whole = std::trunc(*from);
      constexpr double kLimit = 1.7e38;
      number = whole > -kLimit && whole < kLimit ? static_cast<Int128>(whole) : Int128{0};
    } else {
      const int64_t bits = bytecode::IntFromDouble(*from, target.bits, target.is_signed);
      number =
          target.is_signed
              ? Int128{bits}
              : static_cast<Int128>(bytecode::ZeroExtend(static_cast<uint64_t>(bits), target.bits));
    }
  } else {
    number = *value.as_int();
  }
  if (target.kind == TypeKind::kInt || target.kind == TypeKind::kEnum) {
    number = TypeTable::Wrap(target, number);
  }
  return MakeInt(to, number);
}

}  // namespace szarena::csl
