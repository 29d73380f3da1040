// SPDX-License-Identifier: Apache-2.0
// A block of 32 values is two vectors of words w = magnitude << 1 | sign, so that the sign word and
// the planes are planes 0, 1, 2.. of w. One byte permutation brings the bytes of eight values
// together, one GF(2) matrix product transposes their bits, one more permutation puts the planes in
// order; decoding goes the same way back.
#include "codec/szp/block_avx512.h"

#include <immintrin.h>

#include <cstring>

namespace szarena::codec::szp {
namespace {

constexpr uint32_t kBlock = 32;
constexpr uint32_t kRawRate = 0x3F;
constexpr uint32_t kOutlierFlag = 0x80;
constexpr int kFixed = 0;
constexpr int kOutlier = 2;

struct alignas(64) ByteIndex {
  uint8_t at[64];
};

// Bytes j0 and j0 + 1 of 32 words (two vectors): byte 32 j + v is byte j0 + j of word v.
constexpr ByteIndex GatherBytes(uint32_t j0) {
  ByteIndex index{};
  for (uint32_t i = 0; i < 64; ++i) index.at[i] = static_cast<uint8_t>(4 * (i % 32) + j0 + i / 32);
  return index;
}

// Plane 8 j + p of transposed bytes, four bytes each in order of planes.
constexpr ByteIndex OrderPlanes() {
  ByteIndex index{};
  for (uint32_t i = 0; i < 64; ++i) {
    const uint32_t plane = i / 4;
    index.at[i] = static_cast<uint8_t>((plane / 8 * 4 + i % 4) * 8 + plane % 8);
  }
  return index;
}

// The way back: eight planes of one byte place together, the last plane first.
constexpr ByteIndex GatherPlanes() {
  ByteIndex index{};
  for (uint32_t i = 0; i < 64; ++i) {
    const uint32_t j = i / 32;
    const uint32_t b = i % 32 / 8;
    index.at[i] = static_cast<uint8_t>(4 * (8 * j + 7 - i % 8) + b);
  }
  return index;
}

// Words first, first + step.. from their bytes: byte 32 j + v of two vectors is byte j of word v.
constexpr ByteIndex Widen(uint32_t first, uint32_t step) {
  ByteIndex index{};
  for (uint32_t i = 0; i < 64; ++i) {
    index.at[i] = static_cast<uint8_t>(32 * (i % 4) + first + step * (i / 4));
  }
  return index;
}

constexpr ByteIndex kGather01 = GatherBytes(0);
constexpr ByteIndex kGather23 = GatherBytes(2);
constexpr ByteIndex kOrderPlanes = OrderPlanes();
constexpr ByteIndex kGatherPlanes = GatherPlanes();
constexpr ByteIndex kWidenEven = Widen(0, 2);
constexpr ByteIndex kWidenOdd = Widen(1, 2);

inline __m512i Index(const ByteIndex& index) { return _mm512_load_si512(index.at); }

// Bit i of result byte k is bit k of row 7 - i: rows in, columns out.
inline __m512i ColumnsOf(__m512i rows) {
  return _mm512_gf2p8affine_epi64_epi8(_mm512_set1_epi64(static_cast<int64_t>(0x8040201008040201)),
                                       rows, 0);
}
// The same with the columns in reverse.
inline __m512i ReversedColumnsOf(__m512i rows) {
  return _mm512_gf2p8affine_epi64_epi8(_mm512_set1_epi64(0x0102040810204080), rows, 0);
}

inline __m512i PlanesOf(__m512i w0, __m512i w1, const ByteIndex& gather) {
  return _mm512_permutexvar_epi8(Index(kOrderPlanes),
                                 ColumnsOf(_mm512_permutex2var_epi8(w0, Index(gather), w1)));
}

inline uint32_t BitLength(uint32_t v) { return 32 - _lzcnt_u32(v); }

// ---- quantising: q of 32 values in two vectors, and whether all are accepted without looking
// closer.

inline bool Quantise(const std::byte* values, float scale, float ebq, __m512i* q) {
  const auto* from = reinterpret_cast<const float*>(values);
  const __m512 half = _mm512_set1_ps(0.5f);
  __m512 t[2];
  __m512 difference[2];
  for (int k = 0; k < 2; ++k) {
    const __m512 x = _mm512_loadu_ps(from + 16 * k);
    t[k] = _mm512_mul_ps(x, _mm512_set1_ps(scale));
    const __m512i truncated = _mm512_cvttps_epi32(_mm512_add_ps(t[k], half));
    const __mmask16 below = _mm512_cmp_ps_mask(t[k], _mm512_set1_ps(-0.5f), _CMP_LT_OQ);
    q[k] = _mm512_mask_sub_epi32(truncated, below, truncated, _mm512_set1_epi32(1));
    difference[k] =
        _mm512_sub_ps(x, _mm512_mul_ps(_mm512_cvtepi32_ps(q[k]), _mm512_set1_ps(2 * ebq)));
  }
  // Larger magnitudes of pairs: 0x0B. A NaN hides there, not from the ordered comparison.
  const __m512 t_max = _mm512_range_ps(t[0], t[1], 0x0B);
  const __m512 difference_max = _mm512_range_ps(difference[0], difference[1], 0x0B);
  __mmask16 fine = _mm512_cmp_ps_mask(difference[0], difference[1], _CMP_ORD_Q);
  fine = _mm512_mask_cmp_ps_mask(fine, difference_max, _mm512_set1_ps(ebq), _CMP_LT_OQ);
  fine = _mm512_mask_cmp_ps_mask(fine, t_max, _mm512_set1_ps(0x1p23f), _CMP_LT_OQ);
  return fine == 0xFFFF;
}

inline bool Quantise(const std::byte* values, double scale, double ebq, __m512i* q) {
  const auto* from = reinterpret_cast<const double*>(values);
  const __m512d half = _mm512_set1_pd(0.5);
  __m512d t[4];
  __m512d difference[4];
  __m256i part[4];
  for (int k = 0; k < 4; ++k) {
    const __m512d x = _mm512_loadu_pd(from + 8 * k);
    t[k] = _mm512_mul_pd(x, _mm512_set1_pd(scale));
    const __m256i truncated = _mm512_cvttpd_epi32(_mm512_add_pd(t[k], half));
    const __mmask8 below = _mm512_cmp_pd_mask(t[k], _mm512_set1_pd(-0.5), _CMP_LT_OQ);
    part[k] = _mm256_mask_sub_epi32(truncated, below, truncated, _mm256_set1_epi32(1));
    difference[k] =
        _mm512_sub_pd(x, _mm512_mul_pd(_mm512_cvtepi32_pd(part[k]), _mm512_set1_pd(2 * ebq)));
  }
  for (int k = 0; k < 2; ++k) {
    q[k] = _mm512_inserti64x4(_mm512_castsi256_si512(part[2 * k]), part[2 * k + 1], 1);
  }
  const __m512d t_max =
      _mm512_range_pd(_mm512_range_pd(t[0], t[1], 0x0B), _mm512_range_pd(t[2], t[3], 0x0B), 0x0B);
  const __m512d difference_max =
      _mm512_range_pd(_mm512_range_pd(difference[0], difference[1], 0x0B),
                      _mm512_range_pd(difference[2], difference[3], 0x0B), 0x0B);
  __mmask8 fine = _mm512_cmp_pd_mask(difference[0], difference[1], _CMP_ORD_Q);
  fine = _mm512_mask_cmp_pd_mask(fine, difference[2], difference[3], _CMP_ORD_Q);
  fine = _mm512_mask_cmp_pd_mask(fine, difference_max, _mm512_set1_pd(ebq), _CMP_LT_OQ);
  fine = _mm512_mask_cmp_pd_mask(fine, t_max, _mm512_set1_pd(0x1p29), _CMP_LT_OQ);
  return fine == 0xFF;
}

// The exact decision (WithinBound in codec/core/accept.h), value by value; q is what Quantise gave.
__attribute__((noinline)) bool AcceptedExactly(const std::byte* values, float scale, float ebq,
                                               const __m512i* q) {
  const auto* from = reinterpret_cast<const float*>(values);
  const __m512 bound = _mm512_set1_ps(ebq);
  for (int k = 0; k < 2; ++k) {
    const __m512 x = _mm512_loadu_ps(from + 16 * k);
    const __m512 t = _mm512_mul_ps(x, _mm512_set1_ps(scale));
    __mmask16 fine = _mm512_cmp_ps_mask(_mm512_abs_ps(t), _mm512_set1_ps(0x1p25f), _CMP_LT_OQ);
    fine = _mm512_mask_cmplt_epu32_mask(fine, _mm512_abs_epi32(q[k]), _mm512_set1_epi32(1 << 24));
    const __m512 y = _mm512_mul_ps(_mm512_cvtepi32_ps(q[k]), _mm512_set1_ps(2 * ebq));
    const __m512 d = _mm512_sub_ps(x, y);
    const __m512 d_abs = _mm512_abs_ps(d);
    const __m512 b_seen = _mm512_sub_ps(d, x);
    const __m512 a_seen = _mm512_sub_ps(d, b_seen);
    const __m512 minus_y = _mm512_sub_ps(_mm512_set1_ps(-0.0f), y);
    const __m512 lost = _mm512_add_ps(_mm512_sub_ps(x, a_seen), _mm512_sub_ps(minus_y, b_seen));
    const __m512 against = _mm512_xor_ps(lost, _mm512_and_ps(d, _mm512_set1_ps(-0.0f)));
    const __mmask16 inside = _mm512_cmp_ps_mask(d_abs, bound, _CMP_LT_OQ);
    __mmask16 border = _mm512_cmp_ps_mask(d_abs, bound, _CMP_EQ_OQ);
    border = _mm512_mask_cmp_ps_mask(border, against, _mm512_setzero_ps(), _CMP_LE_OQ);
    if ((fine & (inside | border)) != 0xFFFF) return false;
  }
  return true;
}

__attribute__((noinline)) bool AcceptedExactly(const std::byte* values, double scale, double ebq,
                                               const __m512i* q) {
  const auto* from = reinterpret_cast<const double*>(values);
  const __m512d bound = _mm512_set1_pd(ebq);
  for (int k = 0; k < 4; ++k) {
    const __m256i part =
        k % 2 == 0 ? _mm512_castsi512_si256(q[k / 2]) : _mm512_extracti64x4_epi64(q[k / 2], 1);
    const __m512d x = _mm512_loadu_pd(from + 8 * k);
    const __m512d t = _mm512_mul_pd(x, _mm512_set1_pd(scale));
    __mmask8 fine = _mm512_cmp_pd_mask(_mm512_abs_pd(t), _mm512_set1_pd(0x1p30 + 2), _CMP_LT_OQ);
    fine = _mm256_mask_cmplt_epu32_mask(fine, _mm256_abs_epi32(part), _mm256_set1_epi32(1 << 30));
    const __m512d y = _mm512_mul_pd(_mm512_cvtepi32_pd(part), _mm512_set1_pd(2 * ebq));
    const __m512d d = _mm512_sub_pd(x, y);
    const __m512d d_abs = _mm512_abs_pd(d);
    const __m512d b_seen = _mm512_sub_pd(d, x);
    const __m512d a_seen = _mm512_sub_pd(d, b_seen);
    const __m512d minus_y = _mm512_sub_pd(_mm512_set1_pd(-0.0), y);
    const __m512d lost = _mm512_add_pd(_mm512_sub_pd(x, a_seen), _mm512_sub_pd(minus_y, b_seen));
    const __m512d against = _mm512_xor_pd(lost, _mm512_and_pd(d, _mm512_set1_pd(-0.0)));
    const __mmask8 inside = _mm512_cmp_pd_mask(d_abs, bound, _CMP_LT_OQ);
    __mmask8 border = _mm512_cmp_pd_mask(d_abs, bound, _CMP_EQ_OQ);
    border = _mm512_mask_cmp_pd_mask(border, against, _mm512_setzero_pd(), _CMP_LE_OQ);
    if ((fine & (inside | border)) != 0xFF) return false;
  }
  return true;
}

// ---- encoding

template <class T, int kMode>
inline uint64_t Encode(const std::byte* values, uint64_t blocks, T scale, T ebq, uint8_t* rates,
                       std::byte* payload) {
  const __m512i zero = _mm512_setzero_si512();
  // Value 0 in every plane: the top bit of the plane's first byte.
  const __m512i all_but_first = _mm512_set1_epi32(~0x80);
  std::byte* out = payload;
  for (uint64_t b = 0; b < blocks; ++b, values += kBlock * sizeof(T)) {
    __m512i q[2];
    if (__builtin_expect(!Quantise(values, scale, ebq, q), 0)) {
      if (!AcceptedExactly(values, scale, ebq, q)) {
        std::memcpy(out, values, kBlock * sizeof(T));
        out += kBlock * sizeof(T);
        rates[b] = kRawRate;
        continue;
      }
    }
    __m512i d0 = q[0];
    __m512i d1 = q[1];
    if constexpr (kMode != kFixed) {
      d0 = _mm512_sub_epi32(q[0], _mm512_alignr_epi32(q[0], zero, 15));
      d1 = _mm512_sub_epi32(q[1], _mm512_alignr_epi32(q[1], q[0], 15));
    }
    const __m512i w0 = _mm512_shldi_epi32(_mm512_abs_epi32(d0), d0, 1);
    const __m512i w1 = _mm512_shldi_epi32(_mm512_abs_epi32(d1), d1, 1);
    const __m512i low = PlanesOf(w0, w1, kGather01);
    const __mmask16 wide =
        _mm512_test_epi32_mask(_mm512_or_si512(w0, w1), _mm512_set1_epi32(~0xFFFF));
    __m512i high = zero;
    uint32_t planes = _cvtmask16_u32(_mm512_test_epi32_mask(low, low));
    uint32_t planes_apart =
        kMode == kOutlier ? _cvtmask16_u32(_mm512_test_epi32_mask(low, all_but_first)) : 0;
    if (__builtin_expect(wide != 0, 0)) {
      high = PlanesOf(w0, w1, kGather23);
      planes |= _cvtmask16_u32(_mm512_test_epi32_mask(high, high)) << 16;
      planes_apart |= _cvtmask16_u32(_mm512_test_epi32_mask(high, all_but_first)) << 16;
    }
    if (planes == 0) {
      rates[b] = 0;
      continue;
    }
    uint32_t rate = BitLength(planes) - 1;
    uint32_t rate_byte = rate;
    if constexpr (kMode == kOutlier) {
      // No branch: which form is shorter changes from block to block.
      const uint32_t first =
          static_cast<uint32_t>(_mm_cvtsi128_si32(_mm512_castsi512_si128(w0))) >> 1;
      const uint32_t rate_apart = BitLength(planes_apart >> 1);
      const uint32_t first_bytes = (BitLength(first) + 7) / 8;
      const bool apart = 4 * rate > 4 * rate_apart + first_bytes;
      std::memcpy(out, &first, sizeof first);
      out += apart ? first_bytes : 0;
      rate_byte = apart ? kOutlierFlag | (first_bytes - 1) << 5 | rate_apart : rate;
      rate = apart ? rate_apart : rate;
      const uint32_t magnitudes = apart ? ~1u : 0;
      const __m512i cleared =
          _mm512_mask_and_epi32(low, static_cast<__mmask16>(magnitudes), low, all_but_first);
      _mm512_storeu_si512(out, cleared);
      high = _mm512_mask_and_epi32(high, static_cast<__mmask16>(magnitudes >> 16), high,
                                   all_but_first);
    } else {
      _mm512_storeu_si512(out, low);
    }
    if (__builtin_expect(rate > 15, 0)) _mm512_storeu_si512(out + 64, high);
    rates[b] = static_cast<uint8_t>(rate_byte);
    out += 4 + 4 * rate;
  }
  return static_cast<uint64_t>(out - payload);
}

template <class T>
inline uint64_t EncodeMode(const std::byte* values, uint64_t blocks, T scale, T ebq, int mode,
                           std::byte* rates, std::byte* payload) {
  auto* rate_bytes = reinterpret_cast<uint8_t*>(rates);
  switch (mode) {
    case 0:
      return Encode<T, 0>(values, blocks, scale, ebq, rate_bytes, payload);
    case 1:
      return Encode<T, 1>(values, blocks, scale, ebq, rate_bytes, payload);
    default:
      return Encode<T, 2>(values, blocks, scale, ebq, rate_bytes, payload);
  }
}

// ---- decoding

inline void StoreValues(__m512i q0, __m512i q1, float ebq, std::byte* values) {
  const __m512 step = _mm512_set1_ps(2 * ebq);
  auto* out = reinterpret_cast<float*>(values);
  _mm512_storeu_ps(out, _mm512_mul_ps(_mm512_cvtepi32_ps(q0), step));
  _mm512_storeu_ps(out + 16, _mm512_mul_ps(_mm512_cvtepi32_ps(q1), step));
}

inline void StoreValues(__m512i q0, __m512i q1, double ebq, std::byte* values) {
  const __m512d step = _mm512_set1_pd(2 * ebq);
  auto* out = reinterpret_cast<double*>(values);
  const __m256i parts[4] = {_mm512_castsi512_si256(q0), _mm512_extracti64x4_epi64(q0, 1),
                            _mm512_castsi512_si256(q1), _mm512_extracti64x4_epi64(q1, 1)};
  for (int k = 0; k < 4; ++k) {
    _mm512_storeu_pd(out + 8 * k, _mm512_mul_pd(_mm512_cvtepi32_pd(parts[k]), step));
  }
}

inline __m512i SignedOf(__m512i word) {
  const __mmask16 negative = _mm512_test_epi32_mask(word, _mm512_set1_epi32(1));
  const __m512i magnitude = _mm512_srli_epi32(word, 1);
  return _mm512_mask_sub_epi32(magnitude, negative, _mm512_setzero_si512(), magnitude);
}

template <class T, int kMode>
inline void Decode(const uint8_t* rates, const std::byte* payload, uint64_t blocks, T ebq,
                   std::byte* values) {
  const __m512i zero = _mm512_setzero_si512();
  const __m512i interleave_low =
      _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i interleave_high = _mm512_add_epi32(interleave_low, _mm512_set1_epi32(8));
  for (uint64_t b = 0; b < blocks; ++b, values += kBlock * sizeof(T)) {
    const uint32_t rate_byte = rates[b];
    if (rate_byte == 0) {
      for (uint32_t i = 0; i < kBlock * sizeof(T); i += 64) _mm512_storeu_si512(values + i, zero);
      continue;
    }
    if (__builtin_expect(rate_byte == kRawRate, 0)) {
      std::memcpy(values, payload, kBlock * sizeof(T));
      payload += kBlock * sizeof(T);
      continue;
    }
    const uint32_t planes = (rate_byte & 0x1F) + 1;
    _mm_prefetch(reinterpret_cast<const char*>(payload) + kPrefetchBytes, _MM_HINT_T0);
    uint32_t first = 0;
    bool apart = false;
    if constexpr (kMode == kOutlier) {
      // No branch: the form changes from block to block. Five bytes are there in either form.
      apart = rate_byte >= kOutlierFlag;
      const uint32_t bytes = apart ? (rate_byte >> 5 & 3) + 1 : 0;
      std::memcpy(&first, payload, sizeof first);
      first = _bzhi_u32(first, 8 * bytes);
      payload += bytes;
      const auto sign = static_cast<int32_t>(static_cast<int8_t>(*payload)) >> 7;
      first = (first ^ static_cast<uint32_t>(sign)) - static_cast<uint32_t>(sign);
    }
    const __mmask16 present = _cvtu32_mask16(_bzhi_u32(0xFFFF, planes));
    const __m512i low = ReversedColumnsOf(
        _mm512_permutexvar_epi8(Index(kGatherPlanes), _mm512_maskz_loadu_epi32(present, payload)));
    constexpr __mmask64 kTwoBytes = 0x3333333333333333;
    __m512i even = _mm512_maskz_permutexvar_epi8(kTwoBytes, Index(kWidenEven), low);
    __m512i odd = _mm512_maskz_permutexvar_epi8(kTwoBytes, Index(kWidenOdd), low);
    if (__builtin_expect(planes > 16, 0)) {
      const __mmask16 upper = _cvtu32_mask16((1u << (planes - 16)) - 1);
      const __m512i high = ReversedColumnsOf(_mm512_permutexvar_epi8(
          Index(kGatherPlanes), _mm512_maskz_loadu_epi32(upper, payload + 64)));
      even = _mm512_permutex2var_epi8(low, Index(kWidenEven), high);
      odd = _mm512_permutex2var_epi8(low, Index(kWidenOdd), high);
    }
    payload += 4 * planes;
    even = SignedOf(even);
    odd = SignedOf(odd);
    if constexpr (kMode == kOutlier) {
      even = _mm512_mask_set1_epi32(even, static_cast<__mmask16>(apart), static_cast<int>(first));
    }
    if constexpr (kMode != kFixed) {
      // Prefix sums of pairs; a pair's first value is its sum less its second difference.
      __m512i sum = _mm512_add_epi32(even, odd);
      sum = _mm512_add_epi32(sum, _mm512_alignr_epi32(sum, zero, 15));
      sum = _mm512_add_epi32(sum, _mm512_alignr_epi32(sum, zero, 14));
      sum = _mm512_add_epi32(sum, _mm512_alignr_epi32(sum, zero, 12));
      sum = _mm512_add_epi32(sum, _mm512_alignr_epi32(sum, zero, 8));
      even = _mm512_sub_epi32(sum, odd);
      odd = sum;
    }
    StoreValues(_mm512_permutex2var_epi32(even, interleave_low, odd),
                _mm512_permutex2var_epi32(even, interleave_high, odd), ebq, values);
  }
}

template <class T>
inline void DecodeMode(const std::byte* rates, const std::byte* payload, uint64_t blocks, T ebq,
                       int mode, std::byte* values) {
  const auto* rate_bytes = reinterpret_cast<const uint8_t*>(rates);
  switch (mode) {
    case 0:
      return Decode<T, 0>(rate_bytes, payload, blocks, ebq, values);
    case 1:
      return Decode<T, 1>(rate_bytes, payload, blocks, ebq, values);
    default:
      return Decode<T, 2>(rate_bytes, payload, blocks, ebq, values);
  }
}

}  // namespace

uint64_t EncodeBlocksAvx512(const std::byte* values, uint64_t blocks, float scale, float ebq,
                            int mode, std::byte* rates, std::byte* payload) {
  return EncodeMode(values, blocks, scale, ebq, mode, rates, payload);
}

uint64_t EncodeBlocksAvx512(const std::byte* values, uint64_t blocks, double scale, double ebq,
                            int mode, std::byte* rates, std::byte* payload) {
  return EncodeMode(values, blocks, scale, ebq, mode, rates, payload);
}

void DecodeBlocksAvx512(const std::byte* rates, const std::byte* payload, uint64_t blocks,
                        float ebq, int mode, std::byte* values) {
  DecodeMode(rates, payload, blocks, ebq, mode, values);
}

void DecodeBlocksAvx512(const std::byte* rates, const std::byte* payload, uint64_t blocks,
                        double ebq, int mode, std::byte* values) {
  DecodeMode(rates, payload, blocks, ebq, mode, values);
}

}  // namespace szarena::codec::szp
