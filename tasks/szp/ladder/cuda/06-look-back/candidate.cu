// SPDX-License-Identifier: Apache-2.0
// SZp, step 6: one pass with decoupled look-back. A tile adds up what the tiles before it have published instead of waiting for
// its neighbour to know everything.
#include "prefix.cuh"
#include "warp.cuh"

namespace {

constexpr uint32_t kWarps = 8;
constexpr uint32_t kThreads = 32 * kWarps;
constexpr uint32_t kPerWarp = 16;  // blocks
constexpr uint32_t kTileBlocks = kWarps * kPerWarp;

uint64_t Tiles(const szarena_problem& p) { return (Blocks(p) + kTileBlocks - 1) / kTileBlocks; }

// The workspace: a ticket and a word a tile, cleared before every launch.
constexpr uint64_t kWords = 256;
uint64_t WorkspaceBytes(const szarena_problem& p) { return kWords + Tiles(p) * 8; }

// Exclusive sum over the warps of the tile; all threads call it with their warp's value.
__device__ uint32_t BeforeWarp(uint32_t value, uint32_t& total) {
  __shared__ uint32_t sums[kWarps];
  if (Lane() == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  uint32_t before = 0;
  total = 0;
  for (uint32_t k = 0; k < kWarps; ++k) {
    if (k < threadIdx.x / 32) before += sums[k];
    total += sums[k];
  }
  return before;
}

// By a warp: shared to global memory, words where the target allows it. Up to 3 bytes behind `from` are read.
__device__ void CopyOut(const uint8_t* from, uint32_t bytes, uint8_t* to) {
  const uint32_t head = min(bytes, static_cast<uint32_t>(-reinterpret_cast<uintptr_t>(to) % 4));
  if (Lane() < head) to[Lane()] = from[Lane()];
  const uint32_t words = (bytes - head) / 4;
  const uint32_t shift = (reinterpret_cast<uintptr_t>(from) + head) % 4;
  const auto* aligned = reinterpret_cast<const uint32_t*>(from + head - shift);
  auto* target = reinterpret_cast<uint32_t*>(to + head);
  for (uint32_t k = Lane(); k < words; k += 32) target[k] = __funnelshift_r(aligned[k], shift == 0 ? 0 : aligned[k + 1], 8 * shift);
  const uint32_t done = head + 4 * words;
  if (done + Lane() < bytes) to[done + Lane()] = from[done + Lane()];
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    CompressKernel(const T* x, uint64_t n, uint64_t blocks, uint64_t rate_bytes, uint32_t mode, Bound<T> bound, uint8_t* out,
                   unsigned int* ticket, unsigned long long* words, szarena_payload* payload) {
  // The largest block: raw, or a first difference apart with all planes.
  constexpr uint32_t kMost = kBlock * sizeof(T) + 8;
  __shared__ alignas(16) uint8_t staging[kWarps][kPerWarp * kMost];
  const uint32_t tile = TakeTile(ticket);
  const uint32_t warp = threadIdx.x / 32;
  const uint64_t first = tile * uint64_t(kTileBlocks) + warp * kPerWarp;
  uint32_t used = 0;
  uint32_t rate = 0;  // lane k: of the warp's block k
  for (uint32_t k = 0; k < kPerWarp && first + k < blocks; ++k) {
    const uint64_t i = (first + k) * kBlock + Lane();
    const T value = i < n ? x[i] : T(0);
    const WarpBlock block = CodeByWarp(value, i < n, mode, bound);
    WriteByWarp(block, value, staging[warp] + used);
    used += block.bytes;
    if (Lane() == k) rate = block.rate_byte;
  }
  if (Lane() < kPerWarp && first + Lane() < blocks) out[first + Lane()] = static_cast<uint8_t>(rate);
  uint32_t total = 0;
  const uint32_t before_warp = BeforeWarp(used, total);
  const uint64_t before = rate_bytes + SumBefore(words, tile, total);
  CopyOut(staging[warp], used, out + before + before_warp);
  if (tile == gridDim.x - 1 && threadIdx.x == 0) *payload = {0, before + total};
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    DecompressKernel(const uint8_t* in, uint64_t in_size, uint64_t n, uint64_t blocks, uint64_t rate_bytes, uint32_t mode, Bound<T> bound,
                     T* x, unsigned int* ticket, unsigned long long* words) {
  const uint32_t tile = TakeTile(ticket);
  const uint64_t first = tile * uint64_t(kTileBlocks) + threadIdx.x / 32 * kPerWarp;
  const uint32_t rate = Lane() < kPerWarp && first + Lane() < blocks ? in[first + Lane()] : 0;
  uint32_t bytes = PayloadBytes(mode, sizeof(T), rate);
  if (bytes == kInvalid) bytes = 0;
  uint32_t end = bytes;  // inclusive sum over the warp's blocks
  for (uint32_t step = 1; step < 32; step *= 2) {
    const uint32_t below = __shfl_up_sync(kAllLanes, end, step);
    if (Lane() >= step) end += below;
  }
  uint32_t total = 0;
  const uint32_t before_warp = BeforeWarp(__shfl_sync(kAllLanes, end, 31), total);
  const uint64_t before = rate_bytes + SumBefore(words, tile, total) + before_warp;
  for (uint32_t k = 0; k < kPerWarp && first + k < blocks; ++k) {
    const uint64_t stop = before + __shfl_sync(kAllLanes, end, k);
    const uint64_t start = stop - __shfl_sync(kAllLanes, bytes, k);
    if (stop > in_size) return;
    const uint64_t i = (first + k) * kBlock + Lane();
    const T value = ReadByWarp(mode, __shfl_sync(kAllLanes, rate, k), in + start, bound);
    if (i < n) x[i] = value;
  }
}

__global__ void EmptyKernel(szarena_payload* payload) { *payload = {0, 0}; }

template <typename T>
int Compress(const szarena_problem& p, const T* input, uint8_t* output, uint8_t* workspace, szarena_payload* payload, cudaStream_t stream) {
  const auto tiles = static_cast<uint32_t>(Tiles(p));
  if (tiles == 0) {
    EmptyKernel<<<1, 1, 0, stream>>>(payload);
  } else {
    cudaMemsetAsync(workspace, 0, WorkspaceBytes(p), stream);
    cudaMemsetAsync(output + Blocks(p), 0, RateBytes(p) - Blocks(p), stream);
    CompressKernel<<<tiles, kThreads, 0, stream>>>(input, p.n, Blocks(p), RateBytes(p), p.mode, Bound<T>(p.abs_bound), output,
                                                   reinterpret_cast<unsigned int*>(workspace),
                                                   reinterpret_cast<unsigned long long*>(workspace + kWords), payload);
  }
  return cudaGetLastError() == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}

template <typename T>
int Decompress(const szarena_problem& p, const uint8_t* in, uint64_t in_size, T* output, uint8_t* workspace, cudaStream_t stream) {
  const auto tiles = static_cast<uint32_t>(Tiles(p));
  if (tiles == 0) return SZARENA_OK;
  cudaMemsetAsync(workspace, 0, WorkspaceBytes(p), stream);
  DecompressKernel<<<tiles, kThreads, 0, stream>>>(in, in_size, p.n, Blocks(p), RateBytes(p), p.mode, Bound<T>(p.abs_bound), output,
                                                   reinterpret_cast<unsigned int*>(workspace),
                                                   reinterpret_cast<unsigned long long*>(workspace + kWords));
  return cudaGetLastError() == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}

}  // namespace

extern "C" uint64_t szarena_cuda_workspace_bytes(const szarena_problem* p) { return WorkspaceBytes(*p); }

extern "C" int szarena_cuda_compress(const szarena_problem* p, const void* input, void* output, uint64_t capacity, void* workspace,
                                     uint64_t, szarena_payload* payload, szarena_stream stream) {
  if (capacity < MaxPayload(*p)) return SZARENA_CAPACITY;
  auto* out = static_cast<uint8_t*>(output);
  auto* work = static_cast<uint8_t*>(workspace);
  return p->dtype == SZARENA_F32 ? Compress(*p, static_cast<const float*>(input), out, work, payload, stream)
                                 : Compress(*p, static_cast<const double*>(input), out, work, payload, stream);
}

extern "C" int szarena_cuda_decompress(const szarena_problem* p, const void* payload, uint64_t size, void* output, void* workspace,
                                       uint64_t, szarena_stream stream) {
  if (size < RateBytes(*p)) return SZARENA_CORRUPT;
  const auto* in = static_cast<const uint8_t*>(payload);
  auto* work = static_cast<uint8_t*>(workspace);
  return p->dtype == SZARENA_F32 ? Decompress(*p, in, size, static_cast<float*>(output), work, stream)
                                 : Decompress(*p, in, size, static_cast<double*>(output), work, stream);
}
