// SPDX-License-Identifier: Apache-2.0
// bitpack: one pass with decoupled look-back. A thread keeps a block in registers and turns its bit matrix around; memory is
// touched in 16-byte pieces, with shared memory between.
#include <cstdint>

#include "lookback.cuh"
#include "szarena_candidate_cuda.h"

namespace {

constexpr uint32_t kBlock = 32;
constexpr uint32_t kThreads = 128;         // blocks of a tile
constexpr uint32_t kRow = kBlock + 4;      // words between rows: other banks for neighbouring threads
constexpr uint32_t kMost = 4 + 31 * 4;     // bytes of a block
constexpr uint32_t kStaging = kThreads * kMost + 32;

uint64_t Blocks(const szarena_problem& p) { return p.n / kBlock + (p.n % kBlock != 0); }
uint64_t RateBytes(const szarena_problem& p) { return (Blocks(p) + p.pad_blocks - 1) / p.pad_blocks * p.pad_blocks; }
uint64_t Tiles(const szarena_problem& p) { return (Blocks(p) + kThreads - 1) / kThreads; }

// Bit c of row r goes to bit r of row c: Eklundh's transposition by halves, all in registers.
__device__ inline void Transpose(uint32_t (&row)[kBlock]) {
#pragma unroll
  for (uint32_t half = 16, mask = 0x0000FFFF; half > 0; half /= 2, mask ^= mask << half) {
#pragma unroll
    for (uint32_t k = 0; k < kBlock; ++k) {
      if ((k & half) != 0) continue;
      const uint32_t swapped = ((row[k] >> half) ^ row[k + half]) & mask;
      row[k] ^= swapped << half;
      row[k + half] ^= swapped;
    }
  }
}

// The order of a plane's bits in the stream: byte b holds values 8b..8b+7, the first one in the top bit.
__device__ inline uint32_t ToStream(uint32_t bits) { return __byte_perm(__brev(bits), 0, 0x0123); }

// Rows of the tile's values between shared memory and the array, 16 bytes a thread where that is possible.
template <bool kLoad, typename Pointer>
__device__ void MoveRows(uint32_t* rows, Pointer x, uint64_t begin, uint64_t n) {
  constexpr uint32_t kPiece = 4;
  constexpr uint32_t kPieces = kThreads * kBlock / kPiece;
  const bool wide = reinterpret_cast<uintptr_t>(x) % 16 == 0;
#pragma unroll 8
  for (uint32_t k = threadIdx.x; k < kPieces; k += kThreads) {
    const uint64_t at = begin + k * kPiece;
    uint32_t* here = rows + k * kPiece / kBlock * kRow + k * kPiece % kBlock;
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
        here[j] = at + j < n ? x[at + j] : 0;
      } else {
        if (at + j < n) x[at + j] = here[j];
      }
    }
  }
}

__device__ uint32_t GetWord(const uint8_t* from) {
  const uint32_t shift = reinterpret_cast<uintptr_t>(from) % 4;
  const auto* aligned = reinterpret_cast<const uint32_t*>(from - shift);
  return __funnelshift_r(aligned[0], shift == 0 ? 0 : aligned[1], 8 * shift);
}

// staging and target have the same address modulo 16.
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

__global__ void __launch_bounds__(kThreads)
    ForwardKernel(const uint32_t* v, uint64_t n, uint64_t blocks, uint64_t rate_bytes, uint8_t* out, unsigned int* ticket, TileState* states,
                  szarena_payload* payload) {
  __shared__ alignas(16) uint32_t rows[kThreads * kRow];
  __shared__ alignas(16) uint8_t staging[kStaging];
  const uint32_t tile = TakeTile(ticket);
  const uint64_t b = tile * uint64_t(kThreads) + threadIdx.x;
  MoveRows<true>(rows, v, tile * uint64_t(kThreads) * kBlock, n);
  __syncthreads();
  uint32_t plane[kBlock];
  uint32_t negative = 0;
  uint32_t all = 0;
#pragma unroll
  for (uint32_t i = 0; i < kBlock; ++i) {
    const auto value = static_cast<int32_t>(rows[threadIdx.x * kRow + i]);
    plane[i] = static_cast<uint32_t>(value < 0 ? -value : value);
    negative |= static_cast<uint32_t>(value < 0) << i;
    all |= plane[i];
  }
  const uint32_t rate = 32 - static_cast<uint32_t>(__clz(static_cast<int>(all)));
  const uint32_t bytes = rate == 0 ? 0 : 4 + 4 * rate;
  Transpose(plane);
  if (b < blocks) out[b] = static_cast<uint8_t>(rate);
  uint32_t total = 0;
  const uint32_t before_thread = BeforeThread<kThreads>(bytes, total);
  const uint64_t before = rate_bytes + SumBefore(states, tile, total);
  uint8_t* to = out + before;
  const uint32_t skew = reinterpret_cast<uintptr_t>(to) % 16;
  if (bytes > 0) {
    auto* word = reinterpret_cast<uint32_t*>(staging + skew + before_thread);  // everything is a multiple of 4 bytes
    word[0] = ToStream(negative);
#pragma unroll
    for (uint32_t k = 0; k < kBlock - 1; ++k) {
      if (k < rate) word[1 + k] = ToStream(plane[k]);
    }
  }
  __syncthreads();
  CopyOut(staging + skew, total, to);
  if (tile == gridDim.x - 1 && threadIdx.x == 0) *payload = {0, before + total};
}

