// SPDX-License-Identifier: Apache-2.0
// A row of PEs with a switch each. The first sends data and payloads of several commands; every
// switch gives what comes to its core, to the next PE or to both, obeys the first command of a
// payload and perhaps takes it off; the last core may have a counter filter. One colour, one
// sender: what each core sees depends on no times.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "route.h"
#include "vector.h"

namespace szarena::csl_fuzz {
namespace {

enum class Command : uint8_t { kNop, kAdvance, kReset };
struct Slot {
  Command command = Command::kNop;
  bool skips_core = false;
};
struct Wavelet {
  bool is_control = false, has_task = false;
  Bits value = 0;
  std::array<Slot, 8> commands;
};
constexpr Bits kMark = 31000;  // in a log: the control task ran

// ".tx" of a switch position.
struct Sides {
  bool core = false, on = false;
};

struct Router {
  std::array<bool, 4> valid = {true, false, false, false};
  std::array<Sides, 4> sides;
  int position = 0;
  bool ring = false;
  uint32_t pop = 0;  // no_pop, always_pop, pop_on_advance, pop_on_advance_nop

  // Obeys the first command and pops where the mode says so.
  void Obey(Wavelet& w) {
    const Command first = w.commands[0].command;
    const int before = position;
    if (first == Command::kReset) position = 0;
    if (first == Command::kAdvance) {
      int next = position + 1;
      while (next <= 3 && !valid[static_cast<size_t>(next)]) ++next;
      if (next <= 3)
        position = next;
      else if (ring)
        position = 0;
    }
    const bool moved = position != before;
    if (pop == 1 || (pop == 2 && moved) || (pop == 3 && (moved || first == Command::kNop))) {
      std::shift_left(w.commands.begin(), w.commands.end(), 1);
      w.commands.back() = {};
    }
  }
};

struct CounterFilter {
  bool on = false, sparse = false, count_data = true, count_control = false, filter_control = false;
  int counter = 0, most = 0, limit = 0, limit1 = 0, limit2 = 0;
  bool used_up = false;

  bool Passes(bool is_control) {
    if (!on || used_up) return true;
    const bool held = is_control && filter_control;
    if (is_control ? !count_control : !count_data) return !held || counter == most;
    const bool pass = held ? counter == most : counter <= most;
    if (counter != limit) {
      ++counter;
      return pass;
    }
    counter = 0;
    if (sparse) {
      if (limit == limit1 && limit2 != 0 && limit2 != limit1)
        limit = limit2;
      else
        used_up = true;
    }
    return pass;
  }
};

class Chain {
 public:
  Chain(Build& b, const std::string& p) : b_(b), c_(b.c), p_(p) {}

  std::string Text() {
    color_ = b_.take.Color(true);
    out_ = b_.take.OutputQueue();
    in_ = b_.take.InputQueue();
    id_ = b_.take.ControlId();
    if (b_.width() < 2 || color_ < 0 || out_ < 0 || in_ < 0 || id_ < 0) return {};
    receivers_ = static_cast<size_t>(c_.Between(1, b_.width() - 1));
    const bool west = c_.Chance(50);
    const int y = c_.Between(0, b_.height() - 1),
              room = b_.width() - 1 - static_cast<int>(receivers_), first = c_.Between(0, room);
    for (int i = 0; i <= static_cast<int>(receivers_); ++i)
      path_.push_back({west ? b_.width() - 1 - first - i : first + i, y});
    on_ = west ? "WEST" : "EAST";
    from_ = west ? "EAST" : "WEST";
    Route();
    logs_.resize(receivers_);
    std::string send;
    const int count = c_.Between(1, 10);
    for (int i = 0; i < count; ++i) send += Send();
    return Module(send);
  }

 private:
  std::string SidesText(Sides s) const {
    return s.core && s.on ? ".{ RAMP, " + on_ + " }" : s.core ? "RAMP" : on_;
  }

  void Configure(size_t at, const std::string& routes, const std::string& more) {
    b_.layout +=
        fmt::format("  @set_color_config({}, {}, @get_color({}), .{{ .routes = .{{ {} }}{} }});\n",
                    path_[at].x, path_[at].y, color_, routes, more);
  }

