// SPDX-License-Identifier: Apache-2.0
// Test fixture: a library with the CUDA driver's names that computes on the host. "Device memory"
// is host memory behind inaccessible pages, so that a candidate of the tests (plain C++) runs
// through the real driver program and protocol. What such a candidate says that it launched
// (szarena_host_launch) and what is copied and cleared is told to host_cupti.cpp.
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "target/cuda/testing/host_activity.h"

#define HOST_CUDA extern "C" __attribute__((visibility("default"))) int

namespace {
struct Event {
  std::chrono::steady_clock::time_point at;
};
constexpr size_t kHeader = 4096;
void* Host(unsigned long long at) { return reinterpret_cast<void*>(at); }

szarena_host_observer observer = nullptr;
void Tell(uint32_t kind, uint64_t bytes, uint32_t detail, const char* name = nullptr,
          uint64_t nanoseconds = 1000) {
  if (observer != nullptr) observer({kind, detail, bytes, nanoseconds, name});
}
}  // namespace

HOST_CUDA szarena_host_observe(szarena_host_observer given) { return observer = given, 0; }
HOST_CUDA szarena_host_launch(const char* name, uint64_t nanoseconds) {
  return Tell(10, 0, 0, name, nanoseconds), 0;
}

HOST_CUDA cuInit(unsigned) {
  return getenv("SZARENA_HOST_CUDA_FAILS") != nullptr ? 100 : 0;
}  // NOLINT(concurrency-mt-unsafe)
HOST_CUDA cuDriverGetVersion(int* version) { return *version = 13000, 0; }
HOST_CUDA cuDeviceGetCount(int* count) { return *count = 1, 0; }
HOST_CUDA cuDeviceGet(int* device, int) { return *device = 0, 0; }
HOST_CUDA cuDeviceGetPCIBusId(char* id, int size, int) {
  return snprintf(id, static_cast<size_t>(size), "0000:00:00.0"), 0;
}
HOST_CUDA cuDeviceGetName(char* name, int size, int) {
  return snprintf(name, static_cast<size_t>(size), "host fixture"), 0;
}
HOST_CUDA cuDeviceGetAttribute(int* value, int which, int) {
  if (which == 103)
    return *value = getenv("SZARENA_HOST_CUDA_KEEPS") == nullptr ? 1 : 0,
           0;  // NOLINT(concurrency-mt-unsafe)
  return *value = which == 75 ? 9 : 0, 0;
}
HOST_CUDA cuDevicePrimaryCtxRetain(void** context, int) { return *context = nullptr, 0; }
HOST_CUDA cuCtxSetCurrent(void*) { return 0; }
HOST_CUDA cuCtxSynchronize() { return 0; }
HOST_CUDA cuStreamCreate(void** stream, unsigned) { return *stream = nullptr, 0; }
HOST_CUDA cuStreamSynchronize(void*) { return 0; }
HOST_CUDA cuEventCreate(void** event, unsigned) { return *event = new Event, 0; }
HOST_CUDA cuEventRecord(void* event, void*) {
  return static_cast<Event*>(event)->at = std::chrono::steady_clock::now(), 0;
}
HOST_CUDA cuEventSynchronize(void*) { return 0; }
HOST_CUDA cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  *milliseconds = std::chrono::duration<float, std::milli>(static_cast<Event*>(end)->at -
                                                           static_cast<Event*>(begin)->at)
                      .count();
  return 0;
}
HOST_CUDA cuMemAlloc_v2(unsigned long long* at, size_t size) {
  void* got =
      mmap(nullptr, size + 2 * kHeader, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got == MAP_FAILED) return 2;
  memcpy(got, &size, sizeof size);
  *at = reinterpret_cast<unsigned long long>(got) + kHeader;
  return 0;
}
HOST_CUDA cuMemFree_v2(unsigned long long at) {
  size_t size = 0;
  memcpy(&size, Host(at - kHeader), sizeof size);
  return munmap(Host(at - kHeader), size + 2 * kHeader) == 0 ? 0 : 1;
}
HOST_CUDA cuMemHostRegister_v2(void*, size_t, unsigned) { return 0; }
HOST_CUDA cuMemHostUnregister(void*) { return 0; }
HOST_CUDA cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t size, void*) {
  return Tell(1, size, 1), memcpy(Host(to), from, size), 0;
}
HOST_CUDA cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t size, void*) {
  return Tell(1, size, 2), memcpy(to, Host(from), size), 0;
}
HOST_CUDA cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t size, void*) {
  return Tell(1, size, 8), memcpy(Host(to), Host(from), size), 0;
}
HOST_CUDA cuMemsetD8Async(unsigned long long at, unsigned char value, size_t size, void*) {
  return Tell(2, size, value), memset(Host(at), value, size), 0;
}
HOST_CUDA cuGetErrorName(int code, const char** name) {
  return *name = code == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR", 0;
}
// Memory that processes share: the "handle" is a descriptor of memory of the host.
HOST_CUDA cuMemGetAllocationGranularity(size_t* unit, const void*, int) {
  return *unit = 2u << 20, 0;
}
HOST_CUDA cuMemCreate(unsigned long long* handle, size_t size, const void*, unsigned long long) {
  const int fd = memfd_create("device", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(size)) != 0) return 2;
  return *handle = static_cast<unsigned long long>(fd), 0;
}
HOST_CUDA cuMemExportToShareableHandle(int* fd, unsigned long long handle, int,
                                       unsigned long long) {
  *fd = dup(static_cast<int>(handle));
  return *fd < 0 ? 1 : 0;
}
HOST_CUDA cuMemImportFromShareableHandle(unsigned long long* handle, void* fd, int) {
  const int copy = dup(static_cast<int>(reinterpret_cast<intptr_t>(fd)));
  if (copy < 0) return 1;
  return *handle = static_cast<unsigned long long>(copy), 0;
}
HOST_CUDA cuMemAddressReserve(unsigned long long* at, size_t size, size_t, unsigned long long,
                              unsigned long long) {
  void* got = mmap(nullptr, size + 2 * kHeader, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) return 2;
  return *at = reinterpret_cast<unsigned long long>(got) + kHeader, 0;
}
HOST_CUDA cuMemMap(unsigned long long at, size_t size, size_t, unsigned long long handle,
                   unsigned long long) {
  return mmap(Host(at), size, PROT_NONE, MAP_SHARED | MAP_FIXED, static_cast<int>(handle), 0) ==
                 MAP_FAILED
             ? 1
             : 0;
}
HOST_CUDA cuMemSetAccess(unsigned long long at, size_t size, const void*, size_t) {
  return mprotect(Host(at), size, PROT_READ | PROT_WRITE);
}
