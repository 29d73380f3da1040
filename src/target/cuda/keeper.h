// SPDX-License-Identifier: Apache-2.0
// The keeper's role of the CUDA driver program: a process without a candidate that holds the device
// memory of inputs and outputs, shares it with the candidate's process, and alone moves data.
// Inputs come within reach of the candidate when the clock starts (kAdmit); what it has given by
// the time the clock stops is taken out of its reach (kCollect), and that is what is judged. So
// nothing on the device that goes on while the candidate's process is stopped gains anything.
// Part of driver_main.cpp.
#pragma once

#include <sys/socket.h>
#include <time.h>

#include <algorithm>

#include "target/cuda/driver_device.h"

namespace szarena::target::driver::keeper {

// Page-locked parts of a region.
struct Pinned {
  void* at[kMaxSlots] = {};
  uint32_t count = 0;
  bool complete = false;  // every slot of the region
};
inline Pinned pinned_input;
inline Pinned pinned_output;
// Less data than this is copied sooner than its pages are locked.
inline constexpr uint64_t kWorthPinning = 64ull << 20;

inline Buffer staged;     // inputs before the clock starts
inline Buffer collected;  // outputs when it has stopped
inline Buffer sweep;      // written to push what was copied out of the cache
inline CUevent copy_begin[2];
inline CUevent copy_end[2];
inline double admitted = 0;   // when, in seconds
inline double admission = 0;  // how long it took

// Host memory for what is compared piece by piece: one arrives while the other is looked at.
inline constexpr uint64_t kPieceBytes = 8ull << 20;
inline char* pieces = nullptr;
inline CUevent arrived[2];

inline double Now() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Device memory as large as this descriptor's host memory and `more`, and a descriptor for it.
inline bool Share(int host_fd, uint64_t more, Buffer& buffer, int& descriptor) {
  struct stat info;
  if (fstat(host_fd, &info) < 0) return Refuse("cannot inspect shared memory");
  const cuda::CUmemProperties properties = SharedProperties();
  size_t unit = 0;
  if (!Ok(api.MemGranularity(&unit, &properties, cuda::kGranularityMinimum),
          "cuMemGetAllocationGranularity"))
    return false;
  const uint64_t size = (static_cast<uint64_t>(info.st_size) + more + unit - 1) / unit * unit;
  cuda::CUmemHandle handle = 0;
  const CUresult code = api.MemCreate(&handle, size, &properties, 0);
  if (code != 0) {
    return Refuse("cannot allocate %llu bytes of device memory that processes share: %s",
                  static_cast<unsigned long long>(size), api.Name(code));
  }
  return MapShared(buffer, handle, size) &&
         Ok(api.MemExport(&descriptor, handle, cuda::kHandleDescriptor, 0),
            "cuMemExportToShareableHandle");
}

// How long a trifle takes on the device while nothing of a candidate runs.
inline bool MeasureIdle() {
  constexpr int kTimes = 9;
  double seconds[kTimes];
  for (double& one : seconds) {
    const double begin = Now();
    if (!Ok(api.MemsetD8(sweep.at, 0, 1, stream), "cuMemsetD8Async") ||
        !Ok(api.StreamSynchronize(stream), "cuStreamSynchronize"))
      return false;
    one = Now() - begin;
  }
  std::sort(seconds, seconds + kTimes);
  control->idle_seconds = seconds[kTimes / 2];
  return true;
}

inline bool HandOver(const int (&descriptors)[2]) {
  char byte = 1;
  iovec part = {&byte, 1};
  alignas(cmsghdr) char buffer[CMSG_SPACE(sizeof descriptors)] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = buffer;
  message.msg_controllen = sizeof buffer;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptors);
  memcpy(CMSG_DATA(header), descriptors, sizeof descriptors);
  const bool sent = sendmsg(kHandFd, &message, 0) == 1;
  close(descriptors[0]);
  close(descriptors[1]);
  return sent || Refuse("cannot hand device memory over: %s",
                        strerror(errno));  // NOLINT(concurrency-mt-unsafe)
}

