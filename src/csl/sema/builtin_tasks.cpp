// SPDX-License-Identifier: Apache-2.0
// @activate, @block and @unblock: in comptime blocks the state at load, in code an instruction.
#include "csl/emit/class_builder.h"
#include "csl/sema/evaluator.h"

namespace szarena::csl {

using bytecode::Op;
using bytecode::TargetKind;

std::optional<uint32_t> Evaluator::TaskIdOf(FnTemplate& task, Span span) {
  const std::optional<uint32_t> function = FunctionIndex(task, span);
  if (!function) return std::nullopt;
  std::optional<uint32_t> id;
  for (const bytecode::TaskBinding& binding : code_class().tasks) {
    if (binding.function != *function) continue;
    if (id && *id != binding.id) {
      Report(DiagKind::kTaskBoundTwice, span, TextOf(task.name));
      return std::nullopt;
    }
    id = binding.id;
  }
  if (!id) Report(DiagKind::kTaskNotBound, span, TextOf(task.name));
  return id;
}

namespace {

struct TargetArg {
  TargetKind kind = TargetKind::kTask;
  std::optional<uint32_t> id;  // known
  bytecode::Reg reg = 0;       // else in a register
  FnTemplate* task = nullptr;  // a task by name: its id may come later
};

std::optional<TargetArg> Target(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  const Span span = eval.SpanOf(call.args[0]);
  const Operand operand = eval.EvalLoaded(call.args[0]);
  if (operand.Stops()) return std::nullopt;
  const TypeInfo info = eval.types()[operand.type];
  TargetArg target;
  if (info.kind == TypeKind::kFn && operand.IsValue() && operand.value.as_fn() != nullptr &&
      operand.value.as_fn()->node->is_task) {
    target.task = operand.value.as_fn();
    return target;
  }
  const bool is_activate = call.entry.name == "activate";
  bool is_ok = info.kind == TypeKind::kHandle;
  if (is_ok) {
    switch (info.handle) {
      case HandleKind::kLocalTaskId:
        target.kind = TargetKind::kTask;
        break;
      case HandleKind::kColor:
        target.kind = TargetKind::kColor;
        is_ok = is_activate || !eval.session().IsWse3();
        break;
      case HandleKind::kDataTaskId:
      case HandleKind::kControlTaskId:
        target.kind = TargetKind::kTask;
        is_ok = !is_activate;
        break;
      case HandleKind::kInputQueue:
        target.kind = TargetKind::kInputQueue;
        is_ok = !is_activate;
        break;
      case HandleKind::kUtId:
        target.kind = TargetKind::kMicrothread;
        is_ok = !is_activate;
        break;
      case HandleKind::kOutputQueue:
      case HandleKind::kDirection:
        is_ok = false;
        break;
    }
  }
  if (!is_ok) {
    eval.Report(DiagKind::kTaskTarget, span, call.entry.name, info.name,
                is_activate ? "a local_task_id"
                : eval.session().IsWse3()
                    ? "a task id (of a data task: '@get_data_task_id(input_queue)'), an input "
                      "queue or a ut_id"
                    : "a task id, a colour or an input queue");
    return std::nullopt;
  }
  if (operand.IsValue()) {
    target.id = static_cast<uint32_t>(*operand.value.as_int());
  } else if (eval.IsRuntime()) {
    target.reg = eval.ToReg(operand, span);
  } else {
    (void)eval.RequireValue(operand, span);
    return std::nullopt;
  }
  return target;
}

// The state of the task table at load.
void SetInitial(bytecode::CodeClass& code, std::string_view what, TargetKind kind, uint32_t id,
                Evaluator& eval) {
  const uint64_t bit = uint64_t{1} << (id & 63);
  if (what == "activate") {
    code.initially_active |= bit;
  } else if (kind == TargetKind::kMicrothread) {
    eval.InitBuilder().Emit(what == "block" ? Op::kBlock : Op::kUnblock, static_cast<uint16_t>(id),
                            static_cast<uint16_t>(kind));
  } else if (what == "block") {
    code.initially_blocked |= bit;
  } else {
    code.initially_blocked &= ~bit;
    // A colour without a data task starts blocked: say explicitly that it is not.
    eval.InitBuilder().Emit(Op::kUnblock, static_cast<uint16_t>(id), static_cast<uint16_t>(kind));
  }
}

Operand SetState(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  const Operand done = Operand::Of(MakeVoid(eval.types().void_type()));
  if (eval.unit().kind == Unit::Kind::kLayout) {
    return eval.Report(DiagKind::kBuiltinPlace, call.span, call.entry.name,
                       "in a comptime block, function or task of PE code");
  }
  std::optional<TargetArg> target = Target(call);
  if (!target) return Operand::Error();
  if (!eval.IsRuntime()) {
    if (target->task != nullptr) {
      const std::string_view what = call.entry.name;
      Evaluator* evaluator = &eval;
      eval.unit().pending_ids.push_back(
          {target->task, call.span, [what, evaluator](bytecode::CodeClass& code, uint32_t id) {
             SetInitial(code, what, TargetKind::kTask, id, *evaluator);
           }});
      return done;
    }
    SetInitial(eval.code_class(), call.entry.name, target->kind, *target->id, eval);
    return done;
  }
  if (target->task != nullptr) {
    target->id = eval.TaskIdOf(*target->task, call.span);
    if (!target->id) return Operand::Error();
  }
  const bool is_static = target->id.has_value();
  const Op op = call.entry.name == "activate" ? (is_static ? Op::kActivate : Op::kActivateR)
                : call.entry.name == "block"  ? (is_static ? Op::kBlock : Op::kBlockR)
                                              : (is_static ? Op::kUnblock : Op::kUnblockR);
  eval.At(call.span);
  eval.fb().Emit(op, is_static ? static_cast<uint16_t>(*target->id) : target->reg,
                 static_cast<uint16_t>(target->kind));
  return done;
}

constexpr uint8_t kWhere = kInComptime | kInRuntime;
constexpr BuiltinEntry kEntries[] = {
    {"activate", 1, 1, kWhere, SetState, "@activate(local_task_id)"},
    {"block", 1, 1, kWhere, SetState, "@block(id)"},
    {"unblock", 1, 1, kWhere, SetState, "@unblock(id)"},
};

}  // namespace

std::span<const BuiltinEntry> TaskBuiltins() { return kEntries; }

}  // namespace szarena::csl
