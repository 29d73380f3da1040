// SPDX-License-Identifier: Apache-2.0
// Configuration in comptime blocks of PE code: task bindings, queues, local routes, handlers.
#include <algorithm>

#include "csl/layout/builtin_layout.h"
#include "csl/layout/class_state.h"
#include "csl/layout/color_config.h"
#include "csl/layout/export_symbol.h"
#include "csl/layout/reserved.h"
#include "csl/layout/struct_reader.h"
#include "csl/sema/evaluator.h"

namespace szarena::csl {
namespace {

using bytecode::TaskKind;

ClassState& State(BuiltinCall& call) { return ClassState::Of(call.eval.unit()); }
Operand Void(BuiltinCall& call) { return Operand::Of(MakeVoid(call.eval.types().void_type())); }
bool InLibrary(BuiltinCall& call) {
  return call.eval.session().files.IsLibrary(call.eval.ast().source());
}

// False after a diagnostic: a colour of the memcpy library in code of the program.
bool OwnColor(BuiltinCall& call, int color, Span span) {
  if (!State(call).memcpy || !IsReservedColor(color) || InLibrary(call)) return true;
  call.eval.Report(DiagKind::kReservedColor, span, color);
  return false;
}

// The function or task an argument names, or null after a diagnostic.
FnTemplate* FunctionArg(BuiltinCall& call, size_t index, bool want_task) {
  Span span = call.eval.SpanOf(call.args[index]);
  auto value = call.eval.EvalComptime(call.args[index]);
  if (!value) return nullptr;
  FnTemplate* fn = value->as_fn();
  if (fn == nullptr || fn->node->is_task != want_task) {
    call.eval.Report(want_task ? DiagKind::kNotATask : DiagKind::kNotAFunction, span,
                     call.entry.name,
                     fn != nullptr ? call.eval.TextOf(fn->name)
                                   : std::string_view(call.eval.NameOf(value->type)));
    return nullptr;
  }
  if (!call.eval.ResolveSignature(*fn)) return nullptr;
  return fn;
}

// An argument of a handle type as its number, or nothing after a diagnostic.
std::optional<int> HandleArg(BuiltinCall& call, size_t index,
                             std::initializer_list<HandleKind> kinds, HandleKind* found = nullptr) {
  Span span = call.eval.SpanOf(call.args[index]);
  auto value = call.eval.EvalComptime(call.args[index]);
  if (!value) return std::nullopt;
  const TypeInfo& info = call.eval.types()[value->type];
  std::string expected;
  for (HandleKind kind : kinds) {
    expected += (expected.empty() ? "" : " or ") + std::string(HandleKindName(kind));
    if (info.kind != TypeKind::kHandle || info.handle != kind || value->as_int() == nullptr)
      continue;
    if (found != nullptr) *found = kind;
    return static_cast<int>(*value->as_int());
  }
  call.eval.Report(DiagKind::kWrongHandle, span, call.entry.name, expected,
                   call.eval.NameOf(value->type));
  return std::nullopt;
}

// A wavelet carries 32 bits: one value of up to 32, or two of 16.
bool CheckPayload(BuiltinCall& call, const FnTemplate& fn, size_t min_params) {
  const TypeInfo& type = call.eval.types()[fn.type];
  size_t count = type.params.size();
  bool fits = count >= min_params && count <= 2;
  for (TypeId param : type.params) {
    fits = fits && call.eval.types().IsScalar(param);
    int64_t size = fits ? call.eval.types().SizeOf(param) : 0;
    fits = fits && (size == 2 || (size == 4 && count == 1));
  }
  if (!fits)
    call.eval.Report(min_params > 0 ? DiagKind::kDataTaskParams : DiagKind::kControlTaskParams,
                     fn.module->ast->NameSpanOf(fn.decl), call.eval.TextOf(fn.name));
  return fits;
}

// Enters a task in the table of its kind; reports another task with the same id.
bool TakeId(BuiltinCall& call, TaskKind kind, int id, const FnTemplate& fn) {
  ClassState& state = State(call);
  bool own_table = call.eval.code_class().control_table.instructions != 0;
  auto& table = kind == TaskKind::kControl ? state.control_ids : state.shared_ids;
  auto clash = [&](const std::optional<ClassState::BoundTask>& other) {
    if (!other) return false;
    call.eval.Report(DiagKind::kTaskIdClash, call.span, id, call.eval.TextOf(fn.name), other->task);
    call.eval.session().diags.Note(other->span, "it is bound here");
    return true;
  };
  size_t index = static_cast<size_t>(id);
  if (clash(table[index])) return false;
  const auto& other_table = kind == TaskKind::kControl ? state.shared_ids : state.control_ids;
  if (!own_table && id < 32 && clash(other_table[index])) return false;
  table[index] =
      ClassState::BoundTask{std::string(call.eval.TextOf(fn.name)), call.entry.name, call.span};
  return true;
}

Operand Bind(BuiltinCall& call, TaskKind kind, FnTemplate& fn, int id) {
  if (!InLibrary(call) && State(call).memcpy) {
    bool reserved = (kind == TaskKind::kLocal && IsReservedLocalId(id)) ||
                    (kind == TaskKind::kControl && IsReservedControlId(id));
    if (reserved) return call.eval.Report(DiagKind::kReservedTaskId, call.span, id);
  }
  if (kind == TaskKind::kLocal && id == bytecode::kTeardownTaskId)
    return call.eval.Report(DiagKind::kTeardownTaskId, call.span, id);
  if (!TakeId(call, kind, id, fn)) return Operand::Error();
  auto function = call.eval.FunctionIndex(fn, call.span);
  if (!function) return Operand::Error();
  call.eval.code_class().tasks.push_back({kind, static_cast<uint8_t>(id), *function, false});
  return Void(call);
}

bool CheckNoParams(BuiltinCall& call, const FnTemplate& fn) {
  if (call.eval.types()[fn.type].params.empty()) return true;
  call.eval.Report(DiagKind::kLocalTaskParams, fn.module->ast->NameSpanOf(fn.decl),
                   call.eval.TextOf(fn.name));
  return false;
}

Operand BindLocalTask(BuiltinCall& call) {
  FnTemplate* fn = FunctionArg(call, 0, true);
  auto id = HandleArg(call, 1, {HandleKind::kLocalTaskId});
  if (fn == nullptr || !id || !CheckNoParams(call, *fn)) return Operand::Error();
  return Bind(call, TaskKind::kLocal, *fn, *id);
}

Operand BindDataTask(BuiltinCall& call) {
  FnTemplate* fn = FunctionArg(call, 0, true);
  auto id = HandleArg(call, 1, {HandleKind::kDataTaskId});
  if (fn == nullptr || !id || !CheckPayload(call, *fn, 1)) return Operand::Error();
  if (!call.eval.session().IsWse3() && !OwnColor(call, *id, call.eval.SpanOf(call.args[1])))
    return Operand::Error();
  if (call.eval.session().IsWse3() && State(call).memcpy && !InLibrary(call) &&
      IsReservedInputQueue(bytecode::Arch::kWse3, *id)) {
    return call.eval.Report(DiagKind::kReservedQueue, call.eval.SpanOf(call.args[1]), "input", *id);
  }
  return Bind(call, TaskKind::kData, *fn, *id);
}

Operand BindControlTask(BuiltinCall& call) {
  FnTemplate* fn = FunctionArg(call, 0, true);
  auto id = HandleArg(call, 1, {HandleKind::kControlTaskId});
  if (fn == nullptr || !id || !CheckPayload(call, *fn, 0)) return Operand::Error();
  return Bind(call, TaskKind::kControl, *fn, *id);
}

// @bind_task(task, color) of old programs: a task with params consumes the colour's wavelets;
// activated, it gets zero.
Operand BindTask(BuiltinCall& call) {
  FnTemplate* fn = FunctionArg(call, 0, true);
  HandleKind kind{};
  auto id = HandleArg(call, 1,
                      {HandleKind::kColor, HandleKind::kDataTaskId, HandleKind::kLocalTaskId,
                       HandleKind::kControlTaskId},
                      &kind);
  if (fn == nullptr || !id) return Operand::Error();
  if (kind == HandleKind::kControlTaskId)
    return CheckPayload(call, *fn, 0) ? Bind(call, TaskKind::kControl, *fn, *id) : Operand::Error();
  bool has_params = !call.eval.types()[fn->type].params.empty();
  if (has_params && !CheckPayload(call, *fn, 1)) return Operand::Error();
  Operand bound = Bind(call, has_params ? TaskKind::kData : TaskKind::kLocal, *fn, *id);
  if (has_params && !bound.IsError() && !call.eval.session().IsWse3()) {
    auto& tasks = call.eval.code_class().tasks;
    tasks.push_back({TaskKind::kLocal, tasks.back().id, tasks.back().function, false});
  }
  return bound;
}

Operand BindRotatingTasks(BuiltinCall& call) {
  FnTemplate* main = FunctionArg(call, 0, true);
  FnTemplate* alternate = FunctionArg(call, 1, true);
  auto id = HandleArg(call, 2, {HandleKind::kDataTaskId});
  auto config = call.eval.EvalComptime(call.args[3]);
  if (main == nullptr || alternate == nullptr || !id || !config) return Operand::Error();
  if (!CheckPayload(call, *main, 1) || !CheckPayload(call, *alternate, 1)) return Operand::Error();
  StructReader reader(call.eval, *config, call.args[3], call.eval.SpanOf(call.args[3]),
                      "the rotation");
  bytecode::RotatingTasks rotating;
  rotating.data_id = static_cast<uint8_t>(*id);
  rotating.limit = static_cast<uint16_t>(reader.Int("limit", 0, 0xffff, 0));
  rotating.init = static_cast<uint16_t>(reader.Int("init", 0, 0xffff, 0));
  reader.Finish();
  if (call.eval.code_class().rotating.size() == 2)
    return call.eval.Report(DiagKind::kRotatingTasksTooMany, call.span);
  auto function = call.eval.FunctionIndex(*alternate, call.span);
  if (!function) return Operand::Error();
  rotating.alternate = *function;
  Operand bound = Bind(call, TaskKind::kData, *main, *id);
  if (!bound.IsError()) call.eval.code_class().rotating.push_back(rotating);
  return bound;
}

Operand InitializeQueue(BuiltinCall& call) {
  HandleKind kind{};
  auto queue = HandleArg(call, 0, {HandleKind::kInputQueue, HandleKind::kOutputQueue}, &kind);
  if (!queue) return Operand::Error();
  bytecode::QueueInit init;
  init.output = kind == HandleKind::kOutputQueue;
  init.queue = static_cast<uint8_t>(*queue);
  bool wse3 = call.eval.session().IsWse3();
  bool has_config = call.args.size() > 1;
  if (has_config) {
    Span span = call.eval.SpanOf(call.args[1]);
    auto config = call.eval.EvalComptime(call.args[1]);
    if (!config) return Operand::Error();
    StructReader reader(call.eval, *config, call.args[1], span, "the queue configuration");
    if (!reader.valid()) return Operand::Error();
    if (init.output && !wse3 && !call.eval.types()[config->type].fields.empty())
      return call.eval.Report(DiagKind::kQueueConfigWse2, call.span, *queue);
    if (const Value* color = reader.Find("color")) {
      auto number = ReadColor(call.eval, *color, reader.SpanOf("color"));
      if (!number || !OwnColor(call, *number, reader.SpanOf("color"))) return Operand::Error();
      init.color = static_cast<uint8_t>(*number);
    }
    if (!wse3) {
      if (const auto priority = reader.Has("priority")
                                    ? reader.Choice("priority", {"low", "medium", "high"})
                                    : std::nullopt) {
        init.priority = static_cast<bytecode::Priority>(*priority + 1);
      }
    } else if (!init.output && reader.Has("ctrl_table_id")) {
      init.control_table = static_cast<uint8_t>(reader.Int("ctrl_table_id", 0, 15, 0));
    }
    reader.Finish();
  }
  if (init.color == bytecode::kNoColor && (wse3 || !init.output)) {
    return call.eval.Report(DiagKind::kQueueNeedsColor, call.span, init.output ? "output" : "input",
                            *queue);
  }
  if (!InLibrary(call) && State(call).memcpy &&
      (init.output ? IsReservedOutputQueue(call.eval.session().target.arch, *queue)
                   : IsReservedInputQueue(call.eval.session().target.arch, *queue))) {
    return call.eval.Report(DiagKind::kReservedQueue, call.span, init.output ? "output" : "input",
                            *queue);
  }
  auto& queues = call.eval.code_class().queues;
  auto& spans = State(call).queue_spans;
  for (size_t i = 0; i < queues.size(); ++i) {
    if (queues[i].output != init.output || queues[i].queue != init.queue) continue;
    call.eval.Report(DiagKind::kQueueTwice, call.span, init.output ? "output" : "input", *queue);
    call.eval.session().diags.Note(spans[i], "the first one is here");
    return Operand::Error();
  }
  queues.push_back(init);
  spans.push_back(call.span);
  return Void(call);
}

Operand SetLocalColorConfig(BuiltinCall& call) {
  auto color_value =
      call.eval.EvalComptime(call.args[0], call.eval.types().Handle(HandleKind::kColor));
  auto config = call.eval.EvalComptime(call.args[1]);
  if (!color_value || !config) return Operand::Error();
  auto color = ReadColor(call.eval, *color_value, call.eval.SpanOf(call.args[0]));
  if (!color) return Operand::Error();
  if (!OwnColor(call, *color, call.eval.SpanOf(call.args[0]))) return Operand::Error();
  auto route =
      ReadColorConfig(call.eval, *color, *config, call.args[1], call.eval.SpanOf(call.args[1]));
  if (!route) return Operand::Error();
  ClassState& state = State(call);
  for (const ClassState::LocalRoute& other : state.local_routes) {
    if (other.route.color != route->color) continue;
    call.eval.Report(DiagKind::kLocalColorTwice, call.span, *color);
    call.eval.session().diags.Note(other.span, "the first one is here");
    return Operand::Error();
  }
  state.local_routes.push_back({*route, call.span});
  return Void(call);
}

Operand AddHandler(BuiltinCall& call, std::vector<bytecode::HandlerBinding>& handlers,
                   bytecode::HandlerBinding handler) {
  FnTemplate* fn = FunctionArg(call, 0, false);
  if (fn == nullptr) return Operand::Error();
  const TypeInfo& type = call.eval.types()[fn->type];
  if (!type.params.empty() || type.result != call.eval.types().void_type()) {
    return call.eval.Report(DiagKind::kHandlerType, call.eval.SpanOf(call.args[0]),
                            call.eval.TextOf(fn->name));
  }
  for (const auto& other : handlers) {
    if (other.id == handler.id && other.output == handler.output)
      return call.eval.Report(DiagKind::kHandlerTwice, call.span, handler.id, call.entry.name);
  }
  auto function = call.eval.FunctionIndex(*fn, call.span);
  if (!function) return Operand::Error();
  handler.function = *function;
  handlers.push_back(handler);
  return Void(call);
}

Operand SetTeardownHandler(BuiltinCall& call) {
  auto color_value =
      call.eval.EvalComptime(call.args[1], call.eval.types().Handle(HandleKind::kColor));
  if (!color_value) return Operand::Error();
  auto color = ReadColor(call.eval, *color_value, call.eval.SpanOf(call.args[1]));
  if (!color) return Operand::Error();
  return AddHandler(call, call.eval.code_class().teardown_handlers,
                    {false, static_cast<uint8_t>(*color), 0});
}

Operand SetEmptyQueueHandler(BuiltinCall& call) {
  HandleKind kind{};
  auto queue = HandleArg(call, 1, {HandleKind::kInputQueue, HandleKind::kOutputQueue}, &kind);
  if (!queue) return Operand::Error();
  return AddHandler(call, call.eval.code_class().empty_queue_handlers,
                    {kind == HandleKind::kOutputQueue, static_cast<uint8_t>(*queue), 0});
}

Operand SetControlTaskTable(BuiltinCall& call) {
  ClassState& state = State(call);
  if (!state.control_table_span.IsNone())
    return call.eval.Report(DiagKind::kControlTableTwice, call.span);
  bytecode::ControlTable table{4, 1};
  if (!call.args.empty()) {
    auto config = call.eval.EvalComptime(call.args[0]);
    if (!config) return Operand::Error();
    StructReader reader(call.eval, *config, call.args[0], call.eval.SpanOf(call.args[0]),
                        "the control task table");
    table.instructions = static_cast<uint8_t>(reader.Int("instructions", 2, 8, table.instructions));
    if (table.instructions != 2 && table.instructions != 4 && table.instructions != 8)
      reader.WrongType("instructions", "2, 4 or 8");
    table.stride = static_cast<uint8_t>(reader.Int("stride", 1, 7, table.stride));
    reader.Finish();
  }
  state.control_table_span = call.span;
  call.eval.code_class().control_table = table;
  return Void(call);
}

// @rpc(id): the launch task of old programs. The command stream needs no task of its own here.
Operand Rpc(BuiltinCall& call) {
  return call.eval.EvalComptime(call.args[0]) ? Void(call) : Operand::Error();
}

// A call that failed was reported and its block goes on, so that one run shows all faults.
template <BuiltinHandler handler>
Operand GoOn(BuiltinCall& call) {
  handler(call);
  return Void(call);
}

constexpr BuiltinEntry kEntries[] = {
    {"bind_local_task", 2, 2, kInComptime, GoOn<BindLocalTask>,
     "@bind_local_task(task, local_task_id)"},
    {"bind_data_task", 2, 2, kInComptime, GoOn<BindDataTask>,
     "@bind_data_task(task, data_task_id)"},
    {"bind_control_task", 2, 2, kInComptime, GoOn<BindControlTask>,
     "@bind_control_task(task, control_task_id)"},
    {"bind_task", 2, 2, kInComptime, GoOn<BindTask>, "@bind_task(task, color)"},
    {"bind_rotating_tasks", 4, 4, kInComptime, GoOn<BindRotatingTasks>,
     "@bind_rotating_tasks(main, alternate, data_task_id, .{ .limit = n })", true},
    {"initialize_queue", 1, 2, kInComptime, GoOn<InitializeQueue>,
     "@initialize_queue(queue, .{ .color = color })"},
    {"set_local_color_config", 2, 2, kInComptime, GoOn<SetLocalColorConfig>,
     "@set_local_color_config(color, .{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP } } })"},
    {"export_symbol", 1, 2, kInComptime, GoOn<ExportSymbol>, "@export_symbol(symbol, \"name\")"},
    {"set_teardown_handler", 2, 2, kInComptime, GoOn<SetTeardownHandler>,
     "@set_teardown_handler(function, color)"},
    {"set_empty_queue_handler", 2, 2, kInComptime, GoOn<SetEmptyQueueHandler>,
     "@set_empty_queue_handler(function, queue)", true},
    {"set_control_task_table", 0, 1, kInComptime, GoOn<SetControlTaskTable>,
     "@set_control_task_table(.{ .instructions = 4, .stride = 1 })", true},
    {"rpc", 1, 1, kInComptime, GoOn<Rpc>, "@rpc(data_task_id)"},
    {"has_exported_tensors", 0, 0, kAnywhere, HasExportedTensors, "@has_exported_tensors()"},
    {"get_symbol_id", 1, 1, kInComptime | kInGlobal | kInRuntime, GetSymbolId,
     "@get_symbol_id(symbol)"},
};

}  // namespace

std::span<const BuiltinEntry> ConfigBuiltins() { return kEntries; }

}  // namespace szarena::csl