  void Route() {
    Configure(0, ".rx = .{ RAMP }, .tx = .{ " + on_ + " }", "");
    for (size_t i = 1; i < receivers_; ++i) {
      Router& r = routers_.emplace_back();
      const uint32_t base = c_.Below(3);
      r.sides[0] = {base != 1, base != 0};
      std::string switches;
      std::vector<int> positions = {0};
      for (size_t k = 1; k <= 3; ++k) {
        if (!c_.Chance(55)) continue;
        r.valid[k] = true;
        r.sides[k].core = c_.Chance(50);
        r.sides[k].on = !r.sides[k].core;
        positions.push_back(static_cast<int>(k));
        switches += fmt::format(", .pos{} = .{{ .tx = {} }}", k, SidesText(r.sides[k]));
      }
      if (switches.empty()) switches = ", .pos2 = .{ .invalid = true }";
      r.position = c_.Pick(positions);
      r.ring = c_.Chance(50);
      r.pop = c_.Below(4);
      static const char* const kModes[] = {"no_pop", "always_pop", "pop_on_advance",
                                           "pop_on_advance_nop"};
      const std::string tx = base == 2 ? "RAMP, " + on_ : SidesText(r.sides[0]);
      Configure(i, fmt::format(".rx = .{{ {} }}, .tx = .{{ {} }}", from_, tx),
                fmt::format(", .switches = .{{ .current_switch_pos = {}, .ring_mode = {}, "
                            ".pop_mode = .{{ .{} = true }}{} }}",
                            r.position, r.ring, kModes[r.pop], switches));
    }
    Configure(receivers_, fmt::format(".rx = .{{ {} }}, .tx = .{{ RAMP }}", from_), Filter());
  }

  std::string Filter() {
    if (!c_.Chance(60)) return {};
    filter_.on = true;
    filter_.sparse = c_.Chance(40);
    filter_.count_data = c_.Chance(70);
    filter_.count_control = c_.Chance(50);
    filter_.filter_control = c_.Chance(50);
    filter_.limit1 = filter_.limit = c_.Between(0, 4);
    filter_.most = c_.Between(0, filter_.limit1);
    filter_.counter = c_.Between(0, filter_.limit1);
    filter_.limit2 = filter_.sparse ? c_.Between(0, 4) : 0;
    return fmt::format(
        ", .filter = .{{ .kind = .{{ .{} = true }}, .count_data = {}, .count_control = {}, "
        ".filter_control = {}, .init_counter = {}, .max_counter = {}, .limit1 = {}{} }}",
        filter_.sparse ? "sparse_counter" : "counter", filter_.count_data, filter_.count_control,
        filter_.filter_control, filter_.counter, filter_.most, filter_.limit1,
        filter_.sparse ? fmt::format(", .limit2 = {}", filter_.limit2) : "");
  }

  // A statement that sends one wavelet, whose way is followed.
  std::string Send() {
    Wavelet w;
    if (c_.Chance(55)) {
      w.value = SmallValue(c_, Int(16));
      Follow(w);
      return fmt::format("    @mov16({}one, {});\n", p_, Typed(Int(16), w.value));
    }
    w.is_control = true;
    w.has_task = c_.Chance(50);
    const size_t n = static_cast<size_t>(c_.Between(1, 4));
    const bool rest_skips = c_.Chance(30);
    for (Slot& s : w.commands) s.skips_core = rest_skips;
    static const char* const kNames[] = {"op.NOP", "op.SWITCH_ADV", "op.SWITCH_RST"};
    std::string names, skips;
    for (size_t k = 0; k < n; ++k) {
      w.commands[k] = {static_cast<Command>(c_.Below(3)), c_.Chance(35)};
      names +=
          (k == 0 ? "" : ", ") + std::string(kNames[static_cast<size_t>(w.commands[k].command)]);
      skips += (k == 0 ? "" : ", ") + std::string(w.commands[k].skips_core ? "true" : "false");
    }
    Follow(w);
    return fmt::format(
        "    @mov32({0}mark, {1}control.encode_payload({2}, [{2}]op{{ {3} }}, [{2}]bool{{ {4} }}, "
        "{5}, {6}));\n",
        p_, c_.Chance(50) ? "comptime " : "", n, names, skips, rest_skips,
        w.has_task ? fmt::format("@get_control_task_id({})", id_) : "{}");
  }

