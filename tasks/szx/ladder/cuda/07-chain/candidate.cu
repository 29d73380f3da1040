// SPDX-License-Identifier: Apache-2.0
// SZx, step 7: compression does without the kernels that scan the sizes: the first kernel finds the places itself, each thread
// block waiting for the sums of the one before it.
#include "prefix.cuh"
#include "stream.cuh"
#include "warp.cuh"

namespace {

constexpr uint32_t kThreads = 256;

uint32_t Grid(uint64_t n) { return static_cast<uint32_t>((n + kThreads - 1) / kThreads); }

// By a warp, between memories of any alignment: words where the target allows it. Up to 3 bytes on both sides of `from` are read.
__device__ void CopyByWarp(const uint8_t* from, uint32_t bytes, uint8_t* to) {
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

// Bytes of shared memory a warp: the largest coded block, and what CopyByWarp reads beyond.
template <typename T>
constexpr uint32_t kStaging = (1 + sizeof(T) + kBlock / 4 + kBlock * sizeof(T) + 8 + 15) / 16 * 16;

// A thread block's blocks are a tile, one a warp.
constexpr uint32_t kTileBlocks = kThreads / 32;
uint64_t Tiles(uint64_t blocks) { return (blocks + kTileBlocks - 1) / kTileBlocks; }
// Behind the rest of the workspace: the ticket, then a word a tile for the coded blocks and one for their bytes.
constexpr uint64_t kWords = 256;
uint64_t ChainBytes(uint64_t blocks) { return kWords + 2 * Tiles(blocks) * sizeof(unsigned long long); }

template <typename T>
__global__ void __launch_bounds__(kThreads)
    PlanKernel(const T* x, uint64_t n, uint64_t blocks, Bound<T> bound, Work work, Plan<T>* plan, unsigned int* ticket,
               unsigned long long* words) {
  const uint32_t tile = TakeTile(ticket);
  const uint32_t warp = threadIdx.x / 32;
  const uint64_t b = tile * uint64_t(kTileBlocks) + warp;
  __shared__ uint32_t coded[kTileBlocks];
  __shared__ uint32_t size[kTileBlocks];
  if (Lane() == 0) coded[warp] = size[warp] = 0;
  if (b < blocks) {
    const uint32_t m = BlockLength(n, b);
    alignas(16) T v[kEach];
    LoadLane(x + b * kBlock, m, v);
    const Plan<T> own = PlanByWarp(v, bound);
    const uint32_t own_size = own.constant ? 0 : SizeByWarp(CodeByWarp(v, m, own), m);
    if (Lane() == 0) {
      plan[b] = own;
      coded[warp] = own.constant ? 0 : 1;
      size[warp] = own_size;
    }
  }
  __syncthreads();
  uint32_t coded_before = 0;
  uint32_t size_before = 0;
  uint32_t coded_sum = 0;
  uint32_t size_sum = 0;
  for (uint32_t k = 0; k < kTileBlocks; ++k) {
    if (k < warp) {
      coded_before += coded[k];
      size_before += size[k];
    }
    coded_sum += coded[k];
    size_sum += size[k];
  }
  const uint64_t first = SumBefore(words, tile, coded_sum);
  __syncthreads();  // both sums go through the same shared word
  const uint64_t begin = SumBefore(words + gridDim.x, tile, size_sum);
  if (b < blocks && Lane() == 0) {
    work.coded[b] = coded[warp];
    work.size[b] = size[warp];
    work.index[b] = first + coded_before;
    work.offset[b] = begin + size_before;
  }
  if (tile == gridDim.x - 1 && threadIdx.x == 0) {
    *work.coded_total = first + coded_sum;
    *work.byte_total = begin + size_sum;
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    WriteKernel(const T* x, uint64_t n, uint64_t blocks, bool random, Work work, const Plan<T>* plan, uint8_t* out) {
  const uint64_t b = Thread() / 32;
  if (b >= blocks || work.coded[b] == 0) return;
  const Tables tables(random, sizeof(T), blocks, blocks - *work.coded_total);
  const uint32_t m = BlockLength(n, b);
  alignas(16) T v[kEach];
  LoadLane(x + b * kBlock, m, v);
  __shared__ alignas(16) uint8_t staging[kThreads / 32][kStaging<T>];
  uint8_t* here = staging[threadIdx.x / 32];
  WriteByWarp(CodeByWarp(v, m, plan[b]), m, plan[b], here);
  __syncwarp();
  CopyByWarp(here, work.size[b], out + tables.coded + work.offset[b]);
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    ReadKernel(const uint8_t* in, uint64_t in_size, uint64_t n, uint64_t blocks, bool random, Work work, T* x) {
  const uint64_t b = Thread() / 32;
  if (b >= blocks) return;
  const Found<T> found = FindBlock<T>(in, in_size, blocks, random, work, b);
  if (found.at == nullptr) return;
  const uint32_t m = BlockLength(n, b);
  alignas(16) T v[kEach];
  if (found.constant) {
    for (T& value : v) value = FromBits<T>(LoadBig<WordOf<T>>(found.at));
  } else {
    __shared__ alignas(16) uint8_t staging[kThreads / 32][kStaging<T>];
    uint8_t* here = staging[threadIdx.x / 32];
    if (found.size > kStaging<T> - 8) return;
    CopyByWarp(found.at, found.size, here);
    __syncwarp();
    if (!ReadByWarp(here, found.size, m, v)) return;
  }
  StoreLane(v, m, x + b * kBlock);
}

template <typename T>
int Compress(const szarena_problem& p, const T* x, uint8_t* out, uint8_t* workspace, szarena_payload* payload, cudaStream_t stream) {
  const Work work(p, workspace);
  const uint64_t blocks = Blocks(p);
  const bool random = p.mode == SZARENA_MODE_RANDOM_ACCESS;
  auto* plan = reinterpret_cast<Plan<T>*>(work.plans);
  if (blocks == 0) {
    EmptyKernel<<<1, 1, 0, stream>>>(random, Type<T>::kVersion, out, payload);
  } else {
    uint8_t* chain = workspace + work.bytes;
    cudaMemsetAsync(chain, 0, ChainBytes(blocks), stream);
    PlanKernel<<<static_cast<uint32_t>(Tiles(blocks)), kThreads, 0, stream>>>(
        x, p.n, blocks, Bound<T>(p.abs_bound), work, plan, reinterpret_cast<unsigned int*>(chain),
        reinterpret_cast<unsigned long long*>(chain + kWords));
    WriteTablesKernel<<<TableGrid(blocks), kTableThreads, 0, stream>>>(work, plan, blocks, random, out, payload);
    WriteKernel<<<Grid(blocks * 32), kThreads, 0, stream>>>(x, p.n, blocks, random, work, plan, out);
  }
  return cudaGetLastError() == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}

template <typename T>
int Decompress(const szarena_problem& p, const uint8_t* in, uint64_t in_size, T* x, uint8_t* workspace, cudaStream_t stream) {
  const Work work(p, workspace);
  const uint64_t blocks = Blocks(p);
  if (blocks == 0) return SZARENA_OK;
  ReadTables<T>(p, in, in_size, work, stream);
  ReadKernel<<<Grid(blocks * 32), kThreads, 0, stream>>>(in, in_size, p.n, blocks, p.mode == SZARENA_MODE_RANDOM_ACCESS, work, x);
  return cudaGetLastError() == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}

}  // namespace

extern "C" uint64_t szarena_cuda_workspace_bytes(const szarena_problem* p) {
  return Work(*p, nullptr).bytes + ChainBytes(Blocks(*p));
}

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
  if (size < (p->mode == SZARENA_MODE_RANDOM_ACCESS ? 20 : 13)) return SZARENA_CORRUPT;
  const auto* in = static_cast<const uint8_t*>(payload);
  auto* work = static_cast<uint8_t*>(workspace);
  return p->dtype == SZARENA_F32 ? Decompress(*p, in, size, static_cast<float*>(output), work, stream)
                                 : Decompress(*p, in, size, static_cast<double*>(output), work, stream);
}
