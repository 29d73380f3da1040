// SPDX-License-Identifier: Apache-2.0
// How a grid walks over an SZp array, the same in both directions. A thread owns a block of 32 values, a warp a region of
// 32 blocks at a time, a thread block a tile of kRegions regions. A region has a place in shared memory, one row a
// block; rows are 16 bytes longer than their values, so that 16-byte accesses of neighbouring rows hit different banks.
#pragma once

#include <cstdint>

#include "codec/cuda/device_math.cuh"
#include "codec/cuda/lookback.cuh"
#include "codec/cuda/szp_cuda.h"

namespace szarena::codec::cuda {

constexpr uint32_t kWarps = 8;
constexpr uint32_t kThreads = 32 * kWarps;
constexpr uint32_t kBlockValues = 32;
constexpr uint32_t kBlocksPerRegion = 32;
constexpr uint32_t kRawByte = 0x3f;

template <class T>
struct Tile {
  static constexpr uint32_t kRowBytes = kBlockValues * sizeof(T);
  static constexpr uint32_t kRowStride = kRowBytes + 16;
  static constexpr uint32_t kRegionBytes = kBlocksPerRegion * kRowStride;
  static constexpr uint32_t kRegionsPerWarp = sizeof(T) == 4 ? 2 : 1;
  static constexpr uint32_t kRegions = kWarps * kRegionsPerWarp;
  static constexpr uint32_t kBlocks = kRegions * kBlocksPerRegion;
  static constexpr uint32_t kSharedBytes = kRegions * kRegionBytes;
  static constexpr uint32_t kPieces = kRowBytes / 16;  // 16-byte pieces of a row
};

template <class T>
constexpr uint64_t TileCount(uint64_t count) {
  return (szp::BlockCount(count) + Tile<T>::kBlocks - 1) / Tile<T>::kBlocks;
}

// What a thread block shares besides its regions.
struct TileShared {
  uint32_t tile;
  uint32_t region_offset[17];  // bytes of payload before each region of the tile, and in all
  unsigned long long base;     // bytes of payload before the tile
};

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

// Turns region sizes (already in region_offset[1 + region]) into offsets, publishes the tile's size and finds its base.
// Called by all threads.
template <class T>
__device__ __forceinline__ void PlaceTile(TileShared& shared, ScanState scan) {
  __syncthreads();
  if (threadIdx.x < 32) {
    const uint32_t lane = threadIdx.x;
    uint32_t total = 0;
    const uint32_t size = lane < Tile<T>::kRegions ? shared.region_offset[1 + lane] : 0;
    const uint32_t before = WarpExclusiveSum(size, total);
    __syncwarp();
    if (lane <= Tile<T>::kRegions) shared.region_offset[lane] = before;
    const unsigned long long base = ScanTile(scan, shared.tile, total);
    if (lane == 0) shared.base = base;
  }
  __syncthreads();
}

}  // namespace szarena::codec::cuda
