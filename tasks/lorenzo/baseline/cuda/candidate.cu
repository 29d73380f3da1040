// SPDX-License-Identifier: Apache-2.0
// lorenzo: forward is one pass whose neighbours come from the caches. Back, sums along x are one flat prefix sum minus what lies
// before the row (arithmetic modulo 2^32 is a group), then a thread adds up a column, along y and along z.
#include "lookback.cuh"
#include "szarena_candidate_cuda.h"

namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kEach = 16;
constexpr uint32_t kTile = kThreads * kEach;

uint64_t Tiles(const szarena_problem& p) { return (p.n + kTile - 1) / kTile; }
uint32_t Grid(uint64_t n) { return static_cast<uint32_t>((n + kThreads - 1) / kThreads); }
__device__ uint64_t Index() { return blockIdx.x * uint64_t(kThreads) + threadIdx.x; }

struct Shape {
  explicit Shape(const szarena_problem& p) : n(p.n), rows(p.dims[0] * p.dims[1]), depth(p.dims[0]), height(p.dims[1]), width(p.dims[2]) {}
  uint64_t n, rows, depth, height, width;
};

__global__ void __launch_bounds__(kThreads) ForwardKernel(const uint32_t* v, Shape shape, uint32_t* out, szarena_payload* payload) {
  const uint64_t i = Index();
  if (i == 0) *payload = {0, shape.n * 4};
  if (i >= shape.n) return;
  const bool x = shape.rows == 1 ? i > 0 : i % shape.width > 0;
  const uint64_t row = shape.rows == 1 ? 0 : i / shape.width;
  const bool y = row % shape.height > 0;
  const bool z = row / shape.height > 0;
  const uint64_t up = shape.width;
  const uint64_t back = shape.width * shape.height;
  uint32_t d = v[i];
  if (x) d -= v[i - 1];
  if (y) d -= v[i - up];
  if (x && y) d += v[i - up - 1];
  if (z) d -= v[i - back];
  if (z && x) d += v[i - back - 1];
  if (z && y) d += v[i - back - up];
  if (z && y && x) d -= v[i - back - up - 1];
  out[i] = d;
}

// Inclusive flat prefix sum. `v` has any alignment.
__global__ void __launch_bounds__(kThreads)
    FlatScanKernel(const uint8_t* v, uint64_t n, uint32_t* out, unsigned int* ticket, TileState* states) {
  __shared__ uint32_t values[kTile];
  const uint32_t tile = TakeTile(ticket);
  const uint64_t begin = tile * uint64_t(kTile);
  const uint32_t shift = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(v) % 4);
  const auto* aligned = reinterpret_cast<const uint32_t*>(v - shift);
#pragma unroll
  for (uint32_t k = 0; k < kEach; ++k) {
    const uint32_t at = k * kThreads + threadIdx.x;
    const uint64_t i = begin + at;
    values[at] = i >= n ? 0 : __funnelshift_r(aligned[i], shift == 0 ? 0 : aligned[i + 1], 8 * shift);
  }
  __syncthreads();
  const uint32_t lane = threadIdx.x % 32;
  uint32_t* part = values + threadIdx.x / 32 * 32 * kEach;
  uint32_t upto[kEach];
  uint32_t running = 0;
#pragma unroll
  for (uint32_t k = 0; k < kEach; ++k) {
    uint32_t sum = part[32 * k + lane];
    for (uint32_t step = 1; step < 32; step *= 2) {
      const uint32_t below = __shfl_up_sync(0xffffffffu, sum, step);
      if (lane >= step) sum += below;
    }
    upto[k] = running + sum;
    running += __shfl_sync(0xffffffffu, sum, 31);
  }
  uint32_t total = 0;
  uint32_t before_warp = BeforeThread<kThreads>(lane == 31 ? running : 0u, total);
  before_warp = __shfl_sync(0xffffffffu, before_warp, 0);
  const uint32_t before = static_cast<uint32_t>(SumBefore(states, tile, total)) + before_warp;
