// SPDX-License-Identifier: Apache-2.0
// Reading an SZx stream on the device: where its parts are, and how long a block is. Nothing in it
// is trusted.
#pragma once

#include <cstdint>

#include "codec/core/size.h"
#include "codec/cuda/szx_cuda.h"
#include "codec/cuda/szx_tile.cuh"
#include "codec/cuda/warp.cuh"

namespace szarena::codec::cuda {

// The parts of a stream, as szx::Parts. Not `ok`: no stream of this type and count; the other
// members mean nothing.
struct SzxParts {
  bool ok;
  bool sequential;
  bool too_many_blocks;  // not `ok` because of this
  uint64_t block_values;
  uint64_t blocks;
  uint64_t coded_blocks;
  uint64_t sizes_at, states_at, medians_at, coded_at;  // in the stream
  // Blocks are found in groups of so many, a multiple of 8: at least 1024 values, so that their
  // number is known beforehand.
  uint64_t group_blocks;
  uint64_t groups;
};

constexpr uint64_t kLeastGroupValues = 1024;

// Called by all lanes of a warp.
template <class T>
__device__ SzxParts ReadParts(const unsigned char* stream, uint64_t size, uint64_t count) {
  static_assert(szx::HeaderBytes(szx::Mode::kRandomAccess) == 20);
  SzxParts parts{};
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t mine = lane < 20 && lane < size ? stream[lane] : 0;
  const auto byte = [&](uint32_t at) { return __shfl_sync(kAllLanes, mine, at); };
  const auto number = [&](uint32_t at) {
    uint64_t value = 0;
    for (uint32_t b = 0; b < 8; ++b) value = value << 8 | byte(at + b);
    return value;
  };
  const bool known =
      byte(0) == 1 && byte(1) == 1 && byte(2) == szx::Type<T>::kVersionByte && byte(3) <= 1;
  if (size < 4 || !known) return parts;
  parts.sequential = byte(3) == 0;
  const uint64_t header =
      szx::HeaderBytes(parts.sequential ? szx::Mode::kSequential : szx::Mode::kRandomAccess);
  if (size < header) return parts;
  parts.block_values = parts.sequential ? byte(4) : number(4);
  const uint64_t constant_blocks = number(parts.sequential ? 5 : 12);
  if (parts.block_values < 1 || parts.block_values > szx::kMaxBlockValues) return parts;
  parts.blocks = CeilDiv(count, parts.block_values);
  if (constant_blocks > parts.blocks) return parts;
  parts.too_many_blocks = parts.sequential && parts.blocks > kMostSequentialBlocks;
  if (parts.too_many_blocks) return parts;
  parts.coded_blocks = parts.blocks - constant_blocks;
  const uint64_t state_bytes = CeilDiv(parts.blocks, 8);
  // The first test keeps the sum of the second from wrapping.
  if (state_bytes > size || header + (parts.sequential ? 0 : 2 * parts.coded_blocks) + state_bytes +
                                    sizeof(T) * constant_blocks >
                                size)
    return parts;
  parts.sizes_at = header;
  parts.states_at = header + (parts.sequential ? 0 : 2 * parts.coded_blocks);
  parts.medians_at = parts.states_at + state_bytes;
  parts.coded_at = parts.medians_at + sizeof(T) * constant_blocks;
  parts.group_blocks = CeilDiv(CeilDiv(kLeastGroupValues, parts.block_values), 8) * 8;
  parts.groups = CeilDiv(parts.blocks, parts.group_blocks);
  parts.ok = true;
  return parts;
}

// State bits of the 8 blocks from `block` on, a multiple of 8; 0 behind the last block.
__device__ __forceinline__ uint32_t StateByte(const unsigned char* stream, const SzxParts& parts,
                                              uint64_t block) {
  if (block >= parts.blocks) return 0;
  const uint32_t byte = stream[parts.states_at + block / 8];
  return parts.blocks - block >= 8 ? byte : byte & ~(0xffu >> (parts.blocks - block));
}

__device__ __forceinline__ uint32_t BlockSize(const unsigned char* stream, const SzxParts& parts,
                                              uint64_t coded_index) {
  const unsigned char* at = stream + parts.sizes_at + 2 * coded_index;
  return at[0] | static_cast<uint32_t>(at[1]) << 8;
}

template <class T>
__device__ __forceinline__ T LoadBe(const unsigned char* at) {
  typename SzxTile<T>::Bits bits = 0;
#pragma unroll
  for (uint32_t b = 0; b < sizeof(T); ++b) bits = bits << 8 | at[b];
  return FromBits(bits);
}

// Called by all lanes of a warp. Size of the coded block of `values` values at `at`, `room` bytes
// before the stream's end; 0 where the stream ends before the block or its required length is out
// of range.
template <class T>
__device__ uint64_t MeasureBlock(const unsigned char* at, uint64_t room, uint32_t values) {
  const uint64_t head = SzxTile<T>::kHeadBytes + (values + 3) / 4;
  if (room < head) return 0;
  const int required = at[0];
  if (required < szx::Type<T>::kHeadBits || required > szx::Type<T>::kBits) return 0;
  const uint32_t kept = (required + 7) / 8;
  uint32_t stored = 0;
  for (uint32_t i = threadIdx.x % 32; i < values; i += 32) {
    const uint32_t code = at[SzxTile<T>::kHeadBytes + i / 4] >> (6 - 2 * (i % 4)) & 3u;
    stored += kept > code ? kept - code : 0;
  }
  const uint64_t size = head + ReduceAdd(stored);
  return size <= room ? size : 0;
}

}  // namespace szarena::codec::cuda
