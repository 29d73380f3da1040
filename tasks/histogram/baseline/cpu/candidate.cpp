// SPDX-License-Identifier: Apache-2.0
// histogram, optimised: eight private tables in turn, so that equal neighbours do not wait for one
// another; a set a thread.
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

constexpr uint64_t kTables = 8;

// One table: bins, the last bin, and padding that keeps tables out of one another's cache sets.
uint64_t Stride(const szarena_problem& p) { return (uint64_t{p.bins} + 1 + 15) / 16 * 16 + 16; }

void Count(const int32_t* values, uint64_t n, uint32_t bins, uint64_t stride, uint32_t* tables) {
  uint64_t i = 0;
  auto bin = [&](int32_t v) {
    const uint32_t u = static_cast<uint32_t>(v);  // negative ones become large
    return u < bins ? u : bins;
  };
  for (; i + kTables <= n; i += kTables) {
    uint32_t b[kTables];
    for (uint64_t k = 0; k < kTables; ++k) b[k] = bin(values[i + k]);
    for (uint64_t k = 0; k < kTables; ++k) ++tables[k * stride + b[k]];
  }
  for (; i < n; ++i) ++tables[bin(values[i])];
}

}  // namespace

extern "C" uint64_t szarena_workspace_bytes(const szarena_problem* p) {
  return 4 * kTables * Stride(*p) * Shares(p->n, p->threads);
}

extern "C" int szarena_run(const szarena_problem* p, const void* input, void* output,
                           uint64_t capacity, void* workspace, uint64_t workspace_bytes,
                           szarena_payload* payload) {
  const uint64_t size = 4 * (uint64_t{p->bins} + 1);
  if (size > capacity || workspace_bytes < szarena_workspace_bytes(p)) return SZARENA_CAPACITY;
  const uint64_t shares = Shares(p->n, p->threads), stride = Stride(*p);
  auto* tables = static_cast<uint32_t*>(workspace);
  Parallel(shares, [&](uint64_t k) {
    uint32_t* mine = tables + k * kTables * stride;
    std::memset(mine, 0, 4 * kTables * stride);
    const uint64_t begin = ShareStart(k, shares, p->n, 64),
                   end = ShareStart(k + 1, shares, p->n, 64);
    Count(static_cast<const int32_t*>(input) + begin, end - begin, p->bins, stride, mine);
  });
  auto* counts = static_cast<uint32_t*>(output);
  std::memcpy(counts, tables, size);
  for (uint64_t t = 1; t < kTables * shares; ++t) {
    for (uint64_t b = 0; b <= p->bins; ++b) counts[b] += tables[t * stride + b];
  }
  *payload = {0, size};
  return SZARENA_OK;
}
