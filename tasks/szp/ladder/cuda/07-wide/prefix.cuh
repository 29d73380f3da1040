// SPDX-License-Identifier: Apache-2.0
// Where a tile's payload begins: decoupled look-back (Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled
// Look-back", 2016). A tile publishes its own sum at once; one warp adds up the sums before it, 32 tiles at a time, until it
// meets a tile that knows its prefix.
#pragma once

#include <cstdint>

// A tile's word: a status in the top two bits, a sum below. `words` is zero before the launch.
constexpr unsigned long long kSum = 1ull << 62;
constexpr unsigned long long kPrefix = 2ull << 62;
constexpr unsigned long long kValue = (1ull << 62) - 1;

// Tiles are numbered in the order in which thread blocks start, so that a tile waits for running ones only.
__device__ inline uint32_t TakeTile(unsigned int* ticket) {
  __shared__ uint32_t tile;
  if (threadIdx.x == 0) tile = atomicAdd(ticket, 1);
  __syncthreads();
  return tile;
}

__device__ inline unsigned long long LoadWord(const unsigned long long* at) {
  return *reinterpret_cast<const volatile unsigned long long*>(at);
}

// Called by all threads: the sum of all tiles before `tile`, of which `sum` is this one's.
__device__ inline unsigned long long SumBefore(unsigned long long* words, uint32_t tile, unsigned long long sum) {
  __shared__ unsigned long long before;
  const uint32_t lane = threadIdx.x % 32;
  if (threadIdx.x == 0) *reinterpret_cast<volatile unsigned long long*>(words + tile) = (tile == 0 ? kPrefix : kSum) | sum;
  if (threadIdx.x < 32) {
    unsigned long long total = 0;
    for (int64_t at = static_cast<int64_t>(tile) - 1 - lane; tile > 0; at -= 32) {
      unsigned long long word = at >= 0 ? LoadWord(words + at) : kPrefix;
      uint32_t with_prefix = 0;
      uint32_t near = 0;  // lanes before the first one that knows its prefix
      while (true) {
        with_prefix = __ballot_sync(0xffffffffu, word >= kPrefix);
        near = (with_prefix - 1) & ~with_prefix;
        if ((__ballot_sync(0xffffffffu, word < kSum) & near) == 0) break;
        __nanosleep(100);
        if (word < kSum) word = LoadWord(words + at);
      }
      const bool counts = (near >> lane & 1) != 0 || (with_prefix != 0 && lane == static_cast<uint32_t>(__ffs(with_prefix)) - 1);
      unsigned long long part = counts ? word & kValue : 0;
      for (int step = 16; step > 0; step /= 2) part += __shfl_xor_sync(0xffffffffu, part, step);
      total += part;
      if (with_prefix != 0) break;
    }
    if (lane == 0) {
      before = total;
      if (tile > 0) *reinterpret_cast<volatile unsigned long long*>(words + tile) = kPrefix | (total + sum);
    }
  }
  __syncthreads();
  return before;
}
