// SPDX-License-Identifier: Apache-2.0
// Joining of values from several run-time paths.
#include "csl/sema/join.h"

#include "csl/sema/evaluator.h"
#include "csl/sema/suggest.h"

namespace szarena::csl {

using bytecode::Op;

bool TakesExpected(Evaluator& eval, const Operand& operand, TypeId expect) {
  TypeTable& types = eval.types();
  const auto is_castable = [&](TypeId type) {
    const TypeKind kind = types.kind(type);
    return types.IsNumeric(type) || kind == TypeKind::kBool || kind == TypeKind::kEnum;
  };
  if (!is_castable(operand.type) || !is_castable(expect)) return true;
  if (!types.IsNumeric(operand.type) || !types.IsNumeric(expect)) return operand.type == expect;
  // Numbers without a type wait for those of the other paths: see Finish. Integers keep their type,
  // which decides what an operator around the expression does.
  if (types.IsComptimeOnly(operand.type) || types.IsIntegral(operand.type)) return false;
  return eval.PeerType(operand.type, expect) == expect;
}

ResultJoin::ResultJoin(Evaluator& eval, TypeId expect) : eval_(eval), expect_(expect) {
  const TypeKind kind = eval.types().kind(expect);
  drops_ = kind == TypeKind::kVoid;
  if (eval.types().IsComptimeOnly(expect)) expect_ = {};
  if (eval.IsRuntime() && !drops_) reg_ = eval.fb().NewReg();
}

bool ResultJoin::Add(Operand operand, Span span) {
  if (operand.IsError()) {
    failed_ = true;
    return false;
  }
  if (drops_ || operand.Stops()) return true;
  TypeTable& types = eval_.types();
  if (!expect_.is_error() && TakesExpected(eval_, operand, expect_)) {
    operand = eval_.Coerce(std::move(operand), expect_, span);
    if (operand.Stops()) {
      failed_ = true;
      return false;
    }
  }
  if (type_.is_error()) {
    type_ = operand.type;
  } else {
    TypeId peer = eval_.PeerType(type_, operand.type);
    if (peer.is_error() && types.kind(type_) == TypeKind::kInt &&
        types.kind(operand.type) == TypeKind::kInt && eval_.PeerType(type_, expect_) == expect_ &&
        eval_.PeerType(operand.type, expect_) == expect_) {
      peer = expect_;  // holds the values of both
    }
    const bool was_converted = types.IsFloat(type_) && peer != type_ && pending_.empty();
    if (peer.is_error() || was_converted) {
      eval_.Report(DiagKind::kBranchTypes, span, eval_.NameOf(type_), eval_.NameOf(operand.type),
                   RemedyForTypes(types, type_, operand.type));
      failed_ = true;
      return false;
    }
    type_ = peer;
    const TypeKind kind = types.kind(peer);
    if (kind != TypeKind::kComptimeInt && kind != TypeKind::kComptimeFloat) {
      operand = eval_.Coerce(std::move(operand), peer, span);
      if (operand.Stops()) {
        failed_ = true;
        return false;
      }
    }
  }
  const TypeKind kind = types.kind(operand.type);
  if (kind == TypeKind::kVoid) return true;
  const bool is_number = kind == TypeKind::kComptimeInt || kind == TypeKind::kComptimeFloat;
  if (operand.IsValue() && (types.IsScalar(operand.type) || is_number)) {
    pending_.push_back({eval_.fb().pc(), operand.value, span});
    eval_.fb().EmitWide(Op::kConstI, reg_, 0);
    return true;
  }
  if (types.IsScalar(operand.type)) {
    eval_.Store(Operand::Register(operand.type, reg_), operand, span);
    return true;
  }
  if (types.IsComptimeOnly(operand.type) || types.SizeOf(operand.type) == 0) {
    eval_.Report(DiagKind::kNotRuntime, span, eval_.NameOf(operand.type));
    failed_ = true;
    return false;
  }
  if (memory_.kind != Operand::Kind::kMemory) memory_ = eval_.NewLocalMemory(operand.type);
  eval_.Store(memory_, operand, span);
  return true;
}

Operand ResultJoin::Finish(Span span) {
  TypeTable& types = eval_.types();
  if (failed_) return Operand::Error();
  if (drops_ || type_.is_error() || types.kind(type_) == TypeKind::kVoid) {
    return Operand::Of(MakeVoid(types.void_type()));
  }
  if (memory_.kind == Operand::Kind::kMemory) return memory_;
  if (types.IsNumeric(type_) && types.IsComptimeOnly(type_) && types.IsNumeric(expect_)) {
    type_ = expect_;
  }
  const TypeKind kind = types.kind(type_);
  if (kind == TypeKind::kComptimeInt || kind == TypeKind::kComptimeFloat) {
    return eval_.Report(DiagKind::kNotRuntime, span, eval_.NameOf(type_));
  }
  bytecode::FunctionBuilder& fb = eval_.fb();
  for (const Pending& pending : pending_) {
    const Operand coerced = eval_.Coerce(Operand::Of(pending.value), type_, pending.span);
    if (!coerced.IsValue()) return Operand::Error();
    const std::optional<uint64_t> bits = eval_.BitsOf(coerced.value, pending.span);
    if (!bits) return Operand::Error();
    const auto number = static_cast<int64_t>(*bits);
    fb.function().code[pending.pc] =
        number >= INT32_MIN && number <= INT32_MAX
            ? bytecode::MakeWide(Op::kConstI, reg_, static_cast<uint32_t>(number))
            : bytecode::MakeWide(Op::kConstP, reg_,
                                 bytecode::InternConstant(fb.code_class(), *bits));
  }
  return Operand::Register(type_, reg_);
}

}  // namespace szarena::csl
