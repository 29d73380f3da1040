// SPDX-License-Identifier: Apache-2.0
// Wavelets that start tasks: data tasks with and without an index, behind filters, blocked until
// their turn; control tasks with and without a payload.
#include <fmt/format.h>

#include <algorithm>

#include "route.h"
#include "vector.h"

namespace szarena::csl_fuzz {
namespace {

struct Wavelet {
  bool is_control = false, has_payload = false;
  Bits value = 0;
  Bits index = 0;
};

// The filter's text, and which wavelets pass.
std::string Filter(Choices& c, std::vector<Wavelet>& wavelets, bool has_index) {
  std::vector<Wavelet> passed;
  std::string text;
  if (has_index && c.Chance(50)) {
    const int low = c.Between(0, 4), high = low + c.Between(0, 4);
    text = fmt::format(
        ", .filter = .{{ .kind = .{{ .range = true }}, .min_idx = {}, .max_idx = {} }}", low, high);
    for (const Wavelet& w : wavelets) {
      if (w.index >= static_cast<Bits>(low) && w.index <= static_cast<Bits>(high))
        passed.push_back(w);
    }
  } else {
    const int limit = c.Between(0, 4), most = c.Between(0, limit), init = c.Between(0, limit);
    text = fmt::format(
        ", .filter = .{{ .kind = .{{ .counter = true }}, .count_data = true, .init_counter = {}, "
        ".max_counter = {}, .limit1 = {} }}",
        init, most, limit);
    int counter = init;
    for (const Wavelet& w : wavelets) {
      if (counter <= most) passed.push_back(w);
      counter = counter == limit ? 0 : counter + 1;
    }
  }
  wavelets = passed;
  return text;
}

}  // namespace

std::string TaskPart(Build& b, const std::string& p) {
  Choices& c = b.c;
  const int color = b.take.Color(), out = b.take.OutputQueue(), in = b.take.InputQueue();
  if (color < 0 || out < 0 || in < 0) return {};
  const bool wide = c.Chance(30), has_index = !wide && c.Chance(60);
  const Type type = wide ? Uint(32) : c.Chance(50) ? Int(16) : Uint(16);
  const bool with_control = c.Chance(40);
  const int plain = with_control ? b.take.ControlId() : -1,
            payload = with_control ? b.take.ControlId() : -1;
  const int count = c.Between(1, 10);
  std::vector<Wavelet> wavelets;
  for (int i = 0; i < count; ++i) {
    Wavelet w;
    w.value = SmallValue(c, type);
    w.index = has_index ? c.Below(8) : 0;
    if (with_control && plain >= 0 && payload >= 0 && c.Chance(35)) {
      w.is_control = true;
      w.has_payload = c.Chance(50);
      w.value = w.has_payload ? c.Below(1000) : 0;
      w.index = 0;
    }
    wavelets.push_back(w);
  }
  bool only_data = true;
  for (const Wavelet& w : wavelets) only_data = only_data && !w.is_control;
  const std::vector<Spot> path = RandomPath(b);
  const std::vector<Wavelet> sent = wavelets;
  std::string filter;
  if (only_data && c.Chance(40)) filter = Filter(c, wavelets, has_index);
  RouteAlong(b, color, path, {}, filter);
  const bool alone = path.size() == 1;

  // The sender's statements: one vector where all is data without an index of its own, else one by
  // one.
  std::string send;
  const std::string move = wide ? "mov32" : "mov16";
  std::string text = "const control = @import_module(\"<control>\");\n";
  const std::string one = fmt::format(
      "@get_dsd(fabout_dsd, .{{ .extent = 1, .fabric_color = @get_color({}), .output_queue = "
      "@get_output_queue({})",
      color, out);
  const bool as_vector = only_data && !has_index && c.Chance(60);
  if (as_vector || alone) {
    if (!only_data || has_index) {
      // Alone, a PE cannot wait for itself: only vectors in the background.
      for (Wavelet& w : wavelets) w = {false, false, 7, 0};
    }
  }
  const bool vector = as_vector || alone;
  std::vector<Bits> values;
  for (const Wavelet& w : sent) values.push_back(vector && (!only_data || has_index) ? 7 : w.value);
  if (vector) {
    if (alone && has_index) {
      // Every wavelet has index 0 now: what the filter lets pass must be found again.
      wavelets.clear();
      for (size_t i = 0; i < sent.size(); ++i) wavelets.push_back({false, false, 7, 0});
      if (!filter.empty()) return {};
    }
    text += fmt::format("var {}data = {};\n", p, ArrayText(type, values));
    send = fmt::format(
        "    @{0}(@get_dsd(fabout_dsd, .{{ .extent = {1}, .fabric_color = @get_color({2}), "
        ".output_queue = @get_output_queue({3}) }}), "
        "@get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{1}}} -> {4}data[i] }}){5});\n",
        move, sent.size(), color, out, p, alone ? ", .{ .async = true }" : "");
  } else {
    text += fmt::format("const {0}one = {1}{2} }});\nconst {0}mark = {1}, .control = true }});\n",
                        p, one, has_index ? ", .wavelet_index_offset = true" : "");
    for (const Wavelet& w : sent) {
      if (!w.is_control) {
        send += fmt::format("    @{}({}one, {}{});\n", move, p, Typed(type, w.value),
                            has_index ? fmt::format(", .{{ .index = {} }}", w.index) : "");
      } else if (w.has_payload) {
        send += fmt::format(
            "    @mov32({}mark, control.encode_single_payload(control.opcode.NOP, false, "
            "@get_control_task_id({}), {}));\n",
            p, payload, w.value);
      } else {
        send += fmt::format(
            "    @mov32({}mark, control.encode_control_task_payload(@get_control_task_id({})));\n",
            p, plain);
      }
    }
  }

  // The receiver keeps a log; its last entry ends the part. Its id is blocked until the part
  // starts.
  const size_t expected = wavelets.size();
  std::vector<Bits> log, kinds;
  for (const Wavelet& w : wavelets) {
    log.push_back(w.value);
    kinds.push_back(w.is_control ? (w.has_payload ? 2 : 1) : 10 + (has_index ? w.index : 0));
  }
  const size_t room = std::max<size_t>(expected, 1);
  log.resize(room, 0);
  kinds.resize(room, 0);
  text += fmt::format(
      "export var {0}log = @zeros([{1}]{2});\nexport var {0}kinds = @zeros([{1}]u16);\nvar "
      "{0}count: u16 = 0;\n",
      p, room, type.Name());
  text += fmt::format(
      "const is_sender = {};\nconst is_receiver = {};\nconst {}id = @get_data_task_id({}({}));\n",
      Is(path[0]), Is(path.back()), p, b.wse3() ? "@get_input_queue" : "@get_color",
      b.wse3() ? in : color);
  text += fmt::format(
      "fn {0}note(v: {1}, kind: u16) void {{\n  {0}log[{0}count] = v;\n  {0}kinds[{0}count] = "
      "kind;\n  {0}count += 1;\n  if ({0}count == {2}) @activate(next_id);\n}}\n",
      p, type.Name(), expected);
  text += has_index
              ? fmt::format("task {0}got(v: {1}, index: u16) void {{ {0}note(v, 10 + index); }}\n",
                            p, type.Name())
              : fmt::format("task {0}got(v: {1}) void {{ {0}note(v, 10); }}\n", p, type.Name());
  std::string binds =
      fmt::format("    @bind_data_task({0}got, {0}id);\n    @block({0}id);\n    {1}\n", p,
                  InitInput(b, in, color, c.Chance(50)));
  if (!only_data && !vector) {
    text += fmt::format(
        "task {0}plain() void {{ {0}note(0, 1); }}\ntask {0}payload(v: u16) void {{ "
        "{0}note(@as({1}, v), 2); }}\n",
        p, type.Name());
    binds += fmt::format(
        "    @bind_control_task({0}plain, @get_control_task_id({1}));\n    "
        "@bind_control_task({0}payload, @get_control_task_id({2}));\n",
        p, plain, payload);
  }
  text += "comptime {\n";
  if (b.wse3()) text += "  if (is_sender) {\n    " + InitOutput(b, out, color) + "\n  }\n";
  text += "  if (is_receiver) {\n" + binds + "  }\n}\nfn start() void {\n";
  const std::string open =
      fmt::format("    @unblock({}id);\n", p) + (expected == 0 ? "    @activate(next_id);\n" : "");
  if (alone) {
    text += send + open + "}\n";
  } else {
    text += "  if (is_sender) {\n" + send +
            "    @activate(next_id);\n  } else if (is_receiver) {\n" + open +
            "  } else {\n    @activate(next_id);\n  }\n}\n";
  }
  for (int y = 0; y < b.height(); ++y) {
    for (int x = 0; x < b.width(); ++x) {
      const bool here = path.back() == Spot{x, y};
      b.Expect(x, y, p + "log", type, here ? log : std::vector<Bits>(room, 0));
      b.Expect(x, y, p + "kinds", Uint(16), here ? kinds : std::vector<Bits>(room, 0));
    }
  }
  return text;
}

}  // namespace szarena::csl_fuzz
