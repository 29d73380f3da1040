// SPDX-License-Identifier: Apache-2.0
#include "csl/layout/color_config.h"

#include "csl/layout/struct_reader.h"

namespace szarena::csl {
namespace {

// Colours whose routers have switches on WSE-3; source: SDK documentation, "Color configuration".
constexpr uint32_t kWse3SwitchColors =
    0x3ff | 1u << 12 | 1u << 13 | 1u << 16 | 1u << 17 | 1u << 20 | 1u << 21;

// Routes as one number, as <directions> makes it: bits 0-4 the output set, 5-9 the input set; each
// counts WEST, EAST, SOUTH, NORTH, RAMP.
constexpr int64_t kRouteBits = (1 << 10) - 1;
constexpr int kInputShift = 5;

// Five bits of such a number as a set of bytecode::BitOf, which counts EAST before WEST.
constexpr uint8_t SetOfBits(int64_t bits) {
  return static_cast<uint8_t>((bits & 0x1c) | (bits & 1) << 1 | (bits >> 1 & 1));
}

bool IsNumber(Evaluator& eval, StructReader& from, std::string_view name) {
  const Value* field = from.Find(name);
  return field != nullptr && eval.types().IsIntegral(field->type);
}

void ReadRoutes(StructReader& routes, bytecode::ColorRoute& route) {
  route.rx = routes.Directions("rx").value_or(0);
  route.tx = routes.Directions("tx").value_or(0);
  route.swap_x = routes.Bool("color_swap_x");
  route.swap_y = routes.Bool("color_swap_y");
}

void ReadPopMode(StructReader& from, bytecode::ColorRoute& route) {
  if (auto mode = from.Choice("pop_mode",
                              {"no_pop", "always_pop", "pop_on_advance", "pop_on_advance_nop"})) {
    route.pop_mode = static_cast<bytecode::PopMode>(*mode);
  }
}

void ReadSwitches(Evaluator& eval, StructReader& switches, bytecode::ColorRoute& route) {
  route.has_switches = true;
  bool has_wse3 = eval.session().IsWse3();
  for (size_t i = 0; i < 3; ++i) {
    std::string name = "pos" + std::to_string(i + 1);
    bytecode::SwitchPosition& position = route.positions[i];
    if (IsNumber(eval, switches, name)) {
      const int64_t bits = switches.Int(name, 0, kRouteBits, 0);
      position.valid = bits != 0;
      position.rx = SetOfBits(bits >> kInputShift);
      position.tx = SetOfBits(bits);
      if (position.rx != 0 && position.tx != 0 && !has_wse3)
        eval.Report(DiagKind::kSwitchBothSides, switches.SpanOf(name), i + 1);
      continue;
    }
    auto inner = switches.Nested(name, "." + name);
    if (!inner) continue;
    position.valid = !inner->Bool("invalid");
    bool has_rx = inner->Has("rx"), has_tx = inner->Has("tx");
    position.rx = inner->Directions("rx").value_or(0);
    position.tx = inner->Directions("tx").value_or(0);
    inner->Finish();
    if (has_rx && has_tx && !has_wse3)
      eval.Report(DiagKind::kSwitchBothSides, switches.SpanOf(name), i + 1);
  }
  route.current_position = static_cast<uint8_t>(switches.Int("current_switch_pos", 0, 3, 0));
  if (route.current_position > 0 && !route.positions[route.current_position - 1].valid) {
    eval.Report(DiagKind::kSwitchInvalidStart, switches.SpanOf("current_switch_pos"),
                route.current_position);
  }
  route.ring_mode = switches.Bool("ring_mode");
  ReadPopMode(switches, route);
}

void ReadFilter(Evaluator& eval, StructReader& filter, bytecode::Filter& out) {
  auto kind = filter.Choice("kind", {"range", "counter", "sparse_counter"});
  if (!filter.Has("kind")) eval.Report(DiagKind::kFilterKindMissing, filter.SpanOf(""));
  out.min_index = static_cast<uint16_t>(filter.Int("min_idx", 0, 0xffff, 0));
  out.max_index = static_cast<uint16_t>(filter.Int("max_idx", 0, 0xffff, 0));
  out.count_data = filter.Bool("count_data");
  out.count_control = filter.Bool("count_control");
  out.filter_control = filter.Bool("filter_control");
  out.init_counter = static_cast<uint16_t>(filter.Int("init_counter", 0, 0xffff, 0));
  out.max_counter = static_cast<uint16_t>(filter.Int("max_counter", 0, 0xffff, 0));
  out.limit1 = static_cast<uint16_t>(filter.Int("limit1", 0, 0xffff, 0));
  out.limit2 = static_cast<uint16_t>(filter.Int("limit2", 0, 0xffff, 0));
  filter.Bool("fast_mode");  // speed of the hardware only
  if (kind) out.kind = static_cast<bytecode::FilterKind>(*kind + 1);
  if (out.kind == bytecode::FilterKind::kRange && out.min_index > out.max_index) {
    eval.Report(DiagKind::kFilterRangeEmpty, filter.SpanOf("max_idx"), out.min_index,
                out.max_index);
  }
}

}  // namespace

std::optional<int> ReadColor(Evaluator& eval, const Value& value, Span span) {
  const Int128* number = value.as_int();
  bool fits = number != nullptr && (eval.types().IsHandle(value.type, HandleKind::kColor) ||
                                    eval.types().IsIntegral(value.type));
  if (!fits) {
    if (!value.is_error()) eval.Report(DiagKind::kNotAColor, span, eval.NameOf(value.type));
    return std::nullopt;
  }
  if (*number < 0 || *number >= bytecode::kColorCount) {
    eval.Report(DiagKind::kColorOutOfRange, span, Int128ToString(*number),
                bytecode::kColorCount - 1);
    return std::nullopt;
  }
  return static_cast<int>(*number);
}

std::optional<bytecode::ColorRoute> ReadColorConfig(Evaluator& eval, int color, const Value& config,
                                                    ExprId expr, Span span) {
  size_t errors = eval.session().diags.error_count();
  bytecode::ColorRoute route;
  route.color = static_cast<uint8_t>(color);
  StructReader reader(eval, config, expr, span, "the colour configuration");
  if (!reader.valid()) return std::nullopt;
  if (IsNumber(eval, reader, "routes")) {
    const int64_t bits = reader.Int("routes", 0, kRouteBits, 0);
    route.rx = SetOfBits(bits >> kInputShift);
    route.tx = SetOfBits(bits);
  } else if (auto routes = reader.Nested("routes", ".routes")) {
    ReadRoutes(*routes, route);
    ReadPopMode(*routes, route);  // spelling of older programs
    routes->Finish();
  } else if (!reader.Has("routes")) {
    eval.Report(DiagKind::kRoutesMissing, span);
  }
  if (auto switches = reader.Nested("switches", ".switches")) {
    if (eval.session().IsWse3() && (kWse3SwitchColors >> color & 1) == 0)
      eval.Report(DiagKind::kSwitchColor, reader.SpanOf("switches"), color);
    ReadSwitches(eval, *switches, route);
    switches->Finish();
  }
  if (auto filter = reader.Nested("filter", ".filter")) {
    ReadFilter(eval, *filter, route.filter);
    filter->Finish();
  }
  route.teardown = reader.Bool("teardown");
  if (eval.session().files.IsLibrary(eval.ast().source()))
    route.point_to_point = reader.Bool("point_to_point");  // <message_passing>
  reader.Finish();
  if (eval.session().diags.error_count() != errors) return std::nullopt;
  return route;
}

}  // namespace szarena::csl
