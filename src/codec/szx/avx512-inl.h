// SPDX-License-Identifier: Apache-2.0
// Packing and unpacking by the byte compression and expansion of AVX-512 VBMI2: 64 bytes a step.
// Included by kernels_simd.cpp, once for every instruction set that has it.
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

// The complements of the low bytes of eight 64-bit lanes.
HWY_INLINE void StoreComplement(__m512i lanes, std::uint8_t* to) {
  const __m128i bytes = _mm512_cvtepi64_epi8(lanes);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_xor_si128(bytes, _mm_set1_epi8(-1)));
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
    // Counts what is not shared; the code bytes are the complement.
    sums[v] = _mm512_sad_epu8(_mm512_maskz_mov_epi8(own, weights), _mm512_setzero_si512());
  }
  if constexpr (sizeof(T) == 4) {
    for (std::size_t v = 0; v < kVectors; v += 2) {
      StoreComplement(PairSums(sums[v], sums[v + 1]), codes + 4 * v);
    }
  } else {
    for (std::size_t v = 0; v < kVectors; v += 4) {
      const __m512i quads =
          PairSums(PairSums(sums[v], sums[v + 1]), PairSums(sums[v + 2], sums[v + 3]));
      StoreComplement(quads, codes + 2 * v);
    }
  }
  return static_cast<std::size_t>(next - out);
}

// What byte b of a vector would be: b for the second source of a two-source byte permutation.
struct alignas(64) ByteNumbers {
  std::uint8_t bytes[64];
  constexpr ByteNumbers() : bytes() {
    for (std::size_t b = 0; b < 64; ++b) bytes[b] = static_cast<std::uint8_t>(64 + b);
  }
};
constexpr ByteNumbers kByteNumbers{};

// The bytes of a word that are stored, by number of kept bytes and leading code.
template <Real T>
struct StoredBytes {
  alignas(64) BitsOf<T> words[sizeof(T) + 1][4];
  constexpr StoredBytes() : words() {
    for (std::size_t kept = 0; kept <= sizeof(T); ++kept) {
      for (std::size_t code = 0; code < 4; ++code) {
        for (std::size_t k = sizeof(T) - kept; k < sizeof(T) - code; ++k) {
          words[kept][code] |= BitsOf<T>{0xff} << (8 * k);
        }
      }
    }
  }
};
template <Real T>
constexpr StoredBytes<T> kStoredBytes{};

// FastRead (kernels_simd.cpp) by byte expansion: the stored bytes of 64 bytes of words go to their
// places in one step, and a running maximum of byte numbers finds for every other byte the last
// word before that stored it.
template <Real T, bool kExact>
bool ExpandingRead(const std::uint8_t* block, std::size_t size, std::byte* values) {
  constexpr std::size_t kVectors = kBlockValues * sizeof(T) / 64;
  const int kept_bytes = (block[0] + 7) / 8;
  const __m128i shift = _mm_cvtsi32_si128(8 * kept_bytes - block[0]);
  const T median = LoadBe<T>(block + 1);
  const std::uint8_t* const codes = block + kBlockHeadBytes<T>;
  const std::uint8_t* next = codes + kBlockValues / 4;

  const auto& stored_bytes = kStoredBytes<T>.words[kept_bytes];
  // Where each word's code lies in the code bytes.
  __m512i table, code_shifts, nothing;  // `nothing`: only the last word of the vector before
  if constexpr (sizeof(T) == 4) {
    table = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(stored_bytes)));
    code_shifts = _mm512_setr_epi32(6, 4, 2, 0, 14, 12, 10, 8, 22, 20, 18, 16, 30, 28, 26, 24);
    nothing = _mm512_zextsi128_si512(_mm_cvtsi32_si128(0x3f3e3d3c));
  } else {
    table =
        _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(stored_bytes)));
    code_shifts = _mm512_setr_epi64(6, 4, 2, 0, 14, 12, 10, 8);
    nothing = _mm512_zextsi128_si512(_mm_cvtsi64_si128(0x3f3e3d3c3b3a3938));
  }
  const __m512i numbers = _mm512_load_si512(kByteNumbers.bytes);
  const __m512i zero = _mm512_setzero_si512();
  __m512i before = zero;
  for (std::size_t v = 0; v < kVectors; ++v) {
    __mmask64 stored;
    if constexpr (sizeof(T) == 4) {
      const auto four = LoadLe<std::int32_t>(codes + 4 * v);
      stored = _mm512_movepi8_mask(
          _mm512_permutexvar_epi32(_mm512_srlv_epi32(_mm512_set1_epi32(four), code_shifts), table));
    } else {
      const auto two = LoadLe<std::uint16_t>(codes + 2 * v);
      stored = _mm512_movepi8_mask(
          _mm512_permutexvar_epi64(_mm512_srlv_epi64(_mm512_set1_epi64(two), code_shifts), table));
    }
    __m512i following = _mm512_loadu_si512(next);
    asm("" : "+v"(following));  // expansion from memory is slow on some processors
    const __m512i expanded = _mm512_maskz_expand_epi8(stored, following);
    next += std::popcount(stored);
    __m512i from = _mm512_mask_mov_epi8(nothing, stored, numbers);
    if constexpr (sizeof(T) == 4) {
      from = _mm512_max_epu8(from, _mm512_alignr_epi32(from, zero, 15));
      from = _mm512_max_epu8(from, _mm512_alignr_epi32(from, zero, 14));
      from = _mm512_max_epu8(from, _mm512_alignr_epi32(from, zero, 12));
      from = _mm512_max_epu8(from, _mm512_alignr_epi32(from, zero, 8));
    } else {
      from = _mm512_max_epu8(from, _mm512_alignr_epi64(from, zero, 7));
      from = _mm512_max_epu8(from, _mm512_alignr_epi64(from, zero, 6));
      from = _mm512_max_epu8(from, _mm512_alignr_epi64(from, zero, 4));
    }
    const __m512i words = _mm512_permutex2var_epi8(before, from, expanded);
    before = words;
    __m512i x;
    if constexpr (sizeof(T) == 4) {
      x = _mm512_sll_epi32(words, shift);
      if constexpr (!kExact) {
        x = _mm512_castps_si512(_mm512_add_ps(_mm512_castsi512_ps(x), _mm512_set1_ps(median)));
      }
    } else {
      x = _mm512_sll_epi64(words, shift);
      if constexpr (!kExact) {
        x = _mm512_castpd_si512(_mm512_add_pd(_mm512_castsi512_pd(x), _mm512_set1_pd(median)));
      }
    }
    _mm512_storeu_si512(values + 64 * v, x);
  }
  return next == block + size;
}

}  // namespace
}  // namespace szarena::codec::szx::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