#pragma unroll
  for (uint32_t k = 0; k < kEach; ++k) {
    const uint64_t i = begin + threadIdx.x / 32 * 32 * kEach + 32 * k + lane;
    if (i < n) out[i] = before + upto[k];
  }
}

// What the flat sums hold before each row.
__global__ void RowBaseKernel(const uint32_t* v, Shape shape, uint32_t* base) {
  const uint64_t row = Index();
  if (row < shape.rows) base[row] = row == 0 ? 0 : v[row * shape.width - 1];
}

// A thread owns column (x, z): takes the row's base off and adds up along y.
__global__ void __launch_bounds__(kThreads) ColumnKernel(uint32_t* v, Shape shape, const uint32_t* base) {
  const uint64_t k = Index();
  if (k >= shape.width * shape.depth) return;
  const uint64_t z = k / shape.width;
  uint32_t* at = v + z * shape.height * shape.width + k % shape.width;
  uint32_t sum = 0;
#pragma unroll 4
  for (uint64_t y = 0; y < shape.height; ++y, at += shape.width) {
    sum += *at - base[z * shape.height + y];
    *at = sum;
  }
}

__global__ void __launch_bounds__(kThreads) DepthKernel(uint32_t* v, Shape shape) {
  const uint64_t plane = shape.width * shape.height;
  const uint64_t k = Index();
  if (k >= plane) return;
  uint32_t sum = 0;
#pragma unroll 4
  for (uint64_t z = 0; z < shape.depth; ++z) {
    sum += v[z * plane + k];
    v[z * plane + k] = sum;
  }
}

__global__ void EmptyKernel(szarena_payload* payload) { *payload = {0, 0}; }

}  // namespace

extern "C" uint64_t szarena_cuda_workspace_bytes(const szarena_problem* p) {
  return (StateBytes(Tiles(*p)) + 255) / 256 * 256 + p->dims[0] * p->dims[1] * 4;
}

extern "C" int szarena_cuda_run(const szarena_problem* p, const void* input, void* output, uint64_t capacity, void*, uint64_t,
                                szarena_payload* payload, szarena_stream stream) {
  if (capacity < p->n * 4) return SZARENA_CAPACITY;
  if (p->n == 0) {
    EmptyKernel<<<1, 1, 0, stream>>>(payload);
  } else {
    ForwardKernel<<<Grid(p->n), kThreads, 0, stream>>>(static_cast<const uint32_t*>(input), Shape(*p), static_cast<uint32_t*>(output), payload);
  }
  return cudaGetLastError() == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}

extern "C" int szarena_cuda_inverse(const szarena_problem* p, const void* payload, uint64_t size, void* output, void* workspace, uint64_t,
                                    szarena_stream stream) {
  if (size != p->n * 4) return SZARENA_CORRUPT;
  if (p->n == 0) return SZARENA_OK;
  const Shape shape(*p);
  auto* v = static_cast<uint32_t*>(output);
  auto* work = static_cast<uint8_t*>(workspace);
  auto* base = reinterpret_cast<uint32_t*>(work + (StateBytes(Tiles(*p)) + 255) / 256 * 256);
  cudaMemsetAsync(work, 0, StateBytes(Tiles(*p)), stream);
  FlatScanKernel<<<static_cast<uint32_t>(Tiles(*p)), kThreads, 0, stream>>>(static_cast<const uint8_t*>(payload), p->n, v,
                                                                            reinterpret_cast<unsigned int*>(work),
                                                                            reinterpret_cast<TileState*>(work + kStates));
  if (shape.rows > 1) {
    RowBaseKernel<<<Grid(shape.rows), kThreads, 0, stream>>>(v, shape, base);
    ColumnKernel<<<Grid(shape.width * shape.depth), kThreads, 0, stream>>>(v, shape, base);
  }
  if (shape.depth > 1) DepthKernel<<<Grid(shape.width * shape.height), kThreads, 0, stream>>>(v, shape);
  return cudaGetLastError() == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}
