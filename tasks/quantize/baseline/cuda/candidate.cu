// SPDX-License-Identifier: Apache-2.0
// quantize: a thread takes eight values, 16 bytes at a time, and owns their byte of the bitmap.
#include <cmath>
#include <cstdint>

#include "szarena_candidate_cuda.h"

namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kEach = 8;

// |x - y| <= e, exactly: the rounded difference decides unless it equals e, then what it lost does.
template <typename T>
__device__ bool Within(T x, T y, T e) {
  const T d = x - y;
  const T a = d < T(0) ? -d : d;
  if (a < e) return true;
  if (!(a == e) || a - a != T(0)) return false;
  const T seen = d - x;
  const T lost = (x - (d - seen)) + (-y - seen);
  return d > T(0) ? lost <= T(0) : d < T(0) ? lost >= T(0) : lost == T(0);
}

template <typename T>
__global__ void __launch_bounds__(kThreads) Kernel(const T* x, uint64_t n, T e, T scale, int32_t* code, uint8_t* bitmap, szarena_payload* payload) {
  const uint64_t group = blockIdx.x * uint64_t(kThreads) + threadIdx.x;
  const uint64_t begin = group * kEach;
  if (group == 0) *payload = {0, n * 4 + (n + 7) / 8};
  if (begin >= n) return;
  const bool whole = begin + kEach <= n;
  alignas(16) T value[kEach];
  alignas(16) int32_t out[kEach];
  if (whole) {
#pragma unroll
    for (uint32_t k = 0; k < kEach * sizeof(T) / 16; ++k) {
      reinterpret_cast<uint4*>(value)[k] = __ldcs(reinterpret_cast<const uint4*>(x + begin) + k);
    }
  } else {
    for (uint32_t k = 0; k < kEach; ++k) value[k] = begin + k < n ? x[begin + k] : T(0);
  }
  uint32_t raw = 0;
#pragma unroll
  for (uint32_t k = 0; k < kEach; ++k) {
    const T limit = sizeof(T) == 4 ? T(1 << 24) : T(1 << 30);
    const T t = value[k] * scale;
    const T q = trunc(t + T(0.5)) - (t < T(-0.5) ? T(1) : T(0));
    const bool accepted = fabs(q) < limit && e > T(0) && Within(value[k], (q * e) * T(2), e);
    out[k] = accepted ? static_cast<int32_t>(q) : 0;
    if (!accepted && begin + k < n) raw |= 1u << k;
  }
  if (whole) {
#pragma unroll
    for (uint32_t k = 0; k < kEach / 4; ++k) __stcs(reinterpret_cast<int4*>(code + begin) + k, reinterpret_cast<const int4*>(out)[k]);
  } else {
    for (uint32_t k = 0; begin + k < n; ++k) code[begin + k] = out[k];
  }
  bitmap[group] = static_cast<uint8_t>(raw);
}

__global__ void EmptyKernel(szarena_payload* payload) { *payload = {0, 0}; }

template <typename T>
int Run(const szarena_problem& p, const T* x, void* output, szarena_payload* payload, cudaStream_t stream) {
  if (p.n == 0) {
    EmptyKernel<<<1, 1, 0, stream>>>(payload);
  } else {
    T e = static_cast<T>(p.abs_bound);
    if (static_cast<double>(e) > p.abs_bound) e = std::nextafter(e, T(0));
    auto* code = static_cast<int32_t*>(output);
    const uint64_t groups = (p.n + kEach - 1) / kEach;
    Kernel<<<static_cast<uint32_t>((groups + kThreads - 1) / kThreads), kThreads, 0, stream>>>(x, p.n, e, T(0.5) / e, code,
                                                                                             reinterpret_cast<uint8_t*>(code + p.n), payload);
  }
  return cudaGetLastError() == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}

}  // namespace

extern "C" uint64_t szarena_cuda_workspace_bytes(const szarena_problem*) { return 0; }

extern "C" int szarena_cuda_run(const szarena_problem* p, const void* input, void* output, uint64_t capacity, void*, uint64_t,
                                szarena_payload* payload, szarena_stream stream) {
  if (capacity < p->n * 4 + (p->n + 7) / 8) return SZARENA_CAPACITY;
  return p->dtype == SZARENA_F32 ? Run(*p, static_cast<const float*>(input), output, payload, stream)
                                 : Run(*p, static_cast<const double*>(input), output, payload, stream);
}
