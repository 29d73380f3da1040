// SPDX-License-Identifier: Apache-2.0
// SZp, step 1: every stage is a pass over the whole field, with arrays between them.
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

// The scratch memory: one array for every stage.
struct Scratch {
  Scratch(const szarena_problem& p, void* workspace)
      : blocks(Blocks(p)),
        q(static_cast<int32_t*>(workspace)),
        d(q + blocks * kBlock),
        sizes(reinterpret_cast<uint64_t*>(d + blocks * kBlock)),
        raw(reinterpret_cast<uint8_t*>(sizes + blocks)) {}
  static uint64_t Bytes(const szarena_problem& p) { return Blocks(p) * (kBlock * 8 + 8 + 1); }
  uint64_t blocks;
  int32_t* q;       // quantised values, the last block padded
  int32_t* d;       // differences
  uint64_t* sizes;  // bytes of each block, later its place
  uint8_t* raw;     // blocks that have to be stored as they are
};

unsigned BitLength(uint32_t value) {
  unsigned bits = 0;
  while (bits < 32 && value >> bits != 0) ++bits;
  return bits;
}

uint32_t Magnitude(int32_t d) {
  return d < 0 ? 0u - static_cast<uint32_t>(d) : static_cast<uint32_t>(d);
}

void SetBit(uint8_t* plane, uint64_t i, uint32_t bit) {
  plane[i / 8] |= static_cast<uint8_t>(bit << (7 - i % 8));
}
uint32_t BitOf(const uint8_t* plane, uint64_t i) { return plane[i / 8] >> (7 - i % 8) & 1; }

// Stage 1: quantise the whole field.
template <typename T>
void Quantise(const szarena_problem& p, const T* x, const Bound<T>& bound, Scratch& s) {
  for (uint64_t i = 0; i < s.blocks * kBlock; ++i) {
    if (i % kBlock == 0) s.raw[i / kBlock] = 0;
    s.q[i] = 0;
    if (i >= p.n) continue;
    T t = x[i] * bound.scale;
    T r = std::trunc(t + T(0.5)) - (t < T(-0.5) ? T(1) : T(0));
    if (std::fabs(r) < bound.kLimit && Within(x[i], (r * bound.e) * T(2), bound.e)) {
      s.q[i] = static_cast<int32_t>(r);
    } else {
      s.raw[i / kBlock] = 1;
    }
  }
}

// Stage 2: differences inside each block.
void Difference(const szarena_problem& p, Scratch& s) {
  for (uint64_t i = 0; i < s.blocks * kBlock; ++i) {
    bool alone = p.mode == SZARENA_MODE_FIXED || i % kBlock == 0;
    s.d[i] = i >= p.n ? 0 : alone ? s.q[i] : s.q[i] - s.q[i - 1];
  }
}

// Stage 3: rate bytes and sizes.
void ChooseRates(const szarena_problem& p, Scratch& s, uint8_t* rates) {
  for (uint64_t b = 0; b < s.blocks; ++b) {
    if (s.raw[b]) {
      rates[b] = kRaw;
    } else {
      const int32_t* d = s.d + b * kBlock;
      uint32_t all = Magnitude(d[0]), rest = 0;
      for (uint64_t i = 1; i < kBlock; ++i) rest |= Magnitude(d[i]);
      unsigned rate = BitLength(all | rest), rest_rate = BitLength(rest);
      unsigned first_bytes = (BitLength(all) + 7) / 8;
      rates[b] = static_cast<uint8_t>(rate);
      if (p.mode == SZARENA_MODE_OUTLIER &&
          (rate == 0 ? 0 : 4 + 4 * rate) > 4 + 4 * rest_rate + first_bytes) {
        rates[b] = static_cast<uint8_t>(kOutlier | (first_bytes - 1) << 5 | rest_rate);
      }
    }
    s.sizes[b] = PayloadBytes(p, rates[b]);
  }
}

// Stage 4: sizes become places; returns the end.
uint64_t Place(Scratch& s, uint64_t at) {
  for (uint64_t b = 0; b < s.blocks; ++b) {
    uint64_t size = s.sizes[b];
    s.sizes[b] = at;
    at += size;
  }
  return at;
}

// Stage 5: signs and bit planes, one bit at a time.
template <typename T>
void Pack(const szarena_problem& p, const T* x, const Scratch& s, const uint8_t* rates,
          uint8_t* output) {
  for (uint64_t b = 0; b < s.blocks; ++b) {
    uint8_t* out = output + s.sizes[b];
    unsigned rate = rates[b];
    std::memset(out, 0, PayloadBytes(p, rate));
    if (rate == kRaw) {
      std::memcpy(out, x + b * kBlock, Length(p, b) * sizeof(T));
      continue;
    }
    if (rate == 0) continue;
    const int32_t* d = s.d + b * kBlock;
    uint64_t first = 0;
    if (rate >= kOutlier) {
      unsigned first_bytes = 1 + (rate >> 5 & 3);
      uint32_t magnitude = Magnitude(d[0]);
      std::memcpy(out, &magnitude, first_bytes);
      out += first_bytes;
      first = 1;
    }
    for (uint64_t i = 0; i < kBlock; ++i) SetBit(out, i, d[i] < 0);
    for (unsigned plane = 0; plane < (rate & 31); ++plane) {
      for (uint64_t i = first; i < kBlock; ++i)
        SetBit(out + 4 + 4 * plane, i, Magnitude(d[i]) >> plane & 1);
    }
  }
}

