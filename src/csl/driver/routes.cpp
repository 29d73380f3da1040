// SPDX-License-Identifier: Apache-2.0
#include "csl/driver/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace szarena::csl {
namespace {

using bytecode::ColorRoute;
using bytecode::Direction;

std::string Directions(uint8_t set) {
  std::string text;
  for (const auto& [direction, name] : {std::pair{Direction::kNorth, "NORTH"},
                                        {Direction::kSouth, "SOUTH"},
                                        {Direction::kEast, "EAST"},
                                        {Direction::kWest, "WEST"},
                                        {Direction::kRamp, "RAMP"}}) {
    if ((set >> static_cast<int>(direction) & 1) != 0)
      text += (text.empty() ? "" : ",") + std::string(name);
  }
  return text.empty() ? "-" : text;
}

std::string FilterText(const bytecode::Filter& f) {
  switch (f.kind) {
    case bytecode::FilterKind::kNone:
      return "";
    case bytecode::FilterKind::kRange:
      return fmt::format("filter range {}..{}", f.min_index, f.max_index);
    case bytecode::FilterKind::kCounter:
      return fmt::format("filter counter {} of {}, limit {}", f.init_counter, f.max_counter,
                         f.limit1);
    case bytecode::FilterKind::kSparseCounter:
      return fmt::format("filter sparse counter {} of {}, limits {} and {}", f.init_counter,
                         f.max_counter, f.limit1, f.limit2);
  }
  return "";
}

// Switches, filter and the rest, separated by "; ".
std::string Settings(const ColorRoute& route) {
  std::vector<std::string> parts;
  if (route.has_switches) {
    for (size_t i = 0; i < 3; ++i) {
      const bytecode::SwitchPosition& p = route.positions[i];
      if (!p.valid) continue;
      parts.push_back(fmt::format("pos{} {} -> {}", i + 1, p.rx == 0 ? "same" : Directions(p.rx),
                                  p.tx == 0 ? "same" : Directions(p.tx)));
    }
    if (route.current_position != 0)
      parts.push_back(fmt::format("starts at pos{}", route.current_position));
    if (route.ring_mode) parts.emplace_back("ring");
    constexpr std::array<const char*, 4> kPop = {"", "always_pop", "pop_on_advance",
                                                 "pop_on_advance_nop"};
    if (route.pop_mode != bytecode::PopMode::kNoPop)
      parts.emplace_back(kPop[static_cast<size_t>(route.pop_mode)]);
  }
  if (const std::string filter = FilterText(route.filter); !filter.empty()) parts.push_back(filter);
  if (route.swap_x) parts.emplace_back("color_swap_x");
  if (route.swap_y) parts.emplace_back("color_swap_y");
  if (route.teardown) parts.emplace_back("teardown");
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

std::string RoutesTable(const bytecode::Program& program) {
  std::vector<std::array<std::string, 5>> rows = {{"PE", "color", "rx", "tx", "settings"}};
  for (int y = 0; y < program.height; ++y) {
    for (int x = 0; x < program.width; ++x) {
      for (const ColorRoute& route : program.routers[program.At(x, y).router].colors) {
        rows.push_back({fmt::format("{},{}", x, y), fmt::format("{}", route.color),
                        Directions(route.rx), Directions(route.tx), Settings(route)});
      }
    }
  }
  std::array<size_t, 5> widths{};
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i)
      line += fmt::format("{}{:<{}}", i == 0 ? "" : " | ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
    if (&row == &rows.front()) text += std::string(line.size(), '-') + "\n";
  }
  return text;
}

}  // namespace szarena::csl
