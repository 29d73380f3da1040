// SPDX-License-Identifier: Apache-2.0
// How an SZp array is divided, the same in both directions: a thread owns a block of 32 values, a warp a region of 32 blocks,
// a thread block a tile of one region for each of its worker warps. A region's place in shared memory has one row a
// block; rows are 16 bytes longer than their values, so that 16-byte accesses of neighbouring rows hit different banks.
#pragma once

#include <cstdint>

#include "codec/cuda/device_math.cuh"
#include "codec/cuda/szp_cuda.h"

namespace szarena::codec::cuda {

constexpr uint32_t kBlockValues = 32;
constexpr uint32_t kBlocksPerRegion = 32;
constexpr uint32_t kRawByte = 0x3f;

// An integer below 2^23 with this on top is, as a float, 2^23 more than the integer.
constexpr uint32_t kOffset = 0x4b000000u;

template <class T>
struct Tile {
  static constexpr uint32_t kRowBytes = kBlockValues * sizeof(T);
  static constexpr uint32_t kRowStride = kRowBytes + 16;
  static constexpr uint32_t kRegionBytes = kBlocksPerRegion * kRowStride;
  // Of a thread block that compresses, at most, and thread blocks on a multiprocessor: few and large tiles, since every one has to find its place.
  static constexpr uint32_t kWorkers = sizeof(T) == 4 ? 24 : 12;
  static constexpr uint32_t kResident = 1;
  static constexpr uint32_t kPieces = kRowBytes / 16;  // 16-byte pieces of a row
};

// The decompressor's share of SzpWorkspaceBytes.
uint64_t SzpDecompressWorkspaceBytes(uint64_t count, const szp::Params& params);

template <class T>
constexpr uint64_t RegionCount(uint64_t count) {
  return (szp::BlockCount(count) + kBlocksPerRegion - 1) / kBlocksPerRegion;
}

}  // namespace szarena::codec::cuda