template <typename T>
int Compress(const szarena_problem& p, const T* input, uint8_t* output, uint64_t capacity,
             void* workspace, szarena_payload* payload) {
  const Bound<T> bound(p.abs_bound);
  Scratch s(p, workspace);
  if (RateBytes(p) > capacity) return SZARENA_CAPACITY;
  std::memset(output, 0, RateBytes(p));
  Quantise(p, input, bound, s);
  Difference(p, s);
  ChooseRates(p, s, output);
  uint64_t size = Place(s, RateBytes(p));
  if (size > capacity) return SZARENA_CAPACITY;
  Pack(p, input, s, output, output);
  *payload = {0, size};
  return SZARENA_OK;
}

template <typename T>
int Decompress(const szarena_problem& p, const uint8_t* payload, uint64_t size, T* output,
               void* workspace) {
  const Bound<T> bound(p.abs_bound);
  Scratch s(p, workspace);
  if (size < RateBytes(p)) return SZARENA_CORRUPT;
  for (uint64_t b = 0; b < s.blocks; ++b) {
    if (PayloadBytes(p, payload[b]) == kNone) return SZARENA_CORRUPT;
    s.sizes[b] = PayloadBytes(p, payload[b]);
  }
  if (Place(s, RateBytes(p)) != size) return SZARENA_CORRUPT;
  // Stage 1: unpack the differences.
  for (uint64_t b = 0; b < s.blocks; ++b) {
    const uint8_t* in = payload + s.sizes[b];
    unsigned rate = payload[b];
    for (uint64_t i = 0; i < kBlock; ++i) s.d[b * kBlock + i] = 0;
    if (rate == kRaw || rate == 0) continue;
    uint32_t first = 0;
    if (rate >= kOutlier) {
      unsigned first_bytes = 1 + (rate >> 5 & 3);
      std::memcpy(&first, in, first_bytes);
      in += first_bytes;
    }
    for (uint64_t i = 0; i < kBlock; ++i) {
      uint32_t magnitude = 0;
      for (unsigned plane = 0; plane < (rate & 31); ++plane)
        magnitude |= BitOf(in + 4 + 4 * plane, i) << plane;
      if (rate >= kOutlier && i == 0) magnitude = first;
      s.d[b * kBlock + i] = static_cast<int32_t>(BitOf(in, i) != 0 ? 0u - magnitude : magnitude);
    }
  }
  // Stage 2: running sums inside each block.
  for (uint64_t i = 0; i < s.blocks * kBlock; ++i) {
    bool alone = p.mode == SZARENA_MODE_FIXED || i % kBlock == 0;
    s.q[i] = alone ? s.d[i]
                   : static_cast<int32_t>(static_cast<uint32_t>(s.q[i - 1]) +
                                          static_cast<uint32_t>(s.d[i]));
  }
  // Stage 3: values.
  for (uint64_t i = 0; i < p.n; ++i) output[i] = (static_cast<T>(s.q[i]) * bound.e) * T(2);
  for (uint64_t b = 0; b < s.blocks; ++b) {
    if (payload[b] == kRaw)
      std::memcpy(output + b * kBlock, payload + s.sizes[b], Length(p, b) * sizeof(T));
  }
  return SZARENA_OK;
}

}  // namespace

extern "C" uint64_t szarena_workspace_bytes(const szarena_problem* p) { return Scratch::Bytes(*p); }

extern "C" int szarena_compress(const szarena_problem* p, const void* input, void* output,
                                uint64_t capacity, void* workspace, uint64_t workspace_bytes,
                                szarena_payload* payload) {
  if (workspace_bytes < Scratch::Bytes(*p)) return SZARENA_CAPACITY;
  auto* out = static_cast<uint8_t*>(output);
  return p->dtype == SZARENA_F32
             ? Compress(*p, static_cast<const float*>(input), out, capacity, workspace, payload)
             : Compress(*p, static_cast<const double*>(input), out, capacity, workspace, payload);
}

extern "C" int szarena_decompress(const szarena_problem* p, const void* payload, uint64_t size,
                                  void* output, void* workspace, uint64_t workspace_bytes) {
  if (workspace_bytes < Scratch::Bytes(*p)) return SZARENA_CAPACITY;
  const auto* in = static_cast<const uint8_t*>(payload);
  return p->dtype == SZARENA_F32
             ? Decompress(*p, in, size, static_cast<float*>(output), workspace)
             : Decompress(*p, in, size, static_cast<double*>(output), workspace);
}
