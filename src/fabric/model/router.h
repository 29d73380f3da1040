// SPDX-License-Identifier: Apache-2.0
// A router: per colour its routes, switch and filter, and a buffer for each neighbour. Sender and
// receiver of a link may run on different host threads: each buffer has a counter that only the
// sender writes and one that only the receiver writes, both with the cycle of the last change, so
// that what a cycle sees does not depend on who came first.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "bytecode/program.h"

namespace szarena::fabric {

inline constexpr uint32_t kLinkDepth = 2;  // cost.def: router_buffer

struct LinkEntry {
  uint32_t data = 0;
  bool control = false;
};

// Counters modulo 4 in the low two bits, the cycle above.
class LinkBuffer {
 public:
  // Sender, in cycle t: is there room as of the start of the cycle?
  bool HasRoom(uint32_t t) const {
    return ((Count(push_) - CountBefore(pop_, t)) & 3) < kLinkDepth;
  }
  void Push(uint32_t t, LinkEntry e) {
    const uint32_t n = Count(push_);
    entries_[n & 1] = e;
    push_.store(Pack(t, n + 1), std::memory_order_release);
  }
  // Receiver, in cycle t: wavelets that were there at the start of the cycle.
  uint32_t Waiting(uint32_t t) const { return (CountBefore(push_, t) - Count(pop_)) & 3; }
  uint32_t WaitingRaw() const { return (Count(push_) - Count(pop_)) & 3; }
  const LinkEntry& Front() const { return entries_[Count(pop_) & 1]; }
  void Pop(uint32_t t) { pop_.store(Pack(t, Count(pop_) + 1), std::memory_order_release); }

 private:
  static uint32_t Pack(uint32_t t, uint32_t n) { return t << 2 | (n & 3); }
  static uint32_t Count(const std::atomic<uint32_t>& v) {
    return v.load(std::memory_order_acquire) & 3;
  }
  static uint32_t CountBefore(const std::atomic<uint32_t>& v, uint32_t t) {
    const uint32_t bits = v.load(std::memory_order_acquire);
    return bits >> 2 == (t & 0x3fffffff) ? (bits - 1) & 3 : bits & 3;
  }
  LinkEntry entries_[2];
  std::atomic<uint32_t> push_{0};
  std::atomic<uint32_t> pop_{0};
};

struct ColorState {
  std::array<LinkBuffer, 4> in;  // from EAST, WEST, SOUTH, NORTH
  bytecode::ColorRoute config;   // as it is now: natives may change it
  bool configured = false;
  uint8_t position = 0;
  uint8_t rx = 0;  // of the current position
  uint8_t tx = 0;
  uint8_t next_in = 0;  // round robin among directions
  bool teardown = false;
  bool filter_on = true;       // the program has not switched the filter off
  bool filter_enabled = true;  // sparse counter: its limits are not used up
  uint16_t counter = 0;
  uint16_t limit = 0;
  // Where a link leads: the neighbour's state for the colour as received there, filled on first
  // use. Its own thread's only.
  std::array<ColorState*, 4> link = {};
  std::array<uint8_t, 4> link_color = {};
  uint32_t closes_after = 0;                // 0: open; else wavelets until the route is emptied
  std::array<uint8_t, 5> message_out = {};  // point to point: 1 + the direction in which the
                                            // message from an input goes, 0 between messages
  uint64_t blocked_since = 0;               // first cycle of the present stall; 0: not stalled
  void Apply();                             // rx and tx from position
  // SWITCH_ADV: true where the position changed.
  bool Advance();
  // Filter for a wavelet on its way to the ramp: does it pass? Counts it.
  bool Pass(uint32_t data, bool control);
};

// Point to point: the header of a message, its first wavelet.
constexpr uint32_t MessageColumn(uint32_t header) { return header >> 11 & 0x3ff; }
constexpr uint32_t MessageRow(uint32_t header) { return header >> 21; }

// Control payloads (docs/csl): 6-bit entry point and eight 3-bit commands.
enum class SwitchCommand : uint8_t { kNop, kAdvance, kReset, kTeardown };
struct ControlCommand {
  SwitchCommand op;
  bool skip_core;  // not delivered to this router's core
};
ControlCommand FirstCommand(uint32_t payload);
uint32_t PopCommand(uint32_t payload);
constexpr uint32_t EntryPoint(uint32_t payload) { return payload >> 16 & 63; }
inline constexpr uint32_t kNoEntryPoint = 31;

struct Router {
  std::array<std::atomic<ColorState*>, bytecode::kColorCount> colors = {};
  uint32_t maybe = 0;                 // colours that may hold wavelets; owner's thread only
  uint8_t next_color = 0;             // round robin
  uint64_t next_wake = ~uint64_t{0};  // the event scheduled last
  uint64_t last_step = 0;
  uint64_t hops = 0;
  ~Router();
};

}  // namespace szarena::fabric
