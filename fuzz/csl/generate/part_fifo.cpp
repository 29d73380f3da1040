// SPDX-License-Identifier: Apache-2.0
// FIFOs: pushes and pops that meet a full or empty one and say so; a FIFO between two operations in
// the background.
#include <fmt/format.h>

#include <deque>

#include "route.h"
#include "vector.h"

namespace szarena::csl_fuzz {
namespace {

// Synchronous operations: what fits is moved, the result says whether all did.
std::string Steps(Build& b, const std::string& p) {
  Choices& c = b.c;
  const Type type = c.Chance(50) ? Int(16) : c.Chance(50) ? kF32 : b.HalfType();
  const std::string move = type == kF32 ? "fmovs" : type == Int(16) ? "mov16" : "fmovh";
  const int capacity = c.Between(1, 8), steps = c.Between(2, 8);
  std::deque<Bits> held;
  std::vector<Bits> results, popped;
  std::string body, data;
  const Array source = MakeArray(c, p + "data", type, 9);
  int next = 0;
  for (int i = 0; i < steps; ++i) {
    const int n = c.Between(1, 6);
    if (c.Chance(50)) {
      const View view = MakeView(c, source, n, false);
      bool all = true;
      for (const int e : view.elements) {
        all = all && static_cast<int>(held.size()) < capacity;
        if (all) held.push_back(source.values[static_cast<size_t>(e)]);
      }
      body +=
          fmt::format("  {0}results[{1}] = @as(u16, @{2}({0}fifo, {3}));\n", p, i, move, view.text);
      results.push_back(all ? 1 : 0);
    } else {
      // Length 0 of a FIFO: the destination's counts, unless it has a read length of its own.
      bool all = true;
      for (int k = 0; k < n; ++k) {
        all = all && !held.empty();
        if (all) {
          popped.push_back(held.front());
          held.pop_front();
        } else {
          popped.push_back(0);
        }
      }
      const std::string set = c.Chance(40)
                                  ? fmt::format("  @set_fifo_read_length({}fifo, {});\n", p, n)
                                  : fmt::format("  @set_fifo_read_length({}fifo, 0);\n", p);
      body += set + fmt::format(
                        "  {0}results[{1}] = @as(u16, @{2}(@get_dsd(mem1d_dsd, .{{ .base_address = "
                        "&{0}popped, .extent = {3}, .offset = {4} }}), {0}fifo));\n",
                        p, i, move, n, next);
      next += n;
      results.push_back(all ? 1 : 0);
    }
  }
  if (popped.empty()) popped.push_back(0);
  b.ExpectEverywhere(p + "popped", type, popped);
  b.ExpectEverywhere(p + "results", Uint(16), results);
  return DeclarationOf(source) +
         fmt::format(
             "var {0}buffer = @zeros([{1}]{2});\nconst {0}fifo = "
             "@allocate_fifo({0}buffer);\nexport var {0}popped = @zeros([{3}]{2});\n"
             "export var {0}results = @zeros([{4}]u16);\nfn start() void {{\n{5}  "
             "@activate(next_id);\n}}\n",
             p, capacity, type.Name(), popped.size(), results.size(), body);
}

// The fabric fills the FIFO and another operation empties it, both in the background, however small
// it is.
std::string Between(Build& b, const std::string& p) {
  Choices& c = b.c;
  const int color = b.take.Color(), out = b.take.OutputQueue(), in = b.take.InputQueue();
  if (color < 0 || out < 0 || in < 0 || out == in) return {};
  // Without a queue an operation of WSE-2 takes microthread 0.
  if (!b.wse3() && (in == 0 || out == 0)) return {};
  const int n = c.Between(1, 16), capacity = c.Between(1, 8);
  const std::vector<Spot> path = RandomPath(b);
  const bool alone = path.size() == 1;
  RouteAlong(b, color, path, {});
  std::vector<Bits> values;
  for (int i = 0; i < n; ++i) values.push_back(SmallValue(c, Int(16)));
  const Bits by = SmallValue(c, Int(16)), by2 = SmallValue(c, Int(16));
  const Signal signal = MakeSignal(b, p, "drained");
  std::string text = fmt::format(
      "var {0}data = {1};\nvar {0}buffer = @zeros([{2}]i16);\nconst {0}fifo = "
      "@allocate_fifo({0}buffer);\nexport var {0}out = @zeros([{3}]i16);\n",
      p, ArrayText(Int(16), values), capacity, n);
  text += signal.declarations;
  text += fmt::format(
      "const is_sender = {};\nconst is_receiver = {};\ncomptime {{\n  if (is_sender) {{\n    {}\n  "
      "}}\n  if (is_receiver) {{\n    {}\n{}  }}\n}}\n",
      Is(path[0]), Is(path.back()), InitOutput(b, out, color), InitInput(b, in, color, false),
      signal.binds);
  // WSE-3: three operations on three microthreads.
  const auto ut = [&](int k) {
    return b.wse3() ? fmt::format(", .ut_id = @get_ut_id({})", k) : std::string();
  };
  const std::string send = fmt::format(
      "@mov16(@get_dsd(fabout_dsd, .{{ .extent = {0}, .fabric_color = @get_color({1}), "
      ".output_queue = @get_output_queue({2}) }}), "
      "@get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{0}}} -> {3}data[i] }}), .{{ .async = true{4} "
      "}});\n",
      n, color, out, p, ut(2));
  const std::string fill = fmt::format(
      "@add16({}fifo, @get_dsd(fabin_dsd, .{{ .extent = {}, .fabric_color = @get_color({}), "
      ".input_queue = @get_input_queue({}) }}), {}, .{{ .async = true{} }});\n",
      p, n, color, in, Typed(Int(16), by), ut(3));
  const std::string drain = fmt::format(
      "{0}@add16(@get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{1}}} -> {2}out[i] }}), {3}, "
      "{2}fifo, .{{ {4}{5} }});\n",
      signal.before, n, p, Typed(Int(16), by2), signal.settings, ut(4));
  const std::string receive = c.Chance(50) ? fill + "    " + drain : drain + "    " + fill;
  text += "fn start() void {\n";
  if (alone)
    text += "    " + send + "    " + receive + "}\n";
  else
    text += "  if (is_sender) {\n    " + send +
            "    @activate(next_id);\n  } else if (is_receiver) {\n    " + receive +
            "  } else {\n    @activate(next_id);\n  }\n}\n";
  for (int y = 0; y < b.height(); ++y) {
    for (int x = 0; x < b.width(); ++x) {
      std::vector<Bits> got(values.size(), 0);
      if (path.back() == Spot{x, y}) {
        for (size_t i = 0; i < got.size(); ++i)
          got[i] = Apply(Op::kAdd, Int(16), Apply(Op::kAdd, Int(16), values[i], by), by2);
      }
      b.Expect(x, y, p + "out", Int(16), got);
    }
  }
  return text;
}

}  // namespace

std::string FifoPart(Build& b, const std::string& p) {
  return b.c.Chance(50) ? Steps(b, p) : Between(b, p);
}

}  // namespace szarena::csl_fuzz
