// SPDX-License-Identifier: Apache-2.0
// leading-bytes: a thread makes one byte from four words and the one before them.
#include <cstdint>

#include "szarena_candidate_cuda.h"

namespace {

constexpr uint32_t kThreads = 256;

__device__ uint32_t LeadingZeros(uint32_t v) { return static_cast<uint32_t>(__clz(static_cast<int>(v))); }
__device__ uint32_t LeadingZeros(uint64_t v) { return static_cast<uint32_t>(__clzll(static_cast<long long>(v))); }

template <typename Word>
__global__ void __launch_bounds__(kThreads) Kernel(const Word* word, uint64_t n, uint32_t block_size, uint8_t* out, szarena_payload* payload) {
  const uint64_t group = blockIdx.x * uint64_t(kThreads) + threadIdx.x;
  const uint64_t begin = group * 4;
  if (group == 0) *payload = {0, (n + 3) / 4};
  if (begin >= n) return;
  alignas(16) Word own[4];
  if (begin + 4 <= n) {
#pragma unroll
    for (uint32_t k = 0; k < sizeof(Word) / 4; ++k) reinterpret_cast<uint4*>(own)[k] = *(reinterpret_cast<const uint4*>(word + begin) + k);
  } else {
    for (uint32_t k = 0; k < 4; ++k) own[k] = begin + k < n ? word[begin + k] : 0;
  }
  uint32_t place = static_cast<uint32_t>(begin % block_size);
  Word previous = place == 0 ? 0 : word[begin - 1];
  uint32_t byte = 0;
#pragma unroll
  for (uint32_t k = 0; k < 4; ++k) {
    if (place == block_size) {
      place = 0;
      previous = 0;
    }
    const uint32_t code = min(3u, LeadingZeros(static_cast<Word>(own[k] ^ previous)) / 8);
    if (begin + k < n) byte |= code << (6 - 2 * k);
    previous = own[k];
    ++place;
  }
  out[group] = static_cast<uint8_t>(byte);
}

__global__ void EmptyKernel(szarena_payload* payload) { *payload = {0, 0}; }

}  // namespace

extern "C" uint64_t szarena_cuda_workspace_bytes(const szarena_problem*) { return 0; }

extern "C" int szarena_cuda_run(const szarena_problem* p, const void* input, void* output, uint64_t capacity, void*, uint64_t,
                                szarena_payload* payload, szarena_stream stream) {
  if (capacity < (p->n + 3) / 4) return SZARENA_CAPACITY;
  const uint64_t groups = (p->n + 3) / 4;
  const auto grid = static_cast<uint32_t>((groups + kThreads - 1) / kThreads);
  auto* out = static_cast<uint8_t*>(output);
  if (grid == 0) {
    EmptyKernel<<<1, 1, 0, stream>>>(payload);
  } else if (p->dtype == SZARENA_F32) {
    Kernel<<<grid, kThreads, 0, stream>>>(static_cast<const uint32_t*>(input), p->n, p->block_size, out, payload);
  } else {
    Kernel<<<grid, kThreads, 0, stream>>>(static_cast<const uint64_t*>(input), p->n, p->block_size, out, payload);
  }
  return cudaGetLastError() == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}
