// SPDX-License-Identifier: Apache-2.0
#include "csl/layout/layout_state.h"

#include <fmt/format.h>

namespace szarena::csl {

uint32_t RouteTable::Intern(const bytecode::ColorRoute& route) {
  const bytecode::Filter& filter = route.filter;
  std::string key = fmt::format("{},{},{},{},{},{},{},{},{},{},{}", route.color, route.rx, route.tx,
                                route.current_position, route.has_switches, route.ring_mode,
                                static_cast<int>(route.pop_mode), route.swap_x, route.swap_y,
                                route.teardown, route.point_to_point);
  for (const bytecode::SwitchPosition& position : route.positions)
    key += fmt::format(";{},{},{}", position.valid, position.rx, position.tx);
  key += fmt::format(";{},{},{},{},{},{},{},{},{},{}", static_cast<int>(filter.kind),
                     filter.count_data, filter.count_control, filter.filter_control,
                     filter.init_counter, filter.max_counter, filter.limit1, filter.limit2,
                     filter.min_index, filter.max_index);
  auto [found, is_new] = index_.emplace(key, static_cast<uint32_t>(routes_.size()));
  if (is_new) routes_.push_back(route);
  return found->second;
}

const HostName* LayoutState::FindName(std::string_view name) const {
  for (const HostName& host_name : names) {
    if (host_name.name == name) return &host_name;
  }
  return nullptr;
}

}  // namespace szarena::csl
