// SPDX-License-Identifier: Apache-2.0
// Starting a grid that stays: as many thread blocks as the device holds at once, or fewer where
// there is less to do.
#pragma once

#include <cuda_runtime.h>

#include "codec/cuda/device_result.h"

namespace szarena::codec::cuda {

inline int DeviceAttribute(cudaDeviceAttr attribute) {
  int device = 0;
  int value = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&value, attribute, device) != cudaSuccess)
    return 0;
  return value;
}

// How many warps of `bytes_each` bytes of shared memory a thread block can have, at most `most`, so
// that `resident` thread blocks fit a multiprocessor where possible; 0: none.
inline uint32_t WarpsThatFit(uint32_t bytes_each, uint32_t most, uint32_t resident) {
  constexpr uint32_t kReserved = 1024;  // of a thread block, by the runtime
  constexpr uint32_t kStatic = 512;     // what kernels declare themselves
  uint32_t per_processor =
      static_cast<uint32_t>(DeviceAttribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor));
  uint32_t per_block =
      static_cast<uint32_t>(DeviceAttribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
#ifdef SZARENA_CUDA_SHARED_LIMIT
  // Tests act as a device with less.
  per_processor =
      per_processor < SZARENA_CUDA_SHARED_LIMIT ? per_processor : SZARENA_CUDA_SHARED_LIMIT;
  per_block = per_block < SZARENA_CUDA_SHARED_LIMIT ? per_block : SZARENA_CUDA_SHARED_LIMIT;
#endif
  if (per_block < bytes_each + kStatic) return 0;
  const uint32_t share = per_processor / resident > kReserved + kStatic
                             ? per_processor / resident - kReserved - kStatic
                             : 0;
  const uint32_t limit = share < per_block - kStatic ? share : per_block - kStatic;
  const uint32_t warps = limit / bytes_each;
  return warps == 0 ? 1 : warps < most ? warps : most;
}

// Starts a kernel, and says how that went: an error that an earlier call of the caller's has left
// is none of this one.
template <class... Params, class... Args>
LaunchStatus StartKernel(void (*kernel)(Params...), uint64_t blocks, uint32_t threads,
                         uint32_t shared_bytes, cudaStream_t stream, const Args&... args) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned int>(blocks));
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, args...) == cudaSuccess ? LaunchStatus::kOk
                                                                     : LaunchStatus::kLaunchFailed;
}

// `wanted`: thread blocks that have something to do.
template <class Args>
LaunchStatus LaunchResident(void (*kernel)(Args), const Args& args, uint64_t wanted,
                            uint32_t threads, uint32_t shared_bytes, cudaStream_t stream) {
  int resident = 0;
  const int processors = DeviceAttribute(cudaDevAttrMultiProcessorCount);
  if (processors == 0 ||
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           static_cast<int>(shared_bytes)) != cudaSuccess ||
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, static_cast<int>(threads),
                                                    shared_bytes) != cudaSuccess ||
      resident < 1) {
    return LaunchStatus::kLaunchFailed;
  }
  const uint64_t room = static_cast<uint64_t>(processors) * static_cast<uint64_t>(resident);
  return StartKernel(kernel, wanted < room ? wanted : room, threads, shared_bytes, stream, args);
}

}  // namespace szarena::codec::cuda
