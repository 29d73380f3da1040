// SPDX-License-Identifier: Apache-2.0
// Transposing 32 values held by one thread into bit planes and back. A plane is a 32-bit word as it lies in a payload:
// value i at bit 8 (i / 8) + 7 - i % 8 (the first value in the top bit of the first byte).
#pragma once

#include <cstdint>

namespace szarena::codec::cuda {

// One instruction; from C++ the compiler makes two, with the mask and its complement as constants.
__device__ __forceinline__ uint32_t Select(uint32_t mask, uint32_t where_set, uint32_t where_clear) {
  uint32_t merged;
  asm("lop3.b32 %0, %1, %2, %3, 0xca;" : "=r"(merged) : "r"(mask), "r"(where_set), "r"(where_clear));
  return merged;
}

// One instruction too.
__device__ __forceinline__ uint32_t Or(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t merged;
  asm("lop3.b32 %0, %1, %2, %3, 0xfe;" : "=r"(merged) : "r"(a), "r"(b), "r"(c));
  return merged;
}

// In each of the four byte lanes: bit c of w[r] goes to bit r of w[c].
__device__ __forceinline__ void TransposeBytes(uint32_t (&w)[8]) {
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    uint32_t& a = w[j];
    uint32_t& b = w[j + 4];
    const uint32_t low = Select(0x0f0f0f0fu, a, b << 4);
    b = Select(0x0f0f0f0fu, a >> 4, b);
    a = low;
  }
#pragma unroll
  for (int g = 0; g < 8; g += 4) {
#pragma unroll
    for (int j = g; j < g + 2; ++j) {
      uint32_t& a = w[j];
      uint32_t& b = w[j + 2];
      const uint32_t low = Select(0x33333333u, a, b << 2);
      b = Select(0x33333333u, a >> 2, b);
      a = low;
    }
  }
#pragma unroll
  for (int j = 0; j < 8; j += 2) {
    uint32_t& a = w[j];
    uint32_t& b = w[j + 1];
    const uint32_t low = Select(0x55555555u, a, b << 1);
    b = Select(0x55555555u, a >> 1, b);
    a = low;
  }
}

// Planes 8 byte .. 8 byte + 7 of the 32 values.
__device__ __forceinline__ void PlanesOf(const uint32_t (&values)[32], unsigned int byte, uint32_t (&planes)[8]) {
  const unsigned int pick = byte | (4 + byte) << 4;  // that byte of two words
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const uint32_t low = __byte_perm(values[j], values[8 + j], pick);
    const uint32_t high = __byte_perm(values[16 + j], values[24 + j], pick);
    planes[7 - j] = __byte_perm(low, high, 0x5410);  // value j becomes bit 7 - j
  }
  TransposeBytes(planes);
}

// The 8 * kBytes planes of 32 values.
template <int kBytes>
__device__ __forceinline__ void PlanesOfBytes(const uint32_t (&values)[32], uint32_t (&planes)[kBytes][8]) {
  if constexpr (kBytes == 2) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const uint32_t low = __byte_perm(values[j], values[8 + j], 0x5410);
      const uint32_t high = __byte_perm(values[16 + j], values[24 + j], 0x5410);
      planes[0][7 - j] = __byte_perm(low, high, 0x6420);
      planes[1][7 - j] = __byte_perm(low, high, 0x7531);
    }
    TransposeBytes(planes[0]);
    TransposeBytes(planes[1]);
  } else {
#pragma unroll
    for (int b = 0; b < kBytes; ++b) PlanesOf(values, b, planes[b]);
  }
}

// The 32 values of 8 * kBytes planes. kOnTop: what their highest byte is, where it is in none of the planes.
template <int kBytes, uint32_t kOnTop>
__device__ __forceinline__ void ValuesOf(uint32_t (&planes)[kBytes][8], uint32_t (&values)[32]) {
  static_assert((kOnTop & 0xffffffu) == 0 && (kOnTop == 0 || kBytes < 4));
#pragma unroll
  for (int b = 0; b < kBytes; ++b) TransposeBytes(planes[b]);
#pragma unroll
  for (int j = 0; j < 8; ++j) {
#pragma unroll
    for (int g = 0; g < 4; ++g) {
      uint32_t value;
      if constexpr (kBytes == 1) {
        value = __byte_perm(planes[0][7 - j], kOnTop, 0x7440 | g);
      } else if constexpr (kBytes == 2) {
        // Two values at a time.
        const int even = g & ~1;
        const uint32_t two = __byte_perm(planes[0][7 - j], planes[1][7 - j], even | (4 + even) << 4 | (even + 1) << 8 | (5 + even) << 12);
        value = __byte_perm(two, kOnTop, g == even ? 0x7410 : 0x7432);
      } else {
        const uint32_t low = __byte_perm(planes[0][7 - j], planes[1][7 - j], g | (4 + g) << 4);
        const uint32_t high = __byte_perm(planes[2][7 - j], planes[3][7 - j], g | (4 + g) << 4);
        value = __byte_perm(low, high, 0x5410);
      }
      values[8 * g + j] = value;
    }
  }
}

}  // namespace szarena::codec::cuda
