// SPDX-License-Identifier: Apache-2.0
// Builtins that make the names of hardware things: colours, task ids, queues, microthreads.
#include "csl/sema/evaluator.h"

namespace szarena::csl {

namespace {

struct IdRange {
  int64_t min = 0;
  int64_t max = 0;
};

// Programs of SDK 1.1 and older write @get_color(32) for "no colour here", and those of SDK 0.9
// name tasks by colours from 24 on (WSE-2). Whatever routes such a colour reports it.
constexpr int kNoColorNumber = 32;
constexpr int kMaxOldColor = 63;  // WSE-2 only

// Valid ids (docs/csl/decisions.md, "Ids"); WSE-3 shares the task table between data and local
// tasks.
IdRange RangeOf(HandleKind kind, bool wse3) {
  switch (kind) {
    case HandleKind::kColor:
      return {0, bytecode::kColorCount - 1};
    case HandleKind::kDataTaskId:
      return {0, wse3 ? 7 : bytecode::kColorCount - 1};
    case HandleKind::kLocalTaskId:
      return {wse3 ? 8 : 0, 30};
    case HandleKind::kControlTaskId:
      return {0, bytecode::kTaskIdCount - 1};
    case HandleKind::kInputQueue:
      return {0, 7};
    case HandleKind::kOutputQueue:
      return {0, wse3 ? 7 : 5};
    case HandleKind::kUtId:
      return {0, 7};
    case HandleKind::kDirection:
      return {0, 4};
  }
  return {};
}

}  // namespace

Operand MakeHandle(Evaluator& eval, HandleKind kind, Operand id, Span span) {
  if (id.Stops()) return id;
  const TypeId type = eval.types().Handle(kind);
  if (id.type == type) return id;
  if (!eval.types().IsIntegral(id.type)) {
    return eval.Report(DiagKind::kExpectedInteger, span, eval.NameOf(id.type));
  }
  if (!id.IsValue()) {
    if (!eval.IsRuntime()) {
      (void)eval.RequireValue(id, span);
      return Operand::Error();
    }
    return Operand::Register(type, eval.ToReg(id, span));
  }
  const Int128* number = id.value.as_int();
  if (number == nullptr) return eval.Report(DiagKind::kNotComptime, span, "an undefined value");
  const IdRange range = RangeOf(kind, eval.session().IsWse3());
  const bool is_old =
      *number == kNoColorNumber ||
      (!eval.session().IsWse3() && *number >= bytecode::kColorCount && *number <= kMaxOldColor);
  if (kind == HandleKind::kColor && is_old) return Operand::Of(MakeInt(type, *number));
  if (*number < range.min || *number > range.max) {
    return eval.Report(DiagKind::kHandleRange, span, HandleKindName(kind), Int128ToString(*number),
                       range.min, range.max, eval.session().IsWse3() ? "WSE-3" : "WSE-2");
  }
  return Operand::Of(MakeInt(type, *number));
}

namespace {

Operand FromInteger(BuiltinCall& call, HandleKind kind) {
  return MakeHandle(call.eval, kind, call.eval.EvalLoaded(call.args[0]),
                    call.eval.SpanOf(call.args[0]));
}

Operand GetColor(BuiltinCall& call) { return FromInteger(call, HandleKind::kColor); }
Operand GetLocalTaskId(BuiltinCall& call) { return FromInteger(call, HandleKind::kLocalTaskId); }
Operand GetControlTaskId(BuiltinCall& call) {
  return FromInteger(call, HandleKind::kControlTaskId);
}
Operand GetInputQueue(BuiltinCall& call) { return FromInteger(call, HandleKind::kInputQueue); }
Operand GetOutputQueue(BuiltinCall& call) { return FromInteger(call, HandleKind::kOutputQueue); }
Operand GetUtId(BuiltinCall& call) { return FromInteger(call, HandleKind::kUtId); }

// On WSE-2 a data task belongs to a colour, on WSE-3 to an input queue.
Operand GetDataTaskId(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  Operand id = eval.EvalLoaded(call.args[0]);
  if (id.Stops()) return id;
  const HandleKind wanted = eval.session().IsWse3() ? HandleKind::kInputQueue : HandleKind::kColor;
  if (eval.types().IsHandle(id.type, wanted)) {
    const TypeId type = eval.types().Handle(HandleKind::kDataTaskId);
    if (id.IsValue()) return Operand::Of(MakeInt(type, *id.value.as_int()));
    if (eval.IsRuntime()) return Operand::Register(type, eval.ToReg(id, call.span));
  }
  return eval.Report(DiagKind::kDataTaskIdSource, eval.SpanOf(call.args[0]), HandleKindName(wanted),
                     eval.NameOf(id.type), eval.session().IsWse3() ? "WSE-3" : "WSE-2",
                     eval.session().IsWse3()
                         ? "write '@get_data_task_id(@get_input_queue(2))' and give the queue its "
                           "colour: '@initialize_queue(@get_input_queue(2), .{ .color = c })'"
                         : "write '@get_data_task_id(color)'");
}

Operand GetInt(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  Operand operand = eval.EvalLoaded(call.args[0]);
  if (operand.Stops()) return operand;
  const TypeInfo info = eval.types()[operand.type];
  if (eval.types().IsIntegral(operand.type)) return operand;
  const TypeId type = info.kind == TypeKind::kEnum ? info.element : eval.types().u16();
  if (info.kind != TypeKind::kEnum && info.kind != TypeKind::kHandle &&
      info.kind != TypeKind::kDsr) {
    return eval.Report(DiagKind::kGetInt, eval.SpanOf(call.args[0]), info.name);
  }
  if (operand.IsValue()) return Operand::Of(MakeInt(type, *operand.value.as_int()));
  if (!eval.IsRuntime()) {
    (void)eval.RequireValue(operand, call.span);
    return Operand::Error();
  }
  return Operand::Register(type, eval.ToReg(operand, call.span));
}

// A filter is named by its colour: see <tile_config/filters>.
Operand GetFilterId(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  const Operand color = eval.EvalAs(call.args[0], eval.types().Handle(HandleKind::kColor));
  if (color.Stops()) return color;
  if (color.IsValue()) {
    return Operand::Of(MakeInt(eval.types().u16(), *color.value.as_int()));
  }
  if (!eval.IsRuntime()) {
    (void)eval.RequireValue(color, call.span);
    return Operand::Error();
  }
  return Operand::Register(eval.types().u16(), eval.ToReg(color, call.span));
}

constexpr BuiltinEntry kEntries[] = {
    {"get_color", 1, 1, kAnywhere, GetColor, "@get_color(id)"},
    {"get_local_task_id", 1, 1, kAnywhere, GetLocalTaskId, "@get_local_task_id(id)"},
    {"get_data_task_id", 1, 1, kAnywhere, GetDataTaskId,
     "@get_data_task_id(color) on WSE-2, @get_data_task_id(input_queue) on WSE-3"},
    {"get_control_task_id", 1, 1, kAnywhere, GetControlTaskId, "@get_control_task_id(id)"},
    {"get_input_queue", 1, 1, kAnywhere, GetInputQueue, "@get_input_queue(id)"},
    {"get_output_queue", 1, 1, kAnywhere, GetOutputQueue, "@get_output_queue(id)"},
    {"get_ut_id", 1, 1, kAnywhere, GetUtId, "@get_ut_id(id)", true},
    {"get_int", 1, 1, kAnywhere, GetInt, "@get_int(handle)"},
    {"get_color_id", 1, 1, kAnywhere, GetInt,
     "@get_color_id(color)"},  // the name of @get_int for colours up to SDK 1.1
    {"get_filter_id", 1, 1, kAnywhere, GetFilterId, "@get_filter_id(color)"},
};

}  // namespace

std::span<const BuiltinEntry> HandleBuiltins() { return kEntries; }

}  // namespace szarena::csl
