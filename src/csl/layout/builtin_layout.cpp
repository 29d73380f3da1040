// SPDX-License-Identifier: Apache-2.0
// @set_rectangle, @set_tile_code, @set_color_config, @export_name, @get_rectangle and @host_stream
// (libraries only).
#include "csl/layout/builtin_layout.h"

#include <fmt/format.h>

#include "csl/layout/class_state.h"
#include "csl/layout/color_config.h"
#include "csl/layout/layout_state.h"
#include "csl/layout/reserved.h"
#include "csl/sema/evaluator.h"

namespace szarena::csl {
namespace {

// Larger than any wafer; keeps tables of PEs within memory.
constexpr int64_t kMaxSide = 4096;

// Of compile-time evaluation, beside the fixed limit.
constexpr uint64_t kStepsPerPe = 200;

LayoutState& State(BuiltinCall& call) { return LayoutState::Of(call.eval.unit()); }
Operand Void(BuiltinCall& call) { return Operand::Of(MakeVoid(call.eval.types().void_type())); }

Operand SetRectangle(BuiltinCall& call) {
  LayoutState& state = State(call);
  auto width = call.eval.EvalComptimeInt(call.args[0], INT32_MIN, INT32_MAX);
  auto height = call.eval.EvalComptimeInt(call.args[1], INT32_MIN, INT32_MAX);
  if (!width || !height) return Operand::Error();
  if (*width < 1 || *height < 1 || *width > kMaxSide || *height > kMaxSide) {
    return call.eval.Report(DiagKind::kRectangleSize, call.span, *width, *height, kMaxSide);
  }
  if (state.width != 0) {
    call.eval.Report(DiagKind::kRectangleTwice, call.span);
    call.eval.session().diags.Note(state.rectangle_span, "the first one is here");
    return Operand::Error();
  }
  state.width = static_cast<int>(*width);
  state.height = static_cast<int>(*height);
  state.rectangle_span = call.span;
  size_t count = static_cast<size_t>(*width) * static_cast<size_t>(*height);
  state.tiles.assign(count, kNoTile);
  state.tile_spans.assign(count, {});
  state.pe_routes.resize(count);
  call.eval.unit().rectangle = {state.width, state.height};
  // A layout says something of every PE.
  call.eval.session().limits.comptime_steps += kStepsPerPe * count;
  if (state.on_rectangle) state.on_rectangle(state.width, state.height, call.span);
  return Void(call);
}

// The PE that the first two arguments name, as an index; nothing after a diagnostic.
std::optional<std::pair<int, int>> Position(BuiltinCall& call) {
  LayoutState& state = State(call);
  auto x = call.eval.EvalComptimeInt(call.args[0], INT32_MIN, INT32_MAX);
  auto y = call.eval.EvalComptimeInt(call.args[1], INT32_MIN, INT32_MAX);
  if (!x || !y) return std::nullopt;
  if (state.width == 0) {
    call.eval.Report(DiagKind::kBeforeRectangle, call.span, call.entry.name);
    return std::nullopt;
  }
  if (*x < 0 || *y < 0 || *x >= state.width || *y >= state.height) {
    call.eval.Report(DiagKind::kOutsideRectangle, call.span, *x, *y, state.width, state.height,
                     state.width - 1, state.height - 1);
    return std::nullopt;
  }
  return std::pair{static_cast<int>(*x), static_cast<int>(*y)};
}

// Functions and modules belong to one evaluation and cannot be handed to the code of a PE.
bool IsPortable(const Value& value) {
  if (value.as_module() != nullptr || value.as_fn() != nullptr) return false;
  if (const PointerValue* pointer = value.as_pointer();
      pointer != nullptr && !pointer->IsAbsolute())
    return false;
  if (const auto* elements = value.as_elements()) {
    for (const Value& element : *elements) {
      if (!IsPortable(element)) return false;
    }
  }
  return true;
}

Operand SetTileCode(BuiltinCall& call) {
  LayoutState& state = State(call);
  auto position = Position(call);
  const Ast* ast = &call.eval.ast();
  if (call.args.size() > 2) {
    auto path = call.eval.EvalComptime(call.args[2], call.eval.types().comptime_string());
    if (!path) return Operand::Error();
    if (path->as_text() == nullptr) {
      return call.eval.Report(DiagKind::kNotAPath, call.eval.SpanOf(call.args[2]),
                              call.eval.NameOf(path->type));
    }
    ast = call.eval.session().files.Load(*path->as_text(), call.eval.ast().source(),
                                         call.eval.SpanOf(call.args[2]));
    if (ast == nullptr) return Operand::Error();
  }
  Value params;
  if (call.args.size() > 3) {
    Span span = call.eval.SpanOf(call.args[3]);
    auto value = call.eval.EvalComptime(call.args[3]);
    if (!value) return Operand::Error();
    const TypeInfo& info = call.eval.types()[value->type];
    if (info.kind != TypeKind::kStruct || (info.is_tuple && !info.fields.empty())) {
      return call.eval.Report(DiagKind::kConfigNotStruct, span, "the list of params",
                              call.eval.NameOf(value->type));
    }
    for (size_t i = 0; i < info.fields.size(); ++i) {
      if (!IsPortable((*value->as_elements())[i])) {
        return call.eval.Report(DiagKind::kParamNotPortable, span, info.fields[i].name);
      }
    }
    params = std::move(*value);
  }
  if (!position) return Operand::Error();
  auto [x, y] = *position;
  size_t at = state.At(x, y);
  if (state.tiles[at] != kNoTile) {
    call.eval.Report(DiagKind::kTileCodeTwice, call.span, x, y);
    call.eval.session().diags.Note(state.tile_spans[at], "the first one is here");
    return Operand::Error();
  }
  std::string key = fmt::format("{}:", ast->source().index) +
                    (params.is_error() ? std::string() : ValueKey(params));
  auto [found, is_new] =
      state.code_index.emplace(std::move(key), static_cast<uint32_t>(state.codes.size()));
  if (is_new) state.codes.push_back({ast, std::move(params), call.span, x, y, 0});
  ++state.codes[found->second].pe_count;
  state.tiles[at] = found->second;
  state.tile_spans[at] = call.span;
  return Void(call);
}

Operand SetColorConfig(BuiltinCall& call) {
  LayoutState& state = State(call);
  auto position = Position(call);
  auto color_value =
      call.eval.EvalComptime(call.args[2], call.eval.types().Handle(HandleKind::kColor));
  auto config = call.eval.EvalComptime(call.args[3]);
  if (!color_value || !config) return Operand::Error();
  auto color = ReadColor(call.eval, *color_value, call.eval.SpanOf(call.args[2]));
  if (!color) return Operand::Error();
  if (state.memcpy && IsReservedColor(*color) &&
      !call.eval.session().files.IsLibrary(call.eval.ast().source())) {
    return call.eval.Report(DiagKind::kReservedColor, call.eval.SpanOf(call.args[2]), *color);
  }
  auto route =
      ReadColorConfig(call.eval, *color, *config, call.args[3], call.eval.SpanOf(call.args[3]));
  if (!route || !position) return Operand::Error();
  auto [x, y] = *position;
  auto& routes = state.pe_routes[state.At(x, y)];
  for (const LayoutState::PeRoute& other : routes) {
    if (state.routes[other.route].color != route->color) continue;
    call.eval.Report(DiagKind::kColorConfigTwice, call.span, *color, x, y);
    call.eval.session().diags.Note(other.span, "the first one is here");
    return Operand::Error();
  }
  routes.push_back({state.routes.Intern(*route), call.span});
  return Void(call);
}

Operand ExportName(BuiltinCall& call) {
  LayoutState& state = State(call);
  auto name = call.eval.EvalComptime(call.args[0], call.eval.types().comptime_string());
  auto type = call.eval.EvalType(call.args[1]);
  if (!name || !type) return Operand::Error();
  if (name->as_text() == nullptr || name->as_text()->empty()) {
    return call.eval.Report(DiagKind::kExportNameText, call.eval.SpanOf(call.args[0]));
  }
  HostName host{*name->as_text(), *type, false, call.span};
  const TypeInfo& info = call.eval.types()[*type];
  bool is_fn = info.kind == TypeKind::kFn;
  if (call.args.size() > 2) {
    auto is_mutable = call.eval.EvalComptimeAs(call.args[2], call.eval.types().bool_type());
    if (!is_mutable || is_mutable->as_int() == nullptr) return Operand::Error();
    host.is_mutable = *is_mutable->as_int() != 0;
  } else if (!is_fn) {
    return call.eval.Report(DiagKind::kExportNameMutability, call.span, host.name);
  }
  TypeId element = info.kind == TypeKind::kPointer ? info.element : *type;
  bool fits = is_fn;
  if (is_fn) {
    for (TypeId param : info.params)
      fits = fits && call.eval.types().IsScalar(param) &&
             call.eval.types().kind(param) != TypeKind::kPointer;
    fits = fits && info.params.size() <= 15 && info.result == call.eval.types().void_type();
  } else {
    if (call.eval.types().kind(element) == TypeKind::kArray)
      element = call.eval.types()[element].element;
    const TypeKind kind = call.eval.types().kind(element);
    fits = (call.eval.types().IsScalar(element) && kind != TypeKind::kPointer) ||
           (kind == TypeKind::kStruct && !call.eval.types().IsComptimeOnly(element));
  }
  if (!fits)
    return call.eval.Report(DiagKind::kExportNameType, call.eval.SpanOf(call.args[1]), host.name,
                            call.eval.NameOf(*type));
  if (const HostName* first = state.FindName(host.name)) {
    call.eval.Report(DiagKind::kExportNameTwice, call.span, host.name);
    call.eval.session().diags.Note(first->span, "the first one is here");
    return Operand::Error();
  }
  state.names.push_back(std::move(host));
  return Void(call);
}

// @host_stream(name, color, into_pes): the memcpy library says which colours the host streams on.
// It may say so in the layout, or (SDK 0.9 and older) in the code of a PE.
Operand DeclareHostStream(BuiltinCall& call) {
  if (!call.eval.session().files.IsLibrary(call.eval.ast().source())) {
    return call.eval.Report(DiagKind::kLibraryBuiltin, call.span, call.entry.name);
  }
  auto name = call.eval.EvalComptime(call.args[0]);
  auto color_value = call.eval.EvalComptime(call.args[1]);
  auto into = call.eval.EvalComptimeAs(call.args[2], call.eval.types().bool_type());
  if (!name || !color_value || !into || name->as_text() == nullptr) return Operand::Error();
  auto color = ReadColor(call.eval, *color_value, call.span);
  if (!color) return Operand::Error();
  std::vector<HostStream>& streams = call.eval.unit().kind == Unit::Kind::kLayout
                                         ? State(call).streams
                                         : ClassState::Of(call.eval.unit()).streams;
  for (const HostStream& stream : streams) {
    if (stream.color == *color && (stream.name != *name->as_text())) {
      return call.eval.Report(DiagKind::kHostStreamTwice, call.span, *color, stream.name,
                              *name->as_text());
    }
    if (stream.color == *color) return Void(call);
  }
  streams.push_back({*name->as_text(), static_cast<uint8_t>(*color), *into->as_int() != 0});
  return Void(call);
}

Operand GetRectangle(BuiltinCall& call) {
  TypeTable& types = call.eval.types();
  const auto& rectangle = call.eval.unit().rectangle;
  if (!rectangle) return call.eval.Report(DiagKind::kBeforeRectangle, call.span, call.entry.name);
  const Target& target = call.eval.session().target;
  TypeId u16 = types.u16();
  auto pair = [&](int width, int height) {
    TypeId type = types.AnonymousStruct({{"width", u16}, {"height", u16}}, false);
    return MakeAggregate(type, {MakeInt(u16, width), MakeInt(u16, height)});
  };
  Value fabric = pair(target.fabric_width, target.fabric_height),
        offsets = pair(target.offset_x, target.offset_y);
  TypeId type = types.AnonymousStruct(
      {{"width", u16}, {"height", u16}, {"fabric", fabric.type}, {"offsets", offsets.type}}, false);
  return Operand::Of(MakeAggregate(
      type, {MakeInt(u16, rectangle->first), MakeInt(u16, rectangle->second), fabric, offsets}));
}

// A call that failed was reported and its block goes on, so that one run shows all faults.
template <BuiltinHandler handler>
Operand GoOn(BuiltinCall& call) {
  handler(call);
  return Void(call);
}

constexpr BuiltinEntry kEntries[] = {
    {"set_rectangle", 2, 2, kInLayout, GoOn<SetRectangle>, "@set_rectangle(width, height)"},
    {"set_tile_code", 2, 4, kInLayout, GoOn<SetTileCode>,
     "@set_tile_code(x, y, \"file.csl\", .{ .param = value })"},
    {"set_color_config", 4, 4, kInLayout, GoOn<SetColorConfig>,
     "@set_color_config(x, y, color, .{ .routes = .{ .rx = .{ WEST }, .tx = .{ RAMP } } })"},
    {"export_name", 2, 3, kInLayout, GoOn<ExportName>, "@export_name(\"name\", TYPE, is_mutable)"},
    {"host_stream", 3, 3, kInLayout | kInComptime, GoOn<DeclareHostStream>,
     "@host_stream(name, color, into_pes)"},
    {"get_rectangle", 0, 0, kAnywhere, GetRectangle, "@get_rectangle()"},
};

}  // namespace

std::span<const BuiltinEntry> LayoutBuiltins() { return kEntries; }

}  // namespace szarena::csl
