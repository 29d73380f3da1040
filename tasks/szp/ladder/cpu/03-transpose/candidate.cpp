// SPDX-License-Identifier: Apache-2.0
// SZp, step 3: bit planes by a 32 x 32 bit transpose instead of bit by bit.
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

// Transposes a 32 x 32 bit matrix whose row i is a[i] and whose column 0 is the top bit (five
// exchanges of ever smaller squares): with values as rows, row 31 - p becomes bit plane p, the
// first value in the top bit.
inline void Transpose(uint32_t (&a)[32]) {
  uint32_t mask = 0x0000FFFF;
  for (unsigned j = 16; j != 0; j >>= 1, mask ^= mask << j) {
    for (unsigned k = 0; k < 32; k = (k + j + 1) & ~j) {
      uint32_t t = (a[k] ^ (a[k + j] >> j)) & mask;
      a[k] ^= t;
      a[k + j] ^= t << j;
    }
  }
}

inline void StoreBig(uint8_t* out, uint32_t w) {
  w = __builtin_bswap32(w);
  std::memcpy(out, &w, 4);
}
inline uint32_t LoadBig(const uint8_t* in) {
  uint32_t w;
  std::memcpy(&w, in, 4);
  return __builtin_bswap32(w);
}

// Quantised values of a block; false where it has to be stored raw.
template <typename T>
bool Quantise(const T* x, uint64_t m, const Bound<T>& bound, int32_t (&q)[kBlock]) {
  for (uint64_t i = 0; i < m; ++i) {
    T t = x[i] * bound.scale;
    T r = std::trunc(t + T(0.5)) - (t < T(-0.5) ? T(1) : T(0));
    if (!(std::fabs(r) < bound.kLimit) || !Within(x[i], (r * bound.e) * T(2), bound.e))
      return false;
    q[i] = static_cast<int32_t>(r);
  }
  return true;
}

template <typename T>
uint64_t EncodeBlock(uint32_t mode, const T* x, uint64_t m, const Bound<T>& bound,
                     uint8_t* rate_byte, uint8_t* out) {
  int32_t q[kBlock];
  if (!Quantise(x, m, bound, q)) return StoreRaw(x, m, rate_byte, out);
  uint32_t words[kBlock] = {};
  uint32_t signs = 0, rest = 0;
  int32_t previous = 0;
  for (uint64_t i = 0; i < m; ++i) {
    int32_t d = q[i] - previous;
    if (mode != SZARENA_MODE_FIXED) previous = q[i];
    signs |= static_cast<uint32_t>(d < 0) << (31 - i);
    words[i] = static_cast<uint32_t>(d < 0 ? -d : d);
    if (i > 0) rest |= words[i];
  }
  Form form = ChooseForm(mode, words[0], rest);
  *rate_byte = static_cast<uint8_t>(form.rate_byte);
  if (form.rate_byte == 0) return 0;
  uint8_t* next = out;
  if (form.first_bytes > 0) {
    std::memcpy(next, &words[0], form.first_bytes);
    next += form.first_bytes;
    words[0] = 0;
  }
  StoreBig(next, signs);
  next += 4;
  Transpose(words);
  for (unsigned plane = 0; plane < form.planes; ++plane, next += 4)
    StoreBig(next, words[31 - plane]);
  return static_cast<uint64_t>(next - out);
}

template <typename T>
void DecodeBlock(uint32_t mode, unsigned rate_byte, const uint8_t* in, T* x, uint64_t m,
                 const Bound<T>& bound) {
  if (rate_byte == kRaw) {
    std::memcpy(x, in, m * sizeof(T));
    return;
  }
  if (rate_byte == 0) {
    for (uint64_t i = 0; i < m; ++i) x[i] = 0;
    return;
  }
  uint32_t words[kBlock] = {};
  uint32_t first = 0;
  const bool apart = rate_byte >= kOutlier;
  if (apart) {
    unsigned first_bytes = 1 + (rate_byte >> 5 & 3);
    std::memcpy(&first, in, first_bytes);
    in += first_bytes;
  }
  uint32_t signs = LoadBig(in);
  for (unsigned plane = 0; plane < (rate_byte & 31); ++plane)
    words[31 - plane] = LoadBig(in + 4 + 4 * plane);
  Transpose(words);
  if (apart) words[0] = first;
  uint32_t q = 0;
  for (uint64_t i = 0; i < m; ++i) {
    uint32_t d = (signs >> (31 - i) & 1) != 0 ? 0 - words[i] : words[i];
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
