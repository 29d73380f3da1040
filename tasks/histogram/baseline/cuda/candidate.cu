// SPDX-License-Identifier: Apache-2.0
// histogram: every thread block counts in shared memory, where equal neighbours are added up before they meet; the blocks' counts
// are added in global memory at the end.
#include <cstdint>

#include "szarena_candidate_cuda.h"

namespace {

constexpr uint32_t kThreads = 512;
constexpr uint32_t kSharedBins = 11 * 1024;  // more bins are counted in global memory

__device__ uint32_t BinOf(int32_t v, uint32_t bins) { return static_cast<uint32_t>(v) < bins ? static_cast<uint32_t>(v) : bins; }

// Four values of a thread: those that equal the one before are one addition.
__device__ void Count(uint32_t* counts, const int4& v, uint32_t bins) {
  const uint32_t bin[4] = {BinOf(v.x, bins), BinOf(v.y, bins), BinOf(v.z, bins), BinOf(v.w, bins)};
  uint32_t run = 1;
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) {
    if (k < 3 && bin[k + 1] == bin[k]) {
      ++run;
      continue;
    }
    atomicAdd(&counts[bin[k]], run);
    run = 1;
  }
}

__global__ void __launch_bounds__(kThreads) SharedKernel(const int32_t* x, uint64_t n, uint32_t bins, uint32_t* out) {
  extern __shared__ uint32_t counts[];
  for (uint32_t k = threadIdx.x; k <= bins; k += kThreads) counts[k] = 0;
  __syncthreads();
  const uint64_t stride = uint64_t(gridDim.x) * kThreads;
  const uint64_t pieces = n / 4;
  for (uint64_t k = blockIdx.x * uint64_t(kThreads) + threadIdx.x; k < pieces; k += stride) {
    Count(counts, __ldcs(reinterpret_cast<const int4*>(x) + k), bins);
  }
  if (blockIdx.x == 0 && threadIdx.x < n % 4) atomicAdd(&counts[BinOf(x[pieces * 4 + threadIdx.x], bins)], 1u);
  __syncthreads();
  for (uint32_t k = threadIdx.x; k <= bins; k += kThreads) {
    if (counts[k] != 0) atomicAdd(&out[k], counts[k]);
  }
}

__global__ void __launch_bounds__(kThreads) GlobalKernel(const int32_t* x, uint64_t n, uint32_t bins, uint32_t* out) {
  const uint64_t stride = uint64_t(gridDim.x) * kThreads;
  const uint64_t pieces = n / 4;
  for (uint64_t k = blockIdx.x * uint64_t(kThreads) + threadIdx.x; k < pieces; k += stride) {
    Count(out, __ldcs(reinterpret_cast<const int4*>(x) + k), bins);
  }
  if (blockIdx.x == 0 && threadIdx.x < n % 4) atomicAdd(&out[BinOf(x[pieces * 4 + threadIdx.x], bins)], 1u);
}

__global__ void SizeKernel(szarena_payload* payload, uint64_t size) { *payload = {0, size}; }

}  // namespace

extern "C" uint64_t szarena_cuda_workspace_bytes(const szarena_problem*) { return 0; }

extern "C" int szarena_cuda_run(const szarena_problem* p, const void* input, void* output, uint64_t capacity, void*, uint64_t,
                                szarena_payload* payload, szarena_stream stream) {
  const uint64_t size = (uint64_t(p->bins) + 1) * 4;
  if (capacity < size) return SZARENA_CAPACITY;
  const auto* x = static_cast<const int32_t*>(input);
  auto* out = static_cast<uint32_t*>(output);
  cudaMemsetAsync(out, 0, size, stream);
  SizeKernel<<<1, 1, 0, stream>>>(payload, size);
  if (p->n > 0) {
    int device = 0;
    int processors = 1;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    const uint64_t wanted = (p->n / 4 + kThreads) / kThreads;
    const auto most = static_cast<uint64_t>(processors) * 4;
    const auto grid = static_cast<uint32_t>(wanted < most ? wanted : most);
    if (p->bins < kSharedBins) {
      SharedKernel<<<grid, kThreads, size, stream>>>(x, p->n, p->bins, out);
    } else {
      GlobalKernel<<<grid, kThreads, 0, stream>>>(x, p->n, p->bins, out);
    }
  }
  return cudaGetLastError() == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}
