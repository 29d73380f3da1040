// SPDX-License-Identifier: Apache-2.0
// SZp, step 9: each thread takes one contiguous share of the blocks.
// g++ 12 warns inside its own header.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

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

// Vectors of 32-bit integers that hold a block: two of 16 with AVX-512, four of 8 with AVX2.
#if defined(__AVX512BW__) && defined(__AVX512DQ__)
#define SZP_AVX512 1
#elif !defined(__AVX2__)
#error "this candidate needs AVX2 or AVX-512"
#endif

#if SZP_AVX512 && defined(__AVX512VBMI__) && defined(__GFNI__)
#define SZP_GFNI 1
#endif

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

#if SZP_AVX512
// Lane 8 b + k holds value 8 b + 7 - k, so that a mask of 16 lanes is two bytes of a plane as they
// are stored.
inline __m512i Reversed(__m512i v) {
  const __m512i order = _mm512_set_epi32(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  return _mm512_maskz_permutexvar_epi32(0xFFFF, order, v);
}
#endif

// The differences of a block.
struct Differences {
#if SZP_AVX512
  __m512i low, high;
#else
  __m256i v[4];
#endif
};

// q[-1] is 0.
inline Differences Difference(const int32_t* q, bool fixed) {
  Differences d;
#if SZP_AVX512
  d.low = _mm512_loadu_si512(q);
  d.high = _mm512_loadu_si512(q + 16);
  if (!fixed) {
    const __m512i before = _mm512_maskz_alignr_epi32(0xFFFF, d.high, d.low, 15);
    d.low = _mm512_sub_epi32(d.low,
                             _mm512_maskz_alignr_epi32(0xFFFF, d.low, _mm512_setzero_si512(), 15));
    d.high = _mm512_sub_epi32(d.high, before);
  }
#else
  for (int k = 0; k < 4; ++k) {
    d.v[k] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q + 8 * k));
    if (fixed) continue;
    d.v[k] = _mm256_sub_epi32(d.v[k],
                              _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q + 8 * k - 1)));
  }
#endif
  return d;
}

// All magnitudes but the first one's, or-ed.
inline uint32_t OrOfRest(const Differences& d) {
#if SZP_AVX512
  __m512i all = _mm512_or_si512(_mm512_maskz_abs_epi32(0xFFFE, d.low),
                                _mm512_maskz_abs_epi32(0xFFFF, d.high));
  __m256i half =
      _mm256_or_si256(_mm512_castsi512_si256(all), _mm512_maskz_extracti64x4_epi64(0xFF, all, 1));
#else
  __m256i first = _mm256_blend_epi32(_mm256_abs_epi32(d.v[0]), _mm256_setzero_si256(), 1);
  __m256i half =
      _mm256_or_si256(_mm256_or_si256(first, _mm256_abs_epi32(d.v[1])),
                      _mm256_or_si256(_mm256_abs_epi32(d.v[2]), _mm256_abs_epi32(d.v[3])));
#endif
  __m128i quarter = _mm_or_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  uint64_t two = static_cast<uint64_t>(
      _mm_cvtsi128_si64(_mm_or_si128(quarter, _mm_unpackhi_epi64(quarter, quarter))));
  return static_cast<uint32_t>(two | two >> 32);
}

// Sign word and `planes` planes of the differences; the first one's magnitude is left out where
// `apart`.
inline void StorePlanes(const Differences& d, unsigned planes, bool apart, uint8_t* out) {
#if SZP_AVX512
  uint32_t signs = _mm512_movepi32_mask(Reversed(d.low)) |
                   static_cast<uint32_t>(_mm512_movepi32_mask(Reversed(d.high))) << 16;
  std::memcpy(out, &signs, 4);
  const __m512i low =
      Reversed(_mm512_maskz_abs_epi32(static_cast<__mmask16>(apart ? 0xFFFE : 0xFFFF), d.low));
  const __m512i high = Reversed(_mm512_maskz_abs_epi32(0xFFFF, d.high));
  __m512i bit = _mm512_set1_epi32(1);
  for (unsigned plane = 0; plane < planes; ++plane) {
    uint32_t word = _mm512_test_epi32_mask(low, bit) |
                    static_cast<uint32_t>(_mm512_test_epi32_mask(high, bit)) << 16;
    std::memcpy(out + 4 + 4 * plane, &word, 4);
    bit = _mm512_add_epi32(bit, bit);
  }
#else
  // Reversed lanes: the mask of 8 top bits is a byte as it is stored.
  const __m256i order = _mm256_set_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  __m256i v[4];
  for (int k = 0; k < 4; ++k) {
    out[k] = static_cast<uint8_t>(
        _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_permutevar8x32_epi32(d.v[k], order))));
    __m256i magnitude = _mm256_abs_epi32(d.v[k]);
    if (k == 0 && apart) magnitude = _mm256_insert_epi32(magnitude, 0, 0);
    v[k] = _mm256_sll_epi32(_mm256_permutevar8x32_epi32(magnitude, order),
                            _mm_cvtsi32_si128(static_cast<int>(32 - planes)));
  }
  for (unsigned plane = planes; plane-- > 0;) {
    uint8_t* to = out + 4 + 4 * plane;
    for (int k = 0; k < 4; ++k) {
      to[k] = static_cast<uint8_t>(_mm256_movemask_ps(_mm256_castsi256_ps(v[k])));
      v[k] = _mm256_add_epi32(v[k], v[k]);
    }
  }
