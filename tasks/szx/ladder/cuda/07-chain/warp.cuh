// SPDX-License-Identifier: Apache-2.0
// One block by one warp: lane k has values 4k to 4k + 3, and with them byte k of the codes.
#pragma once

#include "szx.cuh"

constexpr uint32_t kAllLanes = 0xffffffffu;
constexpr uint32_t kEach = kBlock / 32;

__device__ inline uint32_t Lane() { return threadIdx.x % 32; }

__device__ inline float Other(float v, int step) { return __shfl_xor_sync(kAllLanes, v, step); }
__device__ inline double Other(double v, int step) { return __shfl_xor_sync(kAllLanes, v, step); }

// The lane's values; beyond the block's end the last one again, which changes no extreme.
template <typename T>
__device__ inline void LoadLane(const T* x, uint32_t m, T (&v)[kEach]) {
  if (m == kBlock && reinterpret_cast<uintptr_t>(x) % 16 == 0) {
#pragma unroll
    for (uint32_t k = 0; k < kEach * sizeof(T) / 16; ++k) {
      reinterpret_cast<uint4*>(v)[k] = *(reinterpret_cast<const uint4*>(x + Lane() * kEach) + k);
    }
    return;
  }
#pragma unroll
  for (uint32_t k = 0; k < kEach; ++k) v[k] = x[min(Lane() * kEach + k, m - 1)];
}

template <typename T>
__device__ inline Plan<T> PlanByWarp(const T (&v)[kEach], const Bound<T>& bound) {
  bool finite = true;
  T low = v[0];
  T high = v[0];
#pragma unroll
  for (uint32_t k = 0; k < kEach; ++k) {
    finite &= IsFinite(v[k]);
    low = v[k] < low ? v[k] : low;
    high = v[k] > high ? v[k] : high;
  }
  if (!__all_sync(kAllLanes, finite)) return ExactPlan(T(-0.0));
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    const T other_low = Other(low, step);
    const T other_high = Other(high, step);
    low = other_low < low ? other_low : low;
    high = other_high > high ? other_high : high;
  }
  const Plan<T> plan = PlanFromRange(low, high, bound);
  bool holds = true;
#pragma unroll
  for (uint32_t k = 0; k < kEach; ++k) holds &= Holds(plan, v[k], bound.e);
  return __all_sync(kAllLanes, holds) ? plan : ExactPlan(T(-0.0));
}

// What a lane writes of a coded block.
template <typename T>
struct LaneCode {
  WordOf<T> word[kEach];
  uint32_t count[kEach];  // bytes of each word
  uint32_t codes;         // the byte of leading-byte codes
  uint32_t bytes;         // of the lane's words
};

template <typename T>
__device__ inline void FinishCode(const Plan<T>& plan, uint32_t m, LaneCode<T>& code) {
  const uint32_t kept = (plan.bits + 7) / 8;
  WordOf<T> previous = __shfl_up_sync(kAllLanes, code.word[kEach - 1], 1);
  if (Lane() == 0) previous = 0;
  code.codes = 0;
  code.bytes = 0;
#pragma unroll
  for (uint32_t k = 0; k < kEach; ++k) {
    const bool exists = Lane() * kEach + k < m;
    const uint32_t leading = LeadingBytes(code.word[k], previous);
    if (exists) code.codes |= leading << (6 - 2 * k);
    code.count[k] = exists && leading < kept ? kept - leading : 0;
    code.bytes += code.count[k];
    previous = code.word[k];
  }
}

template <typename T>
__device__ inline LaneCode<T> CodeByWarp(const T (&v)[kEach], uint32_t m, const Plan<T>& plan) {
  LaneCode<T> code;
#pragma unroll
  for (uint32_t k = 0; k < kEach; ++k) code.word[k] = CodedWord(plan, v[k]);
  FinishCode(plan, m, code);
  return code;
}

// Exclusive sum over the lanes; `total` is the sum of all.
__device__ inline uint32_t BeforeLane(uint32_t value, uint32_t& total) {
  uint32_t sum = value;
#pragma unroll
  for (uint32_t step = 1; step < 32; step *= 2) {
    const uint32_t below = __shfl_up_sync(kAllLanes, sum, step);
    if (Lane() >= step) sum += below;
  }
  total = __shfl_sync(kAllLanes, sum, 31);
  return sum - value;
}

template <typename T>
__device__ inline uint32_t SizeByWarp(const LaneCode<T>& code, uint32_t m) {
  uint32_t total = 0;
  BeforeLane(code.bytes, total);
  return HeadBytes<T>(m) + total;
}

