// SPDX-License-Identifier: Apache-2.0
// Receives that a control wavelet ends before their length is reached; rotating tasks of WSE-3;
// circular buffers in registers.
#include <fmt/format.h>

#include "route.h"
#include "vector.h"

namespace szarena::csl_fuzz {
namespace {

void ExpectAt(Build& b, Spot spot, const std::string& symbol, Type type,
              const std::vector<Bits>& there, const std::vector<Bits>& elsewhere) {
  for (int y = 0; y < b.height(); ++y) {
    for (int x = 0; x < b.width(); ++x)
      b.Expect(x, y, symbol, type, spot == Spot{x, y} ? there : elsewhere);
  }
}

std::string EndedByControl(Build& b, const std::string& p) {
  Choices& c = b.c;
  const std::vector<Spot> path = RandomPath(b);
  const int color = b.take.Color(), out = b.take.OutputQueue(), in = b.take.InputQueue(),
            id = b.take.LocalId(), other = b.take.LocalId();
  if (path.size() == 1 || color < 0 || out < 0 || in < 0 || id < 0 || other < 0) return {};
  RouteAlong(b, color, path, {});
  const int n = c.Between(1, 9), k = c.Between(0, n - 1);
  std::vector<Bits> values;
  for (int i = 0; i < n; ++i) values.push_back(SmallValue(c, Int(16)));
  std::vector<Bits> got(static_cast<size_t>(n), 0);
  for (int i = 0; i < k; ++i) got[static_cast<size_t>(i)] = values[static_cast<size_t>(i)];
  ExpectAt(b, path.back(), p + "out", Int(16), got, std::vector<Bits>(got.size(), 0));
  static const char* const kSettings[] = {
      ".activate = {0}end_id, .on_control = .{{ .terminate = true }}",
      ".activate = {0}wrong, .on_control = .{{ .activate = {0}end_id }}",
      ".on_control = .{{ .unblock = {0}end_id }}"};
  const uint32_t kind = c.Below(3);
  const std::string settings = fmt::format(fmt::runtime(kSettings[kind]), p);
  const std::string dsd = fmt::format(
      "@get_dsd(fabout_dsd, .{{ .fabric_color = @get_color({}), .output_queue = "
      "@get_output_queue({})",
      color, out);
  std::string text = fmt::format(
      "const control = @import_module(\"<control>\");\nconst is_sender = {};\nconst is_receiver = "
      "{};\nvar {}data = {};\nexport var {}out = @zeros([{}]i16);\n",
      Is(path[0]), Is(path.back()), p, ArrayText(Int(16), values), p, n);
  text += fmt::format(
      "const {0}end_id = @get_local_task_id({1});\ntask {0}ended() void {{ @activate(next_id); "
      "}}\ntask {0}wrong() void {{ {0}out[0] = 77; }}\n",
      p, id);
  text += fmt::format(
      "comptime {{\n  if (is_sender) {{\n    {4}\n  }}\n  if (is_receiver) {{\n    "
      "@bind_local_task({0}ended, {0}end_id);\n    @bind_local_task({0}wrong, "
      "@get_local_task_id({1}));\n"
      "    {2}\n{3}  }}\n}}\n",
      p, other, InitInput(b, in, color, c.Chance(50)),
      kind == 2 ? fmt::format("    @block({}end_id);\n", p) : "", InitOutput(b, out, color));
  text += "fn start() void {\n  if (is_sender) {\n";
  if (k > 0)
    text += fmt::format(
        "    @mov16({}, .extent = {} }}), @get_dsd(mem1d_dsd, .{{ .base_address = &{}data, .extent "
        "= {} }}));\n",
        dsd, k, p, k);
  text += fmt::format(
      "    @mov32({}, .extent = 1, .control = true }}), comptime "
      "control.encode_single_payload(control.opcode.NOP, false, {{}}, 0));\n    "
      "@activate(next_id);\n",
      dsd);
  text += "  } else if (is_receiver) {\n";
  if (kind == 2) text += fmt::format("    @activate({}end_id);\n", p);
  text += fmt::format(
      "    @mov16(@get_dsd(mem1d_dsd, .{{ .base_address = &{0}out, .extent = {1} }}), "
      "@get_dsd(fabin_dsd, .{{ .extent = {1}, .fabric_color = @get_color({2}), "
      ".input_queue = @get_input_queue({3}) }}), .{{ .async = true, {4} }});\n",
      p, n, color, in, settings);
  return text + "  } else {\n    @activate(next_id);\n  }\n}\n";
}

std::string Rotating(Build& b, const std::string& p) {
  Choices& c = b.c;
  const std::vector<Spot> path = RandomPath(b);
  if (!b.wse3() || path.size() == 1 || b.rotating_pairs == 2) return {};
  const int color = b.take.Color(), out = b.take.OutputQueue(), in = b.take.InputQueue();
  if (color < 0 || out < 0 || in < 0) return {};
  ++b.rotating_pairs;
  RouteAlong(b, color, path, {});
  const int n = c.Between(1, 9), limit = c.Between(1, 4), init = c.Between(0, limit);
  std::vector<Bits> values, log;
  int counter = init;
  for (int i = 0; i < n; ++i) {
    values.push_back(SmallValue(c, Int(16)));
    const bool other = counter == limit;
    log.push_back(other ? Negate(Int(16), values.back()) : values.back());
    counter = other ? 0 : counter + 1;
  }
  ExpectAt(b, path.back(), p + "log", Int(16), log, std::vector<Bits>(log.size(), 0));
  std::string text = fmt::format(
      "const is_sender = {};\nconst is_receiver = {};\nvar {}data = {};\nexport var {}log = "
      "@zeros([{}]i16);\nvar {}count: u16 = 0;\n",
      Is(path[0]), Is(path.back()), p, ArrayText(Int(16), values), p, n, p);
  text += fmt::format(
      "fn {0}note(v: i16) void {{\n  {0}log[{0}count] = v;\n  {0}count += 1;\n  if ({0}count == "
      "{1}) @activate(next_id);\n}}\ntask {0}main(v: i16) void {{ {0}note(v); }}\n"
      "task {0}other(v: i16) void {{ {0}note(-v); }}\n",
      p, n);
  text += fmt::format(
      "comptime {{\n  if (is_sender) {{\n    {0}\n  }}\n  if (is_receiver) {{\n    {1}\n    "
      "@bind_rotating_tasks({2}main, {2}other, @get_data_task_id(@get_input_queue({3})), .{{ "
      ".limit = {4}, "
      ".init = {5} }});\n    @block(@get_data_task_id(@get_input_queue({3})));\n  }}\n}}\n",
      InitOutput(b, out, color), InitInput(b, in, color, true), p, in, limit, init);
  text += fmt::format(
      "fn start() void {{\n  if (is_sender) {{\n    @mov16(@get_dsd(fabout_dsd, .{{ .extent = {0}, "
      ".fabric_color = @get_color({1}), .output_queue = @get_output_queue({2}) }}), "
      "@get_dsd(mem1d_dsd, .{{ .base_address = &{3}data, .extent = {0} }}));\n    "
      "@activate(next_id);\n  }} else if (is_receiver) {{\n    "
      "@unblock(@get_data_task_id(@get_input_queue({4})));\n"
      "  }} else {{\n    @activate(next_id);\n  }}\n}}\n",
      n, color, out, p, in);
  return text;
}

// A ring in a register: each operation goes on where the last one stopped.
std::string Circular(Build& b, const std::string& p) {
  Choices& c = b.c;
  const int dsr = b.take.Dsr(1), wrap = c.Between(1, 7), extent = c.Between(1, 9),
            rounds = c.Between(1, 4), offset = c.Between(0, 3);
  if (dsr < 0) return {};
  std::vector<Bits> ring, out;
  for (int i = 0; i < wrap + offset; ++i) ring.push_back(SmallValue(c, Int(16)));
  for (int i = 0; i < rounds * extent; ++i)
    out.push_back(ring[static_cast<size_t>(offset + i % wrap)]);
  b.ExpectEverywhere(p + "out", Int(16), out);
  return fmt::format(
      "var {0}ring = {1};\nexport var {0}out = @zeros([{2}]i16);\nconst {0}reader = "
      "@get_dsr(dsr_src0, {3});\ncomptime {{\n  @load_to_dsr({0}reader, @get_dsd(circbuf_dsd, .{{ "
      ".base_address = &{0}ring[{4}], .extent = {5}, .wraparound = {6} }}));\n}}\nfn start() void "
      "{{\n  for (@range(i16, {7})) |k| {{\n    @mov16(@get_dsd(mem1d_dsd, .{{ .base_address = "
      "&{0}out, .extent = {5}, .offset = {5} * k }}), {0}reader);\n  }}\n  "
      "@activate(next_id);\n}}\n",
      p, ArrayText(Int(16), ring), out.size(), dsr, offset, extent, wrap, rounds);
}

}  // namespace

std::string EndPart(Build& b, const std::string& p) {
  switch (b.c.Below(3)) {
    case 0:
      return EndedByControl(b, p);
    case 1:
      return Circular(b, p);
    default: {
      const std::string text = Rotating(b, p);
      return text.empty() ? EndedByControl(b, p) : text;
    }
  }
}

}  // namespace szarena::csl_fuzz
