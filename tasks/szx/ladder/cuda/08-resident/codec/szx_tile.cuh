// SPDX-License-Identifier: Apache-2.0
// How an SZx array is divided, the same in both directions: a thread owns a row of 128 bytes of
// values, four (f32) or eight (f64) threads a block of 128 values, a warp a region of 4 KiB. In
// shared memory a row has 16 bytes more, so that 16-byte accesses of neighbouring rows hit
// different banks and the longest payload of a region fits.
#pragma once

#include <cstdint>

#include "device_math.cuh"
#include "../format.h"

namespace szarena::codec::cuda {

template <class T>
struct SzxTile {
  using Bits = typename szx::Type<T>::Bits;
  static constexpr int kBits = szx::Type<T>::kBits;
  static constexpr uint32_t kRowBytes = 128;
  static constexpr uint32_t kRowValues = kRowBytes / sizeof(T);
  static constexpr uint32_t kRowStride = kRowBytes + 16;
  static constexpr uint32_t kPieces = kRowBytes / 16;  // 16-byte pieces of a row
  static constexpr uint32_t kRegionBytes = 32 * kRowStride;
  static constexpr uint32_t kRegionValues = 32 * kRowValues;
  static constexpr uint32_t kLanes = szx::kBlockValues / kRowValues;  // of a block
  static constexpr uint32_t kBlocks = 32 / kLanes;                    // of a region
  static constexpr uint32_t kHeadBytes = szx::kBlockHeadBytes<T>;
  static constexpr uint32_t kMostPayload = kBlocks * szx::MaxBlockBytes<T>(szx::kBlockValues);
  // Where a region's medians lie beside its payload.
  static constexpr uint32_t kMediansAt = kRegionBytes - 48;
  static_assert(kMostPayload + 32 <= kMediansAt && kBlocks * sizeof(T) + 15 <= 48);
};

// The compressor's share of SzxWorkspaceBytes.
uint64_t SzxCompressWorkspaceBytes(uint64_t count, DType dtype);

__device__ __forceinline__ uint32_t BitsOf(float x) { return __float_as_uint(x); }
__device__ __forceinline__ uint64_t BitsOf(double x) {
  return static_cast<uint64_t>(__double_as_longlong(x));
}
__device__ __forceinline__ float FromBits(uint32_t bits) { return __uint_as_float(bits); }
__device__ __forceinline__ double FromBits(uint64_t bits) {
  return __longlong_as_double(static_cast<long long>(bits));
}

// The lowest `bits` bits set, 0 to the width.
__device__ __forceinline__ uint32_t LowMask(uint32_t bits, uint32_t) {
  uint32_t mask;
#if __CUDA_ARCH__ >= 700
  asm("bmsk.clamp.b32 %0, 0, %1;" : "=r"(mask) : "r"(bits));
#else
  mask = bits >= 32 ? ~0u : (1u << bits) - 1;
#endif
  return mask;
}
__device__ __forceinline__ uint64_t LowMask(uint32_t bits, uint64_t) {
  return bits >= 64 ? ~0ull : (1ull << bits) - 1;
}

// `bits` bits set from bit `from` on; of both only the lowest five bits count.
__device__ __forceinline__ uint32_t ShiftedMask(uint32_t from, uint32_t bits) {
  uint32_t mask;
#if __CUDA_ARCH__ >= 700
  asm("bmsk.wrap.b32 %0, %1, %2;" : "=r"(mask) : "r"(from), "r"(bits));
#else
  mask = ((1u << (bits & 31u)) - 1) << (from & 31u);
#endif
  return mask;
}

// Codes of 16 values are a word of bit pairs, the first value's on top. With `kept` bytes of a word
// kept, a value of code c stores max(0, kept - c).

// The pairs that exist in word `word` of a row of `valid` values.
__device__ __forceinline__ uint32_t PairMask(uint32_t valid, uint32_t word) {
  return valid >= 16 * (word + 1) ? ~0u
         : valid <= 16 * word     ? 0
                                  : ~(~0u >> (2 * (valid - 16 * word)));
}

// Sum of stored bytes of the values in `mask` (bit pairs).
__device__ __forceinline__ uint32_t StoredBytes(uint32_t codes, uint32_t mask, uint32_t kept) {
  const uint32_t high = codes >> 1 & 0x55555555u & mask;
  const uint32_t low = codes & 0x55555555u & mask;
  const uint32_t values = __popc(mask & 0x55555555u) * kept;
  if (kept == 1) return values - __popc(high | low);
  if (kept == 2) return values - 2 * __popc(high) - __popc(low & ~high);
  return values - 2 * __popc(high) - __popc(low);
}

// The stored bits for each code, a byte each.
__device__ __forceinline__ uint32_t StoredBits(uint32_t kept) {
  uint32_t lengths = 8 * kept;
  lengths |= (kept > 1 ? 8 * (kept - 1) : 0) << 8;
  lengths |= (kept > 2 ? 8 * (kept - 2) : 0) << 16;
  lengths |= (kept > 3 ? 8 * (kept - 3) : 0) << 24;
  return lengths;
}

// The stored bits of value `i` of a code word.
__device__ __forceinline__ uint32_t LengthOf(uint32_t lengths, uint32_t codes, uint32_t i) {
  uint32_t length;
  asm("{ .reg .b32 t; lop3.b32 t, %2, 3, %3, 0xea; prmt.b32 %0, %1, 0, t; }"  // (a & 3) | c
      : "=r"(length)
      : "r"(lengths), "r"(codes >> (30 - 2 * i)), "r"(0x4440u));
  return length;
}

// Elements of a 16-byte piece as bits.
__device__ __forceinline__ void Unpack(uint4 piece, uint32_t* bits) {
  bits[0] = piece.x, bits[1] = piece.y, bits[2] = piece.z, bits[3] = piece.w;
}
__device__ __forceinline__ void Unpack(uint4 piece, uint64_t* bits) {
  bits[0] = piece.x | static_cast<uint64_t>(piece.y) << 32;
  bits[1] = piece.z | static_cast<uint64_t>(piece.w) << 32;
}
__device__ __forceinline__ uint4 Pack(const uint32_t* bits) {
  return make_uint4(bits[0], bits[1], bits[2], bits[3]);
}
__device__ __forceinline__ uint4 Pack(const uint64_t* bits) {
  return make_uint4(static_cast<uint32_t>(bits[0]), static_cast<uint32_t>(bits[0] >> 32),
                    static_cast<uint32_t>(bits[1]), static_cast<uint32_t>(bits[1] >> 32));
}

}  // namespace szarena::codec::cuda
