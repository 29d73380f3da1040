// SPDX-License-Identifier: Apache-2.0
// SZp, step 4: quantiser and reconstruction in vectors.
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

// Bytes of the machine's widest vectors.
#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

// The compiler's own vectors of that size, and as many 32-bit integers.
template <typename T>
struct Vectors;
template <>
struct Vectors<float> {
  typedef float Real __attribute__((vector_size(kVectorBytes)));
  typedef int32_t Int __attribute__((vector_size(kVectorBytes)));
};
template <>
struct Vectors<double> {
  typedef double Real __attribute__((vector_size(kVectorBytes)));
  typedef int32_t Int __attribute__((vector_size(kVectorBytes / 2)));
};

// Quantised values of a whole block; false where it has to be stored raw. |x - x'| < e decides
// without a branch a value, and only where some value does not pass are all of them looked at
// exactly.
template <typename T>
inline bool Quantise(const T* x, const Bound<T>& bound, int32_t* q) {
  using Real = typename Vectors<T>::Real;
  using Int = typename Vectors<T>::Int;
  constexpr uint64_t kLanes = sizeof(Real) / sizeof(T);
  constexpr T kLimit = Bound<T>::kLimit, kFar = kLimit * T(1.5);
  const T e = bound.e;
  const Real zero = {};
  auto fine = zero == zero;
  for (uint64_t i = 0; i < kBlock; i += kLanes) {
    Real v;
    std::memcpy(&v, x + i, sizeof v);
    Real t = v * bound.scale;
    t = ((t > -kFar) & (t < kFar)) ? t : zero + kFar;  // NaN too: the conversion must be defined
    Real below = (t < T(-0.5)) ? zero + T(1) : zero;
    Real r = __builtin_convertvector(__builtin_convertvector(t + T(0.5), Int), Real) - below;
    Real error = v - (r * e) * T(2);
    fine &= (r > -kLimit) & (r < kLimit) & (error > -e) & (error < e);
    Int codes = __builtin_convertvector(r, Int);
    std::memcpy(q + i, &codes, sizeof codes);
  }
  uint64_t parts[kVectorBytes / 8], all = ~uint64_t{0};
  std::memcpy(parts, &fine, sizeof parts);
  for (uint64_t part : parts) all &= part;
  if (all == ~uint64_t{0}) [[likely]]
    return true;
  for (uint64_t i = 0; i < kBlock; ++i) {
    T r = static_cast<T>(q[i]);
    if (!(std::fabs(r) < kLimit) || !Within(x[i], (r * e) * T(2), e)) return false;
  }
  return true;
}

// A short last block as 32 values whose padding has difference 0.
template <typename T>
const T* Padded(uint32_t mode, const T* x, uint64_t m, T (&room)[kBlock]) {
  if (m == kBlock) return x;
  for (uint64_t i = 0; i < kBlock; ++i)
    room[i] = i < m ? x[i] : mode == SZARENA_MODE_FIXED ? T(0) : x[m - 1];
  return room;
}

template <typename T>
uint64_t EncodeBlock(uint32_t mode, const T* x, uint64_t m, const Bound<T>& bound,
                     uint8_t* rate_byte, uint8_t* out) {
  T room[kBlock];
  int32_t q[kBlock + 1];
  q[0] = 0;
  if (!Quantise(Padded(mode, x, m, room), bound, q + 1)) return StoreRaw(x, m, rate_byte, out);
  uint32_t words[kBlock];
  uint32_t negative[kBlock];
  uint32_t all = 0;
  for (uint64_t i = 0; i < kBlock; ++i) {
    int32_t d = mode == SZARENA_MODE_FIXED ? q[i + 1] : q[i + 1] - q[i];
    words[i] = static_cast<uint32_t>(d < 0 ? -d : d);
    negative[i] = static_cast<uint32_t>(d) >> 31 << (31 - i);
    all |= words[i];
  }
  uint32_t signs = 0;
  for (uint64_t i = 0; i < kBlock; ++i) signs |= negative[i];
  uint32_t rest = all;
  if (mode == SZARENA_MODE_OUTLIER) {
    rest = 0;
    for (uint64_t i = 1; i < kBlock; ++i) rest |= words[i];
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
    std::memset(x, 0, m * sizeof(T));
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
  const uint32_t signs = LoadBig(in);
  for (unsigned plane = 0; plane < (rate_byte & 31); ++plane)
    words[31 - plane] = LoadBig(in + 4 + 4 * plane);
  Transpose(words);
  if (apart) words[0] = first;
  // Three loops without branches: signs, running sum, values.
  for (uint64_t i = 0; i < kBlock; ++i) {
    uint32_t mask = 0 - (signs >> (31 - i) & 1);
    words[i] = (words[i] ^ mask) - mask;
  }
  if (mode != SZARENA_MODE_FIXED) {
    for (uint64_t i = 1; i < kBlock; ++i) words[i] += words[i - 1];
  }
  T values[kBlock];
  for (uint64_t i = 0; i < kBlock; ++i) {
    values[i] = (static_cast<T>(static_cast<int32_t>(words[i])) * bound.e) * T(2);
  }
  std::memcpy(x, values, m * sizeof(T));
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
