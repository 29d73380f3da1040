// SPDX-License-Identifier: Apache-2.0
// The part of CUPTI's activity API that the driver program uses, found at run time as libcuda is
// (driver_api.h). Names, values, signatures and the places of a record's members are the documented
// ABI; records grow at their end from one version to the next, so only what they begin with is
// read.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "target/cuda/driver_api.h"

namespace szarena::target::cuda {

using CuptiResult = int;                                  // 0: success
inline constexpr CuptiResult kCuptiMaxLimitReached = 12;  // no further record in the buffer
inline constexpr uint32_t kCuptiFlushForced = 1;

// Versions whose records are known to begin as below: those of CUDA 11.0 to 12.9 count up, those of
// 13.0 to 13.5 have the toolkit's version in the number.
constexpr bool KnownCupti(uint32_t version) {
  return (version >= 13 && version <= 28) || (version >= 130000 && version < 130600);
}

// Kinds of record. kConcurrentKernel: kernels are timed as they run, without being kept apart.
inline constexpr uint32_t kActivityMemcpy = 1;
inline constexpr uint32_t kActivityMemset = 2;
inline constexpr uint32_t kActivityKernel = 3;
inline constexpr uint32_t kActivityConcurrentKernel = 10;

// Kinds of copy.
inline constexpr uint8_t kCopyHostToDevice = 1;
inline constexpr uint8_t kCopyDeviceToHost = 2;
inline constexpr uint8_t kCopyDeviceToDevice = 8;

// What records begin with. Times are nanoseconds; 0: not known.
struct KernelRecord {
  uint32_t kind;
  uint8_t cache_config;
  uint8_t shared_memory_config;
  uint16_t registers;
  uint32_t global_cache[2];
  uint64_t start;
  uint64_t end;
  uint64_t completed;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  int32_t grid[3];
  int32_t block[3];
  int32_t static_shared_bytes;
  int32_t dynamic_shared_bytes;
  uint32_t local_bytes;
  uint32_t local_bytes_in_all;
  uint32_t correlation;
  int64_t grid_number;
  const char* name;
};
static_assert(offsetof(KernelRecord, start) == 16 && offsetof(KernelRecord, grid) == 52 &&
              offsetof(KernelRecord, static_shared_bytes) == 76 &&
              offsetof(KernelRecord, name) == 104 && sizeof(KernelRecord) == 112);

struct MemcpyRecord {
  uint32_t kind;
  uint8_t copy_kind;
  uint8_t source_kind;
  uint8_t target_kind;
  uint8_t flags;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
};
struct MemsetRecord {
  uint32_t kind;
  uint32_t value;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
};
static_assert(offsetof(MemcpyRecord, bytes) == 8 && sizeof(MemcpyRecord) == 32);
static_assert(offsetof(MemsetRecord, bytes) == 8 && sizeof(MemsetRecord) == 32);

using CuptiBufferRequested = void (*)(uint8_t** buffer, size_t* size, size_t* most_records);
using CuptiBufferCompleted = void (*)(CUcontext context, uint32_t stream, uint8_t* buffer,
                                      size_t size, size_t valid_size);

// name in our table, symbol in the library, arguments
#define SZARENA_CUPTI_FUNCTIONS(X)                                             \
  X(GetVersion, "cuptiGetVersion", uint32_t*)                                  \
  X(GetResultString, "cuptiGetResultString", CuptiResult, const char**)        \
  X(RegisterCallbacks, "cuptiActivityRegisterCallbacks", CuptiBufferRequested, \
    CuptiBufferCompleted)                                                      \
  X(Enable, "cuptiActivityEnable", uint32_t)                                   \
  X(FlushAll, "cuptiActivityFlushAll", uint32_t)                               \
  X(GetNextRecord, "cuptiActivityGetNextRecord", uint8_t*, size_t, void**)     \
  X(GetNumDropped, "cuptiActivityGetNumDroppedRecords", CUcontext, uint32_t, size_t*)

struct CuptiApi {
#define SZARENA_DECLARE(name, symbol, ...) CuptiResult (*name)(__VA_ARGS__) = nullptr;
  SZARENA_CUPTI_FUNCTIONS(SZARENA_DECLARE)
#undef SZARENA_DECLARE
  uint32_t version = 0;

  // Finds the functions of the library at `path`, or, without a slash in it, where the loader finds
  // it; false, with why in `why`, where one is missing or the version is not known.
  bool Open(const char* path, char* why, size_t why_size) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      snprintf(why, why_size, "%s", dlerror());  // NOLINT(concurrency-mt-unsafe)
      return false;
    }
    void* found = nullptr;
#define SZARENA_FIND(name, symbol, ...)                \
  found = dlsym(library, symbol);                      \
  if (found == nullptr) {                              \
    snprintf(why, why_size, "it has no '%s'", symbol); \
    return false;                                      \
  }                                                    \
  memcpy(static_cast<void*>(&(name)), static_cast<const void*>(&found), sizeof found);
    SZARENA_CUPTI_FUNCTIONS(SZARENA_FIND)
#undef SZARENA_FIND
    if (GetVersion(&version) != 0 || !KnownCupti(version)) {
      snprintf(why, why_size, "the records of CUPTI version %u are not known here", version);
      return false;
    }
    return true;
  }

  const char* Name(CuptiResult code) const {
    const char* name = nullptr;
    return GetResultString(code, &name) == 0 && name != nullptr ? name : "an unknown error";
  }
};

}  // namespace szarena::target::cuda
