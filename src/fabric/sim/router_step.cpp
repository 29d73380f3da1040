// SPDX-License-Identifier: Apache-2.0
// One cycle of one router: each link and ramp takes at most one wavelet; a wavelet moves when every
// place it goes to has room.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "fabric/sim/impl.h"

namespace szarena::fabric {
using namespace bytecode;
namespace {

constexpr uint8_t kRampBit = BitOf(Direction::kRamp);

// The colour as which a wavelet of colour `c` that comes in from `from` is received at `id`.
uint8_t ReceivedAs(const Fabric::Impl& f, uint32_t id, uint8_t c, Direction from) {
  const auto swaps = [&](const ColorRoute* route) {
    if (route == nullptr) return false;
    if (from == Direction::kEast || from == Direction::kWest) return route->swap_x;
    if (from == Direction::kRamp) return route->swap_x && route->swap_y;
    return route->swap_y;
  };
  const auto partner = static_cast<uint8_t>(c ^ 1);
  return swaps(f.RouteOf(id, partner)) ? partner : c;
}

}  // namespace

void Tile::StepRouter(uint32_t id, uint64_t t) {
  Fabric::Impl& f = *fabric;
  Router& r = f.RouterAt(id);
  const auto t32 = static_cast<uint32_t>(t);
  if (!edge_ports.empty()) {
    if (const auto it = edge_ports.find(id); it != edge_ports.end()) {
      for (const auto& [side, color] : it->second) FeedEdge(id, side, color, t);
    }
  }
  Pe* pe = f.PeIf(id);
  Comm* comm = pe == nullptr ? nullptr : pe->comm.get();

  // Heads of the output queues that are ready: the ramp's candidates, at most one a colour.
  std::array<int8_t, kColorCount> ramp;  // output queue, where ramp_colors has the colour
  uint32_t ramp_colors = 0;
  uint32_t candidates = r.maybe;
  uint64_t later = kNever;
  if (comm != nullptr) {
    for (uint32_t k = 0; k < 8; ++k) {
      const uint32_t q = (comm->next_out + k) & 7;
      const Ring& ring = comm->out[q].ring;
      if (ring.empty()) continue;
      if (ring.front().ready > t) {
        later = std::min(later, ring.front().ready);
        continue;
      }
      const uint8_t c = ReceivedAs(f, id, ring.front().color, Direction::kRamp);
      if ((ramp_colors >> c & 1) == 0) ramp[c] = static_cast<int8_t>(q);
      ramp_colors |= 1u << c;
    }
  }
  candidates |= ramp_colors;
  uint32_t used = 0;  // links and ramp taken in this cycle
  bool ramp_in_used = false;
  bool again = false;
  // In turn, beginning with next_color.
  for (uint64_t
           turn = (uint64_t{candidates} | uint64_t{candidates} << kColorCount) >> r.next_color &
                  0xffffff,
           start = r.next_color;
       turn != 0; turn &= turn - 1) {
    const auto k = static_cast<uint32_t>(start) + static_cast<uint32_t>(std::countr_zero(turn));
    const uint32_t c = k < kColorCount ? k : k - kColorCount;
    ColorState& s = f.StateOf(id, c);
    // Which input moves: those that wait and may enter, in turn.
    uint32_t waiting = 0;
    uint32_t raw = 0;
    for (uint32_t d = 0; d < 4; ++d) {
      if (s.in[d].Waiting(t32) > 0) waiting |= 1u << d;
      if (s.in[d].WaitingRaw() > 0) raw |= 1u << d;
    }
    if (raw == 0) r.maybe &= ~(1u << c);
    if (raw != waiting) again = true;  // one came in this cycle
    const bool at_ramp = (ramp_colors >> c & 1) != 0;
    const bool host_out = at_ramp && !s.configured && (f.program->host_out_colors >> c & 1) != 0;
    if (at_ramp) waiting |= kRampBit;
    if (waiting == 0) continue;
    if (s.teardown && !host_out) continue;
    const uint32_t allowed = host_out ? waiting & kRampBit : waiting & s.rx;
    if (allowed == 0) {
      // Reported once: how often a router looks again depends on the threads.
      const bool is_new = s.blocked_since == 0;
      if (is_new) s.blocked_since = t;
      // A route that was emptied on purpose is closed: its wavelets wait until it is set again.
      const bool closed = s.configured && s.rx == 0 && s.tx == 0;
      if (is_new && !closed && (s.rx == 0 || !s.configured)) {
        Report(f.PeAt(id), TrapKind::kNoRoute, t, kNoIndex, 0,
               fmt::format("a wavelet on colour {} came in from {}, the router has no route for it",
                           c, DirectionName(static_cast<Direction>(std::countr_zero(waiting)))));
      }
      continue;
    }
    uint32_t d = s.next_in;
    while ((allowed >> d & 1) == 0) d = d == 4 ? 0 : d + 1;
    uint32_t message_out = 5;
    if (s.config.point_to_point) {
      const QueueEntry* head = at_ramp && !ramp_in_used
                                   ? &comm->out[static_cast<size_t>(ramp[c])].ring.front()
                                   : nullptr;
      std::tie(d, message_out) = ChooseMessage(id, c, s, allowed, used, head, t);
      if (d == 5) {
        if (s.blocked_since == 0) s.blocked_since = t;
        again = again || used != 0 || ramp_in_used;
        continue;
      }
    }
    const bool from_ramp = d == 4;
    if (from_ramp && ramp_in_used) {
      again = true;
      continue;
    }
    uint32_t data;
    bool control;
    bool advance = false;
    if (from_ramp) {
      const QueueEntry& e = comm->out[static_cast<size_t>(ramp[c])].ring.front();
      data = e.data;
      control = e.control;
      advance = e.advance;
    } else {
      data = s.in[d].Front().data;
      control = s.in[d].Front().control;
    }
    const ControlCommand command = control && message_out == 5
                                       ? FirstCommand(data)
                                       : ControlCommand{SwitchCommand::kNop, false};
    uint32_t tx = host_out ? uint32_t{kRampBit} : message_out != 5 ? 1u << message_out : s.tx;
    if (command.skip_core && !host_out) tx &= ~uint32_t{kRampBit};
    if ((tx & used) != 0) {
      again = true;
      continue;
    }
    // Room everywhere?
    bool room = true;
    for (uint32_t o = 0; o < 4 && room; ++o) {
      if ((tx >> o & 1) == 0) continue;
      if (s.link[o] == nullptr && !Link(id, c, s, o)) {
        const auto port =
            ports_out.find(PortKey(id, static_cast<Direction>(o), static_cast<uint8_t>(c)));
        if (port != ports_out.end()) {
          room = port->second.words.size() < kPortWords;
        } else {
          Report(
              f.PeAt(id), TrapKind::kRouteToNowhere, t, kNoIndex, 0,
              fmt::format(
                  "colour {} is routed {} over the edge of the rectangle; what goes there is lost",
                  c, DirectionName(static_cast<Direction>(o))));
        }
        continue;
      }
      room = s.link[o]->in[static_cast<size_t>(Opposite(static_cast<Direction>(o)))].HasRoom(t32);
    }
    if (!room) {
      if (s.blocked_since == 0) s.blocked_since = t;
      continue;
    }
    bool to_core = (tx & kRampBit) != 0 && !host_out;
    if (to_core) {
      const uint16_t counter = s.counter;
      const uint16_t limit = s.limit;
      const bool enabled = s.filter_enabled;
      to_core = s.Pass(data, control);
      if (to_core) {
        Pe& core_pe = f.PeAt(id);
        pe = &core_pe;
        const uint32_t q = InputQueueFor(core, core_pe, c);
        comm = core_pe.comm.get();
        InputQueue& queue = comm->in[q];
        if (queue.ring.size() >= queue.capacity) {
          s.counter = counter;
          s.limit = limit;
          s.filter_enabled = enabled;
          if (s.blocked_since == 0) s.blocked_since = t;
          continue;
        }
        QueueEntry e;
        e.data = data;
        e.color = static_cast<uint8_t>(c);
        e.control = control;
        e.ready = t + core.cost->ramp_latency;
        queue.ring.push(e);
        WakePe(id, e.ready);
      }
    }
    // It moves. What else waits on the colour has its turn in the next cycle, perhaps after a
    // change of the switch.
    s.blocked_since = 0;
    if ((waiting & ~(1u << d)) != 0) again = true;
    if (from_ramp) {
      comm->out[static_cast<size_t>(ramp[c])].ring.pop();
      comm->next_out = static_cast<uint8_t>((ramp[c] + 1) & 7);
      ramp_in_used = true;
      if (!comm->out[static_cast<size_t>(ramp[c])].ring.empty()) {
        const uint64_t ready = comm->out[static_cast<size_t>(ramp[c])].ring.front().ready;
        if (ready <= t + 1)
          again = true;
        else
          later = std::min(later, ready);
      }
      WakePe(id, t + 1);
    } else {
      const bool was_full = s.in[d].WaitingRaw() == kLinkDepth;
      s.in[d].Pop(t32);
      uint32_t upstream = 0;
      if (f.Neighbour(id, static_cast<Direction>(d), upstream)) {
        if (was_full) WakeRouterId(upstream, t + 1);
      } else {
        again = true;  // a port may have more
      }
      if (s.in[d].WaitingRaw() > 0) again = true;
    }
    if (host_out) {
      Deliver(ports_out[PortKey(id, Direction::kRamp, static_cast<uint8_t>(c))], data, t);
      used |= kRampBit;
      ++hops;
      continue;
    }
    uint32_t forwarded = data;
    if (control) {
      bool advanced = false;
      switch (command.op) {
        case SwitchCommand::kNop:
          break;
        case SwitchCommand::kAdvance:
          advanced = s.Advance();
          break;
        case SwitchCommand::kReset:
          advanced = s.position != 0;
          s.position = 0;
          s.Apply();
          break;
        case SwitchCommand::kTeardown: {
          s.teardown = true;
          Pe& own = f.PeAt(id);
          own.teardown_pending |= 1u << c;
          own.teardown_todo |= 1u << c;
          own.active |= uint64_t{1} << kTeardownTaskId;
          WakePe(id, t + 1);
          break;
        }
      }
      const PopMode mode = s.config.pop_mode;
      if (mode == PopMode::kAlwaysPop || (mode == PopMode::kPopOnAdvance && advanced) ||
          (mode == PopMode::kPopOnAdvanceNop && (advanced || command.op == SwitchCommand::kNop))) {
        forwarded = PopCommand(data);
      }
    }
    if (advance) s.Advance();
    if (s.closes_after != 0 && --s.closes_after == 0) {
      s.config.rx = s.config.tx = 0;
      s.Apply();
    }
    if (message_out != 5)
      s.message_out[d] = control ? uint8_t{0} : static_cast<uint8_t>(message_out + 1);
    for (uint32_t o = 0; o < 4; ++o) {
      if ((tx >> o & 1) == 0) continue;
      const auto direction = static_cast<Direction>(o);
      if (s.link[o] == nullptr) {
        // Control wavelets steer routers; the host gets data.
        if (const auto port = ports_out.find(PortKey(id, direction, static_cast<uint8_t>(c)));
            port != ports_out.end() && !control)
          Deliver(port->second, forwarded, t);
      } else {
        s.link[o]->in[static_cast<size_t>(Opposite(direction))].Push(t32, {forwarded, control});
        uint32_t n = 0;
        f.Neighbour(id, direction, n);
        if (n >= first && n < end) {
          Router& other = f.RouterAt(n);
          other.maybe |= 1u << s.link_color[o];
          if (other.next_wake != t + 1) {
            other.next_wake = t + 1;
            wheel.Add(t + 1, Wheel::kRouter, n);
          }
        } else {
          outbox[f.tile_of_row[n / f.width]].push_back({t + 1, n, s.link_color[o]});
        }
      }
      ++hops;
    }
    if ((tx & kRampBit) != 0) ++hops;
    ++r.hops;
    if (lane != nullptr) lane->Hop(id, c, tx);
    used |= tx;
    s.next_in = static_cast<uint8_t>(d == 4 ? 0 : d + 1);
    r.next_color = static_cast<uint8_t>(c + 1 == kColorCount ? 0 : c + 1);
  }
  if (again)
    WakeRouterId(id, t + 1);
  else if (later != kNever)
    WakeRouterId(id, later);
}

std::pair<uint32_t, uint32_t> Tile::ChooseMessage(uint32_t id, uint32_t color, ColorState& s,
                                                  uint32_t allowed, uint32_t used,
                                                  const QueueEntry* at_ramp, uint64_t t) {
  const uint32_t x = id % fabric->width, y = id / fabric->width;
  for (uint32_t k = 0, d = s.next_in; k < 5; ++k, d = d == 4 ? 0 : d + 1) {
    if ((allowed >> d & 1) == 0 || (d == 4 && at_ramp == nullptr)) continue;
    uint32_t out = 0;
    if (s.message_out[d] != 0) {
      out = s.message_out[d] - 1u;
    } else {  // a header: along the row first, then along the column
      const uint32_t header = d == 4 ? at_ramp->data : s.in[d].Front().data;
      const uint32_t column = MessageColumn(header), row = MessageRow(header);
      const Direction to = column > x   ? Direction::kEast
                           : column < x ? Direction::kWest
                           : row > y    ? Direction::kSouth
                           : row < y    ? Direction::kNorth
                                        : Direction::kRamp;
      out = static_cast<uint32_t>(to);
      // A direction carries one message at a time, to its end.
      if (std::any_of(s.message_out.begin(), s.message_out.end(),
                      [&](uint8_t taken) { return taken == out + 1; }))
        continue;
    }
    if ((used >> out & 1) != 0) continue;
    if (out == 4) {
      Pe& pe = fabric->PeAt(id);
      const uint32_t q = InputQueueFor(core, pe, color);
      const InputQueue& queue = pe.comm->in[q];
      if (queue.ring.size() >= queue.capacity) continue;
    } else if (s.link[out] != nullptr || Link(id, color, s, out)) {
      if (!s.link[out]->in[static_cast<size_t>(Opposite(static_cast<Direction>(out)))].HasRoom(
              static_cast<uint32_t>(t)))
        continue;
    }
    return {d, out};
  }
  return {5, 5};
}

// Finds where a link leads. False at the edge of the rectangle.
bool Tile::Link(uint32_t id, uint32_t color, ColorState& s, uint32_t side) {
  uint32_t other = 0;
  const auto direction = static_cast<Direction>(side);
  if (!fabric->Neighbour(id, direction, other)) return false;
  s.link_color[side] = ReceivedAs(*fabric, other, static_cast<uint8_t>(color), Opposite(direction));
  s.link[side] = &fabric->StateOf(other, s.link_color[side]);
  return true;
}

void Tile::FeedEdge(uint32_t id, Direction side, uint8_t color, uint64_t t) {
  const auto it = ports_in.find(PortKey(id, side, color));
  if (it == ports_in.end()) return;
  PortIn& port = it->second;
  if (port.words.empty()) return;
  LinkBuffer& buffer = fabric->StateOf(id, color).in[static_cast<size_t>(side)];
  const auto t32 = static_cast<uint32_t>(t);
  if (port.words.front().ready > t) {
    WakeRouterId(id, port.words.front().ready);
    return;
  }
  if (!buffer.HasRoom(t32)) return;  // this router makes the room, and then comes here again
  const PortIn::Word w = port.words.front();
  port.words.pop_front();
  buffer.Push(t32, {w.data, w.control});
  fabric->RouterAt(id).maybe |= 1u << color;
  WakeRouterId(id, t + 1);
  if (!port.owners.empty() && --port.owners.front().second == 0) {
    Command& c = *port.owners.front().first;
    port.owners.pop_front();
    c.end.store(std::max(c.end.load(), t));
    c.remaining.fetch_sub(1);
  }
}

}  // namespace szarena::fabric
