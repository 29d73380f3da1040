// SPDX-License-Identifier: Apache-2.0
// scan: one pass with decoupled look-back; a thread keeps sixteen values in registers.
#include "lookback.cuh"
#include "szarena_candidate_cuda.h"

namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kEach = 16;
constexpr uint32_t kTile = kThreads * kEach;

uint64_t Tiles(const szarena_problem& p) { return (p.n + kTile - 1) / kTile; }

using Sum = unsigned long long;

__global__ void __launch_bounds__(kThreads)
    Kernel(const uint32_t* x, uint64_t n, Sum* out, unsigned int* ticket, TileState* states, szarena_payload* payload) {
  // Stored through shared memory, so that neighbouring threads write neighbouring sums.
  __shared__ alignas(16) uint32_t values[kTile];
  const uint32_t tile = TakeTile(ticket);
  const uint64_t begin = tile * uint64_t(kTile);
  if (tile == 0 && threadIdx.x == 0) *payload = {0, (n + 1) * 8};
#pragma unroll
  for (uint32_t k = 0; k < kEach / 4; ++k) {
    const uint32_t at = (k * kThreads + threadIdx.x) * 4;
    uint4 piece = {0, 0, 0, 0};
    if (begin + at + 4 <= n) {
      piece = __ldcs(reinterpret_cast<const uint4*>(x + begin + at));
    } else {
      if (begin + at < n) piece.x = x[begin + at];
      if (begin + at + 1 < n) piece.y = x[begin + at + 1];
      if (begin + at + 2 < n) piece.z = x[begin + at + 2];
    }
    *reinterpret_cast<uint4*>(values + at) = piece;
  }
  __syncthreads();
  // A warp's values lie together: lane l of round k has value 32 k + l of its warp's part.
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t* part = values + threadIdx.x / 32 * 32 * kEach;
  Sum before_value[kEach];
  Sum running = 0;
#pragma unroll
  for (uint32_t k = 0; k < kEach; ++k) {
    const uint32_t own = part[32 * k + lane];
    Sum sum = own;
    for (uint32_t step = 1; step < 32; step *= 2) {
      const Sum below = __shfl_up_sync(0xffffffffu, sum, step);
      if (lane >= step) sum += below;
    }
    before_value[k] = running + sum - own;
    running += __shfl_sync(0xffffffffu, sum, 31);
  }
  Sum total = 0;
  Sum before_warp = BeforeThread<kThreads>(lane == 31 ? running : Sum(0), total);
  before_warp = __shfl_sync(0xffffffffu, before_warp, 0);
  const Sum before = SumBefore(states, tile, total) + before_warp;
#pragma unroll
  for (uint32_t k = 0; k < kEach; ++k) {
    const uint64_t i = begin + threadIdx.x / 32 * 32 * kEach + 32 * k + lane;
    if (i <= n) out[i] = before + before_value[k];
  }
  // The total has no value of its own where the last tile is full.
  if (begin + kTile == n && threadIdx.x == kThreads - 1) out[n] = before + running;
}

__global__ void EmptyKernel(Sum* out, szarena_payload* payload) {
  out[0] = 0;
  *payload = {0, 8};
}

}  // namespace

extern "C" uint64_t szarena_cuda_workspace_bytes(const szarena_problem* p) { return StateBytes(Tiles(*p)); }

extern "C" int szarena_cuda_run(const szarena_problem* p, const void* input, void* output, uint64_t capacity, void* workspace, uint64_t,
                                szarena_payload* payload, szarena_stream stream) {
  if (capacity < (p->n + 1) * 8) return SZARENA_CAPACITY;
  auto* out = static_cast<Sum*>(output);
  if (p->n == 0) {
    EmptyKernel<<<1, 1, 0, stream>>>(out, payload);
  } else {
    cudaMemsetAsync(workspace, 0, StateBytes(Tiles(*p)), stream);
    Kernel<<<static_cast<uint32_t>(Tiles(*p)), kThreads, 0, stream>>>(
        static_cast<const uint32_t*>(input), p->n, out, static_cast<unsigned int*>(workspace),
        reinterpret_cast<TileState*>(static_cast<uint8_t*>(workspace) + kStates), payload);
  }
  return cudaGetLastError() == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}