__global__ void __launch_bounds__(kThreads)
    BackwardKernel(const uint8_t* in, uint64_t in_size, uint64_t n, uint64_t blocks, uint64_t rate_bytes, uint32_t* v, unsigned int* ticket,
                   TileState* states) {
  __shared__ alignas(16) uint32_t rows[kThreads * kRow];
  __shared__ alignas(16) uint8_t staging[kStaging];
  const uint32_t tile = TakeTile(ticket);
  const uint64_t b = tile * uint64_t(kThreads) + threadIdx.x;
  uint32_t rate = b < blocks ? in[b] : 0;
  if (rate > 31) rate = 0;
  const uint32_t bytes = rate == 0 ? 0 : 4 + 4 * rate;
  uint32_t total = 0;
  const uint32_t before_thread = BeforeThread<kThreads>(bytes, total);
  const uint64_t before = rate_bytes + SumBefore(states, tile, total);
  if (before + total > in_size) return;  // the same for all threads
  const uint8_t* from = in + before;
  const uint32_t skew = reinterpret_cast<uintptr_t>(from) % 16;
  const uint32_t head = min(total, (16 - skew) % 16);
  if (threadIdx.x < head) staging[skew + threadIdx.x] = from[threadIdx.x];
  const uint32_t pieces = (total - head) / 16;
  for (uint32_t k = threadIdx.x; k < pieces; k += kThreads) {
    *(reinterpret_cast<uint4*>(staging + skew + head) + k) = __ldcs(reinterpret_cast<const uint4*>(from + head) + k);
  }
  const uint32_t done = head + 16 * pieces;
  if (done + threadIdx.x < total) staging[skew + done + threadIdx.x] = from[done + threadIdx.x];
  __syncthreads();
  const uint8_t* own = staging + skew + before_thread;
  const uint32_t signs = rate == 0 ? 0 : ToStream(GetWord(own));
  uint32_t magnitude[kBlock];
#pragma unroll
  for (uint32_t k = 0; k < kBlock; ++k) magnitude[k] = k < rate ? ToStream(GetWord(own + 4 + 4 * k)) : 0;
  Transpose(magnitude);
#pragma unroll
  for (uint32_t i = 0; i < kBlock; ++i) {
    rows[threadIdx.x * kRow + i] = (signs >> i & 1) != 0 ? 0 - magnitude[i] : magnitude[i];
  }
  __syncthreads();
  MoveRows<false>(rows, v, tile * uint64_t(kThreads) * kBlock, n);
}

__global__ void EmptyKernel(szarena_payload* payload) { *payload = {0, 0}; }

}  // namespace

extern "C" uint64_t szarena_cuda_workspace_bytes(const szarena_problem* p) { return StateBytes(Tiles(*p)); }

extern "C" int szarena_cuda_run(const szarena_problem* p, const void* input, void* output, uint64_t capacity, void* workspace, uint64_t,
                                szarena_payload* payload, szarena_stream stream) {
  if (capacity < RateBytes(*p) + Blocks(*p) * kMost) return SZARENA_CAPACITY;
  auto* out = static_cast<uint8_t*>(output);
  auto* work = static_cast<uint8_t*>(workspace);
  if (p->n == 0) {
    EmptyKernel<<<1, 1, 0, stream>>>(payload);
  } else {
    cudaMemsetAsync(work, 0, StateBytes(Tiles(*p)), stream);
    cudaMemsetAsync(out + Blocks(*p), 0, RateBytes(*p) - Blocks(*p), stream);
    ForwardKernel<<<static_cast<uint32_t>(Tiles(*p)), kThreads, 0, stream>>>(
        static_cast<const uint32_t*>(input), p->n, Blocks(*p), RateBytes(*p), out, reinterpret_cast<unsigned int*>(work),
        reinterpret_cast<TileState*>(work + kStates), payload);
  }
  return cudaGetLastError() == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}

extern "C" int szarena_cuda_inverse(const szarena_problem* p, const void* payload, uint64_t size, void* output, void* workspace, uint64_t,
                                    szarena_stream stream) {
  if (size < RateBytes(*p)) return SZARENA_CORRUPT;
  if (p->n == 0) return SZARENA_OK;
  auto* work = static_cast<uint8_t*>(workspace);
  cudaMemsetAsync(work, 0, StateBytes(Tiles(*p)), stream);
  BackwardKernel<<<static_cast<uint32_t>(Tiles(*p)), kThreads, 0, stream>>>(
      static_cast<const uint8_t*>(payload), size, p->n, Blocks(*p), RateBytes(*p), static_cast<uint32_t*>(output),
      reinterpret_cast<unsigned int*>(work), reinterpret_cast<TileState*>(work + kStates));
  return cudaGetLastError() == cudaSuccess ? SZARENA_OK : SZARENA_FAILED;
}
