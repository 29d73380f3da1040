// SPDX-License-Identifier: Apache-2.0
// Bit planes of a block in vectors, for x86. Included once per Highway target.
//
// A block is 32 words w = magnitude << 1 | sign, so that the sign word and the planes, which follow one
// another in the payload, are planes 0, 1, 2.. of w. Plane bytes hold eight values each, the first in
// the top bit.
#if defined(SZARENA_CODEC_SZP_PLANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SZARENA_CODEC_SZP_PLANES_INL_H_
#undef SZARENA_CODEC_SZP_PLANES_INL_H_
#else
#define SZARENA_CODEC_SZP_PLANES_INL_H_
#endif

#include <hwy/highway.h>

#undef SZP_VECTOR_BITS
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
#define SZP_VECTOR_BITS 512
#elif HWY_TARGET == HWY_AVX2
#define SZP_VECTOR_BITS 256
#elif HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
#define SZP_VECTOR_BITS 128
#else
#define SZP_VECTOR_BITS 0  // the reference serves
#endif

#if SZP_VECTOR_BITS != 0
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace szarena::codec::szp {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DI = hn::Simd<int32_t, SZP_VECTOR_BITS / 32, 0>;
using VI = hn::Vec<DI>;
inline constexpr size_t kVectorLanes = SZP_VECTOR_BITS / 32;
inline constexpr size_t kVectors = 32 / kVectorLanes;  // of a block

// 32 ones, then 32 zeros: loaded at 32 - n + i, a mask of the lanes i.. that are below n.
alignas(64) inline constexpr int32_t kBelow[64] = {
    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

// Transposes eight rows of eight bits in each 64-bit lane about the anti-diagonal: bit f of row r goes
// to bit 7 - r of row 7 - f. Rows that were loaded last first thus come out as values, first first.
template <class V>
HWY_INLINE V TransposeBits(V rows) {
  const hn::DFromV<V> d;
  const auto k4 = hn::Set(d, 0xF0F0F0F00F0F0F0Full);
  const auto k2 = hn::Set(d, 0xCCCC0000CCCC0000ull);
  const auto k1 = hn::Set(d, 0xAA00AA00AA00AA00ull);
  V t = hn::Xor(rows, hn::ShiftLeft<36>(rows));
  rows = hn::Xor(rows, hn::And(k4, hn::Xor(t, hn::ShiftRight<36>(rows))));
  t = hn::And(k2, hn::Xor(rows, hn::ShiftLeft<18>(rows)));
  rows = hn::Xor(rows, hn::Xor(t, hn::ShiftRight<18>(t)));
  t = hn::And(k1, hn::Xor(rows, hn::ShiftLeft<9>(rows)));
  return hn::Xor(rows, hn::Xor(t, hn::ShiftRight<9>(t)));
}

#if SZP_VECTOR_BITS >= 256
// Eight planes of 32 byte-sized values; value order as in the payload, so bit 31 - i % 8 and so on are
// in place. Writes 32 bytes.
HWY_INLINE void StoreEightPlanes(__m256i bytes, std::byte* out) {
  int32_t planes[8];
  for (int p = 7; p >= 0; --p) {
    planes[p] = _mm256_movemask_epi8(bytes);
    bytes = _mm256_add_epi8(bytes, bytes);
  }
  std::memcpy(out, planes, sizeof planes);
}
#endif

#if SZP_VECTOR_BITS == 512
HWY_INLINE VI ShiftUp(VI current, VI previous) {
  return VI{_mm512_alignr_epi32(current.raw, previous.raw, 15)};
}

HWY_INLINE VI PrefixSum(VI v) {
  const __m512i zero = _mm512_setzero_si512();
  __m512i x = v.raw;
  x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 15));
  x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 14));
  x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 12));
  return VI{_mm512_add_epi32(x, _mm512_alignr_epi32(x, zero, 8))};
}

HWY_INLINE VI BroadcastLast(VI v) {
  return VI{_mm512_permutexvar_epi32(_mm512_set1_epi32(15), v.raw)};
}

HWY_INLINE uint32_t OrAll(VI v) {
  const __m256i half =
      _mm256_or_si256(_mm512_castsi512_si256(v.raw), _mm512_extracti64x4_epi64(v.raw, 1));
  const __m128i quarter =
      _mm_or_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
  const __m128i pair = _mm_or_si128(quarter, _mm_shuffle_epi32(quarter, 0x4E));
  return static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_or_si128(pair, _mm_shuffle_epi32(pair, 0xB1))));
}

