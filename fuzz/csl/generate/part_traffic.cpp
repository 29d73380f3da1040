// SPDX-License-Identifier: Apache-2.0
// Many PEs at once: all of a row send to one, neighbours exchange vectors in both directions in
// the background, @map reads and writes the fabric.
#include <fmt/format.h>

#include "route.h"
#include "vector.h"

namespace szarena::csl_fuzz {
namespace {

std::string Route(int x, int y, int color, const std::string& rx, const std::string& tx) {
  return fmt::format(
      "  @set_color_config({}, {}, @get_color({}), .{{ .routes = .{{ .rx = .{{ {} }}, .tx = .{{ {} "
      "}} }} }});\n",
      x, y, color, rx, tx);
}

std::string Priority(Build& b) {
  static const char* const kLevels[] = {"low", "medium", "high"};
  return b.c.Chance(50) ? fmt::format(", .priority = .{{ .{} = true }}", kLevels[b.c.Below(3)])
                        : std::string();
}

std::string Output(int color, int queue, int extent) {
  return fmt::format(
      "@get_dsd(fabout_dsd, .{{ .extent = {}, .fabric_color = @get_color({}), .output_queue = "
      "@get_output_queue({}) }})",
      extent, color, queue);
}
std::string Input(int color, int queue, int extent) {
  return fmt::format(
      "@get_dsd(fabin_dsd, .{{ .extent = {}, .fabric_color = @get_color({}), .input_queue = "
      "@get_input_queue({}) }})",
      extent, color, queue);
}
std::string Whole(const std::string& array, int n) {
  return fmt::format("@get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{}}} -> {}[i] }})", n, array);
}

// All PEs of a row send on one colour, from both sides of a sink. The order in which their wavelets
// come is the routers'; the sum of integers and the largest number do not depend on it.
std::string Merge(Build& b, const std::string& p) {
  Choices& c = b.c;
  if (b.width() < 2) return {};
  const int color = b.take.Color(), out = b.take.OutputQueue(), in = b.take.InputQueue();
  if (color < 0 || out < 0 || in < 0) return {};
  const int y = c.Between(0, b.height() - 1), sink = c.Between(0, b.width() - 1),
            n = c.Between(1, 6), last = b.width() - 1, by = c.Between(-20, 20), total = n * last;
  const uint32_t kind = c.Below(4);  // data task, @map, running maximum in the background or not
  const bool largest = kind >= 2;
  const Type type = largest ? kF32 : Int(16);
  const Op plus = Op::kAdd;
  std::vector<Bits> values;
  for (int i = 0; i < n; ++i) values.push_back(SmallValue(c, type));
  const Bits start = Convert(Int(16), type, static_cast<Bits>(largest ? -5000 : 0) & 0xffff);
  Bits result = start;
  for (int x = 0; x <= last; ++x) {
    if (x == sink) {
      b.layout += Route(x, y, color, x == 0 ? "EAST" : x == last ? "WEST" : "WEST, EAST", "RAMP");
      continue;
    }
    const bool at_edge = x == 0 || x == last;
    const std::string behind = x < sink ? "WEST" : "EAST", on = x < sink ? "EAST" : "WEST";
    b.layout += Route(x, y, color, at_edge ? "RAMP" : "RAMP, " + behind, on);
    const Bits more = Convert(Int(16), type, static_cast<Bits>(by * x) & 0xffff);
    for (const Bits v : values) {
      const Bits sent = Apply(plus, type, v, more);
      result = largest ? Max(type, result, sent) : Apply(plus, type, result, sent);
    }
  }
  std::string text = fmt::format(
      "const is_sink = {};\nconst is_sender = (x == x) and y == {} and !is_sink;\nvar {}data = "
      "{};\nexport var {}result: {} = {};\nvar {}count: u16 = 0;\n",
      Is({sink, y}), y, p, ArrayText(type, values), p, type.Name(), Literal(type, start), p);
  std::string binds, receive;
  if (kind == 0) {
    const std::string id =
        fmt::format("@get_data_task_id({}({}))", b.wse3() ? "@get_input_queue" : "@get_color",
                    b.wse3() ? in : color);
    text += fmt::format(
        "task {0}got(v: i16) void {{\n  {0}result += v;\n  {0}count += 1;\n  if ({0}count == {1}) "
        "@activate(next_id);\n}}\n",
        p, total);
    binds = fmt::format("    @bind_data_task({}got, {});\n    @block({});\n", p, id, id);
    receive = fmt::format("    @unblock({});\n", id);
  } else if (kind == 1) {
    text += fmt::format("fn {0}note(v: i16) void {{ {0}result += v; }}\n", p);
    receive =
        fmt::format("    @map({}note, {});\n    @activate(next_id);\n", p, Input(color, in, total));
  } else {
    const bool async = kind == 2;
    Signal signal;
    if (async) {
      signal = MakeSignal(b, p, "merged");
      text += signal.declarations;
      binds = signal.binds;
    }
    receive = fmt::format("    {0}@fmaxs(&{1}result, {1}result, {2}{3});\n{4}", signal.before, p,
                          Input(color, in, total),
                          async ? fmt::format(", .{{ {}{} }}", signal.settings, Priority(b)) : "",
                          async ? "" : "    @activate(next_id);\n");
  }
  // In the background a sender goes on before all is sent.
  const bool background = c.Chance(40);
  text += fmt::format(
      "comptime {{\n  if (is_sender) {{\n    {}\n  }}\n  if (is_sink) {{\n{}    {}\n  }}\n}}\n",
      InitOutput(b, out, color), binds, InitInput(b, in, color, kind != 0 || c.Chance(50)));
  text += fmt::format(
      "fn start() void {{\n  if (is_sink) {{\n{}  }} else if (is_sender) {{\n    @{}({}, {}, "
      "@as({}, {} * @as(i16, x)){});\n    @activate(next_id);\n  }} else {{\n    "
      "@activate(next_id);\n  }}\n}}\n",
      receive, largest ? "fadds" : "add16", Output(color, out, n), Whole(p + "data", n),
      type.Name(), by, background ? fmt::format(", .{{ .async = true{} }}", Priority(b)) : "");
  for (int py = 0; py < b.height(); ++py) {
    for (int px = 0; px < b.width(); ++px)
      b.Expect(px, py, p + "result", type, {Spot{px, py} == Spot{sink, y} ? result : start});
  }
  return text;
}

// Every PE sends its vector to both neighbours of its row and receives theirs: four operations in
// the background. A colour leads from even to odd PEs or back, so there are four.
std::string Exchange(Build& b, const std::string& p) {
  Choices& c = b.c;
  if (b.width() < 2) return {};
  int colors[2][2];  // to the east and to the west, by the sender's parity
  for (auto& side : colors) {
    for (int& color : side) color = b.take.Color();
  }
  const int out[2] = {b.take.OutputQueue(), b.take.OutputQueue()},
            in[2] = {b.take.InputQueue(), b.take.InputQueue()}, left = b.take.LocalId(),
            right = b.take.LocalId();
  if (colors[0][0] < 0 || colors[0][1] < 0 || colors[1][0] < 0 || colors[1][1] < 0 || left < 0 ||
      right < 0 || in[0] < 0 || in[1] < 0 || out[0] < 0 || out[1] < 0)
    return {};
  // Queues of one number share a microthread.
  for (const int o : out) {
    if (o == in[0] || o == in[1]) return {};
  }
  const int n = c.Between(1, 12), by = c.Between(-50, 50), last = b.width() - 1;
  std::vector<Bits> values;
  for (int i = 0; i < n; ++i) values.push_back(SmallValue(c, Int(16)));
  for (int y = 0; y < b.height(); ++y) {
    for (int x = 0; x <= last; ++x) {
      if (x < last) b.layout += Route(x, y, colors[0][x % 2], "RAMP", "EAST");
      if (x > 0) b.layout += Route(x, y, colors[0][(x - 1) % 2], "WEST", "RAMP");
      if (x > 0) b.layout += Route(x, y, colors[1][x % 2], "RAMP", "WEST");
      if (x < last) b.layout += Route(x, y, colors[1][(x + 1) % 2], "EAST", "RAMP");
    }
  }
  std::string text = fmt::format(
      "const is_even = (x == 0) or x == 2;\nconst has_west = x != 0;\nconst has_east = x != {};\n"
      "var {}data = {};\nvar {}count: u16 = 0;\n",
      last, p, ArrayText(Int(16), values), p);
  text += fmt::format(
      "export var {0}left = @zeros([{1}]i16);\nexport var {0}right = @zeros([{1}]i16);\n", p, n);
  text += fmt::format(
      "fn {0}one() void {{\n  {0}count += 1;\n  if (!has_west or !has_east or {0}count == 2) "
      "@activate(next_id);\n}}\n",
      p);
  text += fmt::format(
      "task {0}got_left() void {{ {0}one(); }}\ntask {0}got_right() void {{ {0}one(); }}\n", p);
  static const char* const kNames[] = {"east", "west"};
  for (size_t side = 0; side < 2; ++side)
    text += fmt::format(
        "const {0}to_{1} = if (is_even) @get_color({2}) else @get_color({3});\nconst {0}from_{4} = "
        "if (is_even) @get_color({3}) else @get_color({2});\n",
        p, kNames[side], colors[side][0], colors[side][1], kNames[1 - side]);
  // WSE-3: a microthread each.
  std::vector<int> threads;
  const int first = b.program.memcpy ? 2 : 0;
  for (int k = 0; k < 4; ++k) threads.push_back(first + k);
  const bool named = b.wse3() && c.Chance(60);
  const auto settings = [&](size_t k, const std::string& more) {
    return fmt::format(".{{ .async = true{}{}{} }}", more,
                       named ? fmt::format(", .ut_id = @get_ut_id({})", threads[k]) : "",
                       Priority(b));
  };
  std::string setup, start[4];
  for (size_t side = 0; side < 2; ++side) {
    const char* const to = kNames[side];
    const char* const from = kNames[1 - side];
    const char* const array = side == 0 ? "left" : "right";
    if (b.wse3())
      setup += fmt::format(
          "  if (has_{1}) @initialize_queue(@get_output_queue({2}), .{{ .color = {0}to_{1} }});\n",
          p, to, out[side]);
    if (b.wse3() || c.Chance(50))
      setup += fmt::format(
          "  if (has_{1}) @initialize_queue(@get_input_queue({2}), .{{ .color = {0}from_{1} }});\n",
          p, from, in[side]);
    setup += fmt::format("  @bind_local_task({0}got_{1}, @get_local_task_id({2}));\n", p, array,
                         side == 0 ? left : right);
    start[side] = fmt::format(
        "  if (has_{1}) @add16(@get_dsd(fabout_dsd, .{{ .extent = {2}, .fabric_color = {0}to_{1}, "
        ".output_queue = @get_output_queue({3}) }}), {4}, {5} * @as(i16, x), {6});\n",
        p, to, n, out[side], Whole(p + "data", n), by, settings(side, ""));
    start[2 + side] = fmt::format(
        "  if (has_{1}) @mov16({4}, @get_dsd(fabin_dsd, .{{ .extent = {2}, .fabric_color = "
        "{0}from_{1}, .input_queue = @get_input_queue({3}) }}), {5});\n",
        p, from, n, in[side], Whole(fmt::format("{}{}", p, array), n),
        settings(2 + side, fmt::format(", .activate = {}got_{}", p, array)));
  }
  if (c.Chance(50)) std::swap(start[0], start[2]);
  if (c.Chance(50)) std::swap(start[1], start[3]);
  text += "comptime {\n" + setup + "}\nfn start() void {\n" + start[0] + start[1] + start[2] +
          start[3] + "}\n";
  for (int y = 0; y < b.height(); ++y) {
    for (int x = 0; x <= last; ++x) {
      const auto of = [&](int sender) {
        std::vector<Bits> v = values;
        for (Bits& e : v)
          e = sender < 0 || sender > last ? 0 : (e + static_cast<Bits>(by * sender)) & 0xffff;
        return v;
      };
      b.Expect(x, y, p + "left", Int(16), of(x - 1));
      b.Expect(x, y, p + "right", Int(16), of(x + 1));
    }
  }
  return text;
}

// @map from memory to the fabric, and from there to memory or to a function.
std::string Map(Build& b, const std::string& p) {
  Choices& c = b.c;
  const std::vector<Spot> path = RandomPath(b);
  if (path.size() == 1) return {};
  const int color = b.take.Color(), out = b.take.OutputQueue(), in = b.take.InputQueue();
  if (color < 0 || out < 0 || in < 0) return {};
  RouteAlong(b, color, path, {});
  const int n = c.Between(1, 10);
  const Bits factor = SmallValue(c, Int(16)), more = SmallValue(c, Int(16));
  std::vector<Bits> values, got;
  Bits running = 0;
  const bool keeps = c.Chance(60);
  for (int i = 0; i < n; ++i) {
    values.push_back(SmallValue(c, Int(16)));
    const Bits sent = values.back() * factor & 0xffff;
    running = (running + sent + more) & 0xffff;
    got.push_back(running);
  }
  std::string text = fmt::format(
      "const is_sender = {};\nconst is_receiver = {};\nvar {}data = {};\nexport var {}out = "
      "@zeros([{}]i16);\nvar {}sum: i16 = 0;\nvar {}count: u16 = 0;\n",
      Is(path[0]), Is(path.back()), p, ArrayText(Int(16), values), p, n, p, p);
  text += fmt::format(
      "fn {0}times(v: i16, by: i16) i16 {{ return v * by; }}\nfn {0}add(v: i16, w: i16) i16 {{\n  "
      "{0}sum += v + w;\n  return {0}sum;\n}}\nfn {0}note(v: i16) void {{\n  {0}sum += v + {1};\n  "
      "{0}out[{0}count] = {0}sum;\n  {0}count += 1;\n}}\n",
      p, Typed(Int(16), more));
  text += fmt::format(
      "comptime {{\n  if (is_sender) {{\n    {}\n  }}\n  if (is_receiver) {{\n    {}\n  }}\n}}\n",
      InitOutput(b, out, color), InitInput(b, in, color, true));
  const std::string source = Input(color, in, n);
  text += fmt::format(
      "fn start() void {{\n  if (is_sender) {{\n    @map({}times, {}, {}, {});\n  }} else if "
      "(is_receiver) {{\n    {}\n  }}\n  @activate(next_id);\n}}\n",
      p, Whole(p + "data", n), Typed(Int(16), factor), Output(color, out, n),
      keeps ? fmt::format("@map({}add, {}, {}, {});", p, source, Typed(Int(16), more),
                          Whole(p + "out", n))
            : fmt::format("@map({}note, {});", p, source));
  for (int y = 0; y < b.height(); ++y) {
    for (int x = 0; x < b.width(); ++x)
      b.Expect(x, y, p + "out", Int(16),
               path.back() == Spot{x, y} ? got : std::vector<Bits>(got.size(), 0));
  }
  return text;
}

}  // namespace

std::string TrafficPart(Build& b, const std::string& p) {
  switch (b.c.Below(3)) {
    case 0:
      return Merge(b, p);
    case 1:
      return Exchange(b, p);
    default:
      return Map(b, p);
  }
}

}  // namespace szarena::csl_fuzz
