// SPDX-License-Identifier: Apache-2.0
// Bit planes of a block in vectors, for x86. Included once per Highway target.
//
// A block is 32 words w = magnitude << 1 | sign, so that the sign word and the planes, which follow
// one another in the payload, are planes 0, 1, 2.. of w. Plane bytes hold eight values each, the
// first in the top bit.
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
alignas(64) inline constexpr int32_t kBelow[64] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                                   -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                                   -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

// Transposes eight rows of eight bits in each 64-bit lane about the anti-diagonal: bit f of row r
// goes to bit 7 - r of row 7 - f. Rows that were loaded last first thus come out as values, first
// first.
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
// Eight planes of 32 byte-sized values; value order as in the payload, so bit 31 - i % 8 and so on
// are in place. Writes 32 bytes.
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
  return static_cast<uint32_t>(
      _mm_cvtsi128_si32(_mm_or_si128(pair, _mm_shuffle_epi32(pair, 0xB1))));
}

// Writes planes 0..planes-1 of the words; up to 28 bytes behind them are overwritten.
HWY_INLINE void StorePlanes(const VI* words, uint32_t planes, std::byte* out) {
  // Byte j of four values in one dword j, last value first; then the dwords of equal j together.
  const __m512i gather =
      _mm512_broadcast_i32x4(_mm_setr_epi8(12, 8, 4, 0, 13, 9, 5, 1, 14, 10, 6, 2, 15, 11, 7, 3));
  const __m512i low = _mm512_shuffle_epi8(words[0].raw, gather);
  const __m512i high = _mm512_shuffle_epi8(words[1].raw, gather);
  const __m512i order = _mm512_setr_epi32(4, 0, 12, 8, 20, 16, 28, 24, 5, 1, 13, 9, 21, 17, 29, 25);
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

// Bytes of 32 values from up to 16 planes at `in`: the low halves' eight planes, then the high
// ones'.
HWY_INLINE __m512i LoadSixteenPlanes(const std::byte* in, uint32_t planes) {
  const auto mask = static_cast<__mmask16>((uint32_t{1} << planes) - 1);
  const __m512i gather =
      _mm512_broadcast_i32x4(_mm_setr_epi8(12, 8, 4, 0, 13, 9, 5, 1, 14, 10, 6, 2, 15, 11, 7, 3));
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

HWY_INLINE uint32_t OrAll(VI v) {
  const __m128i quarter =
      _mm_or_si128(_mm256_castsi256_si128(v.raw), _mm256_extracti128_si256(v.raw, 1));
  const __m128i pair = _mm_or_si128(quarter, _mm_shuffle_epi32(quarter, 0x4E));
  return static_cast<uint32_t>(
      _mm_cvtsi128_si32(_mm_or_si128(pair, _mm_shuffle_epi32(pair, 0xB1))));
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

// Planes first..first+7 of the values, a byte each: byte i belongs to value i.
HWY_INLINE __m256i LoadEightPlanes(const std::byte* in, uint32_t planes, uint32_t first) {
  const __m256i gather = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(12, 8, 4, 0, 13, 9, 5, 1, 14, 10, 6, 2, 15, 11, 7, 3));
  const __m256i order = _mm256_setr_epi32(4, 0, 5, 1, 6, 2, 7, 3);
  const __m256i mask =
      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kBelow + 32 - planes + first));
  const __m256i loaded = _mm256_maskload_epi32(reinterpret_cast<const int*>(in) + first, mask);
  const __m256i rows = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(loaded, gather), order);
  return TransposeBits(hn::Vec<hn::Simd<uint64_t, 4, 0>>{rows}).raw;
}