// Writes planes 0..planes-1 of the words; up to 28 bytes behind them are overwritten.
HWY_INLINE void StorePlanes(const VI* words, uint32_t planes, std::byte* out) {
  // Byte j of four values in one dword j, last value first; then the dwords of equal j together.
  const __m512i gather = _mm512_broadcast_i32x4(
      _mm_setr_epi8(12, 8, 4, 0, 13, 9, 5, 1, 14, 10, 6, 2, 15, 11, 7, 3));
  const __m512i low = _mm512_shuffle_epi8(words[0].raw, gather);
  const __m512i high = _mm512_shuffle_epi8(words[1].raw, gather);
  const __m512i order =
      _mm512_setr_epi32(4, 0, 12, 8, 20, 16, 28, 24, 5, 1, 13, 9, 21, 17, 29, 25);
  const __m512i bytes01 = _mm512_permutex2var_epi32(low, order, high);
  StoreEightPlanes(_mm512_castsi512_si256(bytes01), out);
  if (planes <= 8) return;
  StoreEightPlanes(_mm512_extracti64x4_epi64(bytes01, 1), out + 32);
  if (planes <= 16) return;
  const __m512i bytes23 =
      _mm512_permutex2var_epi32(low, _mm512_add_epi32(order, _mm512_set1_epi32(2)), high);
  StoreEightPlanes(_mm512_castsi512_si256(bytes23), out + 64);
  if (planes <= 24) return;
  StoreEightPlanes(_mm512_extracti64x4_epi64(bytes23, 1), out + 96);
}

// Bytes of 32 values from up to 16 planes at `in`: the low halves' eight planes, then the high ones'.
HWY_INLINE __m512i LoadSixteenPlanes(const std::byte* in, uint32_t planes) {
  const auto mask = static_cast<__mmask16>((uint32_t{1} << planes) - 1);
  const __m512i gather = _mm512_broadcast_i32x4(
      _mm_setr_epi8(12, 8, 4, 0, 13, 9, 5, 1, 14, 10, 6, 2, 15, 11, 7, 3));
  const __m512i order = _mm512_setr_epi32(4, 0, 5, 1, 6, 2, 7, 3, 12, 8, 13, 9, 14, 10, 15, 11);
  const __m512i loaded = _mm512_maskz_loadu_epi32(mask, in);
  const __m512i rows = _mm512_permutexvar_epi32(order, _mm512_shuffle_epi8(loaded, gather));
  return TransposeBits(hn::Vec<hn::Simd<uint64_t, 8, 0>>{rows}).raw;
}

// The low 16 bits of the words from up to 16 planes.
HWY_INLINE void LoadHalfWords(const std::byte* in, uint32_t planes, __m512i* words) {
  const __m512i bytes = LoadSixteenPlanes(in, planes);
  const __m256i low = _mm512_castsi512_si256(bytes);
  words[0] = _mm512_cvtepu8_epi32(_mm256_castsi256_si128(low));
  words[1] = _mm512_cvtepu8_epi32(_mm256_extracti128_si256(low, 1));
  if (planes <= 8) return;
  const __m256i high = _mm512_extracti64x4_epi64(bytes, 1);
  const __m512i h0 = _mm512_cvtepu8_epi32(_mm256_castsi256_si128(high));
  const __m512i h1 = _mm512_cvtepu8_epi32(_mm256_extracti128_si256(high, 1));
  words[0] = _mm512_or_si512(words[0], _mm512_slli_epi32(h0, 8));
  words[1] = _mm512_or_si512(words[1], _mm512_slli_epi32(h1, 8));
}

// The words of planes 0..planes-1; reads nothing else.
HWY_INLINE void LoadPlanes(const std::byte* in, uint32_t planes, const std::byte*, VI* words) {
  __m512i low[2];
  LoadHalfWords(in, planes < 16 ? planes : 16, low);
  if (planes > 16) {
    __m512i high[2];
    LoadHalfWords(in + 64, planes - 16, high);
    low[0] = _mm512_or_si512(low[0], _mm512_slli_epi32(high[0], 16));
    low[1] = _mm512_or_si512(low[1], _mm512_slli_epi32(high[1], 16));
  }
  words[0] = VI{low[0]};
  words[1] = VI{low[1]};
}

#elif SZP_VECTOR_BITS == 256
HWY_INLINE VI ShiftUp(VI current, VI previous) {
  const __m256i between = _mm256_permute2x128_si256(previous.raw, current.raw, 0x21);
  return VI{_mm256_alignr_epi8(current.raw, between, 12)};
}

HWY_INLINE VI PrefixSum(VI v) {
  __m256i x = v.raw;
  x = _mm256_add_epi32(x, _mm256_slli_si256(x, 4));
  x = _mm256_add_epi32(x, _mm256_slli_si256(x, 8));
  const __m256i low = _mm256_permute2x128_si256(x, x, 0x08);  // zero, low half
  return VI{_mm256_add_epi32(x, _mm256_shuffle_epi32(low, 0xFF))};
}

