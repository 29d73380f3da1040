// SPDX-License-Identifier: Apache-2.0
// Exclusive prefix sums on one thread block: every thread adds up its share, the first one the shares.
#pragma once

#include <cstdint>

constexpr uint32_t kScanThreads = 1024;

inline uint64_t ScanChunks(uint64_t) { return 1; }

static __global__ void ScanKernel(const uint32_t* size, uint64_t count, uint64_t first, uint64_t* offset, uint64_t* total) {
  __shared__ uint64_t sums[kScanThreads];
  const uint64_t share = (count + kScanThreads - 1) / kScanThreads;
  const uint64_t begin = threadIdx.x * share;
  const uint64_t end = begin + share < count ? begin + share : count;
  uint64_t sum = 0;
  for (uint64_t i = begin; i < end; ++i) sum += size[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    uint64_t running = first;
    for (uint32_t k = 0; k < kScanThreads; ++k) {
      const uint64_t own = sums[k];
      sums[k] = running;
      running += own;
    }
    *total = running;
  }
  __syncthreads();
  uint64_t running = sums[threadIdx.x];
  for (uint64_t i = begin; i < end; ++i) {
    offset[i] = running;
    running += size[i];
  }
}

// offset[i] = first + size[0] + ... + size[i - 1]; *total = first + the sum of all.
inline void Scan(const uint32_t* size, uint64_t count, uint64_t first, uint64_t*, uint64_t* offset, uint64_t* total, cudaStream_t stream) {
  ScanKernel<<<1, kScanThreads, 0, stream>>>(size, count, first, offset, total);
}
