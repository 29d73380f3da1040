// SPDX-License-Identifier: Apache-2.0
// What a program changes while it runs: colours that are torn down and opened again, queues that
// are flushed and get another colour.
#include <fmt/format.h>

#include <algorithm>

#include "route.h"
#include "vector.h"

namespace szarena::csl_fuzz {
namespace {

// Data, a teardown wavelet, more data. Every router on the way stops the colour until the handler
// of its PE lets it go on. When the handler runs and when the data does is not ordered.
std::string Teardown(Build& b, const std::string& p) {
  Choices& c = b.c;
  const std::vector<Spot> path = RandomPath(b);
  const int color = b.take.Color(), out = b.take.OutputQueue(), in = b.take.InputQueue();
  if (path.size() == 1 || color < 0 || out < 0 || in < 0) return {};
  RouteAlong(b, color, path, {});
  const int before = c.Between(0, 6), after = c.Between(0, 6);
  Bits sum = 0;
  std::vector<Bits> values;
  for (int i = 0; i < before + after; ++i) {
    values.push_back(SmallValue(c, Int(16)));
    sum = (sum + values.back()) & 0xffff;
  }
  if (values.empty()) values.push_back(0);
  std::string on_path;
  for (const Spot& s : path) on_path += (on_path.empty() ? "" : " or ") + Is(s);
  const std::string id =
      fmt::format("@get_data_task_id({}({}))", b.wse3() ? "@get_input_queue" : "@get_color",
                  b.wse3() ? in : color);
  const auto part = [&](int from, int n, bool background) {
    return n == 0 ? std::string()
                  : fmt::format(
                        "    @mov16(@get_dsd(fabout_dsd, .{{ .extent = {0}, .fabric_color = "
                        "@get_color({1}), .output_queue = @get_output_queue({2}) }}), "
                        "@get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{0}}} -> {3}data[i + {4}] "
                        "}}){5});\n",
                        n, color, out, p, from, background ? ", .{ .async = true }" : "");
  };
  std::string text =
      "const control = @import_module(\"<control>\");\nconst teardown = "
      "@import_module(\"<tile_config/teardown>\");\n";
  text += fmt::format(
      "const is_sender = {};\nconst is_receiver = {};\nconst is_on_path = {};\nvar {}data = "
      "{};\nexport var {}sum: i16 = 0;\nexport var {}stops: u16 = 0;\nvar {}count: u16 = 0;\n",
      Is(path[0]), Is(path.back()), on_path, p, ArrayText(Int(16), values), p, p, p);
  // A PE is done with the part when it has begun it, its handler has run, and all data is there.
  text += fmt::format(
      "fn {0}one() void {{\n  {0}count += 1;\n  if ({0}count == (if (is_receiver) {1} else 2)) "
      "@activate(next_id);\n}}\ntask {0}got(v: i16) void {{\n  {0}sum += v;\n  {0}one();\n}}\nfn "
      "{0}stopped() void {{\n  if (teardown.is_pending(teardown.get_pending(), @get_color({2}))) "
      "{0}stops += 1;\n  teardown.exit(@get_color({2}));\n  {0}one();\n}}\n",
      p, before + after + 2, color);
  text += fmt::format(
      "comptime {{\n  if (is_on_path) @set_teardown_handler({0}stopped, @get_color({1}));\n  if "
      "(is_sender) {{\n    {2}\n  }}\n  if (is_receiver) {{\n    @bind_data_task({0}got, {3});\n   "
      " @block({3});\n    {4}\n  }}\n}}\n",
      p, color, InitOutput(b, out, color), id, InitInput(b, in, color, c.Chance(50)));
  text += fmt::format(
      "fn start() void {{\n  if (!is_on_path) {{\n    @activate(next_id);\n    return;\n  }}\n  if "
      "(is_sender) {{\n{0}    @mov32(@get_dsd(fabout_dsd, .{{ .extent = 1, .fabric_color = "
      "@get_color({1}), .output_queue = @get_output_queue({2}), .control = true }}), "
      "control.encode_single_payload(control.opcode.TEARDOWN, false, {{}}, 0));\n{3}  }}\n  if "
      "(is_receiver) @unblock({4});\n  {5}one();\n}}\n",
      part(0, before, false), color, out, part(before, after, true), id, p);
  for (int y = 0; y < b.height(); ++y) {
    for (int x = 0; x < b.width(); ++x) {
      const Spot here{x, y};
      b.Expect(x, y, p + "sum", Int(16), {path.back() == here ? sum : 0});
      b.Expect(x, y, p + "stops", Uint(16),
               {std::find(path.begin(), path.end(), here) != path.end() ? Bits{1} : Bits{0}});
    }
  }
  return text;
}

// Two vectors on two colours through one output queue and one input queue.
std::string Recolour(Build& b, const std::string& p) {
  Choices& c = b.c;
  const std::vector<Spot> path = RandomPath(b);
  const int first = b.take.Color(), second = b.take.Color(), out = b.take.OutputQueue(),
            in = b.take.InputQueue(), id = b.take.LocalId();
  if (path.size() == 1 || first < 0 || second < 0 || out < 0 || in < 0 || id < 0) return {};
  RouteAlong(b, first, path, {});
  RouteAlong(b, second, path, {});
  const int n = c.Between(1, 8), m = c.Between(1, 8);
  std::vector<Bits> values;
  for (int i = 0; i < n + m; ++i) values.push_back(SmallValue(c, Int(16)));
  std::string text = "const tile_config = @import_module(\"<tile_config>\");\n";
  text += fmt::format(
      "const is_sender = {};\nconst is_receiver = {};\nconst oq = @get_output_queue({});\nconst iq "
      "= @get_input_queue({});\nvar {}data = {};\nexport var {}out = @zeros([{}]i16);\n",
      Is(path[0]), Is(path.back()), out, in, p, ArrayText(Int(16), values), p, n + m);
  const auto move = [&](bool sends, int from, int count, int color) {
    const std::string fabric =
        fmt::format("@get_dsd({}, .{{ .extent = {}, {}.{} }})", sends ? "fabout_dsd" : "fabin_dsd",
                    count, b.wse3() ? "" : fmt::format(".fabric_color = @get_color({}), ", color),
                    sends ? "output_queue = oq" : "input_queue = iq");
    const std::string memory =
        fmt::format("@get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{}}} -> {}{}[i + {}] }})", count,
                    p, sends ? "data" : "out", from);
    return fmt::format("@mov16({}, {});", sends ? fabric : memory, sends ? memory : fabric);
  };
  text += fmt::format(
      "fn {0}empty() void {{\n  tile_config.output_queue_config.encode_output_queue({1}, {2});\n  "
      "@activate({0}then);\n  tile_config.queue_flush.exit(oq);\n}}\n",
      p, out, second);
  text += fmt::format(
      "task {0}then_task() void {{\n  if (is_sender) {{\n    {1}\n  }} else {{\n    "
      "tile_config.input_queue_config.encode_input_queue(iq, @get_color({2}), true);\n    {3}\n  "
      "}}\n  @activate(next_id);\n}}\nconst {0}then = @get_local_task_id({4});\n",
      p, move(true, n, m, second), second, move(false, n, m, second), id);
  text += fmt::format(
      "comptime {{\n  @bind_local_task({0}then_task, {0}then);\n  if (is_sender) {{\n    {1}\n{2}  "
      "}}\n  if (is_receiver) {{\n    {3}\n  }}\n}}\n",
      p, InitOutput(b, out, first),
      b.wse3() ? fmt::format("    @set_empty_queue_handler({}empty, oq);\n", p) : "",
      InitInput(b, in, first, true));
  text += fmt::format(
      "fn start() void {{\n  if (is_sender) {{\n    {0}\n    {1}\n  }} else if (is_receiver) {{\n "
      "   {2}\n    @activate({3}then);\n  }} else {{\n    @activate(next_id);\n  }}\n}}\n",
      move(true, 0, n, first), b.wse3() ? "@queue_flush(oq);" : "@activate(" + p + "then);",
      move(false, 0, n, first), p);
  for (int y = 0; y < b.height(); ++y) {
    for (int x = 0; x < b.width(); ++x)
      b.Expect(x, y, p + "out", Int(16),
               path.back() == Spot{x, y} ? values : std::vector<Bits>(values.size(), 0));
  }
  return text;
}

}  // namespace

std::string ChangePart(Build& b, const std::string& p) {
  return b.c.Chance(50) ? Teardown(b, p) : Recolour(b, p);
}

}  // namespace szarena::csl_fuzz