HWY_INLINE VI BroadcastLast(VI v) {
  return VI{_mm256_permutevar8x32_epi32(v.raw, _mm256_set1_epi32(7))};
}

HWY_INLINE uint32_t OrAll(VI v) {
  const __m128i quarter =
      _mm_or_si128(_mm256_castsi256_si128(v.raw), _mm256_extracti128_si256(v.raw, 1));
  const __m128i pair = _mm_or_si128(quarter, _mm_shuffle_epi32(quarter, 0x4E));
  return static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_or_si128(pair, _mm_shuffle_epi32(pair, 0xB1))));
}

// Writes planes 0..planes-1 of the words; up to 28 bytes behind them are overwritten.
HWY_INLINE void StorePlanes(const VI* words, uint32_t planes, std::byte* out) {
  // Byte j of four values in one dword j, last value first; then the dwords of equal j together.
  const __m256i gather = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(12, 8, 4, 0, 13, 9, 5, 1, 14, 10, 6, 2, 15, 11, 7, 3));
  const __m256i order = _mm256_setr_epi32(4, 0, 5, 1, 6, 2, 7, 3);
  const __m256i a = _mm256_shuffle_epi8(words[0].raw, gather);
  const __m256i b = _mm256_shuffle_epi8(words[1].raw, gather);
  const __m256i c = _mm256_shuffle_epi8(words[2].raw, gather);
  const __m256i d = _mm256_shuffle_epi8(words[3].raw, gather);
  const __m256i ab01 = _mm256_unpacklo_epi32(a, b);
  const __m256i cd01 = _mm256_unpacklo_epi32(c, d);
  StoreEightPlanes(_mm256_permutevar8x32_epi32(_mm256_unpacklo_epi64(ab01, cd01), order), out);
  if (planes <= 8) return;
  StoreEightPlanes(_mm256_permutevar8x32_epi32(_mm256_unpackhi_epi64(ab01, cd01), order), out + 32);
  if (planes <= 16) return;
  const __m256i ab23 = _mm256_unpackhi_epi32(a, b);
  const __m256i cd23 = _mm256_unpackhi_epi32(c, d);
  StoreEightPlanes(_mm256_permutevar8x32_epi32(_mm256_unpacklo_epi64(ab23, cd23), order), out + 64);
  if (planes <= 24) return;
  StoreEightPlanes(_mm256_permutevar8x32_epi32(_mm256_unpackhi_epi64(ab23, cd23), order), out + 96);
}

// The words of planes 0..planes-1; reads nothing else.
HWY_INLINE void LoadPlanes(const std::byte* in, uint32_t planes, const std::byte*, VI* words) {
  const __m256i gather = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(12, 8, 4, 0, 13, 9, 5, 1, 14, 10, 6, 2, 15, 11, 7, 3));
  const __m256i order = _mm256_setr_epi32(4, 0, 5, 1, 6, 2, 7, 3);
  for (size_t k = 0; k < kVectors; ++k) words[k] = hn::Zero(DI());
  for (uint32_t j = 0; 8 * j < planes; ++j) {
    const __m256i mask =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kBelow + 32 - planes + 8 * j));
    const __m256i loaded = _mm256_maskload_epi32(reinterpret_cast<const int*>(in) + 8 * j, mask);
    const __m256i rows =
        _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(loaded, gather), order);
    const __m256i bytes = TransposeBits(hn::Vec<hn::Simd<uint64_t, 4, 0>>{rows}).raw;
    const __m128i low = _mm256_castsi256_si128(bytes);
    const __m128i high = _mm256_extracti128_si256(bytes, 1);
    const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(8 * j));
    const auto add = [&](size_t k, __m128i eight) HWY_ATTR {
      const __m256i wide = _mm256_sll_epi32(_mm256_cvtepu8_epi32(eight), shift);
      words[k] = VI{_mm256_or_si256(words[k].raw, wide)};
    };
    add(0, low);
    add(1, _mm_srli_si128(low, 8));
    add(2, high);
    add(3, _mm_srli_si128(high, 8));
  }
}

#else  // 128
HWY_INLINE VI ShiftUp(VI current, VI previous) {
  return VI{_mm_alignr_epi8(current.raw, previous.raw, 12)};
}

HWY_INLINE VI PrefixSum(VI v) {
  __m128i x = v.raw;
  x = _mm_add_epi32(x, _mm_slli_si128(x, 4));
  return VI{_mm_add_epi32(x, _mm_slli_si128(x, 8))};
}

HWY_INLINE VI BroadcastLast(VI v) { return VI{_mm_shuffle_epi32(v.raw, 0xFF)}; }

