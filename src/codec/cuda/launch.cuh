// SPDX-License-Identifier: Apache-2.0
// Starting a grid that stays: as many thread blocks as the device holds at once, or one a tile where that is fewer.
#pragma once

#include <cuda_runtime.h>

#include "codec/cuda/szp_tile.cuh"

namespace szarena::codec::cuda {

// `buffers`: how many tiles a thread block keeps in shared memory.
template <class T, uint32_t buffers, class Args>
LaunchStatus LaunchTiles(void (*kernel)(Args), const Args& args, cudaStream_t stream) {
  using S = Tile<T>;
  constexpr uint32_t kSharedBytes = buffers * S::kTileBytes;
  int device = 0;
  int processors = 0;
  int resident = 0;
  if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes) != cudaSuccess ||
      cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess ||
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, S::kThreads, kSharedBytes) != cudaSuccess || resident < 1) {
    return LaunchStatus::kLaunchFailed;
  }
  const uint32_t room = static_cast<uint32_t>(processors) * static_cast<uint32_t>(resident);
  kernel<<<args.tiles < room ? args.tiles : room, S::kThreads, kSharedBytes, stream>>>(args);
  return cudaPeekAtLastError() == cudaSuccess ? LaunchStatus::kOk : LaunchStatus::kLaunchFailed;
}

}  // namespace szarena::codec::cuda
