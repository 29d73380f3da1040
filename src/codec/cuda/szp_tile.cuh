// SPDX-License-Identifier: Apache-2.0
// How a grid walks over an SZp array, the same in both directions. A thread owns a block of 32 values, a warp a region of
// 32 blocks, a thread block a tile of a region a warp. Thread blocks stay and take tile after tile; the next tile's
// data are on their way while one is worked on, so a region has kBuffers places in shared memory. A place has one row a
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
  static constexpr uint32_t kWarps = sizeof(T) == 4 ? 8 : 4;
  static constexpr uint32_t kThreads = 32 * kWarps;
  static constexpr uint32_t kResident = 3;  // thread blocks on a multiprocessor
  static constexpr uint32_t kBlocks = kWarps * kBlocksPerRegion;
  static constexpr uint32_t kTileBytes = kWarps * kRegionBytes;
  static constexpr uint32_t kBuffers = 2;
  static constexpr uint32_t kSharedBytes = kBuffers * kTileBytes;
  static constexpr uint32_t kPieces = kRowBytes / 16;  // 16-byte pieces of a row
};

template <class T>
constexpr uint64_t TileCount(uint64_t count) {
  return (szp::BlockCount(count) + Tile<T>::kBlocks - 1) / Tile<T>::kBlocks;
}

// What a thread block shares besides its regions.
struct TileShared {
  uint32_t next_tile;
  uint32_t region_offset[9];   // bytes of payload before each region of the tile, and in all
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
__device__ __forceinline__ void PlaceTile(TileShared& shared, ScanState scan, uint32_t tile) {
  __syncthreads();
  if (threadIdx.x < 32) {
    const uint32_t lane = threadIdx.x;
    uint32_t total = 0;
    const uint32_t size = lane < Tile<T>::kWarps ? shared.region_offset[1 + lane] : 0;
    const uint32_t before = WarpExclusiveSum(size, total);
    __syncwarp();
    if (lane <= Tile<T>::kWarps) shared.region_offset[lane] = before;
    const unsigned long long base = ScanTile(scan, tile, total);
    if (lane == 0) shared.base = base;
  }
  __syncthreads();
}

// The next ticket, for all threads of the block.
__device__ __forceinline__ uint32_t TakeTile(TileShared& shared, ScanState scan) {
  if (threadIdx.x == 0) shared.next_tile = atomicAdd(scan.ticket, 1u);
  __syncthreads();
  return shared.next_tile;
}

}  // namespace szarena::codec::cuda
