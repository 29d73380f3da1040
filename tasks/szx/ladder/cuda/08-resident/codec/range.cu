// SPDX-License-Identifier: Apache-2.0
#include "range.cuh"

#include <cuda_runtime.h>

#include <cmath>
#include <limits>

#include "../format.h"
#include "launch.cuh"

namespace szarena::codec::cuda {
namespace {

constexpr uint32_t kRangeThreads = 512;

// Integers that order as the finite values do, and are greater than 0.
__device__ __forceinline__ unsigned long long Ordered(float x) {
  const uint32_t bits = __float_as_uint(x);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}
__device__ __forceinline__ unsigned long long Ordered(double x) {
  const unsigned long long bits = static_cast<unsigned long long>(__double_as_longlong(x));
  return (bits >> 63) != 0 ? ~bits : bits | 0x8000000000000000ull;
}
__device__ __forceinline__ double FromOrdered(unsigned long long ordered, float) {
  const uint32_t word = static_cast<uint32_t>(ordered);
  return __uint_as_float((word >> 31) != 0 ? word & 0x7fffffffu : ~word);
}
__device__ __forceinline__ double FromOrdered(unsigned long long ordered, double) {
  return __longlong_as_double(static_cast<long long>((ordered >> 63) != 0 ? ordered & 0x7fffffffffffffffull : ~ordered));
}
template <class T>
constexpr unsigned long long kAllOnes = sizeof(T) == 4 ? 0xffffffffull : ~0ull;

__device__ __forceinline__ bool Finite(float x) { return fabsf(x) <= 3.402823466e38f; }
__device__ __forceinline__ bool Finite(double x) { return fabs(x) <= 1.7976931348623157e308; }

// The smallest and largest finite value of a thread's share; low > high: none.
template <class T>
struct Extent {
  T low;
  T high;
  __device__ void Add(T x) {
    if (Finite(x)) {
      low = x < low ? x : low;
      high = x > high ? x : high;
    }
  }
};

template <class T>
__device__ void Store(Bound* bound, double* bound_out, const RangeState& state, double relative) {
  double eb = 0;
  if (state.max != 0) {
    const double high = FromOrdered(state.max, T(0));
    const double low = FromOrdered(kAllOnes<T> - state.negated_min, T(0));
    // As ResolveRelativeBound: the range may overflow where its part does not.
    const double range = __dsub_rn(high, low);
    eb = isinf(range) ? __dmul_rn(__dmul_rn(relative, __dsub_rn(__dmul_rn(high, 0.5), __dmul_rn(low, 0.5))), 2.0) : __dmul_rn(relative, range);
    if (!(eb <= 1.7976931348623157e308)) eb = 1.7976931348623157e308;
  }
  if (bound_out != nullptr) *bound_out = eb;
  if constexpr (sizeof(T) == 4) {
    const float ebq = __double2float_rz(eb);
    bound->ebq = ebq;
    bound->scale = ebq > 0 ? __fdiv_rn(0.5f, ebq) : __int_as_float(0x7f800000);
  } else {
    bound->ebq = eb;
    bound->scale = eb > 0 ? __ddiv_rn(0.5, eb) : __longlong_as_double(0x7ff0000000000000ll);
  }
}

template <class T>
__global__ void __launch_bounds__(kRangeThreads) RangeKernel(const T* values, uint64_t count, double relative, RangeState* state,
                                                             Bound* bound, double* bound_out) {
  constexpr uint32_t kEach = 16 / sizeof(T);
  const uint64_t thread = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const uint64_t threads = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  Extent<T> extent{static_cast<T>(__longlong_as_double(0x7ff0000000000000ll)), static_cast<T>(-__longlong_as_double(0x7ff0000000000000ll))};
  // Up to the first 16-byte boundary and behind the last one element by element.
  const uint64_t head = min((16 - reinterpret_cast<uintptr_t>(values) % 16) % 16 / sizeof(T), count);
  const uint64_t vectors = (count - head) / kEach;
  if (thread < head) extent.Add(values[thread]);
  const uint64_t tail = head + vectors * kEach;
  if (thread < count - tail) extent.Add(values[tail + thread]);
  const uint4* data = reinterpret_cast<const uint4*>(values + head);
  // From the end to the front, so that the front is still in the cache when the values are read for compression.
#pragma unroll 4
  for (uint64_t v = thread; v < vectors; v += threads) {
    const uint4 bits = __ldg(data + (vectors - 1 - v));
    if constexpr (sizeof(T) == 4) {
      extent.Add(__uint_as_float(bits.x));
      extent.Add(__uint_as_float(bits.y));
      extent.Add(__uint_as_float(bits.z));
      extent.Add(__uint_as_float(bits.w));
    } else {
      extent.Add(__hiloint2double(static_cast<int>(bits.y), static_cast<int>(bits.x)));
      extent.Add(__hiloint2double(static_cast<int>(bits.w), static_cast<int>(bits.z)));
    }
  }
  unsigned long long high = 0;
  unsigned long long negated_low = 0;
  if (extent.low <= extent.high) {
    high = Ordered(extent.high);
    negated_low = kAllOnes<T> - Ordered(extent.low);
  }
  __shared__ unsigned long long shared_high, shared_low;
  __shared__ bool last;
  if (threadIdx.x == 0) shared_high = shared_low = 0;
  __syncthreads();
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    high = max(high, __shfl_xor_sync(0xffffffffu, high, step));
    negated_low = max(negated_low, __shfl_xor_sync(0xffffffffu, negated_low, step));
  }
  if (threadIdx.x % 32 == 0) {
    atomicMax(&shared_high, high);
    atomicMax(&shared_low, negated_low);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicMax(&state->max, shared_high);
    atomicMax(&state->negated_min, shared_low);
    __threadfence();
    last = atomicAdd(&state->blocks_done, 1u) == gridDim.x - 1;
    if (last) {
      __threadfence();
      RangeState all;
      all.max = *reinterpret_cast<volatile unsigned long long*>(&state->max);
      all.negated_min = *reinterpret_cast<volatile unsigned long long*>(&state->negated_min);
      Store<T>(bound, bound_out, all, relative);
    }
  }
}

__global__ void PutBoundKernel(double eb, double* bound_out) { *bound_out = eb; }

template <class T>
LaunchStatus Launch(const void* values, uint64_t count, double relative, RangeState* state, Bound* bound, double* bound_out,
                    cudaStream_t stream) {
  const int processors = DeviceAttribute(cudaDevAttrMultiProcessorCount);
  if (processors == 0) return LaunchStatus::kLaunchFailed;
  const uint64_t wanted = (count / (16 / sizeof(T)) + kRangeThreads - 1) / kRangeThreads + 1;
  const uint64_t blocks = wanted < static_cast<uint64_t>(processors) * 4 ? wanted : static_cast<uint64_t>(processors) * 4;
  return StartKernel(RangeKernel<T>, blocks, kRangeThreads, 0, stream, static_cast<const T*>(values), count, relative, state, bound, bound_out);
}

}  // namespace

Bound HostBound(double eb, DType dtype) {
  Bound bound;
  if (dtype == DType::kF32) {
    const float ebq = RoundBoundDown<float>(eb);
    bound.ebq = ebq;
    bound.scale = ebq > 0 ? 0.5f / ebq : std::numeric_limits<float>::infinity();
  } else {
    const double ebq = RoundBoundDown<double>(eb);
    bound.ebq = ebq;
    bound.scale = ebq > 0 ? 0.5 / ebq : std::numeric_limits<double>::infinity();
  }
  return bound;
}

LaunchStatus PutBound(double eb, double* bound_out, CUstream_st* stream) {
  if (bound_out == nullptr) return LaunchStatus::kOk;
  return StartKernel(PutBoundKernel, 1, 1, 0, stream, eb, bound_out);
}

LaunchStatus FindBound(const void* values, uint64_t count, DType dtype, double relative, RangeState* state, Bound* bound,
                       double* bound_out, CUstream_st* stream) {
  return dtype == DType::kF32 ? Launch<float>(values, count, relative, state, bound, bound_out, stream)
                              : Launch<double>(values, count, relative, state, bound, bound_out, stream);
}

}  // namespace szarena::codec::cuda
