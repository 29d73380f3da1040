// SPDX-License-Identifier: Apache-2.0
// bitpack in plain scalar C++.
#include <cstring>

#include "szarena_candidate.h"

namespace {

constexpr uint64_t kBlock = 32;

uint64_t Blocks(const szarena_problem& p) { return p.n / kBlock + (p.n % kBlock != 0); }
uint64_t RateBytes(const szarena_problem& p) {
  return (Blocks(p) + p.pad_blocks - 1) / p.pad_blocks * p.pad_blocks;
}

}  // namespace

extern "C" uint64_t szarena_workspace_bytes(const szarena_problem*) { return 0; }

extern "C" int szarena_run(const szarena_problem* p, const void* input, void* output,
                           uint64_t capacity, void*, uint64_t, szarena_payload* payload) {
  const auto* values = static_cast<const int32_t*>(input);
  auto* rates = static_cast<uint8_t*>(output);
  if (RateBytes(*p) > capacity) return SZARENA_CAPACITY;
  std::memset(rates, 0, RateBytes(*p));
  uint64_t used = RateBytes(*p);
  for (uint64_t b = 0; b < Blocks(*p); ++b) {
    uint32_t magnitudes[kBlock] = {};
    uint32_t negative[kBlock] = {};
    uint32_t all = 0;
    for (uint64_t i = 0; i < kBlock && b * kBlock + i < p->n; ++i) {
      int32_t v = values[b * kBlock + i];
      negative[i] = v < 0;
      magnitudes[i] = v < 0 ? 0u - static_cast<uint32_t>(v) : static_cast<uint32_t>(v);
      all |= magnitudes[i];
    }
    unsigned rate = 0;
    while (all >> rate != 0) ++rate;
    if (rate == 0) continue;
    if (used + 4 + 4 * rate > capacity) return SZARENA_CAPACITY;
    rates[b] = static_cast<uint8_t>(rate);
    std::memset(rates + used, 0, 4 + 4 * rate);
    for (uint64_t i = 0; i < kBlock; ++i) {
      unsigned shift = 7 - i % 8;
      rates[used + i / 8] |= static_cast<uint8_t>(negative[i] << shift);
      for (unsigned plane = 0; plane < rate; ++plane) {
        rates[used + 4 + 4 * plane + i / 8] |=
            static_cast<uint8_t>((magnitudes[i] >> plane & 1) << shift);
      }
    }
    used += 4 + 4 * rate;
  }
  *payload = {0, used};
  return SZARENA_OK;
}

extern "C" int szarena_inverse(const szarena_problem* p, const void* payload, uint64_t size,
                               void* output, void*, uint64_t) {
  const auto* rates = static_cast<const uint8_t*>(payload);
  auto* values = static_cast<int32_t*>(output);
  if (size < RateBytes(*p)) return SZARENA_CORRUPT;
  uint64_t at = RateBytes(*p);
  for (uint64_t b = 0; b < Blocks(*p); ++b) {
    unsigned rate = rates[b];
    uint64_t bytes = rate == 0 ? 0 : 4 + 4 * uint64_t{rate};
    if (rate > 31 || size - at < bytes) return SZARENA_CORRUPT;
    for (uint64_t i = 0; i < kBlock && b * kBlock + i < p->n; ++i) {
      unsigned shift = 7 - i % 8;
      uint32_t magnitude = 0;
      for (unsigned plane = 0; plane < rate; ++plane) {
        magnitude |= static_cast<uint32_t>(rates[at + 4 + 4 * plane + i / 8] >> shift & 1) << plane;
      }
      bool negative = rate > 0 && (rates[at + i / 8] >> shift & 1) != 0;
      values[b * kBlock + i] = static_cast<int32_t>(negative ? 0u - magnitude : magnitude);
    }
    at += bytes;
  }
  return at == size ? SZARENA_OK : SZARENA_CORRUPT;
}
