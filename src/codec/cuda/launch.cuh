// SPDX-License-Identifier: Apache-2.0
// Starting a grid that stays: as many thread blocks as the device holds at once, or fewer where
// there is less to do.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <mutex>

#include "codec/cuda/device_result.h"

namespace szarena::codec::cuda {

// Of the current device; 0: not known. Asked for once, since the runtime takes its time to answer.
inline int DeviceAttribute(cudaDeviceAttr attribute) {
  constexpr int kDevices = 32;
  constexpr int kAttributes = 128;
  static std::atomic<int> known[kDevices][kAttributes];
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return 0;
  std::atomic<int>* const place =
      device < kDevices && attribute < kAttributes ? &known[device][attribute] : nullptr;
  int value = place != nullptr ? place->load(std::memory_order_relaxed) : 0;
  if (value != 0) return value;
  if (cudaDeviceGetAttribute(&value, attribute, device) != cudaSuccess) return 0;
  if (place != nullptr) place->store(value, std::memory_order_relaxed);
  return value;
}

// How many warps of `bytes_each` bytes of shared memory a thread block can have, at most `most`, so
// that `resident` thread blocks fit a multiprocessor where possible; 0: none.
inline uint32_t WarpsThatFit(uint32_t bytes_each, uint32_t most, uint32_t resident) {
  constexpr uint32_t kReserved = 1024;  // of a thread block, by the runtime
  constexpr uint32_t kStatic = 768;     // what kernels declare themselves
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

// How many thread blocks of a kernel a multiprocessor of the current device holds at once, after the
// kernel was given the shared memory that it needs; asked for once too.
class Resident {
 public:
  // 0: none. `again`: what is known is not to be believed.
  static int Blocks(const void* kernel, uint32_t threads, uint32_t shared_bytes, bool again) {
    constexpr size_t kMost = 64;
    static std::mutex mutex;
    static Resident known[kMost];
    Resident wanted;
    wanted.kernel_ = kernel;
    wanted.threads_ = threads;
    wanted.shared_bytes_ = shared_bytes;
    if (cudaGetDevice(&wanted.device_) != cudaSuccess) return 0;
    const std::lock_guard lock(mutex);
    Resident* place = known;
    while (place != known + kMost && place->kernel_ != nullptr && !place->IsOf(wanted)) ++place;
    const bool is_known = place != known + kMost && place->kernel_ != nullptr;
    if (is_known && !again) return place->blocks_;
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared_bytes)) != cudaSuccess ||
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &wanted.blocks_, kernel, static_cast<int>(threads), shared_bytes) != cudaSuccess) {
      return 0;
    }
    if (place != known + kMost) *place = wanted;
    return wanted.blocks_;
  }

 private:
  bool IsOf(const Resident& other) const {
    return kernel_ == other.kernel_ && device_ == other.device_ && threads_ == other.threads_ &&
           shared_bytes_ == other.shared_bytes_;
  }
  const void* kernel_ = nullptr;
  int device_ = 0;
  uint32_t threads_ = 0;
  uint32_t shared_bytes_ = 0;
  int blocks_ = 0;
};

// `wanted`: thread blocks that have something to do.
template <class Args>
LaunchStatus LaunchResident(void (*kernel)(Args), const Args& args, uint64_t wanted,
                            uint32_t threads, uint32_t shared_bytes, cudaStream_t stream) {
  const int processors = DeviceAttribute(cudaDevAttrMultiProcessorCount);
  // What is known may be of a context that is no more: then the launch fails, and it is asked for
  // again.
  LaunchStatus status = LaunchStatus::kLaunchFailed;
  for (const bool again : {false, true}) {
    const int resident =
        Resident::Blocks(reinterpret_cast<const void*>(kernel), threads, shared_bytes, again);
    if (processors == 0 || resident < 1) return LaunchStatus::kLaunchFailed;
    const uint64_t room = static_cast<uint64_t>(processors) * static_cast<uint64_t>(resident);
    status = StartKernel(kernel, wanted < room ? wanted : room, threads, shared_bytes, stream, args);
    if (status == LaunchStatus::kOk) break;
  }
  return status;
}

}  // namespace szarena::codec::cuda
