// SPDX-License-Identifier: Apache-2.0
// lorenzo, optimised: forward row by row from the rows around, each read from cache; backward in
// one pass over memory, a running sum along x, then the finished rows above and in the plane
// before. Forward uses threads.
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

// out[x] = a[x] - a[x-1], where a is the row itself less its neighbours' prediction in y and z;
// rows that do not exist are null.
void DifferenceRow(const uint32_t* v, const uint32_t* above, const uint32_t* before,
                   const uint32_t* before_above, uint64_t n, uint32_t* out) {
  if (above != nullptr && before != nullptr) {
    out[0] = v[0] - above[0] - before[0] + before_above[0];
    for (uint64_t x = 1; x < n; ++x) {
      out[x] = (v[x] - above[x] - before[x] + before_above[x]) -
               (v[x - 1] - above[x - 1] - before[x - 1] + before_above[x - 1]);
    }
    return;
  }
  const uint32_t* other = above != nullptr ? above : before;
  if (other != nullptr) {
    out[0] = v[0] - other[0];
    for (uint64_t x = 1; x < n; ++x) out[x] = (v[x] - other[x]) - (v[x - 1] - other[x - 1]);
    return;
  }
  out[0] = v[0];
  for (uint64_t x = 1; x < n; ++x) out[x] = v[x] - v[x - 1];
}

// Running sums of n differences at any alignment, starting after `sum`; returns the last one.
typedef uint32_t Eight __attribute__((vector_size(32)));
uint32_t SumRow(const uint8_t* d, uint64_t n, uint32_t sum, uint32_t* out) {
  const Eight zero = {};
  uint64_t x = 0;
  Eight carry = zero + sum;
  for (; x + 8 <= n; x += 8) {
    Eight v;
    std::memcpy(&v, d + 4 * x, sizeof v);
    v += __builtin_shuffle(v, zero, Eight{8, 0, 1, 2, 3, 4, 5, 6});
    v += __builtin_shuffle(v, zero, Eight{8, 8, 0, 1, 2, 3, 4, 5});
    v += __builtin_shuffle(v, zero, Eight{8, 8, 8, 8, 0, 1, 2, 3});
    v += carry;
    std::memcpy(out + x, &v, sizeof v);
    carry = __builtin_shuffle(v, Eight{7, 7, 7, 7, 7, 7, 7, 7});
  }
  sum = carry[0];
  for (; x < n; ++x) {
    uint32_t one;
    std::memcpy(&one, d + 4 * x, 4);
    sum += one;
    out[x] = sum;
  }
  return sum;
}

}  // namespace

extern "C" uint64_t szarena_workspace_bytes(const szarena_problem*) { return 0; }

extern "C" int szarena_run(const szarena_problem* p, const void* input, void* output,
                           uint64_t capacity, void*, uint64_t, szarena_payload* payload) {
  if (4 * p->n > capacity) return SZARENA_CAPACITY;
  *payload = {0, 4 * p->n};
  if (p->n == 0) return SZARENA_OK;
  const uint64_t ny = p->dims[1], nx = p->dims[2], rows = p->dims[0] * ny;
  const auto* v = static_cast<const uint32_t*>(input);
  auto* out = static_cast<uint32_t*>(output);
  const uint64_t shares = Shares(p->n, p->threads);
  if (rows < shares) {
    // Few long rows (a field of one dimension is one row): shares of one row differ only in their
    // first element.
    for (uint64_t r = 0; r < rows; ++r) {
      const uint32_t* row = v + r * nx;
      const uint32_t* above = r % ny > 0 ? row - nx : nullptr;
      const uint32_t* before = r >= ny ? row - ny * nx : nullptr;
      const uint32_t* corner = above != nullptr && before != nullptr ? before - nx : nullptr;
      Parallel(shares, [&](uint64_t k) {
        const uint64_t begin = ShareStart(k, shares, nx, 64),
                       end = ShareStart(k + 1, shares, nx, 64);
        if (begin == end) return;
        auto at = [&](const uint32_t* other) { return other == nullptr ? nullptr : other + begin; };
        DifferenceRow(row + begin, at(above), at(before), at(corner), end - begin,
                      out + r * nx + begin);
        if (begin == 0) return;
        auto value = [&](const uint32_t* other) { return other == nullptr ? 0 : other[begin - 1]; };
        out[r * nx + begin] -= row[begin - 1] - value(above) - value(before) + value(corner);
      });
    }
    return SZARENA_OK;
  }
  Parallel(shares, [&](uint64_t k) {
    for (uint64_t r = ShareStart(k, shares, rows, 1); r < ShareStart(k + 1, shares, rows, 1); ++r) {
      const uint32_t* row = v + r * nx;
      const uint32_t* above = r % ny > 0 ? row - nx : nullptr;
      const uint32_t* before = r >= ny ? row - ny * nx : nullptr;
      const uint32_t* corner = above != nullptr && before != nullptr ? before - nx : nullptr;
      DifferenceRow(row, above, before, corner, nx, out + r * nx);
    }
  });
  return SZARENA_OK;
}

extern "C" int szarena_inverse(const szarena_problem* p, const void* payload, uint64_t size,
                               void* output, void*, uint64_t) {
  if (size != 4 * p->n) return SZARENA_CORRUPT;
  if (p->n == 0) return SZARENA_OK;
  const uint64_t ny = p->dims[1], nx = p->dims[2], rows = p->dims[0] * ny;
  const auto* d = static_cast<const uint8_t*>(payload);
  auto* out = static_cast<uint32_t*>(output);
  for (uint64_t r = 0; r < rows; ++r) {
    uint32_t* row = out + r * nx;
    SumRow(d + 4 * r * nx, nx, 0, row);
    const uint32_t* above = r % ny > 0 ? row - nx : nullptr;
    const uint32_t* before = r >= ny ? row - ny * nx : nullptr;
    if (above != nullptr && before != nullptr) {
      const uint32_t* corner = before - nx;
      for (uint64_t x = 0; x < nx; ++x) row[x] += above[x] + before[x] - corner[x];
    } else if (above != nullptr || before != nullptr) {
      const uint32_t* other = above != nullptr ? above : before;
      for (uint64_t x = 0; x < nx; ++x) row[x] += other[x];
    }
  }
  return SZARENA_OK;
}
