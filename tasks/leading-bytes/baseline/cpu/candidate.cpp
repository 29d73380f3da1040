// SPDX-License-Identifier: Apache-2.0
// leading-bytes, optimised: codes of whole vectors by comparison masks (f32) or leading zero counts
// (f64), threads.
#if !defined(__AVX2__) || !defined(__BMI2__)
#error "this candidate needs AVX2 and BMI2"
#endif
#include <immintrin.h>

#include <bit>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

#include "szarena_candidate.h"

namespace {

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

// Contiguous shares of n elements in multiples of `unit`, none smaller than 64 Ki elements.
constexpr uint64_t kMaxShares = 256;
uint64_t Shares(uint64_t n, uint32_t threads) {
  uint64_t shares = n >> 16 < threads ? n >> 16 : threads;
  return shares < 1 ? 1 : shares > kMaxShares ? kMaxShares : shares;
}
uint64_t ShareStart(uint64_t share, uint64_t shares, uint64_t n, uint64_t unit) {
  return share == shares ? n : n / unit * share / shares * unit;
}

template <typename Word>
inline unsigned Code(Word difference) {
  const int bytes = std::countl_zero(difference) / 8;
  return static_cast<unsigned>(bytes < 3 ? bytes : 3);
}

// Words [begin, end), begin a multiple of 4 and of the block size unless it is 0.
template <typename Word>
void CodeSerially(const Word* words, uint64_t begin, uint64_t end, uint64_t block_size,
                  uint8_t* codes) {
  unsigned byte = 0;
  for (uint64_t i = begin; i < end; ++i) {
    const Word previous = i % block_size == 0 ? 0 : words[i - 1];
    byte = byte << 2 | Code<Word>(words[i] ^ previous);
    if (i % 4 == 3) codes[i / 4] = static_cast<uint8_t>(byte);
  }
  if (end % 4 != 0) codes[end / 4] = static_cast<uint8_t>(byte << (8 - 2 * (end % 4)));
}

// Eight words whose differences from their predecessors are d, as two bytes of codes.
inline void StoreCodes(__m256i d, uint8_t* codes) {
  d = _mm256_shuffle_epi32(d, 0x1B);  // the first of four values has the top bits of its byte
  auto is_zero = [](__m256i v) {
    return static_cast<uint32_t>(
        _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(v, _mm256_setzero_si256()))));
  };
  const uint32_t one = is_zero(_mm256_srli_epi32(d, 24)), two = is_zero(_mm256_srli_epi32(d, 16));
  const uint32_t three = is_zero(_mm256_srli_epi32(d, 8));
  const uint16_t pair =
      static_cast<uint16_t>(_pdep_u32(two, 0xAAAA) | _pdep_u32((one & ~two) | three, 0x5555));
  std::memcpy(codes, &pair, 2);
}

void CodeShare(const uint32_t* words, uint64_t begin, uint64_t end, uint64_t block_size,
               uint8_t* codes) {
  if (block_size % 8 != 0) return CodeSerially(words, begin, end, block_size, codes);
  uint64_t i = begin;
  for (; i + 8 <= end; i += 8) {
    const __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words + i));
    __m256i before;
    if (i % block_size == 0) {
      before = _mm256_blend_epi32(
          _mm256_permutevar8x32_epi32(w, _mm256_set_epi32(6, 5, 4, 3, 2, 1, 0, 0)),
          _mm256_setzero_si256(), 1);
    } else {
      before = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words + i - 1));
    }
    StoreCodes(_mm256_xor_si256(w, before), codes + i / 4);
  }
  CodeSerially(words, i, end, block_size, codes);
}

void CodeShare(const uint64_t* words, uint64_t begin, uint64_t end, uint64_t block_size,
               uint8_t* codes) {
  CodeSerially(words, begin, end, block_size, codes);
}

template <typename Word>
void Run(const szarena_problem& p, const Word* words, uint8_t* codes) {
  const uint64_t shares = p.block_size % 4 == 0 ? Shares(p.n, p.threads) : 1;
  Parallel(shares, [&](uint64_t k) {
    CodeShare(words, ShareStart(k, shares, p.n, p.block_size),
              ShareStart(k + 1, shares, p.n, p.block_size), p.block_size, codes);
  });
}

}  // namespace

extern "C" uint64_t szarena_workspace_bytes(const szarena_problem*) { return 0; }

extern "C" int szarena_run(const szarena_problem* p, const void* input, void* output,
                           uint64_t capacity, void*, uint64_t, szarena_payload* payload) {
  const uint64_t size = (p->n + 3) / 4;
  if (size > capacity) return SZARENA_CAPACITY;
  auto* codes = static_cast<uint8_t*>(output);
  if (p->dtype == SZARENA_F32) {
    Run(*p, static_cast<const uint32_t*>(input), codes);
  } else {
    Run(*p, static_cast<const uint64_t*>(input), codes);
  }
  *payload = {0, size};
  return SZARENA_OK;
}
