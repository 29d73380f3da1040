// SPDX-License-Identifier: Apache-2.0
// What the roles of the CUDA driver program have in common: the device, memory on it, and where
// the slots of the control page lie there. Part of driver_main.cpp.
#pragma once

#include <cstdint>
#include <cstdio>

#include "target/cuda/driver_api.h"
#include "target/driver.h"

namespace szarena::target::driver {

using cuda::CUcontext;
using cuda::CUdevice;
using cuda::CUdeviceptr;
using cuda::CUevent;
using cuda::CUresult;
using cuda::CUstream;

// Both sides of an output on the device; at most a page, which is what shared memory has around it.
inline constexpr uint64_t kGuard = 4096;
inline constexpr uint64_t kAlignment = 256;

inline cuda::DriverApi api;
inline CUdevice device = 0;
inline CUcontext context = nullptr;
inline CUstream stream = nullptr;
inline char api_message[512];

inline bool Ok(CUresult code, const char* what) {
  return code == 0 || Refuse("%s: %s", what, api.Name(code));
}

inline bool OpenDevice(CUresult& code) {
  if (!api.Open(api_message, sizeof api_message)) return false;
  int count = 0;
  const char* what = "cuInit";
  code = api.Init(0);
  if (code == 0) what = "cuDeviceGetCount", code = api.DeviceGetCount(&count);
  if (code == 0 && count == 0) {
    snprintf(api_message, sizeof api_message, "no CUDA device");
    return false;
  }
  if (code == 0) what = "cuDeviceGet", code = api.DeviceGet(&device, 0);
  if (code == 0)
    what = "cuDevicePrimaryCtxRetain", code = api.DevicePrimaryCtxRetain(&context, device);
  if (code == 0) what = "cuCtxSetCurrent", code = api.CtxSetCurrent(context);
  if (code == 0)
    what = "cuStreamCreate", code = api.StreamCreate(&stream, cuda::kStreamNonBlocking);
  if (code != 0)
    snprintf(api_message, sizeof api_message, "no CUDA device: %s: %s", what, api.Name(code));
  return code == 0;
}

// Device memory that grows as needed.
struct Buffer {
  CUdeviceptr at = 0;
  uint64_t size = 0;
};

inline bool Grow(Buffer& buffer, uint64_t size, const char* what) {
  if (buffer.size >= size) return true;
  if (buffer.at != 0 && !Ok(api.MemFree(buffer.at), "cuMemFree")) return false;
  buffer = {};
  const CUresult code = api.MemAlloc(&buffer.at, size);
  if (code != 0) {
    buffer = {};
    return Refuse("cannot allocate %llu bytes of device memory for %s: %s",
                  static_cast<unsigned long long>(size), what, api.Name(code));
  }
  buffer.size = size;
  return true;
}

inline uint64_t Aligned(uint64_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

// Device memory that the keeper shares with the candidate's process: inputs; and outputs, with the
// payload records behind them.
inline Buffer shared_input;
inline Buffer shared_output;

inline cuda::CUmemProperties SharedProperties() {
  cuda::CUmemProperties properties = {};
  properties.type = cuda::kAllocationPinned;
  properties.requested_types = cuda::kHandleDescriptor;
  properties.place = {cuda::kPlaceDevice, device};
  return properties;
}

// Gives the memory behind a handle an address.
inline bool MapShared(Buffer& buffer, cuda::CUmemHandle handle, uint64_t size) {
  const cuda::CUmemAccess access = {{cuda::kPlaceDevice, device}, cuda::kAccessReadWrite};
  buffer.size = size;
  return Ok(api.MemReserve(&buffer.at, size, 0, 0, 0), "cuMemAddressReserve") &&
         Ok(api.MemMap(buffer.at, size, 0, handle, 0), "cuMemMap") &&
         Ok(api.MemSetAccess(buffer.at, size, &access, 1), "cuMemSetAccess");
}

// Where a slot's data lie on the device: the same place in the shared memory for both processes.
struct DeviceSlot {
  uint64_t input = 0;   // offsets
  uint64_t output = 0;  // a guard on both sides
  uint64_t payload = 0;
  CUevent begin = nullptr;
  CUevent end = nullptr;
};
inline DeviceSlot device_slots[kMaxSlots];

// Inputs of a call backward keep the odd address that they have in host memory, everything else is
// aligned.
inline uint64_t InputSkew(const Slot& slot) {
  return static_cast<CallKind>(control->kind) == CallKind::kBackward
             ? slot.input_offset % kAlignment
             : 0;
}

// Host memory has pages around every slot: the device needs less.
inline bool PlaceSlots() {
  uint64_t input = 0;
  uint64_t output = 0;
  for (uint32_t i = 0; i < control->slot_count; ++i) {
    const Slot& slot = control->slots[i];
    device_slots[i].input = input;
    device_slots[i].output = output + kGuard;
    input += Aligned(slot.input_size) + 2 * kAlignment;
    output += Aligned(slot.output_size) + 2 * kGuard;
  }
  const uint64_t records = uint64_t{kMaxSlots} * kAlignment;
  if (input > shared_input.size || output > shared_output.size - records)
    return Refuse("the slots are larger than the shared device memory");
  for (uint32_t i = 0; i < kMaxSlots; ++i)
    device_slots[i].payload = shared_output.size - records + i * kAlignment;
  return true;
}

}  // namespace szarena::target::driver
