// SPDX-License-Identifier: Apache-2.0
// One block by one warp: lane i has value i, lane k writes word k of the payload (the signs, then the planes).
#pragma once

#include "szp.cuh"

constexpr uint32_t kAllLanes = 0xffffffffu;

__device__ inline uint32_t Lane() { return threadIdx.x % 32; }

__device__ inline uint32_t WarpOr(uint32_t value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_or_sync(kAllLanes, value);
#else
  for (int step = 16; step > 0; step /= 2) value |= __shfl_xor_sync(kAllLanes, value, step);
  return value;
#endif
}

// A ballot has value i at bit i; the stream has it in byte i / 8, the first value in the top bit.
__device__ inline uint32_t ToStream(uint32_t ballot) { return __byte_perm(__brev(ballot), 0, 0x0123); }

struct WarpBlock {
  uint32_t rate_byte;
  uint32_t bytes;
  uint32_t first_bytes;
  uint32_t first;  // the first difference's magnitude
  uint32_t word;   // this lane's of the payload
};

template <typename T>
__device__ WarpBlock CodeByWarp(T x, bool exists, uint32_t mode, const Bound<T>& bound) {
  int32_t code = 0;
  const bool accepted = !exists || Quantise(x, bound, code);
  const bool raw = __any_sync(kAllLanes, !accepted);
  int32_t before = __shfl_up_sync(kAllLanes, code, 1);
  if (Lane() == 0 || mode == SZARENA_MODE_FIXED) before = 0;
  const int32_t d = exists ? code - before : 0;
  uint32_t magnitude = static_cast<uint32_t>(d < 0 ? -d : d);
  const uint32_t rest = WarpOr(Lane() == 0 ? 0 : magnitude);
  WarpBlock block;
  block.first = __shfl_sync(kAllLanes, magnitude, 0);
  const Form form = ChooseForm(mode, block.first, rest);
  block.rate_byte = raw ? kRaw : form.rate_byte;
  block.bytes = raw ? kBlock * static_cast<uint32_t>(sizeof(T)) : form.bytes();
  block.first_bytes = form.first_bytes;
  block.word = ToStream(__ballot_sync(kAllLanes, d < 0));
  if (form.first_bytes > 0 && Lane() == 0) magnitude = 0;
  if (!raw) {
    const uint32_t signs = block.word;
    for (uint32_t plane = 0; plane < form.planes; ++plane) {
      const uint32_t word = ToStream(__ballot_sync(kAllLanes, (magnitude >> plane & 1) != 0));
      if (Lane() == plane + 1) block.word = word;
    }
    if (Lane() == 0) block.word = signs;
  }
  return block;
}

// `to` has any alignment.
__device__ inline void PutWord(uint8_t* to, uint32_t word) {
  if (reinterpret_cast<uintptr_t>(to) % 4 == 0) {
    *reinterpret_cast<uint32_t*>(to) = word;
  } else {
    for (uint32_t k = 0; k < 4; ++k) to[k] = static_cast<uint8_t>(word >> 8 * k);
  }
}

__device__ inline uint32_t GetWord(const uint8_t* from) {
  if (reinterpret_cast<uintptr_t>(from) % 4 == 0) return *reinterpret_cast<const uint32_t*>(from);
  uint32_t word = 0;
  for (uint32_t k = 0; k < 4; ++k) word |= static_cast<uint32_t>(from[k]) << 8 * k;
  return word;
}

__device__ inline void PutValue(uint8_t* to, float x) { PutWord(to, __float_as_uint(x)); }
__device__ inline void PutValue(uint8_t* to, double x) {
  PutWord(to, static_cast<uint32_t>(__double2loint(x)));
  PutWord(to + 4, static_cast<uint32_t>(__double2hiint(x)));
}
__device__ inline void GetValue(const uint8_t* from, float& x) { x = __uint_as_float(GetWord(from)); }
__device__ inline void GetValue(const uint8_t* from, double& x) {
  x = __hiloint2double(static_cast<int>(GetWord(from + 4)), static_cast<int>(GetWord(from)));
}

template <typename T>
__device__ void WriteByWarp(const WarpBlock& block, T x, uint8_t* to) {
  if (block.rate_byte == kRaw) {
    PutValue(to + Lane() * sizeof(T), x);
    return;
  }
  if (Lane() < block.first_bytes) to[Lane()] = static_cast<uint8_t>(block.first >> 8 * Lane());
  if (block.first_bytes + 4 * Lane() < block.bytes) PutWord(to + block.first_bytes + 4 * Lane(), block.word);
}

// The lane's value of the block at `from`.
template <typename T>
__device__ T ReadByWarp(uint32_t mode, uint32_t rate_byte, const uint8_t* from, const Bound<T>& bound) {
  if (rate_byte == kRaw) {
    T x;
    GetValue(from + Lane() * sizeof(T), x);
    return x;
  }
  uint32_t first = 0;
  const bool apart = rate_byte >= kOutlier;
  if (apart) {
    const uint32_t first_bytes = 1 + (rate_byte >> 5 & 3);
    for (uint32_t k = 0; k < first_bytes; ++k) first |= static_cast<uint32_t>(*from++) << 8 * k;
  }
  const uint32_t planes = rate_byte & 31;
  const uint32_t word = rate_byte != 0 && Lane() <= planes ? GetWord(from + 4 * Lane()) : 0;
  const uint32_t bit = Lane() / 8 * 8 + 7 - Lane() % 8;
  uint32_t magnitude = 0;
  for (uint32_t plane = 0; plane < planes; ++plane) {
    magnitude |= (__shfl_sync(kAllLanes, word, plane + 1) >> bit & 1) << plane;
  }
  if (apart && Lane() == 0) magnitude = first;
  uint32_t sum = (__shfl_sync(kAllLanes, word, 0) >> bit & 1) != 0 ? 0 - magnitude : magnitude;
  if (mode != SZARENA_MODE_FIXED) {
    for (uint32_t step = 1; step < 32; step *= 2) {
      const uint32_t below = __shfl_up_sync(kAllLanes, sum, step);
      if (Lane() >= step) sum += below;
    }
  }
  return Restore(static_cast<int32_t>(sum), bound);
}