// Signed differences from planes 0..planes-1, in columns: lane c of vector r is value 4 c + r, as
// the bytes lie. Reads nothing but the planes.
HWY_INLINE void LoadDifferences(const std::byte* in, uint32_t planes, const std::byte*, VI* d) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i b0 = LoadEightPlanes(in, planes, 0);
  if (planes <= 8) {  // in bytes
    const __m256i sign = _mm256_sub_epi8(zero, _mm256_and_si256(b0, _mm256_set1_epi8(1)));
    const __m256i magnitude = _mm256_and_si256(_mm256_srli_epi16(b0, 1), _mm256_set1_epi8(0x7F));
    const __m256i v = _mm256_sub_epi8(_mm256_xor_si256(magnitude, sign), sign);
    d[0] = VI{_mm256_srai_epi32(_mm256_slli_epi32(v, 24), 24)};
    d[1] = VI{_mm256_srai_epi32(_mm256_slli_epi32(v, 16), 24)};
    d[2] = VI{_mm256_srai_epi32(_mm256_slli_epi32(v, 8), 24)};
    d[3] = VI{_mm256_srai_epi32(v, 24)};
    return;
  }
  const __m256i b1 = LoadEightPlanes(in, planes, 8);
  if (planes <= 16) {  // in 16-bit halves: values r = 0 and 2, 1 and 3 of each column
    const __m256i low_bytes = _mm256_set1_epi16(0xFF);
    const __m256i words[2] = {
        _mm256_or_si256(_mm256_and_si256(b0, low_bytes), _mm256_slli_epi16(b1, 8)),
        _mm256_or_si256(_mm256_srli_epi16(b0, 8), _mm256_andnot_si256(low_bytes, b1))};
    for (int r = 0; r < 2; ++r) {
      const __m256i sign = _mm256_sub_epi16(zero, _mm256_and_si256(words[r], _mm256_set1_epi16(1)));
      const __m256i magnitude = _mm256_srli_epi16(words[r], 1);
      const __m256i v = _mm256_sub_epi16(_mm256_xor_si256(magnitude, sign), sign);
      d[r] = VI{_mm256_srai_epi32(_mm256_slli_epi32(v, 16), 16)};
      d[r + 2] = VI{_mm256_srai_epi32(v, 16)};
    }
    return;
  }
  const __m256i b2 = LoadEightPlanes(in, planes, 16);
  const __m256i b3 = planes > 24 ? LoadEightPlanes(in, planes, 24) : zero;
  // Four by four bytes transposed in each column.
  const __m256i b01[2] = {_mm256_unpacklo_epi8(b0, b1), _mm256_unpackhi_epi8(b0, b1)};
  const __m256i b23[2] = {_mm256_unpacklo_epi8(b2, b3), _mm256_unpackhi_epi8(b2, b3)};
  alignas(32) uint32_t natural[32];
  for (int h = 0; h < 2; ++h) {
    const __m256i low = _mm256_unpacklo_epi16(b01[h], b23[h]);   // values 8h..8h+3 | 16 more
    const __m256i high = _mm256_unpackhi_epi16(b01[h], b23[h]);  // values 8h+4..8h+7 | 16 more
    auto* const at = reinterpret_cast<__m128i*>(natural) + 2 * h;
    _mm_store_si128(at, _mm256_castsi256_si128(low));
    _mm_store_si128(at + 1, _mm256_castsi256_si128(high));
    _mm_store_si128(at + 4, _mm256_extracti128_si256(low, 1));
    _mm_store_si128(at + 5, _mm256_extracti128_si256(high, 1));
  }
  for (int r = 0; r < 4; ++r) {
    const uint32_t* n = natural + r;
    const __m256i w =
        _mm256_setr_epi32(static_cast<int>(n[0]), static_cast<int>(n[4]), static_cast<int>(n[8]),
                          static_cast<int>(n[12]), static_cast<int>(n[16]), static_cast<int>(n[20]),
                          static_cast<int>(n[24]), static_cast<int>(n[28]));
    const __m256i sign = _mm256_sub_epi32(zero, _mm256_and_si256(w, _mm256_set1_epi32(1)));
    d[r] = VI{_mm256_sub_epi32(_mm256_xor_si256(_mm256_srli_epi32(w, 1), sign), sign)};
  }
}

