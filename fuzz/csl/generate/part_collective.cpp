// SPDX-License-Identifier: Apache-2.0
// Collective operations of <collectives_2d> along the rows or the columns, several one after the
// other with no pause between them.
#include <fmt/format.h>

#include "vector.h"

namespace szarena::csl_fuzz {

std::string CollectivePart(Build& b, const std::string& p) {
  Choices& c = b.c;
  const bool rows = c.Chance(50);
  const int first = b.take.Color(), second = b.take.Color(), begin = b.take.LocalId(),
            step = b.take.LocalId(), done = b.take.LocalId(), near = b.take.QueuePair(),
            far = b.take.QueuePair(), dest = b.take.Dsr(0), src0 = b.take.Dsr(1),
            src1 = b.take.Dsr(2);
  if (first < 0 || second < 0 || begin < 0 || step < 0 || done < 0 || near < 0 || far < 0 ||
      dest < 0 || src0 < 0 || src1 < 0)
    return {};
  const char* const axis = rows ? "x" : "y";
  const int pes = rows ? b.width() : b.height();
  b.layout_head +=
      fmt::format("const {}params = @import_module(\"<collectives_2d/params>\");\n", p);
  b.part_params.push_back(
      {p + "axis",
       fmt::format("{0}params.get_params(x, y, .{{ .{1}_colors = .{{ @get_color({2}), "
                   "@get_color({3}) }}, .{1}_entrypoints = .{{ @get_local_task_id({4}), "
                   "@get_local_task_id({5}) }} }}).{1}",
                   p, axis, first, second, begin, step)});
  std::string text = fmt::format(
      "param {0}axis: comptime_struct;\nconst line = @import_module(\"<collectives_2d/pe>\", .{{ "
      ".dim_params = {0}axis, .queues = [2]u16{{ {1}, {2} }}, .dest_dsr_ids = [1]u16{{ {3} }}, "
      ".src0_dsr_ids = [1]u16{{ {4} }}, .src1_dsr_ids = [1]u16{{ {5} }} }});\n",
      p, near, far, dest, src0, src1);
  text += fmt::format("const me: u16 = if (x == x) {};\nvar {}stage: u16 = 0;\n",
                      rows ? "x else 0" : "y else 0", p);
  const int operations = c.Between(1, 4);
  std::string fill, calls;
  for (int k = 0; k < operations; ++k) {
    const uint32_t kind = c.Below(4);  // broadcast, scatter, gather, reduce
    const int root = c.Between(0, pes - 1), n = c.Between(0, 6), more = c.Between(0, 500),
              sends = std::max(1, kind == 1 ? n * pes : n),
              receives = std::max(1, kind == 2 ? n * pes : n);
    const Type type = kind == 3 ? kF32 : Uint(32);
    const std::string send = fmt::format("{}send{}", p, k), got = fmt::format("{}got{}", p, k);
    text += fmt::format("var {0} = @zeros([{1}]{4});\nexport var {2} = @zeros([{3}]{4});\n", send,
                        sends, got, receives, type.Name());
    // What PE q of the line holds for the operation.
    const auto word = [&](int q, int i) { return static_cast<Bits>(1000 * q + i + more); };
    fill += fmt::format(
        "  for (@range(i16, {0})) |i| {{ {1}[i] = @as({2}, 1000 * @as(i32, me) + @as(i32, i) + "
        "{3}); }}\n",
        kind == 0 ? receives : sends, kind == 0 ? got : send, type.Name(), more);
    static const char* const kNames[] = {"broadcast", "scatter", "gather", "reduce_fadds"};
    calls += fmt::format("    {} => line.{}({}, {}@ptrcast([*]{}, &{}), {}, {}done_id),\n", k + 1,
                         kNames[kind], root,
                         kind == 0 ? "" : fmt::format("@ptrcast([*]{}, &{}), ", type.Name(), send),
                         type.Name(), got, n, p);
    for (int y = 0; y < b.height(); ++y) {
      for (int x = 0; x < b.width(); ++x) {
        const int q = rows ? x : y;
        std::vector<Bits> values(static_cast<size_t>(receives), 0);
        for (int i = 0; i < receives; ++i) {
          Bits& v = values[static_cast<size_t>(i)];
          if (kind == 0) v = word(i < n ? root : q, i);
          if (kind == 1 && i < n) v = word(root, q * n + i);
          if (kind == 2 && q == root && n > 0) v = word(i / n, i % n);
          if (kind == 3 && q == root && i < n) {
            Bits sum = 0;
            for (int s = 0; s < pes; ++s) sum += word(s, i);
            v = Convert(Int(32), kF32, sum);
          }
        }
        b.Expect(x, y, got, type, values);
      }
    }
  }
  text += fmt::format(
      "const {0}done_id = @get_local_task_id({1});\ntask {0}done() void {{\n  "
      "{0}stage += 1;\n  switch ({0}stage) {{\n{2}    else => @activate(next_id),\n "
      " }}\n}}\ncomptime {{ @bind_local_task({0}done, {0}done_id); }}\n",
      p, done, calls);
  return text + fmt::format("fn start() void {{\n{}  line.init();\n  @activate({}done_id);\n}}\n",
                            fill, p);
}

}  // namespace szarena::csl_fuzz
