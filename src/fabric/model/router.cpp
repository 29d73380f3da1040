// SPDX-License-Identifier: Apache-2.0
// Switches, filters and control payloads.
#include "fabric/model/router.h"

#include <algorithm>

namespace szarena::fabric {
using namespace bytecode;

void ColorState::Apply() {
  // Each position changes what it names and keeps the rest of the one before it (public programs
  // rely on it: ".pos1 = .{ .tx = EAST }, .pos2 = .{ .rx = RAMP }" sends from the ramp to the east
  // only).
  rx = config.rx;
  tx = config.tx;
  for (uint32_t k = 0; k < position; ++k) {
    const SwitchPosition& p = config.positions[k];
    if (!p.valid) continue;
    if (p.rx != 0) rx = p.rx;
    if (p.tx != 0) tx = p.tx;
  }
}

bool ColorState::Advance() {
  const uint8_t before = position;
  uint8_t next = position;
  do {
    ++next;
  } while (next <= 3 && !config.positions[next - 1].valid);
  if (next <= 3)
    position = next;
  else if (config.ring_mode)
    position = 0;
  Apply();
  return position != before;
}

bool ColorState::Pass(uint32_t data, bool control) {
  const Filter& f = config.filter;
  if (!filter_on) return true;
  switch (f.kind) {
    case FilterKind::kNone:
      return true;
    case FilterKind::kRange:
      return control || (data >> 16 >= f.min_index && data >> 16 <= f.max_index);
    case FilterKind::kCounter:
    case FilterKind::kSparseCounter: {
      if (!filter_enabled) return true;
      if (control ? !f.count_control : !f.count_data)
        return control ? !f.filter_control || counter == f.max_counter : true;
      const bool pass =
          control && f.filter_control ? counter == f.max_counter : counter <= f.max_counter;
      if (counter == limit) {
        counter = 0;
        if (f.kind == FilterKind::kSparseCounter) {  // the second limit is taken once
          if (limit == f.limit1 && f.limit2 != f.limit1 && f.limit2 != 0)
            limit = f.limit2;
          else
            filter_enabled = false;
        }
      } else {
        ++counter;
      }
      return pass;
    }
  }
  return true;
}

namespace {
// The 24 command bits in order: opcode lsb, opcode msb, ignore; bits 22..29, then 0..15 of the
// payload.
uint32_t CommandsOf(uint32_t payload) { return (payload >> 22 & 0xff) | (payload & 0xffff) << 8; }
}  // namespace

ControlCommand FirstCommand(uint32_t payload) {
  const uint32_t c = CommandsOf(payload);
  return {static_cast<SwitchCommand>(c & 3), (c & 4) != 0};
}

uint32_t PopCommand(uint32_t payload) {
  const uint32_t c = CommandsOf(payload) >> 3;
  return (payload & 0xc03f0000u) | (c & 0xff) << 22 | c >> 8;
}

Router::~Router() {
  for (auto& c : colors) delete c.load();
}

}  // namespace szarena::fabric
