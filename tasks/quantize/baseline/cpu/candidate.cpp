// SPDX-License-Identifier: Apache-2.0
// quantize, optimised: vectors with no branch a value, the exact tie rule only where some value
// needs it, threads.
#include <cmath>
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

// Bytes of the machine's widest vectors.
#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

// The compiler's own vectors of that size, and as many 32-bit integers.
template <typename T>
struct Vectors;
template <>
struct Vectors<float> {
  typedef float Real __attribute__((vector_size(kVectorBytes)));
  typedef int32_t Int __attribute__((vector_size(kVectorBytes)));
};
template <>
struct Vectors<double> {
  typedef double Real __attribute__((vector_size(kVectorBytes)));
  typedef int32_t Int __attribute__((vector_size(kVectorBytes / 2)));
};

template <typename T>
T RoundDown(double bound) {
  T e = static_cast<T>(bound);
  return static_cast<double>(e) > bound ? std::nextafter(e, T(0)) : e;
}

// |x - y| <= e, exactly: the rounded difference decides unless it equals e, then what it lost does.
template <typename T>
bool Within(T x, T y, T e) {
  T d = x - y;
  T a = std::fabs(d);
  if (a < e) return true;
  if (!(a == e) || std::isinf(a)) return false;
  T seen = d - x;
  T lost = (x - (d - seen)) + (-y - seen);
  return d > 0 ? lost <= 0 : d < 0 ? lost >= 0 : lost == 0;
}

template <typename T>
constexpr T kLimit = sizeof(T) == 4 ? T(1 << 24) : T(1 << 30);

template <typename T>
inline bool QuantiseOne(T x, T scale, T e, int32_t* code) {
  T t = x * scale;
  T q = std::trunc(t + T(0.5)) - (t < T(-0.5) ? T(1) : T(0));
  bool good = std::fabs(q) < kLimit<T> && Within(x, (q * e) * T(2), e);
  *code = good ? static_cast<int32_t>(q) : 0;
  return good;
}

// Whole vectors; `begin` is a multiple of 16, so bitmap bytes belong to one share alone.
template <typename T>
void QuantiseShare(const T* x, uint64_t begin, uint64_t end, T e, int32_t* codes, uint8_t* bitmap) {
  using Real = typename Vectors<T>::Real;
  using Int = typename Vectors<T>::Int;
  constexpr uint64_t kLanes = sizeof(Real) / sizeof(T);
  constexpr T kFar = kLimit<T> * T(1.5);
  const T scale = T(0.5) / e;
  const Real zero = {};
  std::memset(bitmap + begin / 8, 0, (end - begin + 7) / 8);
  uint64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    Real v;
    std::memcpy(&v, x + i, sizeof v);
    Real t = v * scale;
    t = ((t > -kFar) & (t < kFar)) ? t : zero + kFar;  // NaN too: the conversion must be defined
    Real below = (t < T(-0.5)) ? zero + T(1) : zero;
    Real r = __builtin_convertvector(__builtin_convertvector(t + T(0.5), Int), Real) - below;
    Real error = v - (r * e) * T(2);
    auto fine = (r > -kLimit<T>)&(r < kLimit<T>)&(error > -e) & (error < e);
    Int result = __builtin_convertvector(r, Int);
    std::memcpy(codes + i, &result, sizeof result);
    uint64_t parts[kVectorBytes / 8], all = ~uint64_t{0};
    std::memcpy(parts, &fine, sizeof parts);
    for (uint64_t part : parts) all &= part;
    if (all == ~uint64_t{0}) [[likely]]
      continue;
    for (uint64_t k = i; k < i + kLanes; ++k) {
      if (!QuantiseOne(x[k], scale, e, codes + k))
        bitmap[k / 8] |= static_cast<uint8_t>(1 << (k % 8));
    }
  }
  for (; i < end; ++i) {
    if (!QuantiseOne(x[i], scale, e, codes + i))
      bitmap[i / 8] |= static_cast<uint8_t>(1 << (i % 8));
  }
}

template <typename T>
void Run(const szarena_problem& p, const T* input, int32_t* codes, uint8_t* bitmap) {
  const T e = RoundDown<T>(p.abs_bound);
  const uint64_t shares = Shares(p.n, p.threads);
  Parallel(shares, [&](uint64_t k) {
    QuantiseShare(input, ShareStart(k, shares, p.n, 64), ShareStart(k + 1, shares, p.n, 64), e,
                  codes, bitmap);
  });
}

}  // namespace

extern "C" uint64_t szarena_workspace_bytes(const szarena_problem*) { return 0; }

extern "C" int szarena_run(const szarena_problem* p, const void* input, void* output,
                           uint64_t capacity, void*, uint64_t, szarena_payload* payload) {
  const uint64_t size = 4 * p->n + (p->n + 7) / 8;
  if (size > capacity) return SZARENA_CAPACITY;
  auto* codes = static_cast<int32_t*>(output);
  auto* bitmap = reinterpret_cast<uint8_t*>(codes + p->n);
  if (p->dtype == SZARENA_F32) {
    Run(*p, static_cast<const float*>(input), codes, bitmap);
  } else {
    Run(*p, static_cast<const double*>(input), codes, bitmap);
  }
  *payload = {0, size};
  return SZARENA_OK;
}
