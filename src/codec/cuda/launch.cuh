// SPDX-License-Identifier: Apache-2.0
// Starting a grid that stays: as many thread blocks as the device holds at once, or one a tile where that is fewer.
#pragma once

#include <cuda_runtime.h>

#include "codec/cuda/szp_tile.cuh"

namespace szarena::codec::cuda {

template <class T, class Args>
LaunchStatus LaunchTiles(void (*kernel)(Args), const Args& args, cudaStream_t stream) {
  using S = Tile<T>;
  int device = 0;
  int processors = 0;
  int resident = 0;
  if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::kSharedBytes) != cudaSuccess ||
      cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess ||
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, S::kThreads, S::kSharedBytes) != cudaSuccess || resident < 1) {
    return LaunchStatus::kLaunchFailed;
  }
  const uint32_t room = static_cast<uint32_t>(processors) * static_cast<uint32_t>(resident);
  kernel<<<args.tiles < room ? args.tiles : room, S::kThreads, S::kSharedBytes, stream>>>(args);
  return cudaPeekAtLastError() == cudaSuccess ? LaunchStatus::kOk : LaunchStatus::kLaunchFailed;
}

}  // namespace szarena::codec::cuda
