// SPDX-License-Identifier: Apache-2.0
// Looks for routes that lead wavelets in a circle, once a run has come to its end, done or not.
#include <fmt/format.h>

#include "fabric/sim/impl.h"

namespace szarena::fabric {
using namespace bytecode;
namespace {

struct Place {
  uint32_t id;
  uint32_t color;
  const ColorState* state;
  uint32_t next = 0;  // direction to try
};

uint64_t KeyOf(uint32_t id, uint32_t color) { return uint64_t{id} << 8 | color; }

bool HoldsWavelets(const ColorState& s) {
  for (uint32_t d = 0; d < 4; ++d) {
    if (s.in[d].WaitingRaw() > 0 && (s.rx >> d & 1) != 0) return !s.teardown;
  }
  return false;
}

// `path` ends with the router that sends colour `color` back to PE `id`, which is on it.
void ReportLoop(Fabric::Impl& f, const std::vector<Place>& path, uint32_t id, uint32_t color) {
  constexpr size_t kShown = 8;
  size_t first = path.size() - 1;
  while (path[first].id != id || path[first].color != color) --first;
  std::string way;
  for (size_t i = first; i < std::min(path.size(), first + kShown); ++i)
    way += fmt::format("({}, {}) {} to ", path[i].id % f.width, path[i].id / f.width,
                       DirectionName(static_cast<Direction>(path[i].next - 1)));
  if (path.size() > first + kShown) way += "... to ";
  Tile& tile = f.TileOf(id);
  const bool fatal_before = tile.fatal;  // the run is over
  tile.Report(
      f.PeAt(id), TrapKind::kRouteLoop, f.now, kNoIndex, 0,
      fmt::format("the routes of colour {} lead in a circle of {} PEs, {}({}, {}): take one "
                  "direction out of .tx or .rx there",
                  color, path.size() - first, way, id % f.width, id / f.width));
  tile.fatal = fatal_before;
}

}  // namespace

// Follows the present routes from every router that holds wavelets; a trap for each circle found.
void Fabric::Impl::FindRouteLoops() {
  std::unordered_map<uint64_t, bool> seen;  // true: on the way that is followed now
  for (uint32_t start = 0; start < routers.size(); ++start) {
    const Router* r = routers[start].load();
    for (uint32_t c = 0; r != nullptr && c < kColorCount; ++c) {
      const ColorState* s = r->colors[c].load();
      if (s == nullptr || s->config.point_to_point || !HoldsWavelets(*s) ||
          !seen.try_emplace(KeyOf(start, c), true).second)
        continue;
      std::vector<Place> path{{start, c, s}};
      while (!path.empty()) {
        Place& at = path.back();
        if (at.next == 4) {
          seen[KeyOf(at.id, at.color)] = false;
          path.pop_back();
          continue;
        }
        const uint32_t side = at.next++;
        const auto direction = static_cast<Direction>(side);
        const ColorState* to = at.state->link[side];
        uint32_t other = 0;
        if ((at.state->tx >> side & 1) == 0 || to == nullptr || !Neighbour(at.id, direction, other))
          continue;
        const bool enters = (to->rx >> static_cast<uint32_t>(Opposite(direction)) & 1) != 0;
        if (!enters || to->teardown) continue;
        const uint32_t color = at.state->link_color[side];
        const auto [known, fresh] = seen.try_emplace(KeyOf(other, color), true);
        if (fresh)
          path.push_back({other, color, to});
        else if (known->second)
          ReportLoop(*this, path, other, color);
      }
    }
  }
}

std::string Fabric::Impl::LoopsFound() {
  CollectTraps();
  std::string s;
  for (const Trap& t : traps) {
    if (t.kind == TrapKind::kRouteLoop) s += "\n  " + t.ToString();
  }
  return s;
}

}  // namespace szarena::fabric
