// SPDX-License-Identifier: Apache-2.0
// Sums and maxima over the lanes of a warp; called by all 32 lanes.
#pragma once

#include <cstdint>

namespace szarena::codec::cuda {

constexpr uint32_t kAllLanes = 0xffffffffu;

__device__ __forceinline__ uint32_t ReduceAdd(uint32_t value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(kAllLanes, value);
#else
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kAllLanes, value, step);
  return value;
#endif
}

__device__ __forceinline__ uint32_t WarpMax(uint32_t value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(kAllLanes, value);
#else
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    value = max(value, __shfl_xor_sync(kAllLanes, value, step));
  }
  return value;
#endif
}

// Exclusive sum over the lanes; `total` is the sum of all.
__device__ __forceinline__ uint32_t WarpExclusiveSum(uint32_t value, uint32_t& total) {
  const uint32_t lane = threadIdx.x % 32;
  uint32_t sum = value;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const uint32_t below = __shfl_up_sync(kAllLanes, sum, step);
    if (lane >= step) sum += below;
  }
  total = __shfl_sync(kAllLanes, sum, 31);
  return sum - value;
}

}  // namespace szarena::codec::cuda