  void Follow(Wavelet w) {
    for (size_t i = 0; i < receivers_; ++i) {
      const bool is_last = i + 1 == receivers_;
      const Sides sides = is_last ? Sides{true, false}
                                  : routers_[i].sides[static_cast<size_t>(routers_[i].position)];
      const bool to_core = sides.core && !(w.is_control && w.commands[0].skips_core);
      const bool passes = to_core && (!is_last || filter_.Passes(w.is_control));
      if (passes && !w.is_control) logs_[i].push_back(w.value);
      if (passes && w.is_control && w.has_task) logs_[i].push_back(kMark);
      if (!is_last && w.is_control) routers_[i].Obey(w);
      if (!sides.on) return;
    }
  }

  std::string Module(const std::string& send) {
    const std::string dsd = fmt::format(
        "@get_dsd(fabout_dsd, .{{ .extent = 1, .fabric_color = @get_color({}), .output_queue = "
        "@get_output_queue({})",
        color_, out_);
    size_t room = 1;
    for (const auto& log : logs_) room = std::max(room, log.size());
    std::string text =
        "const control = @import_module(\"<control>\");\nconst op = control.opcode;\n";
    text += fmt::format(
        "const {0}one = {1} }});\nconst {0}mark = {1}, .control = true }});\nexport var {0}log = "
        "@zeros([{2}]i16);\nvar {0}count: u16 = 0;\n",
        p_, dsd, room);
    text += fmt::format("const is_sender = {};\nconst {}id = @get_data_task_id({}({}));\n",
                        Is(path_[0]), p_, b_.wse3() ? "@get_input_queue" : "@get_color",
                        b_.wse3() ? in_ : color_);
    std::string expected = "0", receives;
    for (size_t i = 0; i < receivers_; ++i) {
      expected = fmt::format("if {} {} else {}", Is(path_[i + 1]), logs_[i].size(), expected);
      receives += (i == 0 ? "" : " or ") + Is(path_[i + 1]);
    }
    text += fmt::format("const is_receiver = {};\nconst {}expected: u16 = {};\n", receives, p_,
                        expected);
    text += fmt::format(
        "fn {0}note(v: i16) void {{\n  {0}log[{0}count] = v;\n  {0}count += 1;\n  if ({0}count == "
        "{0}expected) @activate(next_id);\n}}\ntask {0}got(v: i16) void {{ "
        "{0}note(v); }}\ntask {0}marked() void {{ {0}note({1}); }}\n",
        p_, kMark);
    text += "comptime {\n";
    if (b_.wse3()) text += "  if (is_sender) {\n    " + InitOutput(b_, out_, color_) + "\n  }\n";
    text += fmt::format(
        "  if (is_receiver) {{\n    @bind_data_task({0}got, {0}id);\n    "
        "@bind_control_task({0}marked, @get_control_task_id({1}));\n    @block({0}id);\n    {2}\n  "
        "}}\n}}\n",
        p_, id_, InitInput(b_, in_, color_, c_.Chance(50)));
    text += fmt::format(
        "fn start() void {{\n  if (is_sender) {{\n{1}    @activate(next_id);\n  }} else if "
        "(is_receiver) {{\n    @unblock({0}id);\n    if ({0}expected == 0) "
        "@activate(next_id);\n  }} else {{\n    @activate(next_id);\n  }}\n}}\n",
        p_, send);
    for (auto& log : logs_) log.resize(room, 0);
    for (int y = 0; y < b_.height(); ++y) {
      for (int x = 0; x < b_.width(); ++x) {
        const auto at = std::find(path_.begin() + 1, path_.end(), Spot{x, y});
        b_.Expect(x, y, p_ + "log", Int(16),
                  at == path_.end() ? std::vector<Bits>(room, 0)
                                    : logs_[static_cast<size_t>(at - path_.begin() - 1)]);
      }
    }
    return text;
  }

  Build& b_;
  Choices& c_;
  std::string p_, on_, from_;
  int color_ = 0, out_ = 0, in_ = 0, id_ = 0;
  size_t receivers_ = 0;
  std::vector<Spot> path_;
  std::vector<Router> routers_;  // of all receivers but the last
  CounterFilter filter_;
  std::vector<std::vector<Bits>> logs_;
};

}  // namespace

std::string ChainPart(Build& b, const std::string& p) { return Chain(b, p).Text(); }

}  // namespace szarena::csl_fuzz
