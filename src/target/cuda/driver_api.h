// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver API that the driver program uses, found at run time: so the program
// is built where there is no CUDA toolkit, and says what is missing where there is no driver.
// Names, values and signatures are the documented ABI.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace szarena::target::cuda {

using CUresult = int;  // 0: success
using CUdevice = int;
using CUdeviceptr = unsigned long long;
struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
using CUcontext = CUctx_st*;
using CUstream = CUstream_st*;
using CUevent = CUevent_st*;

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kHostRegisterReadOnly = 8;
inline constexpr int kAttributeComputeMajor = 75;
inline constexpr int kAttributeComputeMinor = 76;
inline constexpr int kAttributeL2Bytes = 38;
inline constexpr int kAttributeSharesByDescriptor = 103;

// Memory that processes share: CUmemAllocationProp, CUmemAccessDesc and their values.
using CUmemHandle = unsigned long long;
struct CUmemPlace {
  int type;  // CUmemLocationType
  int id;
};
inline constexpr int kPlaceDevice = 1;
struct CUmemProperties {
  int type;             // CUmemAllocationType
  int requested_types;  // CUmemAllocationHandleType
  CUmemPlace place;
  void* win32;
  unsigned char compression;
  unsigned char rdma;
  unsigned short usage;
  unsigned char reserved[4];
};
static_assert(sizeof(CUmemProperties) == 32);
inline constexpr int kAllocationPinned = 1;
inline constexpr int kHandleDescriptor = 1;  // POSIX file descriptor
struct CUmemAccess {
  CUmemPlace place;
  int flags;
};
inline constexpr int kAccessReadWrite = 3;
inline constexpr int kGranularityMinimum = 0;

// name in our table, symbol in the library, arguments
#define SZARENA_CUDA_FUNCTIONS(X)                                                               \
  X(Init, "cuInit", unsigned)                                                                   \
  X(DriverGetVersion, "cuDriverGetVersion", int*)                                               \
  X(DeviceGetCount, "cuDeviceGetCount", int*)                                                   \
  X(DeviceGet, "cuDeviceGet", CUdevice*, int)                                                   \
  X(DeviceGetPciBusId, "cuDeviceGetPCIBusId", char*, int, CUdevice)                             \
  X(DeviceGetName, "cuDeviceGetName", char*, int, CUdevice)                                     \
  X(DeviceGetAttribute, "cuDeviceGetAttribute", int*, int, CUdevice)                            \
  X(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", CUcontext*, CUdevice)                   \
  X(CtxSetCurrent, "cuCtxSetCurrent", CUcontext)                                                \
  X(CtxSynchronize, "cuCtxSynchronize")                                                         \
  X(StreamCreate, "cuStreamCreate", CUstream*, unsigned)                                        \
  X(StreamSynchronize, "cuStreamSynchronize", CUstream)                                         \
  X(EventCreate, "cuEventCreate", CUevent*, unsigned)                                           \
  X(EventRecord, "cuEventRecord", CUevent, CUstream)                                            \
  X(EventSynchronize, "cuEventSynchronize", CUevent)                                            \
  X(EventElapsedTime, "cuEventElapsedTime", float*, CUevent, CUevent)                           \
  X(MemAlloc, "cuMemAlloc_v2", CUdeviceptr*, size_t)                                            \
  X(MemFree, "cuMemFree_v2", CUdeviceptr)                                                       \
  X(MemHostRegister, "cuMemHostRegister_v2", void*, size_t, unsigned)                           \
  X(MemHostUnregister, "cuMemHostUnregister", void*)                                            \
  X(MemcpyHtoD, "cuMemcpyHtoDAsync_v2", CUdeviceptr, const void*, size_t, CUstream)             \
  X(MemcpyDtoH, "cuMemcpyDtoHAsync_v2", void*, CUdeviceptr, size_t, CUstream)                   \
  X(MemcpyDtoD, "cuMemcpyDtoDAsync_v2", CUdeviceptr, CUdeviceptr, size_t, CUstream)             \
  X(MemsetD8, "cuMemsetD8Async", CUdeviceptr, unsigned char, size_t, CUstream)                  \
  X(MemGranularity, "cuMemGetAllocationGranularity", size_t*, const CUmemProperties*, int)      \
  X(MemCreate, "cuMemCreate", CUmemHandle*, size_t, const CUmemProperties*, unsigned long long) \
  X(MemExport, "cuMemExportToShareableHandle", void*, CUmemHandle, int, unsigned long long)     \
  X(MemImport, "cuMemImportFromShareableHandle", CUmemHandle*, void*, int)                      \
  X(MemReserve, "cuMemAddressReserve", CUdeviceptr*, size_t, size_t, CUdeviceptr,               \
    unsigned long long)                                                                         \
  X(MemMap, "cuMemMap", CUdeviceptr, size_t, size_t, CUmemHandle, unsigned long long)           \
  X(MemSetAccess, "cuMemSetAccess", CUdeviceptr, size_t, const CUmemAccess*, size_t)            \
  X(GetErrorName, "cuGetErrorName", CUresult, const char**)

struct DriverApi {
#define SZARENA_DECLARE(name, symbol, ...) CUresult (*name)(__VA_ARGS__) = nullptr;
  SZARENA_CUDA_FUNCTIONS(SZARENA_DECLARE)
#undef SZARENA_DECLARE

  // Finds the functions; false, with why in `why`, where the library or one of them is missing.
  bool Open(char* why, size_t why_size) {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
      snprintf(why, why_size, "no CUDA driver: %s", dlerror());  // NOLINT(concurrency-mt-unsafe)
      return false;
    }
    void* found = nullptr;
#define SZARENA_FIND(name, symbol, ...)                             \
  found = dlsym(library, symbol);                                   \
  if (found == nullptr) {                                           \
    snprintf(why, why_size, "the CUDA driver has no '%s'", symbol); \
    return false;                                                   \
  }                                                                 \
  memcpy(static_cast<void*>(&(name)), static_cast<const void*>(&found), sizeof found);
    SZARENA_CUDA_FUNCTIONS(SZARENA_FIND)
#undef SZARENA_FIND
    return true;
  }

  const char* Name(CUresult code) const {
    const char* name = nullptr;
    return GetErrorName != nullptr && GetErrorName(code, &name) == 0 && name != nullptr
               ? name
               : "an unknown error";
  }
};

}  // namespace szarena::target::cuda
