// SPDX-License-Identifier: Apache-2.0
// bitpack, optimised: planes straight from and to vector masks, each thread one contiguous share of
// the blocks. g++ 12 warns inside its own header.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

#include "szarena_candidate.h"

namespace {

constexpr uint64_t kBlock = 32;

uint64_t Blocks(const szarena_problem& p) { return p.n / kBlock + (p.n % kBlock != 0); }
uint64_t RateBytes(const szarena_problem& p) {
  return (Blocks(p) + p.pad_blocks - 1) / p.pad_blocks * p.pad_blocks;
}
uint64_t Length(const szarena_problem& p, uint64_t b) {
  return p.n - b * kBlock < kBlock ? p.n - b * kBlock : kBlock;
}
constexpr uint64_t PayloadBytes(unsigned rate) { return rate == 0 ? 0 : 4 + 4 * uint64_t{rate}; }

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

// Contiguous shares of n elements in whole units, none smaller than 64 Ki elements.
constexpr uint64_t kMaxShares = 256;
uint64_t Shares(uint64_t n, uint32_t threads) {
  uint64_t shares = n >> 16 < threads ? n >> 16 : threads;
  return shares < 1 ? 1 : shares > kMaxShares ? kMaxShares : shares;
}
uint64_t ShareStart(uint64_t share, uint64_t shares, uint64_t n, uint64_t unit) {
  return share == shares ? n : n / unit * share / shares * unit;
}

// Vectors of 32-bit integers that hold a block: two of 16 with AVX-512, four of 8 with AVX2.
#if defined(__AVX512BW__) && defined(__AVX512DQ__)
#define BITPACK_AVX512 1
#elif !defined(__AVX2__)
#error "this candidate needs AVX2 or AVX-512"
#endif

#if BITPACK_AVX512
// Lane 8 b + k holds value 8 b + 7 - k, so that a mask of 16 lanes is two bytes of a plane as they
// are stored.
inline __m512i Reversed(__m512i v) {
  const __m512i order = _mm512_set_epi32(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  return _mm512_maskz_permutexvar_epi32(0xFFFF, order, v);
}
#endif

// The values of a block.
struct Values {
#if BITPACK_AVX512
  __m512i low, high;
#else
  __m256i v[4];
#endif
};

inline Values LoadBlock(const int32_t* v) {
  Values d;
#if BITPACK_AVX512
  d.low = _mm512_loadu_si512(v);
  d.high = _mm512_loadu_si512(v + 16);
#else
  for (int k = 0; k < 4; ++k)
    d.v[k] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(v + 8 * k));
#endif
  return d;
}

// All magnitudes, or-ed.
inline uint32_t OrOfMagnitudes(const Values& d) {
#if BITPACK_AVX512
  __m512i all = _mm512_or_si512(_mm512_maskz_abs_epi32(0xFFFF, d.low),
                                _mm512_maskz_abs_epi32(0xFFFF, d.high));
  __m256i half =
      _mm256_or_si256(_mm512_castsi512_si256(all), _mm512_maskz_extracti64x4_epi64(0xFF, all, 1));
#else
  __m256i half =
      _mm256_or_si256(_mm256_or_si256(_mm256_abs_epi32(d.v[0]), _mm256_abs_epi32(d.v[1])),
                      _mm256_or_si256(_mm256_abs_epi32(d.v[2]), _mm256_abs_epi32(d.v[3])));
#endif
  __m128i quarter = _mm_or_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  uint64_t two = static_cast<uint64_t>(
      _mm_cvtsi128_si64(_mm_or_si128(quarter, _mm_unpackhi_epi64(quarter, quarter))));
  return static_cast<uint32_t>(two | two >> 32);
}

// Sign word and `planes` planes of the values.
inline void StorePlanes(const Values& d, unsigned planes, uint8_t* out) {
#if BITPACK_AVX512
  uint32_t signs = _mm512_movepi32_mask(Reversed(d.low)) |
                   static_cast<uint32_t>(_mm512_movepi32_mask(Reversed(d.high))) << 16;
  std::memcpy(out, &signs, 4);
  const __m512i low = Reversed(_mm512_maskz_abs_epi32(0xFFFF, d.low));
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

// The 32 values of a block with `planes` planes.
inline void LoadPlanes(const uint8_t* in, unsigned planes, int32_t* q) {
#if BITPACK_AVX512
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
  low = Reversed(_mm512_mask_sub_epi32(low, static_cast<__mmask16>(signs), zero, low));
  high = Reversed(_mm512_mask_sub_epi32(high, static_cast<__mmask16>(signs >> 16), zero, high));
  _mm512_storeu_si512(q, low);
  _mm512_storeu_si512(q + 16, high);
#else
  const __m256i one = _mm256_set1_epi32(1);
  const __m256i lane = _mm256_set_epi32(0, 1, 2, 3, 4, 5, 6, 7);  // place of value k in its byte
  for (int k = 0; k < 4; ++k) {
    __m256i v = _mm256_setzero_si256();
    for (unsigned plane = planes; plane-- > 0;) {
      __m256i bits = _mm256_srlv_epi32(_mm256_set1_epi32(in[4 + 4 * plane + k]), lane);
      v = _mm256_or_si256(_mm256_add_epi32(v, v), _mm256_and_si256(bits, one));
    }
    __m256i negative =
        _mm256_sub_epi32(_mm256_setzero_si256(),
                         _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32(in[k]), lane), one));
    v = _mm256_sub_epi32(_mm256_xor_si256(v, negative), negative);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(q + 8 * k), v);
  }