HWY_INLINE uint32_t OrAll(VI v) {
  const __m128i pair = _mm_or_si128(v.raw, _mm_shuffle_epi32(v.raw, 0x4E));
  return static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_or_si128(pair, _mm_shuffle_epi32(pair, 0xB1))));
}

// Writes planes 0..planes-1 of the words; up to 28 bytes behind them are overwritten.
HWY_INLINE void StorePlanes(const VI* words, uint32_t planes, std::byte* out) {
  const __m128i gather = _mm_setr_epi8(12, 8, 4, 0, 13, 9, 5, 1, 14, 10, 6, 2, 15, 11, 7, 3);
  __m128i bytes[2][4];  // [values 0..15, 16..31][byte of the word]
  for (int half = 0; half < 2; ++half) {
    const VI* w = words + 4 * half;
    const __m128i a = _mm_shuffle_epi8(w[0].raw, gather);
    const __m128i b = _mm_shuffle_epi8(w[1].raw, gather);
    const __m128i c = _mm_shuffle_epi8(w[2].raw, gather);
    const __m128i d = _mm_shuffle_epi8(w[3].raw, gather);
    // Neighbours change places: within a plane byte the first of eight values has the top bit.
    const __m128i ab01 = _mm_unpacklo_epi32(b, a);
    const __m128i cd01 = _mm_unpacklo_epi32(d, c);
    const __m128i ab23 = _mm_unpackhi_epi32(b, a);
    const __m128i cd23 = _mm_unpackhi_epi32(d, c);
    bytes[half][0] = _mm_unpacklo_epi64(ab01, cd01);
    bytes[half][1] = _mm_unpackhi_epi64(ab01, cd01);
    bytes[half][2] = _mm_unpacklo_epi64(ab23, cd23);
    bytes[half][3] = _mm_unpackhi_epi64(ab23, cd23);
  }
  for (uint32_t j = 0; 8 * j < planes; ++j) {
    uint32_t eight[8];
    __m128i low = bytes[0][j];
    __m128i high = bytes[1][j];
    for (int p = 7; p >= 0; --p) {
      eight[p] = static_cast<uint32_t>(_mm_movemask_epi8(low)) |
                 static_cast<uint32_t>(_mm_movemask_epi8(high)) << 16;
      low = _mm_add_epi8(low, low);
      high = _mm_add_epi8(high, high);
    }
    std::memcpy(out + 32 * j, eight, sizeof eight);
  }
}

// The words of planes 0..planes-1; reads nothing at or behind `end`.
HWY_INLINE void LoadPlanes(const std::byte* in, uint32_t planes, const std::byte* end, VI* words) {
  std::byte near_end[128];
  if (end - in < 128) {
    std::memcpy(near_end, in, 4 * planes);
    in = near_end;
  }
  const __m128i gather = _mm_setr_epi8(12, 8, 4, 0, 13, 9, 5, 1, 14, 10, 6, 2, 15, 11, 7, 3);
  const __m128i zero = _mm_setzero_si128();
  for (size_t k = 0; k < kVectors; ++k) words[k] = hn::Zero(DI());
  for (uint32_t j = 0; 8 * j < planes; ++j) {
    const auto four = [&](uint32_t first) HWY_ATTR {
      const auto* mask = reinterpret_cast<const __m128i*>(kBelow + 32 - planes + first);
      const auto* from = reinterpret_cast<const __m128i*>(in + 4 * first);
      return _mm_shuffle_epi8(_mm_and_si128(_mm_loadu_si128(from), _mm_loadu_si128(mask)), gather);
    };
    const __m128i low = four(8 * j);
    const __m128i high = four(8 * j + 4);
    using V64 = hn::Vec<hn::Simd<uint64_t, 2, 0>>;
    const __m128i bytes[2] = {TransposeBits(V64{_mm_unpacklo_epi32(high, low)}).raw,
                              TransposeBits(V64{_mm_unpackhi_epi32(high, low)}).raw};
    const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(8 * j));
    for (int half = 0; half < 2; ++half) {
      const __m128i pairs[2] = {_mm_unpacklo_epi8(bytes[half], zero),
                                _mm_unpackhi_epi8(bytes[half], zero)};
      for (int p = 0; p < 2; ++p) {
        VI* w = words + 4 * half + 2 * p;
        w[0] = hn::Or(w[0], VI{_mm_sll_epi32(_mm_unpacklo_epi16(pairs[p], zero), shift)});
        w[1] = hn::Or(w[1], VI{_mm_sll_epi32(_mm_unpackhi_epi16(pairs[p], zero), shift)});
      }
    }
  }
}
#endif  // SZP_VECTOR_BITS

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace szarena::codec::szp
HWY_AFTER_NAMESPACE();
#endif  // SZP_VECTOR_BITS != 0
#endif  // SZARENA_CODEC_SZP_PLANES_INL_H_