#endif
}

#if SZP_GFNI
// All planes at once. A word is a magnitude with its sign below, so that the sign word is the
// lowest of `planes` + 1 planes. Byte L of eight neighbouring values is an 8 x 8 bit matrix; the
// affine instruction transposes eight of those, and its results are the bytes of planes 8 L to 8 L
// + 7, to be put in order. Writes 64 or 128 bytes whatever the number of planes.
inline void StorePlanesAtOnce(const Differences& d, unsigned planes, bool apart, uint8_t* out) {
  auto word = [](__m512i v) {
    return _mm512_or_si512(_mm512_maskz_slli_epi32(0xFFFF, _mm512_maskz_abs_epi32(0xFFFF, v), 1),
                           _mm512_maskz_srli_epi32(0xFFFF, v, 31));
  };
  __m512i low = word(d.low);
  const __m512i high = word(d.high);
  if (apart) low = _mm512_mask_and_epi32(low, 1, low, _mm512_set1_epi32(1));
  // Byte 32 L + 8 b + k from byte L of value 8 b + k.
  struct Order {
    alignas(64) uint8_t gather[2][64], spread[64];
  };
  static constexpr Order kOrder = [] {
    Order o{};
    for (int i = 0; i < 64; ++i) {
      o.gather[0][i] = static_cast<uint8_t>(4 * (i % 32) + i / 32);
      o.gather[1][i] = static_cast<uint8_t>(4 * (i % 32) + i / 32 + 2);
      o.spread[i] = static_cast<uint8_t>(i / 32 * 32 + i % 4 * 8 + i / 4 % 8);
    }
    return o;
  }();
  const __m512i identity = _mm512_set1_epi64(static_cast<long long>(0x8040201008040201));
  const __m512i spread = _mm512_load_si512(kOrder.spread);
  auto transposed = [&](const uint8_t* gather) {
    const __m512i bytes = _mm512_permutex2var_epi8(low, _mm512_load_si512(gather), high);
    return _mm512_maskz_permutexvar_epi8(~__mmask64{0}, spread,
                                         _mm512_gf2p8affine_epi64_epi8(identity, bytes, 0));
  };
  _mm512_storeu_si512(out, transposed(kOrder.gather[0]));
  if (planes > 15) _mm512_storeu_si512(out + 64, transposed(kOrder.gather[1]));
}
#endif

// Writes up to kBlockRoom bytes, whatever the size it returns.
constexpr uint64_t kBlockRoom = 4 + 128;
template <typename T>
inline uint64_t EncodeBlock(uint32_t mode, const T* x, uint64_t m, const Bound<T>& bound,
                            uint8_t* rate_byte, uint8_t* out) {
  T room[kBlock];
  alignas(64) int32_t padded_q[16 + kBlock];
  int32_t* const q = padded_q + 16;
  q[-1] = 0;
  if (!Quantise(Padded(mode, x, m, room), bound, q)) return StoreRaw(x, m, rate_byte, out);
  const Differences d = Difference(q, mode == SZARENA_MODE_FIXED);
  const uint32_t first = static_cast<uint32_t>(q[0] < 0 ? -q[0] : q[0]);
  const Form form = ChooseForm(mode, first, OrOfRest(d));
  *rate_byte = static_cast<uint8_t>(form.rate_byte);
  if (form.rate_byte == 0) return 0;
  std::memcpy(out, &first, 4);  // whole word: what is not kept is overwritten
#if SZP_GFNI
  StorePlanesAtOnce(d, form.planes, form.first_bytes > 0, out + form.first_bytes);
#else
  StorePlanes(d, form.planes, form.first_bytes > 0, out + form.first_bytes);
#endif
  return form.first_bytes + 4 + 4 * form.planes;
}

