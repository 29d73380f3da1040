// SPDX-License-Identifier: Apache-2.0
// SZx blocks of any size, one after another by a warp: the way for streams that are rare.
#pragma once

#include "szx_stream.cuh"

namespace szarena::codec::cuda {

// Decodes the coded block of `count` values at `at`, which MeasureBlock has found to lie in the
// stream.
template <class T>
__device__ void DecodeAnyBlock(const unsigned char* at, uint32_t count, T* values) {
  using S = SzxTile<T>;
  using Bits = typename S::Bits;
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t required = at[0];
  const uint32_t kept = (required + 7) / 8;
  const uint32_t drop = S::kBits - required;
  const T median = LoadBe<T>(at + 1);
  const bool exact = required == S::kBits && median == T(0);
  const unsigned char* codes = at + S::kHeadBytes;
  const unsigned char* bytes = codes + (count + 3) / 4;
  Bits carry = 0;  // the value before
  for (uint32_t first = 0; first < count; first += 32) {
    const uint32_t i = first + lane;
    const uint32_t code = i < count ? codes[i / 4] >> (6 - 2 * (i % 4)) & 3u : 3;
    const uint32_t n = i < count && kept > code ? kept - code : 0;
    uint32_t total = 0;
    const uint32_t offset = WarpExclusiveSum(n, total);
    Bits z = 0;
    for (uint32_t k = 0; k < n; ++k) z |= static_cast<Bits>(bytes[offset + k]) << (8 * k);
    // Leading byte j comes from the last value that stores it.
    const Bits own = z;
    for (uint32_t j = 0; j < 3 && j < kept; ++j) {
      const uint32_t stored =
          __ballot_sync(kAllLanes, i < count && code <= j) & (kAllLanes >> (31 - lane));
      const Bits byte = Bits(0xff) << (8 * (kept - 1 - j));
      const Bits from =
          __shfl_sync(kAllLanes, own, stored != 0 ? 31 - __clz(static_cast<int>(stored)) : 0);
      z = (z & ~byte) | ((stored != 0 ? from : carry) & byte);
    }
    if (i < count)
      values[i] = exact ? FromBits(static_cast<Bits>(z << drop))
                        : Add(FromBits(static_cast<Bits>(z << drop)), median);
    carry = __shfl_sync(kAllLanes, z, 31);
    bytes += total;
  }
}

// Decodes the blocks of a group. `coded`: coded blocks before it; `at`: place of its first coded
// block. False where a block is damaged; all values are written.
template <class T>
__device__ bool DecodeAnyGroup(const unsigned char* stream, uint64_t size, const SzxParts& parts,
                               uint64_t group, uint64_t coded, uint64_t at, T* values,
                               uint64_t count) {
  const uint32_t lane = threadIdx.x % 32;
  bool good = true;
  const uint64_t end = min(static_cast<unsigned long long>((group + 1) * parts.group_blocks),
                           static_cast<unsigned long long>(parts.blocks));
  for (uint64_t block = group * parts.group_blocks; block < end; ++block) {
    const uint64_t first = block * parts.block_values;
    const uint32_t in_block =
        static_cast<uint32_t>(min(static_cast<unsigned long long>(parts.block_values),
                                  static_cast<unsigned long long>(count - first)));
    const bool is_coded = (StateByte(stream, parts, block / 8 * 8) >> (7 - block % 8) & 1u) != 0;
    T fill = T(0);
    if (is_coded) {
      uint64_t found = 0;
      if (at <= size && coded < parts.coded_blocks) {
        found = MeasureBlock<T>(stream + at, size - at, in_block);
        if (!parts.sequential && found != BlockSize(stream, parts, coded)) found = 0;
      }
      if (found != 0) {
        DecodeAnyBlock(stream + at, in_block, values + first);
        ++coded;
        at += found;
        continue;
      }
      good = false;
      // The next block of a random-access stream can still be found, but the stream is lost anyway.
      coded = parts.coded_blocks;
    } else if (block - coded < parts.blocks - parts.coded_blocks && block >= coded) {
      fill = LoadBe<T>(stream + parts.medians_at + sizeof(T) * (block - coded));
    }
    for (uint32_t i = lane; i < in_block; i += 32) values[first + i] = fill;
  }
  return good;
}

}  // namespace szarena::codec::cuda
