// SPDX-License-Identifier: Apache-2.0
// Loops: at compile time and `inline` they are unrolled by the walk, else they become code.
#include "csl/sema/evaluator.h"
#include "csl/sema/scope.h"

namespace szarena::csl {

using bytecode::Label;
using bytecode::Op;
using bytecode::Reg;

JumpTarget::JumpTarget(Kind kind_in, Name label_in, Evaluator& eval, TypeId expect_in)
    : kind(kind_in),
      label(label_in),
      depth(eval.depth()),
      expect(expect_in),
      join(eval, expect_in) {
  if (eval.IsRuntime()) break_label = eval.fb().NewLabel();
}

Operand Evaluator::EvalWhile(const WhileExpr& node, Span span) {
  if (fb_ == nullptr || node.is_inline) return WhileUnrolled(node, span);
  return WhileRuntime(node, span);
}

Operand Evaluator::FinishLoop(JumpTarget& target, Operand last, Span span) {
  return FinishTarget(target, std::move(last), span);
}

bool Evaluator::UnrolledBody(JumpTarget& target, ExprId body, Span span, Operand& result) {
  if (fb_ != nullptr) target.continue_label = fb_->NewLabel();
  target.continued = false;
  frame_->targets.push_back(&target);
  Operand last = Eval(body, types().void_type());
  frame_->targets.pop_back();
  if (last.IsError()) {
    if (fb_ != nullptr && target.continued) fb_->Bind(target.continue_label);
    result = std::move(last);
    return false;
  }
  bool goes_on = true;
  if (last.Stops()) {
    if (flow_.kind == Flow::Kind::kContinue && flow_.target == &target) {
      flow_ = {};
    } else if (target.continued) {
      // Some path continues: this one leaves by a jump.
      JumpInstead(span);
    } else {
      result = std::move(last);
      goes_on = false;
    }
  }
  if (fb_ != nullptr && target.continued) fb_->Bind(target.continue_label);
  return goes_on;
}

Operand Evaluator::WhileUnrolled(const WhileExpr& node, Span span) {
  JumpTarget target(JumpTarget::Kind::kLoop, node.label, *this, types().void_type());
  Operand last = Nothing();
  uint64_t iterations = 0;
  const size_t errors = session().diags.error_count();
  while (true) {
    const std::optional<Value> condition = EvalComptimeAs(node.condition, types().bool_type());
    if (!condition) return FinishLoop(target, Operand::Error(), span);
    if (*condition->as_int() == 0) break;
    if (fb_ != nullptr && session().limits.inlined_iterations != 0 &&
        ++iterations > session().limits.inlined_iterations) {
      // After an error in the body what the condition waits for may never come.
      if (session().diags.error_count() != errors)
        return FinishLoop(target, Operand::Error(), span);
      return FinishLoop(
          target, Report(DiagKind::kTooManyInlined, span, session().limits.inlined_iterations),
          span);
    }
    if (!UnrolledBody(target, node.body, span, last)) break;
    if (!node.step.IsNone()) {
      last = Eval(node.step, types().void_type());
      if (last.Stops()) break;
      last = Nothing();
    }
  }
  return FinishLoop(target, std::move(last), span);
}

Operand Evaluator::WhileRuntime(const WhileExpr& node, Span span) {
  JumpTarget target(JumpTarget::Kind::kLoop, node.label, *this, types().void_type());
  const Label top = fb_->NewLabel();
  const Label exit = fb_->NewLabel();
  target.continue_label = fb_->NewLabel();
  fb_->Bind(top);
  const uint32_t mark = fb_->mark();
  const Condition condition = EmitCondition(node.condition, exit);
  if (condition == Condition::kStop) return Operand::Error();
  if (condition == Condition::kFalse) return Nothing();
  fb_->ReleaseTo(mark);
  bool failed = false;
  {
    BranchScope branch(*this);
    frame_->targets.push_back(&target);
    Operand body = Eval(node.body, types().void_type());
    frame_->targets.pop_back();
    failed = body.IsError();
    if (body.Stops() && !body.IsError()) JumpInstead(span);
    const bool reaches_step = !body.Stops() || target.continued;
    fb_->Bind(target.continue_label);
    if (reaches_step) {
      fb_->ReleaseTo(mark);
      if (!node.step.IsNone()) {
        body = Eval(node.step, types().void_type());
        failed = failed || body.IsError();
      }
      fb_->ReleaseTo(mark);
      fb_->Jump(top);
    }
  }
  if (failed) return Operand::Error();
  if (condition == Condition::kTrue) {
    if (!target.was_jumped_to) return Stop({Flow::Kind::kJumped, nullptr});
  } else {
    fb_->Bind(exit);
  }
  if (target.was_jumped_to) fb_->Bind(target.break_label);
  return Nothing();
}

Operand Evaluator::EvalFor(const ForExpr& node, Span span) {
  Operand sequence = EvalLoaded(node.sequence);
  if (sequence.Stops()) return sequence;
  if (types().kind(sequence.type) == TypeKind::kPointer) {
    sequence = Load(Deref(std::move(sequence), span), span);
    if (sequence.Stops()) return sequence;
  }
  const TypeInfo info = types()[sequence.type];
  const bool is_tuple = info.kind == TypeKind::kStruct && info.is_tuple;
  if (info.kind != TypeKind::kRange && info.kind != TypeKind::kArray && !is_tuple) {
    return Report(DiagKind::kForSequence, SpanOf(node.sequence), info.name);
  }
  if (FindLocal(node.element) != nullptr) {
    return Report(DiagKind::kDuplicateName, span, TextOf(node.element));
  }
  if (fb_ == nullptr || node.is_inline || is_tuple ||
      (info.kind == TypeKind::kArray && types().IsComptimeOnly(info.element))) {
    return ForUnrolled(node, sequence, span);
  }
  if (info.kind == TypeKind::kRange) return ForRange(node, sequence, span);
  return ForArray(node, std::move(sequence), span);
}

void Evaluator::BindLoopNames(const ForExpr& node, Operand element, Operand index) {
  if (!node.element.IsNone()) frame_->locals.push_back({node.element, std::move(element)});
  if (!node.index.IsNone()) frame_->locals.push_back({node.index, std::move(index)});
}

Operand Evaluator::ForUnrolled(const ForExpr& node, const Operand& sequence, Span span) {
  const TypeInfo info = types()[sequence.type];
  const RangeValue* range = nullptr;
  std::vector<Operand> elements;
  Int128 count = 0;
  if (info.kind == TypeKind::kRange) {
    if (!sequence.IsValue() || sequence.value.as_range() == nullptr) {
      (void)RequireValue(sequence, SpanOf(node.sequence));
      return Operand::Error();
    }
    range = sequence.value.as_range();
    count = range->Count();
  } else if (sequence.kind == Operand::Kind::kParts) {
    elements = sequence.parts;
    count = static_cast<Int128>(elements.size());
  } else if (sequence.IsValue()) {
    const std::vector<Value>* values = sequence.value.as_elements();
    if (values == nullptr) return Report(DiagKind::kNotComptime, span, "an undefined array");
    for (const Value& value : *values) elements.push_back(Operand::Of(value));
    count = static_cast<Int128>(elements.size());
  } else if (fb_ != nullptr && info.kind == TypeKind::kArray) {
    // Elements in memory: the loop is unrolled over places.
    count = types().ElementCount(sequence.type);
  } else {
    (void)RequireValue(sequence, SpanOf(node.sequence));
    return Operand::Error();
  }
  const uint64_t limit = session().limits.inlined_iterations;
  if (fb_ != nullptr && limit != 0 && count > static_cast<Int128>(limit)) {
    return Report(DiagKind::kTooManyInlined, span, limit);
  }
  JumpTarget target(JumpTarget::Kind::kLoop, node.label, *this, types().void_type());
  const size_t locals = frame_->locals.size();
  Operand last = Nothing();
  for (Int128 i = 0; i < count; ++i) {
    if (!CheckLimits(span)) return FinishLoop(target, Operand::Error(), span);
    const Operand index = Operand::Of(MakeInt(types().comptime_int(), i));
    Operand element;
    if (range != nullptr) {
      element = Operand::Of(MakeInt(info.element, range->start + i * range->step));
    } else if (!elements.empty()) {
      element = elements[static_cast<size_t>(i)];
    } else {
      element = Load(ElementOf(sequence, {index}, {span}, span), span);
      if (element.Stops()) return FinishLoop(target, std::move(element), span);
      element.is_const = true;
    }
    BindLoopNames(node, std::move(element), index);
    const bool goes_on = UnrolledBody(target, node.body, span, last);
    frame_->locals.erase(frame_->locals.begin() + static_cast<std::ptrdiff_t>(locals),
                         frame_->locals.end());
    if (!goes_on) break;
  }
  return FinishLoop(target, std::move(last), span);
}

Operand Evaluator::ForRange(const ForExpr& node, const Operand& sequence, Span span) {
  const TypeInfo info = types()[sequence.type];
  TypeId type = info.element;
  Operand start;
  Operand stop;
  Int128 step = 1;
  if (sequence.IsValue()) {
    const RangeValue& range = *sequence.value.as_range();
    if (range.Count() == 0) return Nothing();
    if (types().kind(type) == TypeKind::kComptimeInt) {
      // A counter at run time needs a width.
      type = types().i16();
      if (range.start < INT16_MIN || range.stop > INT16_MAX || range.stop < INT16_MIN) {
        type = types().Int(32, true);
      }
    }
    start = Operand::Of(MakeInt(type, range.start));
    stop = Operand::Of(MakeInt(type, range.stop));
    step = range.step;
  } else {
    start = sequence.parts[0];
    stop = sequence.parts[1];
    const std::optional<Value> known = RequireValue(sequence.parts[2], span);
    if (!known || known->as_int() == nullptr) return Operand::Error();
    step = *known->as_int();
  }
  if (step == 0) return Report(DiagKind::kRangeStep, SpanOf(node.sequence));
  const TypeInfo counter_info = types()[type];

  const Reg counter = fb_->NewReg();
  const Reg limit = fb_->NewReg();
  Reg index = 0;
  if (!node.index.IsNone()) index = fb_->NewReg();
  At(span);
  Store(Operand::Register(type, counter), start, span);
  if (stop.IsValue()) {
    fb_->Const(limit, static_cast<int64_t>(*stop.value.as_int()));
  } else {
    Store(Operand::Register(type, limit), stop, span);
  }
  if (!node.index.IsNone()) fb_->Const(index, 0);

  JumpTarget target(JumpTarget::Kind::kLoop, node.label, *this, types().void_type());
  const Label top = fb_->NewLabel();
  target.continue_label = fb_->NewLabel();
  const Label exit = fb_->NewLabel();
  fb_->Bind(top);
  // Signed: narrower counters are extended to 64 bits, and a 64-bit step may pass below zero.
  const Op leave = counter_info.is_signed || counter_info.bits < 64 ? Op::kJumpLeS : Op::kJumpLeU;
  if (step > 0) {
    fb_->JumpCompare(leave, limit, counter, exit);
  } else {
    fb_->JumpCompare(leave, counter, limit, exit);
  }
  const size_t locals = frame_->locals.size();
  const uint32_t mark = fb_->mark();
  BindLoopNames(node, Operand::Register(type, counter, true, true),
                Operand::Register(types().u16(), index, true, true));
  bool failed = false;
  {
    BranchScope branch(*this);
    frame_->targets.push_back(&target);
    const Operand body = Eval(node.body, types().void_type());
    frame_->targets.pop_back();
    failed = body.IsError();
    if (body.Stops() && !body.IsError()) JumpInstead(span);
    const bool reaches_step = !body.Stops() || target.continued;
    fb_->Bind(target.continue_label);
    if (reaches_step) {
      fb_->ReleaseTo(mark);
      // A step that could pass the end of the type is taken in 64 bits, where it cannot wrap.
      bool may_wrap = step != 1 && step != -1;
      if (stop.IsValue()) {
        const Int128 last = *stop.value.as_int() + step;
        may_wrap = last > TypeTable::MaxOf(counter_info) || last < TypeTable::MinOf(counter_info);
      }
      const bytecode::ScalarType scalar =
          may_wrap || counter_info.bits > 64 ? bytecode::ScalarType::kI64 : *ScalarTypeOf(type);
      if (step >= INT16_MIN && step <= INT16_MAX) {
        fb_->Emit(bytecode::TypedOp(Op::kAddImmI8, scalar), counter, counter,
                  static_cast<uint16_t>(static_cast<int16_t>(step)));
      } else {
        fb_->Emit(bytecode::TypedOp(Op::kAddI8, scalar), counter, counter,
                  fb_->Const(static_cast<int64_t>(step)));
      }
      if (!node.index.IsNone()) fb_->Emit(Op::kAddImmU16, index, index, 1);
      fb_->ReleaseTo(mark);
      fb_->Jump(top);
    }
  }
  frame_->locals.erase(frame_->locals.begin() + static_cast<std::ptrdiff_t>(locals),
                       frame_->locals.end());
  fb_->Bind(exit);
  if (target.was_jumped_to) fb_->Bind(target.break_label);
  return failed ? Operand::Error() : Nothing();
}

Operand Evaluator::ForArray(const ForExpr& node, Operand sequence, Span span) {
  const TypeInfo info = types()[sequence.type];
  if (info.dims.size() != 1) return Report(DiagKind::kForSequence, span, info.name);
  const Operand array = ToMemory(std::move(sequence), span);
  if (array.Stops()) return array;
  const Reg index = fb_->NewReg();
  const Reg limit = fb_->Const(info.dims[0]);
  fb_->Const(index, 0);
  JumpTarget target(JumpTarget::Kind::kLoop, node.label, *this, types().void_type());
  const Label top = fb_->NewLabel();
  target.continue_label = fb_->NewLabel();
  const Label exit = fb_->NewLabel();
  fb_->Bind(top);
  fb_->JumpCompare(Op::kJumpLeU, limit, index, exit);
  const size_t locals = frame_->locals.size();
  const uint32_t mark = fb_->mark();
  const Operand index_operand = Operand::Register(types().u16(), index, true, true);
  bool failed = false;
  {
    BranchScope branch(*this);
    Operand element = Load(ElementOf(array, {index_operand}, {span}, span), span);
    element.is_const = true;
    BindLoopNames(node, std::move(element), index_operand);
    frame_->targets.push_back(&target);
    const Operand body = Eval(node.body, types().void_type());
    frame_->targets.pop_back();
    failed = body.IsError();
    if (body.Stops() && !body.IsError()) JumpInstead(span);
    const bool reaches_step = !body.Stops() || target.continued;
    fb_->Bind(target.continue_label);
    if (reaches_step) {
      fb_->Emit(Op::kAddImmU16, index, index, 1);
      fb_->ReleaseTo(mark);
      fb_->Jump(top);
    }
  }
  frame_->locals.erase(frame_->locals.begin() + static_cast<std::ptrdiff_t>(locals),
                       frame_->locals.end());
  fb_->Bind(exit);
  if (target.was_jumped_to) fb_->Bind(target.break_label);
  return failed ? Operand::Error() : Nothing();
}

}  // namespace szarena::csl