inline bool Open() {
  CUresult code = 0;
  if (!OpenDevice(code)) return Refuse("%s", api_message);
  int shares = 0;
  if (!Ok(api.DeviceGetAttribute(&shares, cuda::kAttributeSharesByDescriptor, device),
          "cuDeviceGetAttribute"))
    return false;
  if (shares == 0) return Refuse("this device cannot share memory between processes");
  int descriptors[2] = {-1, -1};
  if (!Share(kInputFd, 0, shared_input, descriptors[0]) ||
      !Share(kOutputFd, uint64_t{kMaxSlots} * kAlignment, shared_output, descriptors[1]) ||
      !HandOver(descriptors))
    return false;
  control->device_input_bytes = shared_input.size;
  control->device_output_bytes = shared_output.size;
  for (int i = 0; i < 2; ++i) {
    if (!Ok(api.EventCreate(&copy_begin[i], 0), "cuEventCreate") ||
        !Ok(api.EventCreate(&copy_end[i], 0), "cuEventCreate") ||
        !Ok(api.EventCreate(&arrived[i], 0), "cuEventCreate"))
      return false;
  }
  int cache = 0;
  api.DeviceGetAttribute(&cache, cuda::kAttributeL2Bytes, device);
  const uint64_t swept = cache > 0 ? 2 * static_cast<uint64_t>(cache) : 128ull << 20;
  if (!Grow(staged, shared_input.size, "inputs") ||
      !Grow(collected, shared_output.size, "outputs") || !Grow(sweep, swept, "the cache's sweep"))
    return false;
  void* got = mmap(nullptr, 2 * kPieceBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (got == MAP_FAILED) return Refuse("out of memory");
  pieces = static_cast<char*>(got);
  api.MemHostRegister(pieces, 2 * kPieceBytes, 0);  // where not allowed, copies are slower
  return MeasureIdle();
}

inline void Unpin(Pinned& pinned) {
  for (uint32_t i = 0; i < pinned.count; ++i) api.MemHostUnregister(pinned.at[i]);
  pinned = {};
}

// Page-locks the slots' part of a region, once for all calls whose slots lie the same. Not every
// system allows it: then transfers are slower.
inline void Pin(const Region& region, Pinned& pinned, unsigned flags) {
  if (pinned.complete) return;
  Unpin(pinned);
  const auto page = static_cast<uintptr_t>(Page());
  for (uint32_t i = 0; i < region.spans; ++i) {
    const auto begin = reinterpret_cast<uintptr_t>(region.base + region.offsets[i]);
    const uintptr_t from = begin / page * page;
    const uintptr_t to = (begin + region.sizes[i] + page - 1) / page * page;
    if (from == to) continue;
    if (api.MemHostRegister(reinterpret_cast<void*>(from), to - from, flags) != 0) return;
    pinned.at[pinned.count++] = reinterpret_cast<void*>(from);
  }
  pinned.complete = true;
}

inline bool Prepare() {
  if (!Shows(input_region)) Unpin(pinned_input);
  if (!Shows(output_region)) Unpin(pinned_output);
  return ExposeSlots() && PlaceSlots();
}

inline char* InputOf(const Slot& slot) { return input_region.base + slot.input_offset; }
inline char* OutputOf(const Slot& slot) { return output_region.base + slot.output_offset; }

inline bool Finished(const char* what) { return Ok(api.StreamSynchronize(stream), what); }

inline bool Stage() {
  const bool transfers = control->with_transfers != 0;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < control->slot_count; ++i)
    bytes += control->slots[i].input_size + control->slots[i].output_size;
  if (transfers || bytes >= kWorthPinning) {
    Pin(input_region, pinned_input, cuda::kHostRegisterReadOnly);
    Pin(output_region, pinned_output, 0);
  }
  control->pinned = pinned_input.complete && pinned_output.complete ? 1 : 0;
  for (uint32_t i = 0; i < control->slot_count; ++i) {
    const Slot& slot = control->slots[i];
    const DeviceSlot& here = device_slots[i];
    const CUdeviceptr output = shared_output.at + here.output - kGuard;
    const uint64_t size = slot.output_size + 2 * kGuard;
    if (transfers) {
      // Inputs come from host memory within the clock. Only what the call gives is looked at: one
      // byte of the poison everywhere is as good as all of it, and costs no copy.
      if (!Ok(api.MemsetD8(output, static_cast<unsigned char>(*(OutputOf(slot) - kGuard)), size,
                           stream),
              "poisoning the output"))
        return false;
      continue;
    }
    if ((slot.input_size > 0 && !Ok(api.MemcpyHtoD(staged.at + here.input + InputSkew(slot),
                                                   InputOf(slot), slot.input_size, stream),
                                    "copying the input to the device")) ||
        !Ok(api.MemcpyHtoD(output, OutputOf(slot) - kGuard, size, stream),
            "copying the poison to the device"))
      return false;
  }
  return Finished("copying to the device");
}

inline bool Admit() {
  const bool transfers = control->with_transfers != 0;
  admitted = Now();
  if (!Ok(api.EventRecord(copy_begin[0], stream), "cuEventRecord")) return false;
  for (uint32_t i = 0; i < control->slot_count; ++i) {
    const Slot& slot = control->slots[i];
    if (slot.input_size == 0) continue;
    const uint64_t at = device_slots[i].input + InputSkew(slot);
    const CUresult code =
        transfers ? api.MemcpyHtoD(shared_input.at + at, InputOf(slot), slot.input_size, stream)
                  : api.MemcpyDtoD(shared_input.at + at, staged.at + at, slot.input_size, stream);
    if (!Ok(code, "admitting the input")) return false;
  }
  // The candidate finds nothing of its input in the cache.
  if ((!transfers && !Ok(api.MemsetD8(sweep.at, 0x5a, sweep.size, stream), "sweeping the cache")) ||
      !Ok(api.EventRecord(copy_end[0], stream), "cuEventRecord") ||
      !Finished("admitting the input"))
    return false;
  admission = Now() - admitted;
  return true;
}

