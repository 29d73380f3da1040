// SPDX-License-Identifier: Apache-2.0
// What calls on the device answer: at once, and in device memory.
#pragma once

#include <cstdint>

namespace szarena::codec::cuda {

enum class DeviceStatus : uint32_t {
  kOk = 0,
  // The payload is not one stream of that many elements; every element of the output is written,
  // its content unspecified.
  kCorrupt = 1,
  // A sequential SZx stream of more blocks than are walked through (szx_cuda.h); likewise.
  kTooManyBlocks = 2,
};

// What a call leaves in device memory, complete once the stream has come this far.
struct DeviceResult {
  uint64_t offset = 0;  // compress: where the payload starts in the caller's buffer
  uint64_t size = 0;    // compress: bytes of the payload
  DeviceStatus status = DeviceStatus::kOk;
  uint32_t reserved = 0;
};

// What a call returns; anything but kOk: nothing useful is enqueued.
enum class LaunchStatus : int32_t {
  kOk = 0,
  kBadArgument = -1,
  kWorkspaceTooSmall = -2,
  kCapacityTooSmall = -3,
  kLaunchFailed = -4,  // the runtime keeps why, as its last error
  kMisaligned = -5,    // `values`, `result`, `bound_out` or `workspace` is not aligned as asked for
};

}  // namespace szarena::codec::cuda
