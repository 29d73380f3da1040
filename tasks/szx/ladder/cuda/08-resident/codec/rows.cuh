// SPDX-License-Identifier: Apache-2.0
// A warp's region of an array in shared memory: 32 rows of values, one a thread, each 16 bytes
// longer than its values so that 16-byte accesses of neighbouring rows hit different banks.
#pragma once

#include <cstdint>

#include "tile_io.cuh"

namespace szarena::codec::cuda {

// Starts loading the values from first_value on; complete after WaitCopies and a barrier of the
// warp. Values past the end of the array are not touched and count as 0. kAligned: `values` is a
// multiple of 16.
template <class T, uint32_t kRowBytes, bool kAligned>
__device__ __forceinline__ void LoadRows(unsigned char* region, const unsigned char* values,
                                         uint64_t count, uint64_t first_value) {
  constexpr uint32_t kValues = kRowBytes / sizeof(T);
  constexpr uint32_t kStride = kRowBytes + 16;
  constexpr uint32_t kPieces = kRowBytes / 16;
  const uint32_t lane = threadIdx.x % 32;
  const unsigned char* from = values + first_value * sizeof(T);
  if (first_value + 32 * kValues <= count) {
    if constexpr (kAligned) {
#pragma unroll
      for (uint32_t j = 0; j < kPieces; ++j) {
        const uint32_t piece = j * 32 + lane;
        CopyAsync<16>(region + piece / kPieces * kStride + piece % kPieces * 16, from + piece * 16);
      }
    } else {
      for (uint32_t e = lane; e < 32 * kValues; e += 32) {
        CopyAsync<sizeof(T)>(region + e / kValues * kStride + e % kValues * sizeof(T),
                             from + e * sizeof(T));
      }
    }
    return;
  }
  for (uint32_t e = lane; e < 32 * kValues; e += 32) {
    T* to = reinterpret_cast<T*>(region + e / kValues * kStride + e % kValues * sizeof(T));
    if (first_value + e < count) {
      CopyAsync<sizeof(T)>(to, from + e * sizeof(T));
    } else {
      *to = T(0);
    }
  }
}

// Writes the rows to their place in the array, nothing past its end.
template <class T, uint32_t kRowBytes, bool kAligned>
__device__ __forceinline__ void StoreRows(const unsigned char* region, unsigned char* values,
                                          uint64_t count, uint64_t first_value) {
  constexpr uint32_t kValues = kRowBytes / sizeof(T);
  constexpr uint32_t kStride = kRowBytes + 16;
  constexpr uint32_t kPieces = kRowBytes / 16;
  const uint32_t lane = threadIdx.x % 32;
  unsigned char* to = values + first_value * sizeof(T);
  if (kAligned && first_value + 32 * kValues <= count) {
#pragma unroll
    for (uint32_t j = 0; j < kPieces; ++j) {
      const uint32_t piece = j * 32 + lane;
      const uint4 bits = *reinterpret_cast<const uint4*>(region + piece / kPieces * kStride +
                                                         piece % kPieces * 16);
      __stcs(reinterpret_cast<uint4*>(to + piece * 16), bits);
    }
    return;
  }
  for (uint32_t e = lane; e < 32 * kValues; e += 32) {
    if (first_value + e < count) {
      *reinterpret_cast<T*>(to + e * sizeof(T)) =
          *reinterpret_cast<const T*>(region + e / kValues * kStride + e % kValues * sizeof(T));
    }
  }
}

}  // namespace szarena::codec::cuda
