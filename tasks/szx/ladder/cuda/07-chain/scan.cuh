// SPDX-License-Identifier: Apache-2.0
// Exclusive prefix sums of block sizes in three kernels: sums of chunks, their scan, offsets.
#pragma once

#include <cstdint>

constexpr uint32_t kScanThreads = 1024;
constexpr uint32_t kScanChunk = 4096;  // sizes a thread block adds up

inline uint64_t ScanChunks(uint64_t count) { return (count + kScanChunk - 1) / kScanChunk; }

// Inclusive sum over the threads of a block; every thread calls it.
__device__ inline uint64_t BlockInclusiveSum(uint64_t value) {
  __shared__ uint64_t warps[32];
  const uint32_t lane = threadIdx.x % 32;
  for (uint32_t step = 1; step < 32; step *= 2) {
    const uint64_t below = __shfl_up_sync(0xffffffffu, value, step);
    if (lane >= step) value += below;
  }
  __syncthreads();
  if (lane == 31) warps[threadIdx.x / 32] = value;
  __syncthreads();
  for (uint32_t k = 0; k < threadIdx.x / 32; ++k) value += warps[k];
  return value;
}

static __global__ void ChunkSumKernel(const uint32_t* size, uint64_t count, uint64_t* chunk_sum) {
  uint64_t sum = 0;
  for (uint32_t k = threadIdx.x; k < kScanChunk; k += kScanThreads) {
    const uint64_t i = blockIdx.x * uint64_t(kScanChunk) + k;
    if (i < count) sum += size[i];
  }
  sum = BlockInclusiveSum(sum);
  if (threadIdx.x == kScanThreads - 1) chunk_sum[blockIdx.x] = sum;
}

// In place: chunk_sum becomes what lies before each chunk. `total` gets the end.
static __global__ void ChunkScanKernel(uint64_t* chunk_sum, uint64_t chunks, uint64_t first, uint64_t* total) {
  __shared__ uint64_t carry;
  if (threadIdx.x == 0) carry = first;
  __syncthreads();
  for (uint64_t base = 0; base < chunks; base += kScanThreads) {
    const uint64_t i = base + threadIdx.x;
    const uint64_t own = i < chunks ? chunk_sum[i] : 0;
    const uint64_t before = carry;
    const uint64_t sum = BlockInclusiveSum(own);
    if (i < chunks) chunk_sum[i] = before + sum - own;
    __syncthreads();
    if (threadIdx.x == kScanThreads - 1) carry = before + sum;
    __syncthreads();
  }
  if (threadIdx.x == 0) *total = carry;
}

static __global__ void OffsetKernel(const uint32_t* size, uint64_t count, const uint64_t* chunk_offset, uint64_t* offset) {
  constexpr uint32_t kEach = kScanChunk / kScanThreads;
  const uint64_t begin = blockIdx.x * uint64_t(kScanChunk) + threadIdx.x * kEach;
  uint32_t own[kEach];
  uint64_t sum = 0;
  for (uint32_t k = 0; k < kEach; ++k) {
    own[k] = begin + k < count ? size[begin + k] : 0;
    sum += own[k];
  }
  uint64_t running = chunk_offset[blockIdx.x] + BlockInclusiveSum(sum) - sum;
  for (uint32_t k = 0; k < kEach; ++k) {
    if (begin + k < count) offset[begin + k] = running;
    running += own[k];
  }
}

// offset[i] = first + size[0] + ... + size[i - 1]; *total = first + the sum of all.
inline void Scan(const uint32_t* size, uint64_t count, uint64_t first, uint64_t* chunk_sums, uint64_t* offset, uint64_t* total,
                 cudaStream_t stream) {
  const auto chunks = static_cast<uint32_t>(ScanChunks(count));
  if (chunks > 0) ChunkSumKernel<<<chunks, kScanThreads, 0, stream>>>(size, count, chunk_sums);
  ChunkScanKernel<<<1, kScanThreads, 0, stream>>>(chunk_sums, chunks, first, total);
  if (chunks > 0) OffsetKernel<<<chunks, kScanThreads, 0, stream>>>(size, count, chunk_sums, offset);
}
