// SPDX-License-Identifier: Apache-2.0
// Control flow: blocks, if, switch, break, continue, return, assignment. Loops are in
// eval_loop.cpp.
//
// An exit is *structural* where no run-time branch lies between it and its target: the walk just
// stops there and no jump is needed. Otherwise it stores its value in the target's join and jumps.
#include <set>

#include "csl/sema/evaluator.h"
#include "csl/sema/join.h"
#include "csl/sema/scope.h"

namespace szarena::csl {

using bytecode::Label;
using bytecode::Op;
using bytecode::Reg;

Operand Evaluator::Stop(Flow flow) {
  flow_ = flow;
  return Operand::NoReturn(types().no_return());
}

Operand Evaluator::Nothing() { return Operand::Of(MakeVoid(types().void_type())); }

// ---------------------------------------------------------------- blocks

Operand Evaluator::ExecBlock(std::span<const ExprId> statements) {
  const size_t locals = frame_->locals.size();
  bool failed = false;
  Operand result = Nothing();
  for (const ExprId statement : statements) {
    const bool is_declaration = ast().As<DeclExpr>(statement) != nullptr;
    const uint32_t mark = fb_ != nullptr ? fb_->mark() : 0;
    At(SpanOf(statement));
    Operand operand = Eval(statement, types().void_type());
    if (operand.IsError()) {
      failed = true;
      if (fb_ == nullptr || unit_.out_of_steps) break;
      continue;
    }
    if (operand.Stops()) {
      result = std::move(operand);
      break;
    }
    if (fb_ != nullptr && !is_declaration) fb_->ReleaseTo(mark);
  }
  frame_->locals.erase(frame_->locals.begin() + static_cast<std::ptrdiff_t>(locals),
                       frame_->locals.end());
  if (failed && (fb_ == nullptr || unit_.out_of_steps)) return Operand::Error();
  return result;
}

Operand Evaluator::EvalBlock(const BlockExpr& node, Span span, TypeId expect) {
  const std::span<const ExprId> statements = ast().Get(node.statements);
  if (node.label.IsNone()) {
    const uint32_t mark = fb_ != nullptr ? fb_->mark() : 0;
    Operand result = ExecBlock(statements);
    if (fb_ != nullptr && result.IsValue()) fb_->ReleaseTo(mark);
    return result;
  }
  JumpTarget target(JumpTarget::Kind::kBlock, node.label, *this, expect);
  frame_->targets.push_back(&target);
  Operand last = ExecBlock(statements);
  frame_->targets.pop_back();
  return FinishTarget(target, std::move(last), span);
}

// Turns a structural exit to an outer target into a jump: needed where other paths go on here.
void Evaluator::JumpInstead(Span span) {
  if (fb_ == nullptr || flow_.target == nullptr) return;
  JumpTarget& target = *flow_.target;
  if (flow_.kind == Flow::Kind::kBreak) {
    if (target.has_result) target.join.Add(target.result, span);
    target.has_result = false;
    target.was_jumped_to = true;
    fb_->Jump(target.break_label);
  } else if (flow_.kind == Flow::Kind::kContinue) {
    target.continued = true;
    fb_->Jump(target.continue_label);
  }
  flow_ = {Flow::Kind::kJumped, nullptr};
}

Operand Evaluator::FinishTarget(JumpTarget& target, Operand last, Span span) {
  if (last.IsError()) {
    if (target.was_jumped_to && fb_ != nullptr) fb_->Bind(target.break_label);
    return last;
  }
  bool arrives = true;
  Operand result = std::move(last);
  if (result.Stops()) {
    if (flow_.kind == Flow::Kind::kBreak && flow_.target == &target) {
      result = target.has_result ? target.result : Nothing();
      flow_ = {};
    } else {
      if (!target.was_jumped_to) return result;
      JumpInstead(span);
      arrives = false;
    }
  }
  if (!target.was_jumped_to) return result;
  if (arrives) target.join.Add(std::move(result), span);
  fb_->Bind(target.break_label);
  return target.join.Finish(span);
}

Operand Evaluator::LeaveTo(JumpTarget& target, Operand result, Span span) {
  if (depth_ == target.depth) {
    target.has_result = true;
    target.result = std::move(result);
    return Stop({Flow::Kind::kBreak, &target});
  }
  if (fb_ == nullptr) return Report(DiagKind::kComptimeExit, span);
  target.join.Add(std::move(result), span);
  target.was_jumped_to = true;
  fb_->Jump(target.break_label);
  return Stop({Flow::Kind::kJumped, nullptr});
}

Operand Evaluator::EvalBreak(const BreakExpr& node, Span span) {
  JumpTarget* target = nullptr;
  for (auto it = frame_->targets.rbegin(); it != frame_->targets.rend(); ++it) {
    const bool fits =
        node.label.IsNone() ? (*it)->kind == JumpTarget::Kind::kLoop : (*it)->label == node.label;
    if (fits) {
      target = *it;
      break;
    }
  }
  if (target == nullptr) {
    if (node.label.IsNone()) return Report(DiagKind::kBreakOutsideLoop, span, "break");
    return Report(DiagKind::kUnknownLabel, span, TextOf(node.label));
  }
  Operand value = Nothing();
  if (!node.value.IsNone()) {
    value = EvalLoaded(node.value, target->expect);
    if (value.Stops()) return value;
    if (!target->expect.is_error() && !IsVoid(target->expect) &&
        TakesExpected(*this, value, target->expect)) {
      value = Coerce(std::move(value), target->expect, SpanOf(node.value));
      if (value.Stops()) return value;
    }
  }
  return LeaveTo(*target, std::move(value), span);
}

Operand Evaluator::EvalContinue(const ContinueExpr& node, Span span) {
  for (auto it = frame_->targets.rbegin(); it != frame_->targets.rend(); ++it) {
    JumpTarget& target = **it;
    if (target.kind != JumpTarget::Kind::kLoop) continue;
    if (!node.label.IsNone() && target.label != node.label) continue;
    if (depth_ == target.depth) return Stop({Flow::Kind::kContinue, &target});
    if (fb_ == nullptr) return Report(DiagKind::kComptimeExit, span);
    target.continued = true;
    fb_->Jump(target.continue_label);
    return Stop({Flow::Kind::kJumped, nullptr});
  }
  if (node.label.IsNone()) return Report(DiagKind::kBreakOutsideLoop, span, "continue");
  return Report(DiagKind::kUnknownLabel, span, TextOf(node.label));
}

Operand Evaluator::EvalReturn(const ReturnExpr& node, Span span) {
  if (frame_->fn == nullptr) return Report(DiagKind::kReturnOutsideFunction, span);
  const TypeId type = frame_->result_type;
  Operand value = Nothing();
  if (!node.value.IsNone()) {
    value = EvalLoaded(node.value, type);
    if (value.Stops()) return value;
    if (IsVoid(type)) {
      if (!IsVoid(value.type)) {
        return Report(DiagKind::kReturnValueInVoid, SpanOf(node.value), TextOf(frame_->fn->name));
      }
    } else {
      value = Coerce(std::move(value), type, SpanOf(node.value));
      if (value.Stops()) return value;
    }
  } else if (!IsVoid(type)) {
    return Report(DiagKind::kReturnNeedsValue, span, TextOf(frame_->fn->name), NameOf(type));
  }
  if (frame_->function != nullptr) return LeaveTo(*frame_->function, std::move(value), span);
  if (fb_ == nullptr) return Report(DiagKind::kComptimeExit, span);
  At(span);
  if (IsVoid(type)) {
    fb_->Emit(Op::kReturnVoid);
  } else if (sret_) {
    Store(Operand::Memory(type, AddressBase::kRegister, 0, 0, false), value, span);
    fb_->Emit(Op::kReturnVoid);
  } else {
    fb_->Emit(Op::kReturn, ToReg(value, span));
  }
  return Stop({Flow::Kind::kJumped, nullptr});
}

// ---------------------------------------------------------------- conditions

// Jumps to `if_false` unless the (run-time) condition holds; fuses a comparison just emitted.
void Evaluator::JumpUnless(const Operand& condition, Label if_false, Span span) {
  const Reg reg = ToReg(condition, span);
  std::vector<bytecode::Instr>& code = fb_->function().code;
  if (!condition.is_place && !code.empty() && code.back().a == reg) {
    const bytecode::Instr last = code.back();
    Op jump = Op::kNop;
    bool swap = false;
    switch (static_cast<Op>(last.op)) {
      case Op::kEq:
        jump = Op::kJumpNe;
        break;
      case Op::kNe:
        jump = Op::kJumpEq;
        break;
      case Op::kLtS:
        jump = Op::kJumpLeS;
        swap = true;
        break;
      case Op::kLeS:
        jump = Op::kJumpLtS;
        swap = true;
        break;
      case Op::kLtU:
        jump = Op::kJumpLeU;
        swap = true;
        break;
      case Op::kLeU:
        jump = Op::kJumpLtU;
        swap = true;
        break;
      default:
        break;
    }
    if (jump != Op::kNop) {
      code.pop_back();
      fb_->JumpCompare(jump, swap ? last.c : last.b, swap ? last.b : last.c, if_false);
      return;
    }
  }
  fb_->JumpIfNot(reg, if_false);
}

Evaluator::Condition Evaluator::EmitCondition(ExprId id, Label if_false) {
  const Span span = SpanOf(id);
  if (const auto* node = ast().As<BinaryExpr>(id); node != nullptr && node->op == BinaryOp::kAnd) {
    const Condition left = EmitCondition(node->lhs, if_false);
    if (left != Condition::kTrue && left != Condition::kRuntime) return left;
    if (left == Condition::kTrue) return EmitCondition(node->rhs, if_false);
    BranchScope branch(*this);
    const Condition right = EmitCondition(node->rhs, if_false);
    if (right == Condition::kFalse) fb_->Jump(if_false);
    return right == Condition::kStop ? right : Condition::kRuntime;
  }
  Operand condition = EvalLoaded(id, types().bool_type());
  if (condition.Stops()) return Condition::kStop;
  if (types().kind(condition.type) != TypeKind::kBool) {
    Report(DiagKind::kConditionType, span, NameOf(condition.type));
    return Condition::kStop;
  }
  if (condition.IsValue() && !condition.value.is_undefined()) {
    return *condition.value.as_int() != 0 ? Condition::kTrue : Condition::kFalse;
  }
  if (fb_ == nullptr) {
    (void)RequireValue(condition, span);
    return Condition::kStop;
  }
  At(span);
  JumpUnless(condition, if_false, span);
  return Condition::kRuntime;
}

Operand Evaluator::EvalIf(const IfExpr& node, Span span, TypeId expect) {
  Label if_false;
  if (fb_ != nullptr) if_false = fb_->NewLabel();
  const uint32_t mark = fb_ != nullptr ? fb_->mark() : 0;
  std::optional<ResultJoin> join;
  // The result's register comes before those of the condition.
  join.emplace(*this, expect);
  const Condition condition = EmitCondition(node.condition, if_false);
  switch (condition) {
    case Condition::kStop:
      return Operand::Error();
    case Condition::kTrue:
    case Condition::kFalse: {
      if (fb_ != nullptr) fb_->ReleaseTo(mark);
      const ExprId taken = condition == Condition::kTrue ? node.then_branch : node.else_branch;
      if (taken.IsNone()) return Nothing();
      return Eval(taken, expect);
    }
    case Condition::kRuntime:
      break;
  }
  const bool drops = IsVoid(expect);
  const auto arm = [&](ExprId body) {
    BranchScope branch(*this);
    Operand value = drops ? Eval(body, expect) : EvalLoaded(body, expect);
    if (value.Stops() && !value.IsError()) JumpInstead(SpanOf(body));
    if (!value.Stops()) {
      if (!join->Add(value, SpanOf(body))) value = Operand::Error();
    }
    return value;
  };
  const Operand then_value = arm(node.then_branch);
  Operand else_value = Nothing();
  if (node.else_branch.IsNone()) {
    fb_->Bind(if_false);
    if (!drops && !then_value.Stops() && !IsVoid(then_value.type)) {
      return Report(DiagKind::kIfWithoutElse, span, NameOf(then_value.type));
    }
    if (then_value.IsError()) return Operand::Error();
    return Nothing();
  }
  const Label end = fb_->NewLabel();
  if (!then_value.Stops()) fb_->Jump(end);
  fb_->Bind(if_false);
  else_value = arm(node.else_branch);
  fb_->Bind(end);
  if (then_value.IsError() || else_value.IsError()) return Operand::Error();
  if (then_value.Stops() && else_value.Stops()) return Stop({Flow::Kind::kJumped, nullptr});
  return join->Finish(span);
}

// ---------------------------------------------------------------- switch

Operand Evaluator::EvalSwitch(const SwitchExpr& node, Span span, TypeId expect) {
  ResultJoin join(*this, expect);
  Operand operand = EvalLoaded(node.operand);
  if (operand.Stops()) return operand;
  const TypeInfo info = types()[operand.type];
  if (info.kind != TypeKind::kEnum && info.kind != TypeKind::kInt &&
      info.kind != TypeKind::kComptimeInt && info.kind != TypeKind::kBool) {
    return Report(DiagKind::kSwitchType, SpanOf(node.operand), info.name);
  }
  const std::span<const SwitchProng> prongs = ast().Get(node.prongs);
  std::set<Int128> covered;
  std::vector<std::vector<Int128>> values(prongs.size());
  const SwitchProng* otherwise = nullptr;
  for (size_t i = 0; i < prongs.size(); ++i) {
    if (prongs[i].is_else) {
      otherwise = &prongs[i];
      continue;
    }
    for (const ExprId id : ast().Get(prongs[i].values)) {
      const std::optional<Value> value = EvalComptimeAs(id, operand.type);
      if (!value || value->as_int() == nullptr) return Operand::Error();
      if (!covered.insert(*value->as_int()).second) {
        return Report(DiagKind::kDuplicateCase, SpanOf(id), FormatValue(types(), *value));
      }
      values[i].push_back(*value->as_int());
    }
  }
  if (otherwise == nullptr) {
    if (info.kind == TypeKind::kEnum) {
      std::string missing;
      for (const EnumElement& element : info.elements) {
        if (!covered.contains(element.value)) {
          missing += (missing.empty() ? "'" : ", '") + element.name + "'";
        }
      }
      if (!missing.empty()) return Report(DiagKind::kSwitchNotExhaustive, span, missing);
    } else {
      const bool is_full =
          (info.kind == TypeKind::kBool && covered.size() == 2) ||
          (info.kind == TypeKind::kInt && info.bits <= 16 &&
           covered.size() ==
               static_cast<size_t>(TypeTable::MaxOf(info) - TypeTable::MinOf(info)) + 1);
      if (!is_full) return Report(DiagKind::kSwitchNotExhaustive, span, "the other values");
    }
  }
  if (operand.IsValue()) {
    const Int128* number = operand.value.as_int();
    if (number == nullptr) return Report(DiagKind::kNotComptime, span, "an undefined value");
    for (size_t i = 0; i < prongs.size(); ++i) {
      for (const Int128 value : values[i]) {
        if (value == *number) return Eval(prongs[i].body, expect);
      }
    }
    return otherwise != nullptr ? Eval(otherwise->body, expect) : Nothing();
  }
  if (fb_ == nullptr) {
    (void)RequireValue(operand, span);
    return Operand::Error();
  }
  const bool drops = IsVoid(expect);
  const Reg reg = ToReg(operand, span);
  const Label end = fb_->NewLabel();
  std::vector<Label> labels;
  std::vector<std::pair<int64_t, Label>> cases;
  Label default_label = fb_->NewLabel();
  const Label impossible = default_label;
  for (size_t i = 0; i < prongs.size(); ++i) {
    const Label label = fb_->NewLabel();
    labels.push_back(label);
    for (const Int128 value : values[i]) cases.emplace_back(static_cast<int64_t>(value), label);
    if (prongs[i].is_else) default_label = label;
  }
  At(span);
  fb_->Switch(reg, cases, default_label);
  bool failed = false;
  bool arrives = false;
  for (size_t i = 0; i < prongs.size(); ++i) {
    fb_->Bind(labels[i]);
    BranchScope branch(*this);
    const Span arm_span = SpanOf(prongs[i].body);
    Operand value = drops ? Eval(prongs[i].body, expect) : EvalLoaded(prongs[i].body, expect);
    if (value.IsError()) {
      failed = true;
    } else if (value.Stops()) {
      JumpInstead(arm_span);
    } else {
      failed = !join.Add(std::move(value), arm_span) || failed;
      arrives = true;
      fb_->Jump(end);
    }
  }
  // Without an else branch a value outside the enum comes here.
  fb_->Bind(impossible);
  if (otherwise == nullptr) {
    fb_->EmitWide(Op::kTrap, 0,
                  bytecode::InternString(code_class(), "switch on a value that no branch names"));
  }
  fb_->Bind(end);
  if (failed) return Operand::Error();
  if (!arrives) return Stop({Flow::Kind::kJumped, nullptr});
  return join.Finish(span);
}

// ---------------------------------------------------------------- assignment and local
// declarations

namespace {

std::optional<BinaryOp> OperatorOf(AssignOp op) {
  switch (op) {
    case AssignOp::kPlain:
      return std::nullopt;
    case AssignOp::kAdd:
      return BinaryOp::kAdd;
    case AssignOp::kSub:
      return BinaryOp::kSub;
    case AssignOp::kMul:
      return BinaryOp::kMul;
    case AssignOp::kDiv:
      return BinaryOp::kDiv;
    case AssignOp::kMod:
      return BinaryOp::kMod;
    case AssignOp::kShl:
      return BinaryOp::kShl;
    case AssignOp::kShr:
      return BinaryOp::kShr;
    case AssignOp::kBitAnd:
      return BinaryOp::kBitAnd;
    case AssignOp::kBitOr:
      return BinaryOp::kBitOr;
    case AssignOp::kBitXor:
      return BinaryOp::kBitXor;
  }
  return std::nullopt;
}

}  // namespace

Operand Evaluator::EvalAssign(const AssignExpr& node, Span span) {
  if (const auto* ident = ast().As<IdentExpr>(node.target);
      ident != nullptr && TextOf(ident->name) == "_") {
    const Operand dropped = EvalLoaded(node.value);
    return dropped.Stops() ? dropped : Nothing();
  }
  const Operand place = Eval(node.target);
  if (place.Stops()) return place;
  if (!place.is_place) return Report(DiagKind::kNotAssignable, SpanOf(node.target));
  if (place.is_const) return Report(DiagKind::kAssignToConst, SpanOf(node.target));
  const bool is_comptime_place = place.kind == Operand::Kind::kPath && place.path.global == nullptr;
  if (!is_comptime_place && fb_ == nullptr) {
    return Report(DiagKind::kWriteAtComptime, SpanOf(node.target));
  }
  Operand value;
  if (const std::optional<BinaryOp> op = OperatorOf(node.op)) {
    Operand old = Load(place, span);
    if (old.Stops()) return old;
    const bool is_shift = *op == BinaryOp::kShl || *op == BinaryOp::kShr;
    Operand right = EvalLoaded(node.value, is_shift ? TypeId{} : place.type);
    if (right.Stops()) return right;
    value = Binary(*op, std::move(old), std::move(right), span);
    if (value.Stops()) return value;
    value = Coerce(std::move(value), place.type, SpanOf(node.value));
  } else {
    value = EvalAs(node.value, place.type, Undefined::kStored);
  }
  if (value.Stops()) return value;
  if (is_comptime_place) {
    const std::optional<Value> known = RequireValue(value, SpanOf(node.value));
    if (!known || !StorePath(place.path, *known, span)) return Operand::Error();
    return Nothing();
  }
  Store(place, value, span);
  return Nothing();
}

Operand Evaluator::EvalLocal(DeclId decl, Span span) {
  const auto* node = ast().As<VarDecl>(decl);
  if (node == nullptr) return Operand::Error();  // the parser reported a local function
  const Name name = ast().NameOf(decl);
  const Span name_span = ast().NameSpanOf(decl);
  if (FindLocal(name) != nullptr) {
    return Report(DiagKind::kDuplicateName, name_span, TextOf(name));
  }
  TypeId type;
  if (!node->type.IsNone()) {
    const std::optional<TypeId> declared = EvalType(node->type);
    if (!declared) {
      // Later uses of the name stay silent.
      frame_->locals.push_back({name, Operand::Error()});
      return Operand::Error();
    }
    type = *declared;
  }
  const auto fail = [&]() {
    frame_->locals.push_back({name, Operand::Error()});
    return Operand::Error();
  };
  const bool is_var = node->kind == VarKind::kVar;
  const bool is_comptime = node->is_comptime || fb_ == nullptr;
  // The variable's register lies below those of its initialiser.
  Reg reg = 0;
  if (!is_comptime) reg = fb_->NewReg();

  Operand value;
  if (node->init.IsNone()) {
    if (type.is_error()) return fail();
    value = Operand::Of(MakeUndefined(type));
  } else {
    type_name_ = std::string(TextOf(name));
    if (is_comptime) {
      const std::optional<Value> known = type.is_error()
                                             ? EvalComptime(node->init)
                                             : EvalComptimeAs(node->init, type, Undefined::kStored);
      type_name_.clear();
      if (!known) return fail();
      value = Operand::Of(*known);
    } else {
      value =
          type.is_error() ? EvalLoaded(node->init) : EvalAs(node->init, type, Undefined::kStored);
      type_name_.clear();
      if (value.kind == Operand::Kind::kNoReturn) return value;
      if (value.Stops()) return fail();
    }
    if (type.is_error() || types().kind(type) == TypeKind::kComptimeStruct) type = value.type;
  }
  if (types().kind(type) == TypeKind::kAnyType) {
    Report(DiagKind::kUndefinedNeedsType, name_span, TextOf(name));
    return fail();
  }

  if (is_comptime && is_var) {
    auto cell = std::make_shared<Cell>();
    cell->value = value.value;
    cell->runtime_depth = depth_;
    PointerValue path;
    path.cell = std::move(cell);
    frame_->locals.push_back({name, Operand::Path(type, std::move(path), false)});
    return Nothing();
  }
  if (!is_var && value.IsValue()) {
    frame_->locals.push_back({name, std::move(value)});
    return Nothing();
  }
  if (is_comptime) {
    frame_->locals.push_back({name, std::move(value)});
    return Nothing();
  }
  if (!is_var && (value.kind == Operand::Kind::kParts || types().kind(type) == TypeKind::kRange)) {
    frame_->locals.push_back({name, std::move(value)});
    return Nothing();
  }
  if (types().IsComptimeOnly(type)) {
    Report(DiagKind::kVarOfComptimeType, name_span, TextOf(name), NameOf(type));
    return fail();
  }
  if (IsVoid(type)) {
    frame_->locals.push_back({name, Nothing()});
    return Nothing();
  }
  if (!CheckFloatFormat(type, name_span)) return fail();
  At(span);
  Operand place;
  if (types().IsScalar(type) && !IsAddressTaken(name)) {
    place = Operand::Register(type, reg, true, !is_var);
    if (!(value.IsValue() && value.value.is_undefined())) Store(place, value, span);
    fb_->ReleaseTo(reg + uint32_t{1});
  } else if (!is_var && value.kind == Operand::Kind::kMemory && value.is_temp) {
    place = std::move(value);
    place.is_const = true;
    place.is_temp = false;
  } else {
    place = NewLocalMemory(type);
    place.is_temp = false;
    place.is_const = !is_var;
    Store(place, value, span);
  }
  frame_->locals.push_back({name, std::move(place)});
  return Nothing();
}

}  // namespace szarena::csl
