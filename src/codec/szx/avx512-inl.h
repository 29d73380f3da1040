// SPDX-License-Identifier: Apache-2.0
// Packing by the byte compression of AVX-512 VBMI2: 64 bytes a step. Included by kernels_simd.cpp,
// once for every instruction set that has it.
#include <immintrin.h>

HWY_BEFORE_NAMESPACE();
namespace szarena::codec::szx::HWY_NAMESPACE {
namespace {

// Sums of neighbouring 64-bit lanes: those of a, then those of b.
HWY_INLINE __m512i PairSums(__m512i a, __m512i b) {
  const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
  const __m512i odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
  return _mm512_add_epi64(_mm512_permutex2var_epi64(a, even, b),
                          _mm512_permutex2var_epi64(a, odd, b));
}

HWY_INLINE __m512i LoadBits(const std::byte* from) { return _mm512_loadu_si512(from); }

// Bits of the differences to the median, moved right; the vector's words in order.
template <Real T, bool kExact>
HWY_INLINE __m512i Words(const std::byte* from, T median, __m128i shift) {
  __m512i bits = LoadBits(from);
  if constexpr (sizeof(T) == 4) {
    if constexpr (!kExact) {
      bits = _mm512_castps_si512(_mm512_sub_ps(_mm512_castsi512_ps(bits), _mm512_set1_ps(median)));
    }
    return _mm512_srl_epi32(bits, shift);
  } else {
    if constexpr (!kExact) {
      bits = _mm512_castpd_si512(_mm512_sub_pd(_mm512_castsi512_pd(bits), _mm512_set1_pd(median)));
    }
    return _mm512_srl_epi64(bits, shift);
  }
}

// FastWrite (kernels_simd.cpp) with one compression for each 64 bytes of words.
template <Real T, bool kExact>
std::size_t CompressingWrite(const std::byte* values, const BlockPlan<T>& plan, std::uint8_t* out) {
  constexpr std::size_t kVectors = kBlockValues * sizeof(T) / 64;
  // Bit k of a word's part of a mask stands for its byte k; the three leading bytes may be shared.
  constexpr __mmask64 kNeverShared = sizeof(T) == 4 ? 0x1111111111111111U : 0x1f1f1f1f1f1f1f1fU;
  constexpr __mmask64 kEveryWord = sizeof(T) == 4 ? 0x1111111111111111U : 0x0101010101010101U;
  const int kept_bytes = (plan.required_bits + 7) / 8;
  const __m128i shift = _mm_cvtsi32_si128(8 * kept_bytes - plan.required_bits);
  const __mmask64 kept =
      kEveryWord * static_cast<__mmask64>(((1 << kept_bytes) - 1) << (sizeof(T) - kept_bytes));
  const __m512i weights = _mm512_load_si512(kCodeWeights<T>.bytes);

  out[0] = static_cast<std::uint8_t>(plan.required_bits);
  StoreBe(out + 1, plan.median);
  std::uint8_t* const codes = out + kBlockHeadBytes<T>;
  std::uint8_t* next = codes + kBlockValues / 4;
  __m512i before = _mm512_setzero_si512();
  __m512i sums[kVectors];
  HWY_UNROLL(16)
  for (std::size_t v = 0; v < kVectors; ++v) {
    const __m512i word = Words<T, kExact>(values + 64 * v, plan.median, shift);
    __m512i differs, smeared;
    if constexpr (sizeof(T) == 4) {
      differs = _mm512_xor_si512(word, _mm512_alignr_epi32(word, before, 15));
      smeared = _mm512_or_si512(
          differs, _mm512_or_si512(_mm512_srli_epi32(differs, 8), _mm512_srli_epi32(differs, 16)));
    } else {
      differs = _mm512_xor_si512(word, _mm512_alignr_epi64(word, before, 7));
      smeared = _mm512_or_si512(
          differs, _mm512_or_si512(_mm512_srli_epi64(differs, 8), _mm512_srli_epi64(differs, 16)));
    }
    before = word;
    const __mmask64 own = _mm512_test_epi8_mask(smeared, smeared);
    const __mmask64 stored = (own | kNeverShared) & kept;
    _mm512_storeu_si512(next, _mm512_maskz_compress_epi8(stored, word));
    next += std::popcount(stored);
    sums[v] = _mm512_sad_epu8(_mm512_maskz_mov_epi8(~own, weights), _mm512_setzero_si512());
  }
  if constexpr (sizeof(T) == 4) {
    for (std::size_t v = 0; v < kVectors; v += 2) {
      const __m128i bytes = _mm512_cvtepi64_epi8(PairSums(sums[v], sums[v + 1]));
      _mm_storel_epi64(reinterpret_cast<__m128i*>(codes + 4 * v), bytes);
    }
  } else {
    for (std::size_t v = 0; v < kVectors; v += 4) {
      const __m512i quads =
          PairSums(PairSums(sums[v], sums[v + 1]), PairSums(sums[v + 2], sums[v + 3]));
      _mm_storel_epi64(reinterpret_cast<__m128i*>(codes + 2 * v), _mm512_cvtepi64_epi8(quads));
    }
  }
  return static_cast<std::size_t>(next - out);
}

}  // namespace
}  // namespace szarena::codec::szx::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
