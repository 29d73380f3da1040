// SPDX-License-Identifier: Apache-2.0
// Unary and binary operators, short-circuit logic and the cast of @as.
#include "csl/sema/evaluator.h"

#include <algorithm>
#include <bit>

#include "csl/sema/number.h"
#include "csl/sema/scope.h"
#include "csl/sema/suggest.h"

namespace szarena::csl {

using bytecode::Op;
using bytecode::Reg;
using bytecode::ScalarType;
using bytecode::TypedOp;

namespace {

bool IsComparison(BinaryOp op) { return op >= BinaryOp::kEq && op <= BinaryOp::kGe; }
bool IsEquality(BinaryOp op) { return op == BinaryOp::kEq || op == BinaryOp::kNe; }
bool IsShift(BinaryOp op) { return op == BinaryOp::kShl || op == BinaryOp::kShr; }
bool IsBitwise(BinaryOp op) {
  return op == BinaryOp::kBitAnd || op == BinaryOp::kBitOr || op == BinaryOp::kBitXor;
}

// Can code of this node change a variable before the expression around it is done?
bool HasStatements(const Ast& ast, ExprId id) {
  return ast.As<BlockExpr>(id) != nullptr || ast.As<IfExpr>(id) != nullptr ||
         ast.As<SwitchExpr>(id) != nullptr;
}

}  // namespace

Operand Evaluator::EvalUnary(const UnaryExpr& node, Span span, TypeId expect) {
  if (node.op == UnaryOp::kAddressOf) {
    Operand place = Eval(node.operand);
    return AddressOfPlace(std::move(place), span);
  }
  Operand operand = EvalLoaded(node.operand, expect);
  if (operand.Stops()) return operand;
  return Unary(node.op, std::move(operand), span);
}

Operand Evaluator::Unary(UnaryOp op, Operand operand, Span span) {
  const TypeInfo info = types()[operand.type];
  const auto bad = [&]() { return Report(DiagKind::kBadUnary, span, Spelling(op), info.name); };
  switch (op) {
    case UnaryOp::kNot:
      if (info.kind != TypeKind::kBool) return bad();
      break;
    case UnaryOp::kBitNot:
      if (!types().IsIntegral(operand.type)) return bad();
      break;
    case UnaryOp::kNegate:
      if (!types().IsNumeric(operand.type)) return bad();
      break;
    case UnaryOp::kAddressOf:
      return AddressOfPlace(std::move(operand), span);
  }
  if (operand.IsValue()) {
    if (operand.value.is_undefined()) return Report(DiagKind::kNotComptime, span, "undefined");
    if (const double* number = operand.value.as_float()) {
      return Operand::Of(MakeFloat(operand.type, -*number));
    }
    Int128 number = *operand.value.as_int();
    switch (op) {
      case UnaryOp::kNot:
        number = number == 0 ? 1 : 0;
        break;
      case UnaryOp::kBitNot:
        number = ~number;
        break;
      case UnaryOp::kNegate:
        number = static_cast<Int128>(-static_cast<Uint128>(number));
        break;
      case UnaryOp::kAddressOf:
        break;
    }
    if (info.kind == TypeKind::kInt) number = TypeTable::Wrap(info, number);
    return Operand::Of(MakeInt(operand.type, number));
  }
  if (fb_ == nullptr) {
    (void)RequireValue(operand, span);
    return Operand::Error();
  }
  At(span);
  const Reg from = ToReg(operand, span);
  const Reg dest = fb_->NewReg();
  if (op == UnaryOp::kNot) {
    fb_->Emit(Op::kLogicalNot, dest, from);
  } else if (info.kind == TypeKind::kFloat) {
    fb_->Emit(info.bits == 32 ? Op::kNegF32 : Op::kNegF16, dest, from);
  } else {
    const Op base = op == UnaryOp::kNegate ? Op::kNegI8 : Op::kNotI8;
    fb_->Emit(TypedOp(base, *ScalarTypeOf(operand.type)), dest, from);
    FixWidth(dest, operand.type);
  }
  return Operand::Register(operand.type, dest);
}

// Integers of a width that no machine type has: extend from their width again.
Reg Evaluator::Scaled(Reg index, int64_t factor) {
  const Reg scaled = fb_->NewReg();
  if (std::has_single_bit(static_cast<uint64_t>(factor))) {
    fb_->Emit(Op::kShlU16, scaled, index,
              fb_->Const(std::countr_zero(static_cast<uint64_t>(factor))));
  } else {
    fb_->Emit(Op::kMulU16, scaled, index, fb_->Const(factor));
  }
  return scaled;
}

void Evaluator::FixWidth(Reg reg, TypeId type) {
  const TypeInfo& info = types()[type];
  if (info.kind != TypeKind::kInt) return;
  if (info.bits == 8 || info.bits == 16 || info.bits == 32 || info.bits == 64) return;
  fb_->Emit(info.is_signed ? Op::kSignExtend : Op::kZeroExtend, reg, reg, info.bits);
}

// The nearest value of such an integer: what a float becomes that is out of its range.
Reg Evaluator::SaturateWidth(Reg reg, TypeId type) {
  const TypeInfo& info = types()[type];
  if (info.kind != TypeKind::kInt || info.bits == 8 || info.bits == 16 || info.bits == 32 ||
      info.bits == 64)
    return reg;
  const Reg top = fb_->Const(static_cast<int64_t>(TypeTable::MaxOf(info)));
  const Reg below = fb_->NewReg();
  fb_->Emit(info.is_signed ? Op::kLtS : Op::kLtU, below, top, reg);
  fb_->Emit(Op::kSelect, below, top, reg);
  if (!info.is_signed) return below;
  const Reg bottom = fb_->Const(static_cast<int64_t>(TypeTable::MinOf(info)));
  const Reg inside = fb_->NewReg();
  fb_->Emit(Op::kLtS, inside, below, bottom);
  fb_->Emit(Op::kSelect, inside, bottom, below);
  return inside;
}

Operand Evaluator::EvalLogical(const BinaryExpr& node, Span span) {
  const bool is_and = node.op == BinaryOp::kAnd;
  Operand lhs = EvalLoaded(node.lhs);
  if (lhs.Stops()) return lhs;
  lhs = Coerce(std::move(lhs), types().bool_type(), SpanOf(node.lhs));
  if (lhs.Stops()) return lhs;
  if (lhs.IsValue() && !lhs.value.is_undefined()) {
    const bool known = *lhs.value.as_int() != 0;
    if (known != is_and) return lhs;  // the right side is not analysed
    Operand rhs = EvalLoaded(node.rhs);
    return Coerce(std::move(rhs), types().bool_type(), SpanOf(node.rhs));
  }
  if (fb_ == nullptr) {
    (void)RequireValue(lhs, SpanOf(node.lhs));
    return Operand::Error();
  }
  const Reg result = fb_->NewReg();
  const Reg left = ToReg(lhs, span);
  fb_->Emit(Op::kMove, result, left);
  const bytecode::Label done = fb_->NewLabel();
  if (is_and) {
    fb_->JumpIfNot(result, done);
  } else {
    fb_->JumpIf(result, done);
  }
  {
    BranchScope branch(*this);
    Operand rhs = EvalLoaded(node.rhs);
    rhs = Coerce(std::move(rhs), types().bool_type(), SpanOf(node.rhs));
    if (rhs.IsError()) return rhs;
    if (!rhs.Stops()) Store(Operand::Register(types().bool_type(), result), rhs, span);
  }
  fb_->Bind(done);
  return Operand::Register(types().bool_type(), result);
}

Operand Evaluator::EvalBinary(const BinaryExpr& node, Span span) {
  Operand lhs = EvalLoaded(node.lhs);
  if (lhs.Stops()) return lhs;
  if (lhs.kind == Operand::Kind::kReg && lhs.is_place && HasStatements(ast(), node.rhs)) {
    const Reg copy = fb_->NewReg();
    fb_->Emit(Op::kMove, copy, lhs.reg);
    lhs = Operand::Register(lhs.type, copy);
  }
  // A branch of constants on the right takes the type of the left side.
  const bool gives_hint =
      HasStatements(ast(), node.rhs) && !IsShift(node.op) && !types().IsComptimeOnly(lhs.type);
  Operand rhs = EvalLoaded(node.rhs, gives_hint ? lhs.type : TypeId{});
  if (rhs.Stops()) return rhs;
  return Binary(node.op, std::move(lhs), std::move(rhs), span);
}

Operand Evaluator::Binary(BinaryOp op, Operand lhs, Operand rhs, Span span) {
  const auto bad = [&]() {
    return Report(DiagKind::kBadBinary, span, Spelling(op), NameOf(lhs.type), NameOf(rhs.type),
                  RemedyForTypes(types(), lhs.type, rhs.type));
  };
  // Equality of things that are known at compile time only.
  const TypeKind lhs_kind = types().kind(lhs.type);
  if (lhs_kind == TypeKind::kType || lhs_kind == TypeKind::kComptimeString ||
      lhs_kind == TypeKind::kVoid) {
    if (!IsEquality(op) || lhs.type != rhs.type || !lhs.IsValue() || !rhs.IsValue()) return bad();
    const bool same = SameValue(lhs.value, rhs.value);
    return Operand::Of(MakeInt(types().bool_type(), same == (op == BinaryOp::kEq) ? 1 : 0));
  }

  TypeId type;
  if (IsShift(op)) {
    if (!types().IsIntegral(lhs.type) || !types().IsIntegral(rhs.type)) return bad();
    type = lhs.type;
    if (types().kind(type) == TypeKind::kComptimeInt && !rhs.IsValue()) return bad();
  } else {
    type = PeerType(lhs.type, rhs.type);
    if (type.is_error()) return bad();
    const TypeKind kind = types().kind(type);
    const bool is_numeric = types().IsNumeric(type);
    const bool is_integral = types().IsIntegral(type);
    const bool is_identity = kind == TypeKind::kBool || kind == TypeKind::kEnum ||
                             kind == TypeKind::kHandle || kind == TypeKind::kPointer ||
                             kind == TypeKind::kDsr;
    const bool is_ok = IsEquality(op)  ? is_numeric || is_identity
                       : IsBitwise(op) ? is_integral || kind == TypeKind::kBool
                                       : is_numeric;
    if (!is_ok) return bad();
    // A known operand that does not fit is reported as such, not as a mismatch of types.
    lhs = Coerce(std::move(lhs), type, span);
    if (lhs.Stops()) return lhs;
    rhs = Coerce(std::move(rhs), type, span);
    if (rhs.Stops()) return rhs;
  }
  const TypeId result_type = IsComparison(op) ? types().bool_type() : type;

  if (lhs.IsValue() && rhs.IsValue()) {
    if (lhs.value.is_undefined() || rhs.value.is_undefined()) {
      return Report(DiagKind::kNotComptime, span, "an undefined value");
    }
    if (types().kind(type) == TypeKind::kPointer) {
      Value left = lhs.value;
      Value right = rhs.value;
      const bool same = SameValue(left, right);
      return Operand::Of(MakeInt(result_type, same == (op == BinaryOp::kEq) ? 1 : 0));
    }
    Value folded;
    switch (FoldBinary(types(), op, lhs.value, rhs.value, result_type, folded)) {
      case FoldStatus::kOk:
        return Operand::Of(std::move(folded));
      case FoldStatus::kDivideByZero:
        return Report(DiagKind::kDivideByZero, span);
      case FoldStatus::kOverflow:
        return Report(DiagKind::kComptimeOverflow, span, Spelling(op));
      case FoldStatus::kBadShift:
        return Report(DiagKind::kBadShift, span);
      case FoldStatus::kBadOperator:
        return bad();
    }
  }
  if (fb_ == nullptr) {
    (void)RequireValue(lhs.IsValue() ? rhs : lhs, span);
    return Operand::Error();
  }
  return EmitBinary(op, lhs, rhs, type, span);
}

Operand Evaluator::EmitBinary(BinaryOp op, const Operand& lhs, const Operand& rhs, TypeId type,
                              Span span) {
  const TypeInfo info = types()[type];
  const std::optional<ScalarType> scalar = ScalarTypeOf(type);
  if (!scalar) return Report(DiagKind::kNotRuntime, span, info.name);
  At(span);
  if (op == BinaryOp::kMul && lhs.IsValue() && !rhs.IsValue()) {
    return EmitBinary(op, rhs, lhs, type, span);
  }
  const Reg a = ToReg(lhs, span);

  // x + constant.
  if ((op == BinaryOp::kAdd || op == BinaryOp::kSub) && rhs.IsValue() &&
      info.kind == TypeKind::kInt && rhs.value.as_int() != nullptr) {
    const Int128 amount = op == BinaryOp::kAdd ? *rhs.value.as_int() : -*rhs.value.as_int();
    if (amount >= INT16_MIN && amount <= INT16_MAX) {
      const Reg dest = fb_->NewReg();
      fb_->Emit(TypedOp(Op::kAddImmI8, *scalar), dest, a,
                static_cast<uint16_t>(static_cast<int16_t>(amount)));
      FixWidth(dest, type);
      return Operand::Register(type, dest);
    }
  }

  // By a power of two: shifts and masks, as every compiler does.
  if (info.kind == TypeKind::kInt && rhs.IsValue() && rhs.value.as_int() != nullptr &&
      *rhs.value.as_int() > 1 && std::has_single_bit(static_cast<uint64_t>(*rhs.value.as_int())) &&
      (op == BinaryOp::kMul ||
       ((op == BinaryOp::kDiv || op == BinaryOp::kMod) && !info.is_signed))) {
    const auto factor = static_cast<uint64_t>(*rhs.value.as_int());
    const int64_t log2 = std::countr_zero(factor);
    const Reg dest = fb_->NewReg();
    switch (op) {
      case BinaryOp::kMul:
        fb_->Emit(TypedOp(Op::kShlI8, *scalar), dest, a, fb_->Const(log2));
        break;
      case BinaryOp::kDiv:
        fb_->Emit(TypedOp(Op::kShrI8, *scalar), dest, a, fb_->Const(log2));
        break;
      default:
        fb_->Emit(Op::kAnd, dest, a, fb_->Const(static_cast<int64_t>(factor - 1)));
        break;
    }
    FixWidth(dest, type);
    return Operand::Register(type, dest);
  }

  Reg b = 0;
  if (IsShift(op) && rhs.IsValue()) {
    // The amount's own type does not matter; a negative one was never valid.
    const Int128 amount = *rhs.value.as_int();
    if (amount < 0) return Report(DiagKind::kBadShift, span);
    b = fb_->Const(amount > 64 ? 64 : static_cast<int64_t>(amount));
  } else {
    b = ToReg(rhs, span);
  }
  const Reg dest = fb_->NewReg();
  if (IsComparison(op)) {
    const bool swap = op == BinaryOp::kGt || op == BinaryOp::kGe;
    const bool or_equal = op == BinaryOp::kLe || op == BinaryOp::kGe;
    Op code = Op::kEq;
    if (IsEquality(op)) {
      const bool eq = op == BinaryOp::kEq;
      if (info.kind == TypeKind::kFloat) {
        code = info.bits == 32 ? (eq ? Op::kEqF32 : Op::kNeF32) : (eq ? Op::kEqF16 : Op::kNeF16);
      } else {
        code = eq ? Op::kEq : Op::kNe;
      }
    } else if (info.kind == TypeKind::kFloat) {
      code = info.bits == 32 ? (or_equal ? Op::kLeF32 : Op::kLtF32)
                             : (or_equal ? Op::kLeF16 : Op::kLtF16);
    } else if (info.is_signed) {
      code = or_equal ? Op::kLeS : Op::kLtS;
    } else {
      code = or_equal ? Op::kLeU : Op::kLtU;
    }
    fb_->Emit(code, dest, swap ? b : a, swap ? a : b);
    return Operand::Register(types().bool_type(), dest);
  }
  if (info.kind == TypeKind::kFloat) {
    const bool single = info.bits == 32;
    Op code = Op::kNop;
    switch (op) {
      case BinaryOp::kAdd:
        code = single ? Op::kAddF32 : Op::kAddF16;
        break;
      case BinaryOp::kSub:
        code = single ? Op::kSubF32 : Op::kSubF16;
        break;
      case BinaryOp::kMul:
        code = single ? Op::kMulF32 : Op::kMulF16;
        break;
      case BinaryOp::kDiv:
        code = single ? Op::kDivF32 : Op::kDivF16;
        break;
      default:
        return Report(DiagKind::kBadBinary, span, Spelling(op), info.name, info.name, "");
    }
    fb_->Emit(code, dest, a, b);
    return Operand::Register(type, dest);
  }
  Op code = Op::kNop;
  switch (op) {
    case BinaryOp::kAdd:
      code = TypedOp(Op::kAddI8, *scalar);
      break;
    case BinaryOp::kSub:
      code = TypedOp(Op::kSubI8, *scalar);
      break;
    case BinaryOp::kMul:
      code = TypedOp(Op::kMulI8, *scalar);
      break;
    case BinaryOp::kDiv:
      code = TypedOp(Op::kDivI8, *scalar);
      break;
    case BinaryOp::kMod:
      code = TypedOp(Op::kRemI8, *scalar);
      break;
    case BinaryOp::kShl:
      code = TypedOp(Op::kShlI8, *scalar);
      break;
    case BinaryOp::kShr:
      code = TypedOp(Op::kShrI8, *scalar);
      break;
    case BinaryOp::kBitAnd:
      code = Op::kAnd;
      break;
    case BinaryOp::kBitOr:
      code = Op::kOr;
      break;
    case BinaryOp::kBitXor:
      code = Op::kXor;
      break;
    default:
      return Report(DiagKind::kBadBinary, span, Spelling(op), info.name, info.name, "");
  }
  fb_->Emit(code, dest, a, b);
  FixWidth(dest, type);
  return Operand::Register(type, dest);
}

Operand Evaluator::Cast(Operand operand, TypeId type, Span span) {
  if (operand.Stops()) return operand;
  if (operand.type == type) return operand;
  const TypeInfo from = types()[operand.type];
  const TypeInfo to = types()[type];
  const auto is_castable = [&](TypeId id) {
    return types().IsNumeric(id) || types().kind(id) == TypeKind::kBool ||
           types().kind(id) == TypeKind::kEnum;
  };
  if (!is_castable(type) || !is_castable(operand.type)) {
    return Coerce(std::move(operand), type, span);
  }
  if (to.kind == TypeKind::kEnum && !types().IsIntegral(operand.type)) {
    return Report(DiagKind::kBadCast, span, from.name, to.name);
  }
  if (operand.IsValue()) {
    if (operand.value.is_undefined()) return Report(DiagKind::kNotComptime, span, "undefined");
    Value result = CastNumber(types(), operand.value, type);
    const auto is_result = [&](const EnumElement& element) {
      return element.value == *result.as_int();
    };
    if (to.kind == TypeKind::kEnum && (*result.as_int() != *operand.value.as_int() ||
                                       std::ranges::none_of(to.elements, is_result))) {
      std::string elements;
      for (const EnumElement& element : to.elements)
        elements += fmt::format("{}{} = {}", elements.empty() ? "" : ", ", element.name,
                                Int128ToString(element.value));
      return Report(DiagKind::kEnumValue, span, Int128ToString(*operand.value.as_int()), to.name,
                    elements);
    }
    if (to.kind == TypeKind::kInt && from.kind == TypeKind::kComptimeInt &&
        *result.as_int() != *operand.value.as_int()) {
      return Report(DiagKind::kIntegerDoesNotFit, span, Int128ToString(*operand.value.as_int()),
                    to.name);
    }
    return Operand::Of(std::move(result));
  }
  if (fb_ == nullptr) {
    (void)RequireValue(operand, span);
    return Operand::Error();
  }
  if (to.kind == TypeKind::kComptimeInt || to.kind == TypeKind::kComptimeFloat) {
    (void)Report(DiagKind::kNotComptime, span, "this expression");
    return Operand::Error();
  }
  if (!CheckFloatFormat(type, span)) return Operand::Error();
  At(span);
  const Reg from_reg = ToReg(operand, span);
  const ScalarType to_scalar = *ScalarTypeOf(type);
  const ScalarType from_scalar = *ScalarTypeOf(operand.type);
  const Reg dest = fb_->NewReg();
  const bool from_float = from.kind == TypeKind::kFloat;
  const bool to_float = to.kind == TypeKind::kFloat;
  if (from_float && to_float) {
    if (from.bits == to.bits) {
      fb_->Emit(Op::kMove, dest, from_reg);
    } else {
      fb_->Emit(to.bits == 32 ? Op::kF32FromF16 : Op::kF16FromF32, dest, from_reg);
    }
  } else if (to_float) {
    const bool is_signed = from.is_signed;
    fb_->Emit(to.bits == 32 ? (is_signed ? Op::kF32FromS : Op::kF32FromU)
                            : (is_signed ? Op::kF16FromS : Op::kF16FromU),
              dest, from_reg);
  } else if (to.kind == TypeKind::kBool) {
    if (from_float) {
      fb_->Emit(from.bits == 32 ? Op::kBoolFromF32 : Op::kBoolFromF16, dest, from_reg);
    } else {
      fb_->Emit(Op::kNe, dest, from_reg, fb_->Const(0));
    }
  } else if (from_float) {
    fb_->Emit(TypedOp(from.bits == 32 ? Op::kFromF32I8 : Op::kFromF16I8, to_scalar), dest,
              from_reg);
    return Operand::Register(type, SaturateWidth(dest, type));
  } else if (to_scalar == from_scalar && to.bits == from.bits) {
    fb_->Emit(Op::kMove, dest, from_reg);
  } else {
    fb_->Emit(TypedOp(Op::kConvertI8, to_scalar), dest, from_reg);
    FixWidth(dest, type);
  }
  return Operand::Register(type, dest);
}

}  // namespace szarena::csl
