// SPDX-License-Identifier: Apache-2.0
// Where a tile's payload begins: the sum of all tiles before it, each waiting for its predecessor.
#pragma once

#include <cstdint>

// A tile's word: 0 until its sum up to and including itself is known, then that sum with the top bit set. `words` is zero
// before the launch.
constexpr unsigned long long kKnown = 1ull << 63;

// Tiles are numbered in the order in which thread blocks start, so that a tile waits for running ones only.
__device__ inline uint32_t TakeTile(unsigned int* ticket) {
  __shared__ uint32_t tile;
  if (threadIdx.x == 0) tile = atomicAdd(ticket, 1);
  __syncthreads();
  return tile;
}

// Called by all threads: the sum of all tiles before `tile`, of which `sum` is this one's.
__device__ inline unsigned long long SumBefore(unsigned long long* words, uint32_t tile, unsigned long long sum) {
  __shared__ unsigned long long before;
  if (threadIdx.x == 0) {
    unsigned long long word = kKnown;
    while (tile > 0 && ((word = atomicAdd(&words[tile - 1], 0ull)) & kKnown) == 0) __nanosleep(100);
    before = word & ~kKnown;
    atomicExch(&words[tile], kKnown | (before + sum));
  }
  __syncthreads();
  return before;
}
