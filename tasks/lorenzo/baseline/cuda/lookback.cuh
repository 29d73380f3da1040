// SPDX-License-Identifier: Apache-2.0
// Single-pass prefix sums over tiles: decoupled look-back (Merrill and Garland, "Single-pass Parallel Prefix Scan with
// Decoupled Look-back", 2016). Sums have 64 bits of their own, so that nothing is too large.
#pragma once

#include <cstdint>

struct TileState {
  unsigned long long sum;
  unsigned long long prefix;  // up to and including the tile
  uint32_t status;            // 0: nothing, 1: sum, 2: prefix
  uint32_t unused;
};

// The workspace: a ticket, then a state a tile; zero before every launch.
constexpr uint64_t kStates = 256;
inline uint64_t StateBytes(uint64_t tiles) { return kStates + tiles * sizeof(TileState); }

__device__ inline uint32_t LoadStatus(const TileState* at) {
  uint32_t status;
#if __CUDA_ARCH__ >= 700
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(status) : "l"(&at->status) : "memory");
#else
  status = *const_cast<const volatile uint32_t*>(&at->status);
  __threadfence();
#endif
  return status;
}

__device__ inline void Publish(TileState* at, unsigned long long value, uint32_t status) {
  *const_cast<volatile unsigned long long*>(status == 1 ? &at->sum : &at->prefix) = value;
#if __CUDA_ARCH__ >= 700
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(&at->status), "r"(status) : "memory");
#else
  __threadfence();
  *const_cast<volatile uint32_t*>(&at->status) = status;
#endif
}

// Tiles are numbered in the order in which thread blocks start, so that a tile waits for running ones only.
__device__ inline uint32_t TakeTile(unsigned int* ticket) {
  __shared__ uint32_t tile;
  if (threadIdx.x == 0) tile = atomicAdd(ticket, 1);
  __syncthreads();
  return tile;
}

// Called by all threads: the sum of all tiles before `tile`, of which `sum` is this one's.
__device__ inline unsigned long long SumBefore(TileState* states, uint32_t tile, unsigned long long sum) {
  __shared__ unsigned long long before;
  const uint32_t lane = threadIdx.x % 32;
  if (threadIdx.x == 0) Publish(states + tile, sum, tile == 0 ? 2 : 1);
  if (threadIdx.x < 32) {
    unsigned long long total = 0;
    for (int64_t at = static_cast<int64_t>(tile) - 1 - lane; tile > 0; at -= 32) {
      uint32_t status = at >= 0 ? LoadStatus(states + at) : 2;
      uint32_t with_prefix = 0;
      uint32_t near = 0;  // lanes before the first one that knows its prefix
      while (true) {
        with_prefix = __ballot_sync(0xffffffffu, status == 2);
        near = (with_prefix - 1) & ~with_prefix;
        if ((__ballot_sync(0xffffffffu, status == 0) & near) == 0) break;
        if (status == 0) status = LoadStatus(states + at);
      }
      unsigned long long part = 0;
      if ((near >> lane & 1) != 0) part = *const_cast<volatile unsigned long long*>(&states[at].sum);
      if (with_prefix != 0 && lane == static_cast<uint32_t>(__ffs(with_prefix)) - 1 && at >= 0) {
        part = *const_cast<volatile unsigned long long*>(&states[at].prefix);
      }
      for (int step = 16; step > 0; step /= 2) part += __shfl_xor_sync(0xffffffffu, part, step);
      total += part;
      if (with_prefix != 0) break;
    }
    if (lane == 0) {
      before = total;
      if (tile > 0) Publish(states + tile, total + sum, 2);
    }
  }
  __syncthreads();
  return before;
}

// Exclusive sum over the threads of the block; all call it.
template <uint32_t kThreads, typename T>
__device__ inline T BeforeThread(T value, T& total) {
  __shared__ T sums[kThreads / 32];
  const uint32_t lane = threadIdx.x % 32;
  T sum = value;
  for (uint32_t step = 1; step < 32; step *= 2) {
    const T below = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += below;
  }
  __syncthreads();
  if (lane == 31) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  T before = sum - value;
  total = 0;
  for (uint32_t k = 0; k < kThreads / 32; ++k) {
    if (k < threadIdx.x / 32) before += sums[k];
    total += sums[k];
  }
  return before;
}
