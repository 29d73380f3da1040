// SPDX-License-Identifier: Apache-2.0
// Moving bytes between global and shared memory, a warp at a time, whatever the alignment; never a byte outside.
#pragma once

#include <cstdint>

namespace szarena::codec::cuda {

__device__ __forceinline__ uint32_t SharedAddress(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

template <int bytes>  // 4, 8 or 16, both sides aligned to it
__device__ __forceinline__ void CopyAsync(void* shared, const void* global) {
#if __CUDA_ARCH__ >= 800
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(SharedAddress(shared)), "l"(global) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(SharedAddress(shared)), "l"(global), "n"(bytes) : "memory");
  }
#else
  if constexpr (bytes == 16) *static_cast<uint4*>(shared) = __ldg(static_cast<const uint4*>(global));
  if constexpr (bytes == 8) *static_cast<uint2*>(shared) = __ldg(static_cast<const uint2*>(global));
  if constexpr (bytes == 4) *static_cast<uint32_t*>(shared) = __ldg(static_cast<const uint32_t*>(global));
#endif
}

__device__ __forceinline__ void CommitCopies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int groups_left>
__device__ __forceinline__ void WaitCopies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(groups_left) : "memory");
#endif
}

// Where LoadBytes puts the first byte: the source's place in its 16 bytes, so that whole pieces can travel.
__device__ __forceinline__ uint32_t LoadOffset(const unsigned char* from) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from)) & 15u;
}

// Starts copying `size` bytes to shared + LoadOffset(from); `shared` is 16-byte aligned. Complete after WaitCopies and a
// barrier of the warp.
__device__ __forceinline__ void LoadBytes(unsigned char* shared, const unsigned char* from, uint32_t size) {
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t offset = LoadOffset(from);
  const uint32_t end = offset + size;
  const uint32_t first = (offset + 15) / 16;
  const uint32_t last = end / 16;
  if (first >= last) {
    for (uint32_t i = lane; i < size; i += 32) shared[offset + i] = from[i];
    return;
  }
  const unsigned char* base = from - offset;
  for (uint32_t piece = first + lane; piece < last; piece += 32) CopyAsync<16>(shared + 16 * piece, base + 16 * piece);
  // The ends: bytes before the first piece by the lower lanes, behind the last one by the upper ones.
  const uint32_t at = lane < 16 ? lane : 16 * last + lane - 16;
  if (lane < 16 ? at >= offset && at < 16 * first : at < end) shared[at] = base[at];
}

// The same where all memory from `lowest` to `highest` may be read: whole 16-byte pieces travel, and nothing is waited for
// but where a piece would reach out of it.
__device__ __forceinline__ void LoadPieces(unsigned char* shared, const unsigned char* from, uint32_t size, const unsigned char* lowest,
                                           const unsigned char* highest) {
  const uint32_t offset = LoadOffset(from);
  const unsigned char* base = from - offset;
  const uint32_t end = (offset + size + 15) & ~15u;
  if (base < lowest || highest < base + end) {
    LoadBytes(shared, from, size);
    return;
  }
  for (uint32_t at = 16 * (threadIdx.x % 32); at < end; at += 512) CopyAsync<16>(shared + at, base + at);
}

// Copies `size` bytes from 4-byte aligned shared memory to any place; the words behind the last byte may be read.
__device__ __forceinline__ void StoreBytes(unsigned char* to, const unsigned char* shared, uint32_t size) {
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t head = (4 - static_cast<uint32_t>(reinterpret_cast<uintptr_t>(to))) & 3u;
  if (head == 0) {
    const uint32_t* words = reinterpret_cast<const uint32_t*>(shared);
    uint32_t* out = reinterpret_cast<uint32_t*>(to);
#pragma unroll 4
    for (uint32_t w = lane; w < size / 4; w += 32) out[w] = words[w];
    if (lane < (size & 3u)) to[(size & ~3u) + lane] = shared[(size & ~3u) + lane];
    return;
  }
  if (size < 8) {
    if (lane < size) to[lane] = shared[lane];
    return;
  }
  if (lane < head) to[lane] = shared[lane];
  const uint32_t* words = reinterpret_cast<const uint32_t*>(shared);
  uint32_t* out = reinterpret_cast<uint32_t*>(to + head);
  const uint32_t whole = (size - head) / 4;
#pragma unroll 4
  for (uint32_t w = lane; w < whole; w += 32) out[w] = __funnelshift_r(words[w], words[w + 1], 8 * head);
  const uint32_t done = head + 4 * whole;
  if (lane < size - done) to[done + lane] = shared[done + lane];
}

}  // namespace szarena::codec::cuda
