// SPDX-License-Identifier: Apache-2.0
// A row of three PEs: the first sends data and switch commands, the switch of the second gives each
// wavelet to its core or to the third.
#include <fmt/format.h>

#include "route.h"
#include "vector.h"

namespace szarena::csl_fuzz {

std::string SwitchPart(Build& b, const std::string& p) {
  Choices& c = b.c;
  if (b.width() < 3) return {};
  const int color = b.take.Color(true), out = b.take.OutputQueue(), in = b.take.InputQueue();
  if (color < 0 || out < 0 || in < 0) return {};
  const int y = c.Between(0, b.height() - 1), x = c.Between(0, b.width() - 3);

  // Positions: true gives to the core.
  std::vector<int> positions = {0};
  bool to_core[4] = {true, false, false, false};
  std::string switches;
  for (int k = 1; k <= 3; ++k) {
    if (!c.Chance(k == 1 ? 90 : 50)) continue;
    if (c.Chance(15)) {
      switches += fmt::format(", .pos{} = .{{ .invalid = true }}", k);
      continue;
    }
    to_core[k] = c.Chance(50);
    positions.push_back(k);
    switches += fmt::format(", .pos{} = .{{ .tx = {} }}", k, to_core[k] ? "RAMP" : "EAST");
  }
  size_t at = c.Below(static_cast<uint32_t>(positions.size()));
  const bool ring = c.Chance(50);
  if (switches.empty()) switches = ", .pos1 = .{ .invalid = true }";
  switches =
      fmt::format(".current_switch_pos = {}, .ring_mode = {}", positions[at], ring) + switches;

  const int count = c.Between(1, 12);
  std::vector<Bits> here, there;
  std::string send;
  for (int i = 0; i < count; ++i) {
    const uint32_t kind = c.Below(5);
    if (kind <= 2) {
      const Bits v = SmallValue(c, Int(16));
      send += fmt::format("    @mov16({}one, {});\n", p, Typed(Int(16), v));
      (to_core[positions[at]] ? here : there).push_back(v);
      continue;
    }
    const bool advance = kind == 3;
    send += fmt::format(
        "    @mov32({}mark, control.encode_single_payload(control.opcode.{}, false, {{}}, 0));\n",
        p, advance ? "SWITCH_ADV" : "SWITCH_RST");
    if (!advance)
      at = 0;
    else if (at + 1 < positions.size())
      ++at;
    else if (ring)
      at = 0;
  }
  b.layout += fmt::format(
      "  @set_color_config({}, {}, @get_color({}), .{{ .routes = .{{ .rx = .{{ RAMP }}, .tx = .{{ "
      "EAST }} }} }});\n",
      x, y, color);
  b.layout += fmt::format(
      "  @set_color_config({}, {}, @get_color({}), .{{ .routes = .{{ .rx = .{{ WEST }}, .tx = .{{ "
      "RAMP }} }}, .switches = .{{ {} }} }});\n",
      x + 1, y, color, switches);
  b.layout += fmt::format(
      "  @set_color_config({}, {}, @get_color({}), .{{ .routes = .{{ .rx = .{{ WEST }}, .tx = .{{ "
      "RAMP }} }} }});\n",
      x + 2, y, color);

  const Spot s0{x, y}, s1{x + 1, y}, s2{x + 2, y};
  const size_t room = std::max<size_t>(1, std::max(here.size(), there.size()));
  const std::string dsd = fmt::format(
      "@get_dsd(fabout_dsd, .{{ .extent = 1, .fabric_color = @get_color({}), .output_queue = "
      "@get_output_queue({})",
      color, out);
  std::string text = "const control = @import_module(\"<control>\");\n";
  text += fmt::format(
      "const {0}one = {1} }});\nconst {0}mark = {1}, .control = true }});\nexport var {0}log = "
      "@zeros([{2}]i16);\nvar {0}count: u16 = 0;\n",
      p, dsd, room);
  text += fmt::format(
      "const is_sender = {};\nconst is_near = {};\nconst is_far = {};\nconst {}id = "
      "@get_data_task_id({}({}));\n",
      Is(s0), Is(s1), Is(s2), p, b.wse3() ? "@get_input_queue" : "@get_color",
      b.wse3() ? in : color);
  text += fmt::format("const {0}expected: u16 = if (is_near) {1} else {2};\n", p, here.size(),
                      there.size());
  text += fmt::format(
      "task {0}got(v: i16) void {{\n  {0}log[{0}count] = v;\n  {0}count += 1;\n  if ({0}count == "
      "{0}expected) @activate(next_id);\n}}\n",
      p);
  text += "comptime {\n";
  if (b.wse3()) text += "  if (is_sender) {\n    " + InitOutput(b, out, color) + "\n  }\n";
  text += fmt::format(
      "  if (is_near or is_far) {{\n    @bind_data_task({0}got, {0}id);\n    @block({0}id);\n    "
      "{1}\n  }}\n}}\n",
      p, InitInput(b, in, color, c.Chance(50)));
  text += fmt::format(
      "fn start() void {{\n  if (is_sender) {{\n{1}    @activate(next_id);\n  }} else if (is_near "
      "or is_far) {{\n    @unblock({0}id);\n    if ({0}expected == 0) @activate(next_id);\n"
      "  }} else {{\n    @activate(next_id);\n  }}\n}}\n",
      p, send);
  here.resize(room, 0);
  there.resize(room, 0);
  for (int py = 0; py < b.height(); ++py) {
    for (int px = 0; px < b.width(); ++px) {
      const Spot s{px, py};
      b.Expect(px, py, p + "log", Int(16),
               s == s1   ? here
               : s == s2 ? there
                         : std::vector<Bits>(room, 0));
    }
  }
  return text;
}

}  // namespace szarena::csl_fuzz
