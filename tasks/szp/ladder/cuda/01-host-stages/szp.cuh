// SPDX-License-Identifier: Apache-2.0
// SZp's arithmetic and stream layout, for host and device alike (format: szp.md).
#pragma once

#include <cmath>
#include <cstdint>

#include "szarena_candidate_cuda.h"

constexpr uint32_t kBlock = 32;
constexpr uint32_t kRaw = 0x3F;      // rate byte of a block stored as it is
constexpr uint32_t kOutlier = 0x80;  // rate byte with the first difference kept apart

inline uint64_t Blocks(const szarena_problem& p) { return p.n / kBlock + (p.n % kBlock != 0); }
inline uint64_t RateBytes(const szarena_problem& p) { return (Blocks(p) + p.pad_blocks - 1) / p.pad_blocks * p.pad_blocks; }
inline uint64_t ValueBytes(const szarena_problem& p) { return p.dtype == SZARENA_F32 ? 4 : 8; }
inline uint64_t MaxPayload(const szarena_problem& p) { return RateBytes(p) + Blocks(p) * kBlock * ValueBytes(p); }

// The bound in the data's type, and what the quantiser needs.
template <typename T>
struct Bound {
  explicit Bound(double bound) : e(static_cast<T>(bound)) {
    if (static_cast<double>(e) > bound) e = std::nextafter(e, T(0));
    scale = T(0.5) / e;
  }
  T e;
  T scale;
};

// |x - y| <= e, exactly: the rounded difference decides unless it equals e, then what it lost does.
template <typename T>
__host__ __device__ inline bool Within(T x, T y, T e) {
  const T d = x - y;
  const T a = d < T(0) ? -d : d;
  if (a < e) return true;
  if (!(a == e) || a - a != T(0)) return false;
  const T seen = d - x;
  const T lost = (x - (d - seen)) + (-y - seen);
  return d > T(0) ? lost <= T(0) : d < T(0) ? lost >= T(0) : lost == T(0);
}

// The code of a value; false where the value must be stored as it is.
template <typename T>
__host__ __device__ inline bool Quantise(T x, const Bound<T>& bound, int32_t& code) {
  const T limit = sizeof(T) == 4 ? T(1 << 24) : T(1 << 30);
  const T t = x * bound.scale;
  const T q = trunc(t + T(0.5)) - (t < T(-0.5) ? T(1) : T(0));
  code = 0;
  if (!(fabs(q) < limit)) return false;
  code = static_cast<int32_t>(q);
  return Within(x, (q * bound.e) * T(2), bound.e);
}

template <typename T>
__host__ __device__ inline T Restore(int32_t code, const Bound<T>& bound) {
  return (static_cast<T>(code) * bound.e) * T(2);
}

__host__ __device__ inline uint32_t BitLength(uint32_t v) {
#ifdef __CUDA_ARCH__
  return 32 - __clz(static_cast<int>(v));
#else
  return v == 0 ? 0 : 32 - static_cast<uint32_t>(__builtin_clz(v));
#endif
}

// How a block of these magnitudes is coded.
struct Form {
  uint32_t rate_byte, planes, first_bytes;  // first_bytes: of the first difference where it is kept apart
  __host__ __device__ uint32_t bytes() const { return rate_byte == 0 ? 0 : first_bytes + 4 + 4 * planes; }
};
__host__ __device__ inline Form ChooseForm(uint32_t mode, uint32_t first, uint32_t rest) {
  const uint32_t rate = BitLength(first | rest);
  if (mode == SZARENA_MODE_OUTLIER) {
    const uint32_t rest_rate = BitLength(rest);
    const uint32_t first_bytes = (BitLength(first) + 7) / 8;
    if ((rate == 0 ? 0 : 4 + 4 * rate) > 4 + 4 * rest_rate + first_bytes) {
      return {kOutlier | (first_bytes - 1) << 5 | rest_rate, rest_rate, first_bytes};
    }
  }
  return {rate, rate, 0};
}

// Bytes of a block's payload by rate byte; kInvalid where no stream may have it.
constexpr uint32_t kInvalid = 0xFFFFFFFF;
__host__ __device__ inline uint32_t PayloadBytes(uint32_t mode, uint32_t value_bytes, uint32_t rate_byte) {
  if (rate_byte == kRaw) return kBlock * value_bytes;
  if (rate_byte <= 31) return rate_byte == 0 ? 0 : 4 + 4 * rate_byte;
  if (rate_byte < kOutlier || mode != SZARENA_MODE_OUTLIER) return kInvalid;
  return 1 + (rate_byte >> 5 & 3) + 4 + 4 * (rate_byte & 31);
}

// Writes one block's payload: codes' magnitudes and signs (bit i: difference i is negative).
__host__ __device__ inline void WriteCoded(const Form& form, const uint32_t* magnitude, uint32_t negative, uint8_t* out) {
  if (form.rate_byte == 0) return;
  for (uint32_t k = 0; k < form.first_bytes; ++k) *out++ = static_cast<uint8_t>(magnitude[0] >> 8 * k);
  for (uint32_t plane = 0; plane <= form.planes; ++plane) {
    for (uint32_t byte = 0; byte < 4; ++byte) {
      uint32_t bits = 0;
      for (uint32_t k = 0; k < 8; ++k) {
        const uint32_t i = 8 * byte + k;
        const uint32_t m = form.first_bytes > 0 && i == 0 ? 0 : magnitude[i];
        bits |= (plane == 0 ? negative >> i & 1 : m >> (plane - 1) & 1) << (7 - k);
      }
      *out++ = static_cast<uint8_t>(bits);
    }
  }
}

// Reads one coded block (not a raw one): the values' codes.
__host__ __device__ inline void ReadCoded(uint32_t mode, uint32_t rate_byte, const uint8_t* in, int32_t* code) {
  uint32_t first = 0;
  const bool apart = rate_byte >= kOutlier;
  if (apart) {
    const uint32_t first_bytes = 1 + (rate_byte >> 5 & 3);
    for (uint32_t k = 0; k < first_bytes; ++k) first |= static_cast<uint32_t>(*in++) << 8 * k;
  }
  uint32_t sum = 0;
  for (uint32_t i = 0; i < kBlock; ++i) {
    const uint32_t shift = 7 - i % 8;
    uint32_t m = 0;
    for (uint32_t plane = 0; plane < (rate_byte & 31); ++plane) {
      m |= static_cast<uint32_t>(in[4 + 4 * plane + i / 8] >> shift & 1) << plane;
    }
    if (apart && i == 0) m = first;
    const uint32_t d = rate_byte != 0 && (in[i / 8] >> shift & 1) != 0 ? 0 - m : m;
    sum = mode == SZARENA_MODE_FIXED ? d : sum + d;
    code[i] = static_cast<int32_t>(sum);
  }
}
