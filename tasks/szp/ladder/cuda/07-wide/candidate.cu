// SPDX-License-Identifier: Apache-2.0
// SZp, step 7: memory is touched in 16-byte pieces only. Values go through shared memory to the thread that keeps their block
// in registers; coded blocks go through shared memory, placed so that the copy to the stream is aligned on both sides.
#include "planes.cuh"
#include "prefix.cuh"

namespace {

template <typename T>
struct Tile {
  static constexpr uint32_t kBlocks = sizeof(T) == 4 ? 128 : 64;  // one a thread
  static constexpr uint32_t kRow = kBlock + 16 / sizeof(T);       // values between rows: other banks for neighbouring threads
  static constexpr uint32_t kMost = kBlock * sizeof(T) + 8;       // bytes of a coded block
  static constexpr uint32_t kStaging = kBlocks * kMost + 32;
};

template <typename T>
uint64_t Tiles(const szarena_problem& p) {
  return (Blocks(p) + Tile<T>::kBlocks - 1) / Tile<T>::kBlocks;
}

constexpr uint64_t kWords = 256;
uint64_t WorkspaceBytes(const szarena_problem& p) { return kWords + (p.dtype == SZARENA_F32 ? Tiles<float>(p) : Tiles<double>(p)) * 8; }

// Exclusive sum over the threads of the block.
template <uint32_t kThreads>
__device__ uint32_t BeforeThread(uint32_t value, uint32_t& total) {
  __shared__ uint32_t sums[kThreads / 32];
  const uint32_t lane = threadIdx.x % 32;
  uint32_t sum = value;
  for (uint32_t step = 1; step < 32; step *= 2) {
    const uint32_t below = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += below;
  }
  __syncthreads();
  if (lane == 31) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  uint32_t before = sum - value;
  total = 0;
  for (uint32_t k = 0; k < kThreads / 32; ++k) {
    if (k < threadIdx.x / 32) before += sums[k];
    total += sums[k];
  }
  return before;
}

// Rows of the tile's values between shared memory and the array, 16 bytes a thread where that is possible.
template <typename T, bool kLoad, typename Pointer>
__device__ void MoveRows(T* rows, Pointer x, uint64_t begin, uint64_t n) {
  constexpr uint32_t kPiece = 16 / sizeof(T);
  constexpr uint32_t kPieces = Tile<T>::kBlocks * kBlock / kPiece;
  const bool wide = reinterpret_cast<uintptr_t>(x) % 16 == 0;
#pragma unroll 8
  for (uint32_t k = threadIdx.x; k < kPieces; k += Tile<T>::kBlocks) {
    const uint64_t at = begin + k * kPiece;
    T* here = rows + k * kPiece / kBlock * Tile<T>::kRow + k * kPiece % kBlock;
    if (wide && at + kPiece <= n) {
      if constexpr (kLoad) {
        *reinterpret_cast<uint4*>(here) = __ldcs(reinterpret_cast<const uint4*>(x + at));
      } else {
        __stcs(reinterpret_cast<uint4*>(x + at), *reinterpret_cast<const uint4*>(here));
      }
      continue;
    }
    for (uint32_t j = 0; j < kPiece; ++j) {
      if constexpr (kLoad) {
        here[j] = at + j < n ? x[at + j] : T(0);
      } else {
        if (at + j < n) x[at + j] = here[j];
      }
    }
  }
}

__device__ void PutWord(uint8_t* to, uint32_t word) {
  if (reinterpret_cast<uintptr_t>(to) % 4 == 0) {
    *reinterpret_cast<uint32_t*>(to) = word;
  } else {
    for (uint32_t k = 0; k < 4; ++k) to[k] = static_cast<uint8_t>(word >> 8 * k);
  }
}

__device__ uint32_t GetWord(const uint8_t* from) {
  const uint32_t shift = reinterpret_cast<uintptr_t>(from) % 4;
  const auto* aligned = reinterpret_cast<const uint32_t*>(from - shift);
  return __funnelshift_r(aligned[0], shift == 0 ? 0 : aligned[1], 8 * shift);
}

template <typename T>
__device__ void WriteBlock(const ThreadBlockCode& code, const T* row, uint8_t* to) {
  if (code.raw) {
    for (uint32_t i = 0; i < kBlock * sizeof(T) / 4; ++i) PutWord(to + 4 * i, reinterpret_cast<const uint32_t*>(row)[i]);
    return;
  }
  if (code.bytes == 0) return;
  for (uint32_t k = 0; k < code.form.first_bytes; ++k) *to++ = static_cast<uint8_t>(code.first >> 8 * k);
  PutWord(to, code.signs);
#pragma unroll
  for (uint32_t plane = 0; plane < kBlock; ++plane) {
    if (plane < code.form.planes) PutWord(to + 4 + 4 * plane, code.plane[plane]);
  }
}

// staging and target have the same address modulo 16.
template <uint32_t kThreads>
__device__ void CopyOut(const uint8_t* staging, uint32_t bytes, uint8_t* to) {
  const uint32_t head = min(bytes, static_cast<uint32_t>(-reinterpret_cast<uintptr_t>(to) % 16));
  if (threadIdx.x < head) to[threadIdx.x] = staging[threadIdx.x];
  const uint32_t pieces = (bytes - head) / 16;
  for (uint32_t k = threadIdx.x; k < pieces; k += kThreads) {
    __stcs(reinterpret_cast<uint4*>(to + head) + k, *(reinterpret_cast<const uint4*>(staging + head) + k));
  }
  const uint32_t done = head + 16 * pieces;
  if (done + threadIdx.x < bytes) to[done + threadIdx.x] = staging[done + threadIdx.x];
}

template <typename T>
__global__ void __launch_bounds__(Tile<T>::kBlocks)
    CompressKernel(const T* x, uint64_t n, uint64_t blocks, uint64_t rate_bytes, uint32_t mode, Bound<T> bound, uint8_t* out,
                   unsigned int* ticket, unsigned long long* words, szarena_payload* payload) {
  using Shape = Tile<T>;
  __shared__ alignas(16) T rows[Shape::kBlocks * Shape::kRow];
  __shared__ alignas(16) uint8_t staging[Shape::kStaging];
  const uint32_t tile = TakeTile(ticket);
  const uint64_t b = tile * uint64_t(Shape::kBlocks) + threadIdx.x;
  MoveRows<T, true>(rows, x, tile * uint64_t(Shape::kBlocks) * kBlock, n);
  __syncthreads();
  const T* row = rows + threadIdx.x * Shape::kRow;
  ThreadBlockCode code;
  const uint64_t left = b < blocks ? n - b * kBlock : 0;
  CodeByThread(row, left < kBlock ? static_cast<uint32_t>(left) : kBlock, mode, bound, code);
  if (b >= blocks) code.bytes = 0;
  if (b < blocks) out[b] = static_cast<uint8_t>(code.raw ? kRaw : code.form.rate_byte);
  uint32_t total = 0;
  const uint32_t before_thread = BeforeThread<Shape::kBlocks>(code.bytes, total);
  const uint64_t before = rate_bytes + SumBefore(words, tile, total);
  uint8_t* to = out + before;
  const uint32_t skew = reinterpret_cast<uintptr_t>(to) % 16;
  if (code.bytes > 0) WriteBlock(code, row, staging + skew + before_thread);
  __syncthreads();
  CopyOut<Shape::kBlocks>(staging + skew, total, to);
  if (tile == gridDim.x - 1 && threadIdx.x == 0) *payload = {0, before + total};
}

template <typename T>
__device__ void ReadBlock(uint32_t mode, uint32_t rate_byte, const uint8_t* from, const Bound<T>& bound, T* row) {
  if (rate_byte == kRaw) {
    for (uint32_t i = 0; i < kBlock * sizeof(T) / 4; ++i) reinterpret_cast<uint32_t*>(row)[i] = GetWord(from + 4 * i);
    return;
  }
  uint32_t first = 0;
  const bool apart = rate_byte >= kOutlier;
  if (apart) {
    const uint32_t first_bytes = 1 + (rate_byte >> 5 & 3);
    for (uint32_t k = 0; k < first_bytes; ++k) first |= static_cast<uint32_t>(*from++) << 8 * k;
  }
  const uint32_t planes = rate_byte & 31;
  const uint32_t signs = rate_byte != 0 ? ToStream(GetWord(from)) : 0;
  uint32_t magnitude[kBlock];
#pragma unroll
  for (uint32_t plane = 0; plane < kBlock; ++plane) magnitude[plane] = plane < planes ? ToStream(GetWord(from + 4 + 4 * plane)) : 0;
  Transpose(magnitude);
  if (apart) magnitude[0] = first;
  uint32_t sum = 0;
#pragma unroll
  for (uint32_t i = 0; i < kBlock; ++i) {
    const uint32_t d = (signs >> i & 1) != 0 ? 0 - magnitude[i] : magnitude[i];
    sum = mode == SZARENA_MODE_FIXED ? d : sum + d;
    row[i] = Restore(static_cast<int32_t>(sum), bound);
  }
}

template <typename T>
__global__ void __launch_bounds__(Tile<T>::kBlocks)
    DecompressKernel(const uint8_t* in, uint64_t in_size, uint64_t n, uint64_t blocks, uint64_t rate_bytes, uint32_t mode, Bound<T> bound,
                     T* x, unsigned int* ticket, unsigned long long* words) {
  using Shape = Tile<T>;
  __shared__ alignas(16) T rows[Shape::kBlocks * Shape::kRow];
  __shared__ alignas(16) uint8_t staging[Shape::kStaging];
  const uint32_t tile = TakeTile(ticket);
  const uint64_t b = tile * uint64_t(Shape::kBlocks) + threadIdx.x;
  const uint32_t rate = b < blocks ? in[b] : 0;
  uint32_t bytes = PayloadBytes(mode, sizeof(T), rate);
  if (bytes == kInvalid) bytes = 0;
  uint32_t total = 0;
  const uint32_t before_thread = BeforeThread<Shape::kBlocks>(bytes, total);
  const uint64_t before = rate_bytes + SumBefore(words, tile, total);
  if (before + total > in_size) return;  // the same for all threads
  const uint8_t* from = in + before;
  const uint32_t skew = reinterpret_cast<uintptr_t>(from) % 16;
  const uint32_t head = min(total, (16 - skew) % 16);
  if (threadIdx.x < head) staging[skew + threadIdx.x] = from[threadIdx.x];
  const uint32_t pieces = (total - head) / 16;
  for (uint32_t k = threadIdx.x; k < pieces; k += Shape::kBlocks) {
    *(reinterpret_cast<uint4*>(staging + skew + head) + k) = __ldcs(reinterpret_cast<const uint4*>(from + head) + k);
  }
  const uint32_t done = head + 16 * pieces;
  if (done + threadIdx.x < total) staging[skew + done + threadIdx.x] = from[done + threadIdx.x];
  __syncthreads();
  ReadBlock(mode, rate, staging + skew + before_thread, bound, rows + threadIdx.x * Shape::kRow);
  __syncthreads();
  MoveRows<T, false>(rows, x, tile * uint64_t(Shape::kBlocks) * kBlock, n);
}

__global__ void EmptyKernel(szarena_payload* payload) { *payload = {0, 0}; }

template <typename T>
int Compress(const szarena_problem& p, const T* input, uint8_t* output, uint8_t* workspace, szarena_payload* payload, cudaStream_t stream) {
  const auto tiles = static_cast<uint32_t>(Tiles<T>(p));
  if (tiles == 0) {
    EmptyKernel<<<1, 1, 0, stream>>>(payload);
  } else {
    cudaMemsetAsync(workspace, 0, WorkspaceBytes(p), stream);
    cudaMemsetAsync(output + Blocks(p), 0, RateBytes(p) - Blocks(p), stream);
    CompressKernel<<<tiles, Tile<T>::kBlocks, 0, stream>>>(input, p.n, Blocks(p), RateBytes(p), p.mode, Bound<T>(p.abs_bound), output,
                                                           reinterpret_cast<unsigned int*>(workspace),
                                                           reinterpret_cast<unsigned long long*>(workspace + kWords), payload);
  }
  return cudaGetLastError() == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}

template <typename T>
int Decompress(const szarena_problem& p, const uint8_t* in, uint64_t in_size, T* output, uint8_t* workspace, cudaStream_t stream) {
  const auto tiles = static_cast<uint32_t>(Tiles<T>(p));
  if (tiles == 0) return SZARENA_OK;
  cudaMemsetAsync(workspace, 0, WorkspaceBytes(p), stream);
  DecompressKernel<<<tiles, Tile<T>::kBlocks, 0, stream>>>(in, in_size, p.n, Blocks(p), RateBytes(p), p.mode, Bound<T>(p.abs_bound), output,
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
