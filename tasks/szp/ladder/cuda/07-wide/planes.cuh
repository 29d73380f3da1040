// SPDX-License-Identifier: Apache-2.0
// A block by one thread: 32 values in registers and the bit matrix of their magnitudes turned around.
#pragma once

#include "szp.cuh"

// Bit c of row r goes to bit r of row c: Eklundh's transposition by halves, all in registers.
__device__ inline void Transpose(uint32_t (&row)[kBlock]) {
#pragma unroll
  for (uint32_t half = 16, mask = 0x0000FFFF; half > 0; half /= 2, mask ^= mask << half) {
#pragma unroll
    for (uint32_t k = 0; k < kBlock; ++k) {
      if ((k & half) != 0) continue;
      const uint32_t swapped = ((row[k] >> half) ^ row[k + half]) & mask;
      row[k] ^= swapped << half;
      row[k + half] ^= swapped;
    }
  }
}

// The order of a plane's bits in the stream: byte b holds values 8b..8b+7, the first one in the top bit.
__device__ inline uint32_t ToStream(uint32_t bits) { return __byte_perm(__brev(bits), 0, 0x0123); }

struct ThreadBlockCode {
  Form form;
  bool raw;
  uint32_t bytes;
  uint32_t first;         // the first difference's magnitude
  uint32_t signs;         // as in the stream
  uint32_t plane[kBlock]; // as in the stream
};

// `row` holds the block's values; those beyond `count` are 0.
template <typename T>
__device__ inline void CodeByThread(const T* row, uint32_t count, uint32_t mode, const Bound<T>& bound, ThreadBlockCode& result) {
  int32_t previous = 0;
  uint32_t negative = 0;
  uint32_t rest = 0;
  bool accepted = true;
#pragma unroll
  for (uint32_t i = 0; i < kBlock; ++i) {
    int32_t code;
    accepted &= Quantise(row[i], bound, code);
    int32_t d = code - previous;
    if (mode != SZARENA_MODE_FIXED) previous = code;
    if (i >= count) d = 0;
    const uint32_t m = static_cast<uint32_t>(d < 0 ? -d : d);
    negative |= static_cast<uint32_t>(d < 0) << i;
    if (i > 0) rest |= m;
    result.plane[i] = m;
  }
  result.first = result.plane[0];
  result.form = ChooseForm(mode, result.first, rest);
  result.raw = !accepted;
  result.bytes = result.raw ? kBlock * static_cast<uint32_t>(sizeof(T)) : result.form.bytes();
  result.signs = ToStream(negative);
  if (result.form.first_bytes > 0) result.plane[0] = 0;
  Transpose(result.plane);
#pragma unroll
  for (uint32_t k = 0; k < kBlock; ++k) result.plane[k] = ToStream(result.plane[k]);
}
