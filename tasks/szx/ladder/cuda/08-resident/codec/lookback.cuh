// SPDX-License-Identifier: Apache-2.0
// Single-pass exclusive prefix sum over the tiles of a grid: decoupled look-back (Merrill and Garland, "Single-pass
// Parallel Prefix Scan with Decoupled Look-back", NVIDIA 2016). Tiles take tickets, so a tile waits only for
// tiles that run already, whatever order the hardware starts blocks in.
#pragma once

#include <cstdint>

#include "warp.cuh"
#include "workspace.h"

namespace szarena::codec::cuda {

// A tile's word in ScanState holds a status in the top two bits and a sum below; all zero before the launch.
constexpr unsigned long long kScanSum = 1ull << 62;     // the tile's own sum
constexpr unsigned long long kScanPrefix = 2ull << 62;  // the sum up to and including the tile
constexpr unsigned long long kScanValue = (1ull << 62) - 1;

__device__ __forceinline__ unsigned long long LoadState(const unsigned long long* at) {
  unsigned long long word;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
  return word;
}

__device__ __forceinline__ void StoreState(unsigned long long* at, unsigned long long word) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(word) : "memory");
}

// How long a walk waits before it starts, and between looks, in nanoseconds: words that are looked at before they are there
// cost everybody bandwidth at the few cache lines in use. Found by trying.
constexpr unsigned int kBeforeWalk = 1000;
constexpr unsigned int kBetweenLooks = 200;

// Called by all 32 lanes of one warp: makes a tile's sum known to later tiles.
__device__ __forceinline__ void PublishSum(ScanState state, unsigned int tile, unsigned long long sum) {
  if (threadIdx.x % 32 == 0) StoreState(state.tiles + tile, (tile == 0 ? kScanPrefix : kScanSum) | sum);
}

// Called by all 32 lanes of one warp after PublishSum: returns the sum of all tiles before `tile`, and makes the sum up to
// it known. Status and value share a word, so no fence is needed. A tile's own sum must be below 2^27 (kWide: 2^32).
// `meanwhile` runs once, while the first words travel. One warp walks alone, so every instruction here is waited for:
// wider windows were tried and are slower.
template <bool kWide = false, class Meanwhile>
__device__ __forceinline__ unsigned long long ScanTile(ScanState state, unsigned int tile, unsigned int sum, Meanwhile&& meanwhile) {
  const unsigned int lane = threadIdx.x % 32;
  meanwhile();
  if (tile == 0) return 0;
  unsigned long long before = 0;
  const unsigned long long* at = state.tiles + static_cast<long long>(tile) - 1 - lane;  // lane k looks k tiles farther back
  bool exists = lane < tile;
  for (unsigned int window = tile;; window -= 32) {
    unsigned long long word = kScanPrefix;  // before the first tile: a prefix of 0
    if (exists) word = LoadState(at);
    unsigned int with_prefix;
    unsigned int near;
    while (true) {
      // Words nearer than the nearest prefix must all be there.
      const unsigned int status = static_cast<unsigned int>(word >> 62);
      with_prefix = __ballot_sync(0xffffffffu, status >= 2);
      near = with_prefix - 1 & ~with_prefix;  // lanes before the first one with a prefix; all where there is none
      const unsigned int missing = __ballot_sync(0xffffffffu, status == 0) & near;
      if (missing == 0) break;
      __nanosleep(kBetweenLooks);
      if ((missing >> lane & 1u) != 0) word = LoadState(at);
    }
    const unsigned int of_tile = (near >> lane & 1u) != 0 ? static_cast<unsigned int>(word) : 0;
    if constexpr (kWide) {
      before += ReduceAdd(of_tile & 0xffffu) + (static_cast<unsigned long long>(ReduceAdd(of_tile >> 16)) << 16);
    } else {
      before += ReduceAdd(of_tile);
    }
    if (with_prefix != 0) {
      before += __shfl_sync(0xffffffffu, word, __ffs(with_prefix) - 1) & kScanValue;
      break;
    }
    at -= 32;
    exists = lane + 32 < window;
  }
  if (lane == 0) StoreState(state.tiles + tile, kScanPrefix | (before + sum));
  return before;
}

}  // namespace szarena::codec::cuda