// Prefix sums over all 32 differences.
HWY_INLINE void SumDifferences(VI* d) {
  const __m256i p1 = _mm256_add_epi32(d[0].raw, d[1].raw);
  const __m256i p2 = _mm256_add_epi32(p1, d[2].raw);
  const __m256i p3 = _mm256_add_epi32(p2, d[3].raw);
  __m256i scan = _mm256_add_epi32(p3, _mm256_slli_si256(p3, 4));
  scan = _mm256_add_epi32(scan, _mm256_slli_si256(scan, 8));
  const __m256i low = _mm256_permute2x128_si256(scan, scan, 0x08);  // zero, low half
  scan = _mm256_add_epi32(scan, _mm256_shuffle_epi32(low, 0xFF));
  const __m256i before = _mm256_sub_epi32(scan, p3);
  d[0] = VI{_mm256_add_epi32(d[0].raw, before)};
  d[1] = VI{_mm256_add_epi32(p1, before)};
  d[2] = VI{_mm256_add_epi32(p2, before)};
  d[3] = VI{scan};
}

// From columns to the values' order.
HWY_INLINE void Reorder(VI* d) {
  const __m256i ab_low = _mm256_unpacklo_epi32(d[0].raw, d[1].raw);
  const __m256i ab_high = _mm256_unpackhi_epi32(d[0].raw, d[1].raw);
  const __m256i cd_low = _mm256_unpacklo_epi32(d[2].raw, d[3].raw);
  const __m256i cd_high = _mm256_unpackhi_epi32(d[2].raw, d[3].raw);
  const __m256i c0 = _mm256_unpacklo_epi64(ab_low, cd_low);    // columns 0 and 4
  const __m256i c1 = _mm256_unpackhi_epi64(ab_low, cd_low);    // 1 and 5
  const __m256i c2 = _mm256_unpacklo_epi64(ab_high, cd_high);  // 2 and 6
  const __m256i c3 = _mm256_unpackhi_epi64(ab_high, cd_high);  // 3 and 7
  d[0] = VI{_mm256_permute2x128_si256(c0, c1, 0x20)};
  d[1] = VI{_mm256_permute2x128_si256(c2, c3, 0x20)};
  d[2] = VI{_mm256_permute2x128_si256(c0, c1, 0x31)};
  d[3] = VI{_mm256_permute2x128_si256(c2, c3, 0x31)};
}

#else   // 128
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
  return static_cast<uint32_t>(
      _mm_cvtsi128_si32(_mm_or_si128(pair, _mm_shuffle_epi32(pair, 0xB1))));
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

#if SZP_VECTOR_BITS != 256
// Signed differences from planes 0..planes-1, in the values' order; reads nothing at or behind
// `end`.
HWY_INLINE void LoadDifferences(const std::byte* in, uint32_t planes, const std::byte* end, VI* d) {
  const DI di;
  const hn::Simd<uint32_t, kVectorLanes, 0> du;
  LoadPlanes(in, planes, end, d);
#pragma GCC unroll 8
  for (size_t k = 0; k < kVectors; ++k) {
    const VI sign = hn::Neg(hn::And(d[k], hn::Set(di, 1)));
    const VI magnitude = hn::BitCast(di, hn::ShiftRight<1>(hn::BitCast(du, d[k])));
    d[k] = hn::Sub(hn::Xor(magnitude, sign), sign);
  }
}

// Prefix sums over all 32 differences.
HWY_INLINE void SumDifferences(VI* d) {
  VI carry = hn::Zero(DI());
#pragma GCC unroll 8
  for (size_t k = 0; k < kVectors; ++k) {
    const VI sum = PrefixSum(d[k]);
    d[k] = hn::Add(sum, carry);
    carry = hn::Add(carry, BroadcastLast(sum));
  }
}

HWY_INLINE void Reorder(VI*) {}
#endif

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace szarena::codec::szp
HWY_AFTER_NAMESPACE();
#endif  // SZP_VECTOR_BITS != 0
#endif  // SZARENA_CODEC_SZP_PLANES_INL_H_
