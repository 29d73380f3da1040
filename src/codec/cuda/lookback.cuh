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

// Called by all 32 lanes of one warp. Publishes `sum` for `tile` and returns the sum of all tiles before it.
// Status and value share a word, so no fence is needed.
__device__ __forceinline__ unsigned long long ScanTile(ScanState state, unsigned int tile, unsigned long long sum) {
  const unsigned int lane = threadIdx.x % 32;
  if (tile == 0) {
    if (lane == 0) StoreState(state.tiles, kScanPrefix | sum);
    return 0;
  }
  if (lane == 0) StoreState(state.tiles + tile, kScanSum | sum);
  // A step looks at kReach tiles a lane; lane k has the tiles from window - k * kReach downwards.
  constexpr int kReach = 4;
  unsigned long long before = 0;
  for (long long window = static_cast<long long>(tile) - 1;; window -= 32 * kReach) {
    const long long first = window - static_cast<long long>(lane) * kReach;
    unsigned long long words[kReach];
#pragma unroll
    for (int i = 0; i < kReach; ++i) words[i] = first - i >= 0 ? LoadState(state.tiles + first - i) : kScanPrefix;  // before all: 0
    unsigned long long part = 0;
    bool found = false;
#pragma unroll
    for (int i = 0; i < kReach; ++i) {
      while ((words[i] >> 62) == 0) {
        __nanosleep(100);  // many warps poll few words: without a pause they slow down the ones that write
        words[i] = LoadState(state.tiles + first - i);
      }
      if (!found) part += words[i] & kScanValue;
      found = found || (words[i] & kScanPrefix) != 0;
    }
    const unsigned int with_prefix = __ballot_sync(0xffffffffu, found);
    const unsigned int last = with_prefix != 0 ? __ffs(with_prefix) - 1 : 31;
    if (lane > last) part = 0;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) part += __shfl_xor_sync(0xffffffffu, part, step);
    before += part;
    if (with_prefix != 0) break;
  }
  if (lane == 0) StoreState(state.tiles + tile, kScanPrefix | ((before + sum) & kScanValue));
  return before;
}

}  // namespace szarena::codec::cuda