// The 32 quantised values of a coded block.
inline void LoadPlanes(const uint8_t* in, unsigned planes, bool apart, uint32_t first,
                       bool running_sum, int32_t* q) {
#if SZP_AVX512
  uint32_t signs;
  std::memcpy(&signs, in, 4);
  __m512i low = _mm512_setzero_si512(), high = low;
  __m512i bit = _mm512_set1_epi32(1);
  for (unsigned plane = 0; plane < planes; ++plane) {
    uint32_t word;
    std::memcpy(&word, in + 4 + 4 * plane, 4);
    low = _mm512_mask_or_epi32(low, static_cast<__mmask16>(word), low, bit);
    high = _mm512_mask_or_epi32(high, static_cast<__mmask16>(word >> 16), high, bit);
    bit = _mm512_add_epi32(bit, bit);
  }
  const __m512i zero = _mm512_setzero_si512();
  // Value 0 is lane 7 until the lanes are put in order.
  if (apart) low = _mm512_mask_set1_epi32(low, 0x80, static_cast<int>(first));
  low = Reversed(_mm512_mask_sub_epi32(low, static_cast<__mmask16>(signs), zero, low));
  high = Reversed(_mm512_mask_sub_epi32(high, static_cast<__mmask16>(signs >> 16), zero, high));
  if (running_sum) {
    low = _mm512_add_epi32(low, _mm512_alignr_epi32(low, zero, 15));
    high = _mm512_add_epi32(high, _mm512_alignr_epi32(high, zero, 15));
    low = _mm512_add_epi32(low, _mm512_alignr_epi32(low, zero, 14));
    high = _mm512_add_epi32(high, _mm512_alignr_epi32(high, zero, 14));
    low = _mm512_add_epi32(low, _mm512_alignr_epi32(low, zero, 12));
    high = _mm512_add_epi32(high, _mm512_alignr_epi32(high, zero, 12));
    low = _mm512_add_epi32(low, _mm512_alignr_epi32(low, zero, 8));
    high = _mm512_add_epi32(high, _mm512_alignr_epi32(high, zero, 8));
    high = _mm512_add_epi32(high, _mm512_permutexvar_epi32(_mm512_set1_epi32(15), low));
  }
  _mm512_storeu_si512(q, low);
  _mm512_storeu_si512(q + 16, high);
#else
  const __m256i one = _mm256_set1_epi32(1);
  const __m256i lane = _mm256_set_epi32(0, 1, 2, 3, 4, 5, 6, 7);  // place of value k in its byte
  __m256i carry = _mm256_setzero_si256();
  for (int k = 0; k < 4; ++k) {
    __m256i v = _mm256_setzero_si256();
    for (unsigned plane = planes; plane-- > 0;) {
      __m256i bits = _mm256_srlv_epi32(_mm256_set1_epi32(in[4 + 4 * plane + k]), lane);
      v = _mm256_or_si256(_mm256_add_epi32(v, v), _mm256_and_si256(bits, one));
    }
    if (k == 0 && apart) v = _mm256_insert_epi32(v, static_cast<int>(first), 0);
    __m256i negative =
        _mm256_sub_epi32(_mm256_setzero_si256(),
                         _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32(in[k]), lane), one));
    v = _mm256_sub_epi32(_mm256_xor_si256(v, negative), negative);
    if (running_sum) {
      v = _mm256_add_epi32(v, _mm256_slli_si256(v, 4));
      v = _mm256_add_epi32(v, _mm256_slli_si256(v, 8));
      __m256i half = _mm256_permutevar8x32_epi32(v, _mm256_set1_epi32(3));
      v = _mm256_add_epi32(v, _mm256_blend_epi32(_mm256_setzero_si256(), half, 0xF0));
      v = _mm256_add_epi32(v, carry);
      carry = _mm256_permutevar8x32_epi32(v, _mm256_set1_epi32(7));
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(q + 8 * k), v);
  }
#endif
}

template <typename T>
inline void DecodeBlock(uint32_t mode, unsigned rate_byte, const uint8_t* in, T* x, uint64_t m,
                        const Bound<T>& bound) {
  if (rate_byte == kRaw) {
    std::memcpy(x, in, m * sizeof(T));
    return;
  }
  if (rate_byte == 0) {
    std::memset(x, 0, m * sizeof(T));
    return;
  }
  uint32_t first = 0;
  const bool apart = rate_byte >= kOutlier;
  if (apart) {
    unsigned first_bytes = 1 + (rate_byte >> 5 & 3);
    std::memcpy(&first, in, first_bytes);
    in += first_bytes;
  }
  int32_t q[kBlock];
  LoadPlanes(in, rate_byte & 31, apart, first, mode != SZARENA_MODE_FIXED, q);
  if (m == kBlock) {
    for (uint64_t i = 0; i < kBlock; ++i) x[i] = (static_cast<T>(q[i]) * bound.e) * T(2);
  } else {
    for (uint64_t i = 0; i < m; ++i) x[i] = (static_cast<T>(q[i]) * bound.e) * T(2);
  }
}

