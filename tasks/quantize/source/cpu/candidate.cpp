// SPDX-License-Identifier: Apache-2.0
// quantize in plain scalar C++.
#include <cmath>
#include <cstring>

#include "szarena_candidate.h"

namespace {

// The largest T that is <= the bound.
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
void Run(const szarena_problem& p, const T* input, int32_t* codes, uint8_t* bitmap) {
  const T e = RoundDown<T>(p.abs_bound);
  const T scale = T(0.5) / e;
  const T limit = sizeof(T) == 4 ? T(1 << 24) : T(1 << 30);
  std::memset(bitmap, 0, (p.n + 7) / 8);
  for (uint64_t i = 0; i < p.n; ++i) {
    T x = input[i];
    T t = x * scale;
    T q = std::trunc(t + T(0.5)) - (t < T(-0.5) ? T(1) : T(0));
    bool good = std::fabs(q) < limit && Within(x, (q * e) * T(2), e);
    codes[i] = good ? static_cast<int32_t>(q) : 0;
    if (!good) bitmap[i / 8] |= static_cast<uint8_t>(1 << (i % 8));
  }
}

}  // namespace

extern "C" uint64_t szarena_workspace_bytes(const szarena_problem*) { return 0; }

extern "C" int szarena_run(const szarena_problem* p, const void* input, void* output,
                           uint64_t capacity, void*, uint64_t, szarena_payload* payload) {
  uint64_t size = 4 * p->n + (p->n + 7) / 8;
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
