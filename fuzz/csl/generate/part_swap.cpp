// SPDX-License-Identifier: Apache-2.0
// Colour swap: one or two streams on a pair of neighbouring colours along a path, exchanged on the
// way into some of its PEs; some of them receive.
#include <fmt/format.h>

#include <algorithm>

#include "route.h"
#include "vector.h"

namespace szarena::csl_fuzz {

std::string SwapPart(Build& b, const std::string& p) {
  Choices& c = b.c;
  if (b.width() * b.height() < 2) return {};
  const int even = b.take.ColorPair();
  if (even < 0) return {};
  const int streams = c.Between(1, 2), n = c.Between(1, 8), first = c.Between(0, 1);
  int out[2], in[2];
  for (int s = 0; s < streams; ++s) {
    out[s] = b.take.OutputQueue();
    in[s] = b.take.InputQueue();
    if (out[s] < 0 || in[s] < 0) return {};
  }
  const std::vector<Spot> path = RandomPath(b);
  std::vector<int> swapped(path.size(), 0);  // how often, modulo 2
  std::vector<Spot> receivers;
  for (size_t i = 0; i < path.size(); ++i) {
    const bool is_last = i + 1 == path.size(), drops = i > 0 && (is_last || c.Chance(50)),
               along_x = i > 0 && path[i].x != path[i - 1].x, swaps = i > 0 && c.Chance(50);
    swapped[i] = i == 0 ? 0 : swapped[i - 1] ^ (swaps ? 1 : 0);
    if (drops) receivers.push_back(path[i]);
    std::string tx = is_last ? "" : Toward(path[i], path[i + 1]);
    if (drops) tx += is_last ? "RAMP" : ", RAMP";
    // The other axis does not matter.
    const bool other = i > 0 && c.Chance(50), x = along_x ? swaps : other,
               y = along_x ? other : swaps;
    for (int s = 0; s < streams; ++s) {
      b.layout += fmt::format(
          "  @set_color_config({}, {}, @get_color({}), .{{ .routes = .{{ .rx = .{{ {} }}, .tx = "
          ".{{ {} }}{}{} }} }});\n",
          path[i].x, path[i].y, even + (first ^ s ^ swapped[i]),
          i == 0 ? "RAMP" : Toward(path[i], path[i - 1]), tx,
          x || c.Chance(20) ? fmt::format(", .color_swap_x = {}", x) : "",
          y || c.Chance(20) ? fmt::format(", .color_swap_y = {}", y) : "");
    }
  }
  std::string receives, text;
  for (const Spot& r : receivers) receives += (receives.empty() ? "" : " or ") + Is(r);
  text = fmt::format("const is_sender = {};\nconst is_receiver = {};\n", Is(path[0]), receives);
  std::string sends, reads, setup_out, setup_in;
  for (int s = 0; s < streams; ++s) {
    const Type type = c.Chance(50) ? Int(16) : Uint(32);
    std::vector<Bits> values;
    for (int i = 0; i < n; ++i) values.push_back(SmallValue(c, type));
    // The stream's colour on this PE.
    std::string color = fmt::format("{}", even + (first ^ s));
    for (size_t i = 1; i < path.size(); ++i)
      color = fmt::format("if {} {} else {}", Is(path[i]), even + (first ^ s ^ swapped[i]), color);
    text += fmt::format("const {0}color{1} = @get_color({2});\n", p, s, color);
    text += fmt::format("const {0}data{1} = {2};\nexport var {0}got{1} = @zeros([{3}]{4});\n", p, s,
                        ArrayText(type, values), n, type.Name());
    const auto memory = [&](const char* name) {
      return fmt::format("@get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{}}} -> {}{}{}[i] }})", n,
                         p, name, s);
    };
    const auto fabric = [&](bool is_out) {
      return fmt::format(
          "@get_dsd({0}_dsd, .{{ .extent = {1}, .fabric_color = {2}color{3}, "
          ".{4}_queue = @get_{4}_queue({5}) }})",
          is_out ? "fabout" : "fabin", n, p, s, is_out ? "output" : "input",
          is_out ? out[s] : in[s]);
    };
    sends += fmt::format("    @mov{}({}, {});\n", type.bits, fabric(true), memory("data"));
    reads += fmt::format("    @mov{}({}, {});\n", type.bits, memory("got"), fabric(false));
    const char* const init =
        "    @initialize_queue(@get_{0}_queue({1}), .{{ .color = {2}color{3} "
        "}});\n";
    if (b.wse3()) setup_out += fmt::format(fmt::runtime(init), "output", out[s], p, s);
    if (b.wse3() || c.Chance(30)) setup_in += fmt::format(fmt::runtime(init), "input", in[s], p, s);
    for (int y = 0; y < b.height(); ++y) {
      for (int x = 0; x < b.width(); ++x) {
        const bool here =
            std::find(receivers.begin(), receivers.end(), Spot{x, y}) != receivers.end();
        b.Expect(x, y, fmt::format("{}got{}", p, s), type,
                 here ? values : std::vector<Bits>(static_cast<size_t>(n), 0));
      }
    }
  }
  text +=
      fmt::format("comptime {{\n  if (is_sender) {{\n{}  }}\n  if (is_receiver) {{\n{}  }}\n}}\n",
                  setup_out, setup_in);
  return text + fmt::format(
                    "fn start() void {{\n  if (is_sender) {{\n{}  }}\n  if (is_receiver) "
                    "{{\n{}  }}\n  @activate(next_id);\n}}\n",
                    sends, reads);
}

}  // namespace szarena::csl_fuzz