// Runs body(0), …, body(parts - 1), each on a thread of its own; on this one where no thread can be
// had.
template <typename F>
void Parallel(uint64_t parts, F&& body) {
  std::vector<std::thread> helpers;
  uint64_t started = 1;
  try {
    for (; started < parts; ++started) helpers.emplace_back(body, started);
  } catch (const std::exception&) {
  }
  body(0);
  for (uint64_t part = started; part < parts; ++part) body(part);
  for (std::thread& helper : helpers) helper.join();
}

// Contiguous shares of blocks, one a thread and none too small to be worth one.
uint64_t Shares(const szarena_problem& p) {
  uint64_t most = Blocks(p) / 2048;
  return most < 1 ? 1 : most < p.threads ? most : p.threads;
}
constexpr uint64_t kMaxShares = 256;

// Each share is coded where it would lie if all blocks before it were raw, then moved down to its
// place.
template <typename T>
int Compress(const szarena_problem& p, const T* input, uint8_t* output, uint64_t capacity,
             szarena_payload* payload) {
  const Bound<T> bound(p.abs_bound);
  const uint64_t blocks = Blocks(p), rates = RateBytes(p);
  if (rates > capacity || capacity - rates < blocks * kBlock * sizeof(T)) return SZARENA_CAPACITY;
  std::memset(output + blocks, 0, rates - blocks);
  const uint64_t shares = Shares(p) < kMaxShares ? Shares(p) : kMaxShares;
  uint64_t size[kMaxShares];
  auto start = [&](uint64_t share) {
    return blocks / shares * share + (share < blocks % shares ? share : blocks % shares);
  };
  Parallel(shares, [&](uint64_t share) {
    uint8_t* const begin = output + rates + start(share) * kBlock * sizeof(T);
    uint8_t* out = begin;
    const uint64_t end = start(share + 1);
    for (uint64_t b = start(share); b < end; ++b) {
      if (b + 1 < end) {
        out += EncodeBlock(p.mode, input + b * kBlock, Length(p, b), bound, output + b, out);
        continue;
      }
      // What the last block writes beyond its end would reach the next share.
      uint8_t room[kBlockRoom + kBlock * sizeof(T)];
      const uint64_t bytes =
          EncodeBlock(p.mode, input + b * kBlock, Length(p, b), bound, output + b, room);
      std::memcpy(out, room, bytes);
      out += bytes;
    }
    size[share] = static_cast<uint64_t>(out - begin);
  });
  uint64_t used = rates;
  for (uint64_t share = 0; share < shares; ++share) {
    if (share > 0)
      std::memmove(output + used, output + rates + start(share) * kBlock * sizeof(T), size[share]);
    used += size[share];
  }
  *payload = {0, used};
  return SZARENA_OK;
}

template <typename T>
int Decompress(const szarena_problem& p, const uint8_t* payload, uint64_t size, T* output) {
  const Bound<T> bound(p.abs_bound);
  const uint64_t blocks = Blocks(p);
  uint64_t at = RateBytes(p);
  if (size < at) return SZARENA_CORRUPT;
  uint32_t bytes[256];
  for (unsigned rate = 0; rate < 256; ++rate) bytes[rate] = PayloadBytes(p, rate);
  const uint64_t shares = Shares(p) < kMaxShares ? Shares(p) : kMaxShares;
  auto start = [&](uint64_t share) {
    return blocks / shares * share + (share < blocks % shares ? share : blocks % shares);
  };
  uint64_t offset[kMaxShares];
  for (uint64_t share = 0; share < shares; ++share) {
    offset[share] = at;
    uint64_t sum = 0;
    for (uint64_t b = start(share); b < start(share + 1); ++b) sum += bytes[payload[b]];
    if (sum > size - at)
      return SZARENA_CORRUPT;  // kNone is larger than any share of a real payload below 4 GiB
    at += sum;
  }
  if (at != size) return SZARENA_CORRUPT;
  std::atomic<bool> corrupt{false};
  Parallel(shares, [&](uint64_t share) {
    const uint8_t* in = payload + offset[share];
    for (uint64_t b = start(share); b < start(share + 1); ++b) {
      if (bytes[payload[b]] == kNone) {
        corrupt = true;
        return;
      }
      DecodeBlock(p.mode, payload[b], in, output + b * kBlock, Length(p, b), bound);
      in += bytes[payload[b]];
    }
  });
  return corrupt ? SZARENA_CORRUPT : SZARENA_OK;
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
