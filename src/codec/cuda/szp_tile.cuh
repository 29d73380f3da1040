// SPDX-License-Identifier: Apache-2.0
// How a grid walks over an SZp array, the same in both directions. A thread owns a block of 32 values, a warp a region of
// 32 blocks, a thread block a tile of one region for each of its worker warps. Thread blocks stay and take tile after tile;
// one more warp, the scanner, finds the place of a tile's payload while the workers are at other tiles, so that
// neither loads nor the look-back are waited for. A region's place in shared memory has one row a
// block; rows are 16 bytes longer than their values, so that 16-byte accesses of neighbouring rows hit different banks.
#pragma once

#include <cstdint>

#include "codec/cuda/device_math.cuh"
#include "codec/cuda/lookback.cuh"
#include "codec/cuda/szp_cuda.h"

namespace szarena::codec::cuda {

constexpr uint32_t kBlockValues = 32;
constexpr uint32_t kBlocksPerRegion = 32;
constexpr uint32_t kRawByte = 0x3f;

template <class T>
struct Tile {
  static constexpr uint32_t kRowBytes = kBlockValues * sizeof(T);
  static constexpr uint32_t kRowStride = kRowBytes + 16;
  static constexpr uint32_t kRegionBytes = kBlocksPerRegion * kRowStride;
  static constexpr uint32_t kWarps = sizeof(T) == 4 ? 12 : 4;  // workers
  static constexpr uint32_t kThreads = 32 * (kWarps + 1);
  static constexpr uint32_t kBlocks = kWarps * kBlocksPerRegion;
  static constexpr uint32_t kTileBytes = kWarps * kRegionBytes;
  static constexpr uint32_t kPieces = kRowBytes / 16;  // 16-byte pieces of a row
};

// The decompressor's share of SzpWorkspaceBytes.
uint64_t SzpDecompressWorkspaceBytes(uint64_t count, const szp::Params& params);

template <class T>
constexpr uint64_t TileCount(uint64_t count) {
  return (szp::BlockCount(count) + Tile<T>::kBlocks - 1) / Tile<T>::kBlocks;
}

// Exclusive sum over the lanes of a warp; `total` is the sum of all.
__device__ __forceinline__ uint32_t WarpExclusiveSum(uint32_t value, uint32_t& total) {
  const uint32_t lane = threadIdx.x % 32;
  uint32_t sum = value;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const uint32_t below = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += below;
  }
  total = __shfl_sync(0xffffffffu, sum, 31);
  return sum - value;
}

__device__ __forceinline__ uint32_t WarpMax(uint32_t value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(0xffffffffu, value);
#else
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value = max(value, __shfl_xor_sync(0xffffffffu, value, step));
  return value;
#endif
}

// Hand-over between the workers and the scanner of a thread block: one side arrives, the other waits. A barrier may be used
// again only after the other side has passed it; users alternate between two or more.
__device__ __forceinline__ void Arrive(uint32_t barrier, uint32_t threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ __forceinline__ void Wait(uint32_t barrier, uint32_t threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

}  // namespace szarena::codec::cuda
