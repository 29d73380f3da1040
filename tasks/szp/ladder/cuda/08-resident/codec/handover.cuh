// SPDX-License-Identifier: Apache-2.0
// A hand-over between warps of a thread block: some warps arrive, others wait until all of them
// have. Hardware barriers in shared memory where there are any (compute capability 8.0), named
// barriers before.
#pragma once

#include <cstdint>

#include "tile_io.cuh"

namespace szarena::codec::cuda {

// Used again and again; those who wait count the phases. A phase may start only after everybody has
// passed the one before the last, which users get by taking two in turn. Arrive and Wait are called
// by all lanes of a warp.
class Handover {
 public:
  // By one thread, before a barrier of the thread block. `id`: 1 to 15, one for each hand-over;
  // `arrivals`: lanes that arrive; `warps`: theirs and the ones that wait.
  __device__ void Init(uint32_t id, uint32_t arrivals, uint32_t warps) {
#if __CUDA_ARCH__ >= 800
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(SharedAddress(&state_)), "r"(arrivals)
                 : "memory");
#else
    state_ = id | static_cast<unsigned long long>(32 * warps) << 32;
#endif
  }

  // `mine`: this lane has something to hand over.
  __device__ __forceinline__ void Arrive(bool mine) {
    __syncwarp();
#if __CUDA_ARCH__ >= 800
    if (mine) {
      asm volatile(
          "{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(SharedAddress(&state_))
          : "memory");
    }
#else
    asm volatile("bar.arrive %0, %1;" ::"r"(static_cast<uint32_t>(state_)),
                 "r"(static_cast<uint32_t>(state_ >> 32))
                 : "memory");
#endif
  }

  // `phase`: how many times this hand-over has been waited for.
  __device__ __forceinline__ void Wait(uint32_t phase) {
#if __CUDA_ARCH__ >= 800
    uint32_t done = 0;
    while (done == 0) {
#if __CUDA_ARCH__ >= 900
      asm volatile(
          "{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
          : "=r"(done)
          : "r"(SharedAddress(&state_)), "r"(phase & 1u)
          : "memory");
#else
      asm volatile(
          "{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; "
          "}"
          : "=r"(done)
          : "r"(SharedAddress(&state_)), "r"(phase & 1u)
          : "memory");
      if (done == 0) __nanosleep(20);
#endif
    }
    __syncwarp();
#else
    asm volatile("bar.sync %0, %1;" ::"r"(static_cast<uint32_t>(state_)),
                 "r"(static_cast<uint32_t>(state_ >> 32))
                 : "memory");
#endif
  }

  // Waits for a phase that is over already because of other hand-overs, so that tools that look for
  // races, and follow one hand-over at a time, see the order. Not counted among those who wait.
  __device__ __forceinline__ void Observe([[maybe_unused]] uint32_t phase) {
#if __CUDA_ARCH__ >= 800
    Wait(phase);
#endif
  }

 private:
  unsigned long long state_;
};

}  // namespace szarena::codec::cuda
