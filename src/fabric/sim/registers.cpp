// SPDX-License-Identifier: Apache-2.0
// How a program changes its own router while it runs: <tile_config>'s natives, and on WSE-2 the two
// words a colour at fixed addresses that public programs describe in their comments
// (docs/csl/machine.md gives the layout).
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "fabric/sim/impl.h"

namespace szarena::fabric {
using namespace bytecode;
namespace {

constexpr uint32_t kRouteWords = 0x7f20 * 2;   // byte address of colour 0's route word
constexpr uint32_t kSwitchWords = 0x7f40 * 2;  // and of its switch word
constexpr uint32_t kQueueWords =
    0x7f58 * 2;  // and of input queue 0's word: the priority of the microthread that reads it
constexpr uint16_t kQueueMedium = 1 << 8, kQueueHigh = 1 << 9;
constexpr uint32_t kInvalid = 5;  // code of a switch position that does not exist
constexpr uint16_t kTeardownBit = 1 << 14;
// Bits of a route word that this machine only keeps: which value of the pop mode means what is not
// described.
constexpr uint16_t kKeptBits = 1 << 15 | 3 << 12 | 3 << 10;

// The registers count WEST 0, EAST 1; Direction has them the other way round. Its own inverse.
constexpr uint32_t SwapEastWest(uint32_t set) {
  return (set & ~3u) | (set & 1) << 1 | (set >> 1 & 1);
}

uint16_t RouteWord(const ColorState& s) {
  return static_cast<uint16_t>(SwapEastWest(s.config.tx) | SwapEastWest(s.config.rx) << 5 |
                               (s.config.swap_y ? 1u << 10 : 0) | (s.config.swap_x ? 1u << 11 : 0) |
                               static_cast<uint32_t>(s.config.pop_mode) << 12 |
                               (s.teardown ? kTeardownBit : 0u));
}

// A position as 4 bits: 3 (1: it names the input), 2..0 the direction. Nothing where it does not
// fit.
std::optional<uint32_t> PositionCode(const SwitchPosition& p) {
  const uint32_t side = p.rx != 0 ? 8 : 0;
  if (!p.valid) return side | kInvalid;
  const uint32_t set = SwapEastWest(p.rx != 0 ? p.rx : p.tx);
  if ((p.rx != 0 && p.tx != 0) || !std::has_single_bit(set)) return std::nullopt;
  return side | static_cast<uint32_t>(std::countr_zero(set));
}

}  // namespace

std::string Tile::QueueRegister(Pe& pe, uint32_t queue, bool write, uint16_t& value) {
  InputQueue& q = CommOf(core, pe).in[queue];
  if (write) {
    if ((value & ~(kQueueMedium | kQueueHigh)) != 0)
      return fmt::format("bits other than 8 and 9 of input queue {}'s word have no known meaning",
                         queue);
    q.priority = (value & kQueueHigh) != 0     ? Priority::kHigh
                 : (value & kQueueMedium) != 0 ? Priority::kMedium
                                               : Priority::kLow;
  } else {
    value = q.priority == Priority::kHigh     ? kQueueHigh
            : q.priority == Priority::kMedium ? kQueueMedium
                                              : uint16_t{0};
  }
  return {};
}

std::string Tile::Register(Pe& pe, uint32_t address, bool write, uint16_t& value) {
  const bool route = address >= kRouteWords && address < kRouteWords + 2 * kColorCount;
  const bool switches = address >= kSwitchWords && address < kSwitchWords + 2 * kColorCount;
  const bool queue = address >= kQueueWords && address < kQueueWords + 2 * 8;
  if (core.cost->arch != Arch::kWse2 || (!route && !switches && !queue))
    return "this register is not modelled";
  if (queue) return QueueRegister(pe, (address - kQueueWords) / 2, write, value);
  const uint32_t color = (address - (route ? kRouteWords : kSwitchWords)) / 2;
  ColorState& s = fabric->StateOf(pe.index, color);
  if (route) {
    const uint16_t before = RouteWord(s);
    if (!write) {
      value = before;
      return {};
    }
    if (((before ^ value) & kKeptBits) != 0)
      return fmt::format(
          "bits 10 to 13 and 15 of colour {}'s route word can only be written back as they were "
          "read",
          color);
    s.config.tx = static_cast<uint8_t>(SwapEastWest(value & 31));
    s.config.rx = static_cast<uint8_t>(SwapEastWest(value >> 5 & 31));
    s.teardown = (value & kTeardownBit) != 0;
    if (!s.teardown) pe.teardown_pending &= ~(1u << color), pe.teardown_todo &= ~(1u << color);
  } else {
    uint32_t word = uint32_t{s.position} << 13 | (s.config.ring_mode ? 1u << 12 : 0);
    for (uint32_t k = 0; k < 3; ++k) {
      const auto code = PositionCode(s.config.positions[k]);
      if (!code)
        return fmt::format("position {} of colour {} names more than one direction", k + 1, color);
      word |= *code << 4 * k;
    }
    if (!write) {
      value = static_cast<uint16_t>(word);
      return {};
    }
    if ((value & 0x8000) != 0) return "bit 15 of a switch word has no known meaning";
    for (uint32_t k = 0; k < 3; ++k) {
      const uint32_t code = value >> 4 * k & 7;
      if (code > kInvalid) return fmt::format("direction code {} has no known meaning", code);
      const auto set = static_cast<uint8_t>(
          code == kInvalid ? BitOf(Direction::kRamp)
                           : SwapEastWest(1u << code));  // invalid: keeps the side
      const bool input = (value >> 4 * k & 8) != 0;
      s.config.positions[k] = {code != kInvalid, input ? set : uint8_t{0},
                               input ? uint8_t{0} : set};
    }
    s.config.ring_mode = (value & 1 << 12) != 0;
    s.position = static_cast<uint8_t>(value >> 13 & 3);
  }
  s.configured = true;
  s.Apply();
  WakeRouterId(pe.index, core.now + 1);
  return {};
}

uint64_t Tile::RouterNative(Pe& pe, Native native, const uint64_t* args) {
  if (native == Native::k_teardown_pending) return pe.teardown_pending;
  const auto color = static_cast<uint32_t>(args[0]);
  if (color >= kColorCount) {
    Report(pe, TrapKind::kBadQueue, core.now, kNoIndex, 0,
           fmt::format("{}: colour {} does not exist", InfoOf(native).name, color));
    return 0;
  }
  ColorState& s = fabric->StateOf(pe.index, color);
  if (native == Native::k_route_drained) {
    bool waits = false;
    if (pe.comm != nullptr) {
      for (const OutputQueue& q : pe.comm->out) {
        for (uint32_t i = 0; i < q.ring.size(); ++i) waits = waits || q.ring.at(i).color == color;
      }
    }
    return waits ? 0 : 1;
  }
  const auto a1 = static_cast<uint8_t>(args[1] & 31);
  uint64_t result = 0;
  const auto position = [&]() -> SwitchPosition& {
    return s.config.positions[std::clamp<uint64_t>(args[1], 1, 3) - 1];
  };
  switch (native) {
    case Native::k_route_reset:
      s.config.rx = a1;
      s.config.tx = static_cast<uint8_t>(args[2] & 31);
      s.closes_after = 0;
      break;
    case Native::k_route_for:
      s.closes_after = static_cast<uint32_t>(args[3]);
      s.config.rx = s.closes_after == 0 ? uint8_t{0} : a1;
      s.config.tx = s.closes_after == 0 ? uint8_t{0} : static_cast<uint8_t>(args[2] & 31);
      break;
    case Native::k_route_toggle:
      s.config.rx ^= a1;
      s.config.tx = static_cast<uint8_t>(s.config.tx ^ (args[2] & 31));
      break;
    case Native::k_route_set:
      s.config.rx |= a1;
      s.config.tx = static_cast<uint8_t>(s.config.tx | (args[2] & 31));
      break;
    case Native::k_route_clear:
      s.config.rx = static_cast<uint8_t>(s.config.rx & ~a1);
      s.config.tx = static_cast<uint8_t>(s.config.tx & ~(args[2] & 31));
      break;
    case Native::k_switch_clear_position:
      s.position = 0;
      break;
    case Native::k_switch_set_position:
      s.position = static_cast<uint8_t>(args[1] & 3);
      break;
    case Native::k_switch_invalidate:
      for (SwitchPosition& p : s.config.positions) p = {};
      break;
    case Native::k_switch_set_rx:
      position() = {true, static_cast<uint8_t>(args[2] & 31), 0};
      break;
    case Native::k_switch_set_tx:
      position() = {true, 0, static_cast<uint8_t>(args[2] & 31)};
      break;
    case Native::k_switch_set_rxtx:
      position() = {true, static_cast<uint8_t>(args[2] & 31), static_cast<uint8_t>(args[3] & 31)};
      break;
    case Native::k_switch_ring_mode:
      s.config.ring_mode = args[1] != 0;
      break;
    case Native::k_switch_pop_mode:
      s.config.pop_mode = static_cast<PopMode>(args[1] & 3);
      break;
    case Native::k_switch_get_position:
      result = s.position;
      break;
    case Native::k_filter_set_active_limit:
      s.limit = static_cast<uint16_t>(args[1]);
      break;
    case Native::k_filter_set_max_counter:
      s.config.filter.max_counter = static_cast<uint16_t>(args[1]);
      break;
    case Native::k_filter_set_counter:
      s.counter = static_cast<uint16_t>(args[1]);
      break;
    case Native::k_filter_enable:
      s.filter_on = args[1] != 0;
      break;
    case Native::k_teardown_exit:
      s.teardown = false;
      pe.teardown_pending &= ~(1u << color);
      pe.teardown_todo &= ~(1u << color);
      break;
    default:
      break;
  }
  s.configured = true;
  s.Apply();
  WakeRouterId(pe.index, core.now + 1);
  return result;
}

}  // namespace szarena::fabric
