// SPDX-License-Identifier: Apache-2.0
// Starting a grid that stays: as many thread blocks as the device holds at once, or fewer where there is less to do.
#pragma once

#include <cuda_runtime.h>

#include "codec/cuda/szp_tile.cuh"

namespace szarena::codec::cuda {

// `wanted`: thread blocks that have something to do.
template <class Args>
LaunchStatus LaunchResident(void (*kernel)(Args), const Args& args, uint64_t wanted, uint32_t threads, uint32_t shared_bytes,
                            cudaStream_t stream) {
  int device = 0;
  int processors = 0;
  int resident = 0;
  if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)) != cudaSuccess ||
      cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess ||
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, static_cast<int>(threads), shared_bytes) != cudaSuccess || resident < 1) {
    return LaunchStatus::kLaunchFailed;
  }
  const uint64_t room = static_cast<uint64_t>(processors) * static_cast<uint64_t>(resident);
  kernel<<<static_cast<unsigned int>(wanted < room ? wanted : room), threads, shared_bytes, stream>>>(args);
  return cudaPeekAtLastError() == cudaSuccess ? LaunchStatus::kOk : LaunchStatus::kLaunchFailed;
}

}  // namespace szarena::codec::cuda
