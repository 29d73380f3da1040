// SPDX-License-Identifier: Apache-2.0
// SZp, step 2: all stages of a block at once, nothing kept between them.
#include <bit>
#include <cmath>
#include <cstring>

#include "szarena_candidate.h"

namespace {

constexpr uint64_t kBlock = 32;
constexpr unsigned kRaw = 0x3F;      // rate byte of a block stored as it is
constexpr unsigned kOutlier = 0x80;  // rate byte with the first difference kept apart

uint64_t Blocks(const szarena_problem& p) { return p.n / kBlock + (p.n % kBlock != 0); }
uint64_t RateBytes(const szarena_problem& p) {
  return (Blocks(p) + p.pad_blocks - 1) / p.pad_blocks * p.pad_blocks;
}

// Values in block b.
uint64_t Length(const szarena_problem& p, uint64_t b) {
  return p.n - b * kBlock < kBlock ? p.n - b * kBlock : kBlock;
}

// The bound in the data's type, and what the quantiser needs.
template <typename T>
struct Bound {
  explicit Bound(double bound) : e(static_cast<T>(bound)) {
    if (static_cast<double>(e) > bound) e = std::nextafter(e, T(0));
    scale = T(0.5) / e;
  }
  static constexpr T kLimit = sizeof(T) == 4 ? T(1 << 24) : T(1 << 30);
  T e;
  T scale;
};

// |x - y| <= e, exactly: the rounded difference decides unless it equals e, then what it lost does.
template <typename T>
bool Within(T x, T y, T e) {
  T d = x - y;
  T a = std::fabs(d);
  if (a < e) return true;
  if (!(a == e) || std::isinf(a)) return false;
  T seen = d - x;
  T lost = (x - (d - seen)) + (-y - seen);
  return d > 0 ? lost <= 0 : d < 0 ? lost >= 0 : lost == 0;
}

// Bytes of a block's payload by rate byte; kNone where no stream may have it.
constexpr uint32_t kNone = 0xFFFFFFFF;
uint32_t PayloadBytes(const szarena_problem& p, unsigned rate_byte) {
  if (rate_byte == kRaw) return kBlock * (p.dtype == SZARENA_F32 ? 4 : 8);
  if (rate_byte <= 31) return rate_byte == 0 ? 0 : 4 + 4 * rate_byte;
  if (rate_byte < kOutlier || p.mode != SZARENA_MODE_OUTLIER) return kNone;
  return 1 + (rate_byte >> 5 & 3) + 4 + 4 * (rate_byte & 31);
}

// How a block of these magnitudes is coded: rate byte, planes, bytes of the first difference kept
// apart (or 0).
struct Form {
  unsigned rate_byte, planes, first_bytes;
};
inline Form ChooseForm(uint32_t mode, uint32_t first, uint32_t rest) {
  unsigned rate = static_cast<unsigned>(std::bit_width(first | rest));
  if (mode == SZARENA_MODE_OUTLIER) {
    unsigned rest_rate = static_cast<unsigned>(std::bit_width(rest));
    unsigned first_bytes = (static_cast<unsigned>(std::bit_width(first)) + 7) / 8;
    if ((rate == 0 ? 0 : 4 + 4 * rate) > 4 + 4 * rest_rate + first_bytes) {
      return {kOutlier | (first_bytes - 1) << 5 | rest_rate, rest_rate, first_bytes};
    }
  }
  return {rate, rate, 0};
}

// A block that cannot be coded: the values, padded with zero bytes.
template <typename T>
uint64_t StoreRaw(const T* x, uint64_t m, uint8_t* rate_byte, uint8_t* out) {
  std::memset(out, 0, kBlock * sizeof(T));
  std::memcpy(out, x, m * sizeof(T));
  *rate_byte = kRaw;
  return kBlock * sizeof(T);
}

// One bit of each of 32 words as 4 bytes, the first word in the top bit of the first byte.
void StorePlane(const uint32_t* words, unsigned plane, uint8_t* out) {
  std::memset(out, 0, 4);
  for (uint64_t i = 0; i < kBlock; ++i) {
    out[i / 8] |= static_cast<uint8_t>((words[i] >> plane & 1) << (7 - i % 8));
  }
}

uint32_t BitOf(const uint8_t* plane, uint64_t i) { return plane[i / 8] >> (7 - i % 8) & 1; }

template <typename T>
uint64_t EncodeBlock(uint32_t mode, const T* x, uint64_t m, const Bound<T>& bound,
                     uint8_t* rate_byte, uint8_t* out) {
  uint32_t negative[kBlock] = {};
  uint32_t magnitude[kBlock] = {};
  int32_t previous = 0;
  for (uint64_t i = 0; i < m; ++i) {
    T t = x[i] * bound.scale;
    T q = std::trunc(t + T(0.5)) - (t < T(-0.5) ? T(1) : T(0));
    if (!(std::fabs(q) < bound.kLimit) || !Within(x[i], (q * bound.e) * T(2), bound.e)) {
      return StoreRaw(x, m, rate_byte, out);
    }
    int32_t d = static_cast<int32_t>(q) - previous;
    if (mode != SZARENA_MODE_FIXED) previous = static_cast<int32_t>(q);
    negative[i] = d < 0;
    magnitude[i] = static_cast<uint32_t>(d < 0 ? -d : d);
  }
  uint32_t rest = 0;
  for (uint64_t i = 1; i < kBlock; ++i) rest |= magnitude[i];
  Form form = ChooseForm(mode, magnitude[0], rest);
  *rate_byte = static_cast<uint8_t>(form.rate_byte);
  if (form.rate_byte == 0) return 0;
  uint8_t* next = out;
  if (form.first_bytes > 0) {
    std::memcpy(next, &magnitude[0], form.first_bytes);
    next += form.first_bytes;
    magnitude[0] = 0;
  }
  StorePlane(negative, 0, next);
  next += 4;
  for (unsigned plane = 0; plane < form.planes; ++plane, next += 4)
    StorePlane(magnitude, plane, next);
  return static_cast<uint64_t>(next - out);
}

template <typename T>
void DecodeBlock(uint32_t mode, unsigned rate_byte, const uint8_t* in, T* x, uint64_t m,
                 const Bound<T>& bound) {
  if (rate_byte == kRaw) {
    std::memcpy(x, in, m * sizeof(T));
    return;
  }
  uint32_t first = 0;
  const bool apart = rate_byte >= kOutlier;
  if (apart) {
    unsigned first_bytes = 1 + (rate_byte >> 5 & 3);
    std::memcpy(&first, in, first_bytes);
    in += first_bytes;
  }
  uint32_t q = 0;
  for (uint64_t i = 0; i < m; ++i) {
    uint32_t magnitude = 0;
    for (unsigned plane = 0; plane < (rate_byte & 31); ++plane)
      magnitude |= BitOf(in + 4 + 4 * plane, i) << plane;
    if (apart && i == 0) magnitude = first;
    uint32_t d = rate_byte != 0 && BitOf(in, i) != 0 ? 0 - magnitude : magnitude;
    q = mode == SZARENA_MODE_FIXED ? d : q + d;
    x[i] = (static_cast<T>(static_cast<int32_t>(q)) * bound.e) * T(2);
  }
}

template <typename T>
int Compress(const szarena_problem& p, const T* input, uint8_t* output, uint64_t capacity,
             szarena_payload* payload) {
  const Bound<T> bound(p.abs_bound);
  uint64_t used = RateBytes(p);
  if (used > capacity) return SZARENA_CAPACITY;
  std::memset(output, 0, used);
  for (uint64_t b = 0; b < Blocks(p); ++b) {
    if (capacity - used < kBlock * sizeof(T)) return SZARENA_CAPACITY;
    used += EncodeBlock(p.mode, input + b * kBlock, Length(p, b), bound, output + b, output + used);
  }
  *payload = {0, used};
  return SZARENA_OK;
}

template <typename T>
int Decompress(const szarena_problem& p, const uint8_t* payload, uint64_t size, T* output) {
  const Bound<T> bound(p.abs_bound);
  uint64_t at = RateBytes(p);
  if (size < at) return SZARENA_CORRUPT;
  for (uint64_t b = 0; b < Blocks(p); ++b) {
    uint32_t bytes = PayloadBytes(p, payload[b]);
    if (bytes > size - at) return SZARENA_CORRUPT;
    DecodeBlock(p.mode, payload[b], payload + at, output + b * kBlock, Length(p, b), bound);
    at += bytes;
  }
  return at == size ? SZARENA_OK : SZARENA_CORRUPT;
}

}  // namespace

extern "C" uint64_t szarena_workspace_bytes(const szarena_problem*) { return 0; }

extern "C" int szarena_compress(const szarena_problem* p, const void* input, void* output,
                                uint64_t capacity, void*, uint64_t, szarena_payload* payload) {
  auto* out = static_cast<uint8_t*>(output);
  return p->dtype == SZARENA_F32
             ? Compress(*p, static_cast<const float*>(input), out, capacity, payload)
             : Compress(*p, static_cast<const double*>(input), out, capacity, payload);
}

extern "C" int szarena_decompress(const szarena_problem* p, const void* payload, uint64_t size,
                                  void* output, void*, uint64_t) {
  const auto* in = static_cast<const uint8_t*>(payload);
  return p->dtype == SZARENA_F32 ? Decompress(*p, in, size, static_cast<float*>(output))
                                 : Decompress(*p, in, size, static_cast<double*>(output));
}
