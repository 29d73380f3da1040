// SPDX-License-Identifier: Apache-2.0
// Single-pass exclusive prefix sum over the tiles of a grid: decoupled look-back (Merrill and Garland, "Single-pass
// Parallel Prefix Scan with Decoupled Look-back", NVIDIA 2016). Tiles take tickets, so a tile waits only for
// tiles that run already, whatever order the hardware starts blocks in.
#pragma once

#include <cstdint>

#include "codec/cuda/workspace.h"

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

// Called by all 32 lanes of one warp: makes a tile's sum known to later tiles.
__device__ __forceinline__ void PublishSum(ScanState state, unsigned int tile, unsigned long long sum) {
  if (threadIdx.x % 32 == 0) StoreState(state.tiles + tile, (tile == 0 ? kScanPrefix : kScanSum) | sum);
}

// Called by all 32 lanes of one warp after PublishSum: returns the sum of all tiles before `tile`, and makes the sum up to
// it known. Status and value share a word, so no fence is needed.
__device__ __forceinline__ unsigned long long ScanTile(ScanState state, unsigned int tile, unsigned long long sum) {
  const unsigned int lane = threadIdx.x % 32;
  if (tile == 0) return 0;
  unsigned long long before = 0;
  for (long long window = static_cast<long long>(tile) - 1;; window -= 32) {
    const long long at = window - lane;
    unsigned long long word = kScanPrefix;  // before the first tile: a prefix of 0
    if (at >= 0) {
      while (((word = LoadState(state.tiles + at)) >> 62) == 0) __nanosleep(20);
    }
    const unsigned int with_prefix = __ballot_sync(0xffffffffu, (word & kScanPrefix) != 0);
    const unsigned int last = with_prefix != 0 ? __ffs(with_prefix) - 1 : 31;
    unsigned long long part = lane <= last ? word & kScanValue : 0;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) part += __shfl_xor_sync(0xffffffffu, part, step);
    before += part;
    if (with_prefix != 0) break;
  }
  if (lane == 0) StoreState(state.tiles + tile, kScanPrefix | ((before + sum) & kScanValue));
  return before;
}

}  // namespace szarena::codec::cuda