// The payloads' places, as they are in `from` now.
inline bool ReadRecords(const Buffer& from) {
  for (uint32_t i = 0; i < control->slot_count; ++i) {
    szarena_payload& payload = control->slots[i].payload;
    if (!Ok(api.MemcpyDtoH(&payload, from.at + device_slots[i].payload, sizeof payload, stream),
            "copying the payload's size"))
      return false;
  }
  return Finished("copying the payload's size");
}

inline bool Collect() {
  const double begin = Now();
  const bool transfers = control->with_transfers != 0;
  const bool forward = static_cast<CallKind>(control->kind) == CallKind::kForward;
  if (!Ok(api.EventRecord(copy_begin[1], stream), "cuEventRecord")) return false;
  if (forward && transfers && !ReadRecords(shared_output)) return false;
  for (uint32_t i = 0; i < control->slot_count && transfers; ++i) {
    const Slot& slot = control->slots[i];
    uint64_t offset = 0;
    uint64_t size = slot.output_size;
    if (forward) {
      const szarena_payload& payload = slot.payload;
      // Else the judge says what is wrong.
      if (payload.offset > size || payload.size > size - payload.offset) continue;
      offset = payload.offset;
      size = payload.size;
    }
    if (size > 0 &&
        !Ok(api.MemcpyDtoH(OutputOf(slot) + offset,
                           shared_output.at + device_slots[i].output + offset, size, stream),
            "copying the output"))
      return false;
  }
  // All of it at once, with guards and records.
  if (!transfers && !Ok(api.MemcpyDtoD(collected.at, shared_output.at, shared_output.size, stream),
                        "collecting the output"))
    return false;
  if (!Ok(api.EventRecord(copy_end[1], stream), "cuEventRecord") ||
      !Finished("collecting the output"))
    return false;
  const double end = Now();
  control->window_seconds = end - admitted;
  control->copy_seconds = 0;
  for (int i = 0; i < 2; ++i) {
    float milliseconds = 0;
    if (!Ok(api.EventElapsedTime(&milliseconds, copy_begin[i], copy_end[i]), "cuEventElapsedTime"))
      return false;
    control->copy_seconds += 1e-3 * static_cast<double>(milliseconds);
  }
  control->wait_seconds = admission + (end - begin) - control->copy_seconds;
  return true;
}

// Whether the input on the device is still what was put there.
inline bool CompareInput(const Slot& slot, const DeviceSlot& here) {
  const uint64_t count = (slot.input_size + kPieceBytes - 1) / kPieceBytes;
  const auto size_of = [&](uint64_t k) {
    return std::min<uint64_t>(kPieceBytes, slot.input_size - k * kPieceBytes);
  };
  const auto request = [&](uint64_t k) {
    return k >= count ||
           (Ok(api.MemcpyDtoH(pieces + k % 2 * kPieceBytes,
                              shared_input.at + here.input + InputSkew(slot) + k * kPieceBytes,
                              size_of(k), stream),
               "reading the input back") &&
            Ok(api.EventRecord(arrived[k % 2], stream), "cuEventRecord"));
  };
  if (!request(0)) return false;
  for (uint64_t k = 0; k < count; ++k) {
    if (!request(k + 1) || !Ok(api.EventSynchronize(arrived[k % 2]), "reading the input back"))
      return false;
    if (memcmp(pieces + k % 2 * kPieceBytes, InputOf(slot) + k * kPieceBytes, size_of(k)) != 0)
      control->input_changed = 1;
  }
  return true;
}

inline bool Fetch() {
  const bool forward = static_cast<CallKind>(control->kind) == CallKind::kForward;
  control->input_changed = 0;
  if (forward && !ReadRecords(collected)) return false;
  for (uint32_t i = 0; i < control->slot_count; ++i) {
    const Slot& slot = control->slots[i];
    const DeviceSlot& here = device_slots[i];
    if (!Ok(api.MemcpyDtoH(OutputOf(slot) - kGuard, collected.at + here.output - kGuard,
                           slot.output_size + 2 * kGuard, stream),
            "copying the output") ||
        !CompareInput(slot, here))
      return false;
  }
  return Finished("copying the output");
}

inline bool Run(Command command) {
  switch (command) {
    case Command::kOpen:
      return Open();
    case Command::kPrepare:
      return Prepare();
    case Command::kStage:
      return Stage();
    case Command::kAdmit:
      return Admit();
    case Command::kCollect:
      return Collect();
    case Command::kFetch:
      return Fetch();
    case Command::kLoad:
    case Command::kCall:
      break;
  }
  return Refuse("unknown command");
}

}  // namespace szarena::target::driver::keeper
