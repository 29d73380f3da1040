// SPDX-License-Identifier: Apache-2.0
// How a codec's device scratch is divided: the zeroed part first, so that one memset prepares it.
#pragma once

#include <cstdint>

namespace szarena::codec::cuda {

struct Bound;
struct ScanState {
  unsigned long long* tiles;  // one 64-bit word a tile
  unsigned int* ticket;
};

// Running minimum and maximum of a reduction, as order-preserving integers (see range.cuh).
struct RangeState {
  unsigned long long negated_min;  // zero: no finite value yet
  unsigned long long max;
  unsigned int blocks_done;
  unsigned int reserved;
};

constexpr uint64_t kWorkspaceAlignment = 256;

inline bool IsAligned(const void* pointer, uint64_t to) {
  return reinterpret_cast<uintptr_t>(pointer) % to == 0;
}

constexpr uint64_t kHeadBytes = 256;  // range state, bound, tickets, totals

constexpr uint64_t WorkspaceBytes(uint64_t tiles) { return kHeadBytes + 8 * tiles; }

struct Workspace {
  RangeState* range;
  Bound* bound;
  ScanState scan;
  unsigned int* second_ticket;  // for a second scan in the same words
  unsigned long long* totals;   // two
  uint64_t zeroed_bytes;

  Workspace(void* memory, uint64_t tiles) {
    auto* bytes = static_cast<unsigned char*>(memory);
    range = reinterpret_cast<RangeState*>(bytes);
    bound = reinterpret_cast<Bound*>(bytes + 64);
    scan.ticket = reinterpret_cast<unsigned int*>(bytes + 128);
    second_ticket = scan.ticket + 1;
    totals = reinterpret_cast<unsigned long long*>(bytes + 144);
    scan.tiles = reinterpret_cast<unsigned long long*>(bytes + kHeadBytes);
    zeroed_bytes = WorkspaceBytes(tiles);
  }
};

}  // namespace szarena::codec::cuda