template <typename T>
__device__ inline void WriteByWarp(const LaneCode<T>& code, uint32_t m, const Plan<T>& plan, uint8_t* out) {
  if (Lane() == 0) {
    out[0] = static_cast<uint8_t>(plan.bits);
    StoreBig(out + 1, BitsOf(plan.median));
  }
  if (Lane() * kEach < m) out[1 + sizeof(T) + Lane()] = static_cast<uint8_t>(code.codes);
  uint32_t total = 0;
  uint8_t* to = out + HeadBytes<T>(m) + BeforeLane(code.bytes, total);
  const uint32_t kept = (plan.bits + 7) / 8;
#pragma unroll
  for (uint32_t k = 0; k < kEach; ++k) {
    for (uint32_t j = 0; j < code.count[k]; ++j) *to++ = static_cast<uint8_t>(code.word[k] >> 8 * (sizeof(T) - kept + j));
  }
}

// The lane's values of the coded block at `in`; `size` bytes of it are there.
template <typename T>
__device__ inline bool ReadByWarp(const uint8_t* in, uint32_t size, uint32_t m, T (&v)[kEach]) {
  const uint32_t head = HeadBytes<T>(m);
  if (size < head || in[0] < Type<T>::kHead || in[0] > Type<T>::kBits) return false;
  const uint32_t kept = (in[0] + 7u) / 8;
  const uint32_t shift = 8 * kept - in[0];
  const T median = FromBits<T>(LoadBig<WordOf<T>>(in + 1));
  const bool exact = in[0] == Type<T>::kBits && median == T(0);
  const uint32_t codes = Lane() * kEach < m ? in[1 + sizeof(T) + Lane()] : 0xff;
  uint32_t count[kEach];
  uint32_t bytes = 0;
#pragma unroll
  for (uint32_t k = 0; k < kEach; ++k) {
    const uint32_t leading = codes >> (6 - 2 * k) & 3;
    count[k] = Lane() * kEach + k < m && leading < kept ? kept - leading : 0;
    bytes += count[k];
  }
  uint32_t total = 0;
  uint32_t at = head + BeforeLane(bytes, total);
  if (head + total > size) return false;
  // Byte j of a word (from the top) comes from the last word before it that wrote it. Every lane composes its words from
  // nothing, and `whole` says how many of the top bytes it does not know; lanes before it have them.
  WordOf<T> word[kEach];
  WordOf<T> w = 0;
  WordOf<T> known = 0;  // mask of bytes that this lane's words have set so far
  WordOf<T> mask[kEach];
#pragma unroll
  for (uint32_t k = 0; k < kEach; ++k) {
    for (uint32_t j = 0; j < count[k]; ++j) {
      const uint32_t place = 8 * (sizeof(T) - kept + j);
      w = (w & ~(WordOf<T>(0xFF) << place)) | WordOf<T>(in[at++]) << place;
      known |= WordOf<T>(0xFF) << place;
    }
    word[k] = w;
    mask[k] = known;
  }
  // Inclusive composition over the lanes: what is not known comes from below.
  WordOf<T> last = w;
  WordOf<T> last_known = known;
#pragma unroll
  for (uint32_t step = 1; step < 32; step *= 2) {
    const WordOf<T> below = __shfl_up_sync(kAllLanes, last, step);
    const WordOf<T> below_known = __shfl_up_sync(kAllLanes, last_known, step);
    if (Lane() >= step) {
      last |= below & ~last_known;
      last_known |= below_known;
    }
  }
  WordOf<T> before = __shfl_up_sync(kAllLanes, last, 1);
  if (Lane() == 0) before = 0;
#pragma unroll
  for (uint32_t k = 0; k < kEach; ++k) {
    const T d = FromBits<T>(static_cast<WordOf<T>>((word[k] | (before & ~mask[k])) << shift));
    v[k] = exact ? d : d + median;
  }
  return true;
}

template <typename T>
__device__ inline void StoreLane(const T (&v)[kEach], uint32_t m, T* x) {
  if (m == kBlock && reinterpret_cast<uintptr_t>(x) % 16 == 0) {
#pragma unroll
    for (uint32_t k = 0; k < kEach * sizeof(T) / 16; ++k) {
      *(reinterpret_cast<uint4*>(x + Lane() * kEach) + k) = reinterpret_cast<const uint4*>(v)[k];
    }
    return;
  }
#pragma unroll
  for (uint32_t k = 0; k < kEach; ++k) {
    if (Lane() * kEach + k < m) x[Lane() * kEach + k] = v[k];
  }
}