#endif
}

// Packs one block; returns its payload's bytes.
inline uint64_t PackBlock(const int32_t* values, uint64_t m, uint8_t* rate_byte, uint8_t* out) {
  int32_t room[kBlock] = {};
  if (m < kBlock) {
    std::memcpy(room, values, 4 * m);
    values = room;
  }
  const Values v = LoadBlock(values);
  const unsigned rate = static_cast<unsigned>(std::bit_width(OrOfMagnitudes(v)));
  *rate_byte = static_cast<uint8_t>(rate);
  if (rate == 0) return 0;
  StorePlanes(v, rate, out);
  return PayloadBytes(rate);
}

}  // namespace

extern "C" uint64_t szarena_workspace_bytes(const szarena_problem*) { return 0; }

extern "C" int szarena_run(const szarena_problem* p, const void* input, void* output,
                           uint64_t capacity, void*, uint64_t, szarena_payload* payload) {
  constexpr uint64_t kMost = PayloadBytes(31);
  const uint64_t blocks = Blocks(*p), rates = RateBytes(*p);
  auto* out = static_cast<uint8_t*>(output);
  // Each share is packed where it would lie if all blocks before it were as long as can be, then
  // moved down to its place.
  if (rates > capacity || capacity - rates < blocks * kMost) return SZARENA_CAPACITY;
  std::memset(out + blocks, 0, rates - blocks);
  const auto* values = static_cast<const int32_t*>(input);
  const uint64_t shares = Shares(p->n, p->threads);
  uint64_t size[kMaxShares];
  Parallel(shares, [&](uint64_t k) {
    const uint64_t begin = ShareStart(k, shares, blocks, 1),
                   end = ShareStart(k + 1, shares, blocks, 1);
    uint8_t* next = out + rates + begin * kMost;
    for (uint64_t b = begin; b < end; ++b)
      next += PackBlock(values + b * kBlock, Length(*p, b), out + b, next);
    size[k] = static_cast<uint64_t>(next - (out + rates + begin * kMost));
  });
  uint64_t used = rates + size[0];
  for (uint64_t k = 1; k < shares; ++k) {
    std::memmove(out + used, out + rates + ShareStart(k, shares, blocks, 1) * kMost, size[k]);
    used += size[k];
  }
  *payload = {0, used};
  return SZARENA_OK;
}

extern "C" int szarena_inverse(const szarena_problem* p, const void* payload, uint64_t size,
                               void* output, void*, uint64_t) {
  const uint64_t blocks = Blocks(*p);
  const auto* rates = static_cast<const uint8_t*>(payload);
  auto* values = static_cast<int32_t*>(output);
  uint64_t at = RateBytes(*p);
  if (size < at) return SZARENA_CORRUPT;
  const uint64_t shares = Shares(p->n, p->threads);
  uint64_t offset[kMaxShares];
  for (uint64_t k = 0; k < shares; ++k) {
    offset[k] = at;
    for (uint64_t b = ShareStart(k, shares, blocks, 1); b < ShareStart(k + 1, shares, blocks, 1);
         ++b) {
      if (rates[b] > 31) return SZARENA_CORRUPT;
      at += PayloadBytes(rates[b]);
    }
  }
  if (at != size) return SZARENA_CORRUPT;
  Parallel(shares, [&](uint64_t k) {
    const uint8_t* in = rates + offset[k];
    for (uint64_t b = ShareStart(k, shares, blocks, 1); b < ShareStart(k + 1, shares, blocks, 1);
         ++b) {
      int32_t* to = values + b * kBlock;
      const uint64_t m = Length(*p, b);
      if (rates[b] == 0) {
        std::memset(to, 0, 4 * m);
        continue;
      }
      if (m == kBlock) {
        LoadPlanes(in, rates[b], to);
      } else {
        int32_t room[kBlock];
        LoadPlanes(in, rates[b], room);
        std::memcpy(to, room, 4 * m);
      }
      in += PayloadBytes(rates[b]);
    }
  });
  return SZARENA_OK;
}
