// SPDX-License-Identifier: Apache-2.0
// Test fixture: a library with CUPTI's names that makes records of what host_cuda.cpp tells it.
// SZARENA_HOST_CUPTI names what is wrong with it: "version", "refuses", "never" (nothing is handed
// over), "late" (not at the first request), "cut" (the last record), "outside", "backwards" (time),
// "dropped".
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "target/cuda/cupti_api.h"
#include "target/cuda/testing/host_activity.h"

#define HOST_CUPTI extern "C" __attribute__((visibility("default"))) int

namespace {

using szarena::target::cuda::KernelRecord;
using szarena::target::cuda::MemcpyRecord;
using szarena::target::cuda::MemsetRecord;

bool Wrong(const char* how) {
  const char* given = getenv("SZARENA_HOST_CUPTI");  // NOLINT(concurrency-mt-unsafe)
  return given != nullptr && strcmp(given, how) == 0;
}

szarena::target::cuda::CuptiBufferRequested requested = nullptr;
szarena::target::cuda::CuptiBufferCompleted completed = nullptr;
std::vector<szarena_host_activity> activities;
int flushes = 0;

// Records are longer than what is known of them, as the real ones are.
constexpr size_t kRecordBytes = sizeof(KernelRecord) + 104;

void Write(const szarena_host_activity& activity, uint8_t* to) {
  memset(to, 0x5a, kRecordBytes);
  static uint64_t now = 1000000;
  const uint64_t start = now;
  now += activity.nanoseconds;
  const uint64_t end = Wrong("backwards") && activity.kind == 10 ? start - 1 : now;
  if (activity.kind == 10) {
    KernelRecord record = {};
    record.kind = activity.kind;
    record.registers = 40;
    record.start = start;
    record.end = end;
    record.grid[0] = 132;
    record.grid[1] = record.grid[2] = 1;
    record.block[0] = 256;
    record.block[1] = record.block[2] = 1;
    record.static_shared_bytes = 1024;
    record.dynamic_shared_bytes = 2048;
    record.name = activity.name;
    memcpy(to, &record, sizeof record);
  } else if (activity.kind == 1) {
    const MemcpyRecord record = {
        activity.kind, static_cast<uint8_t>(activity.detail), 0, 0, 0, activity.bytes, start, end};
    memcpy(to, &record, sizeof record);
  } else {
    const MemsetRecord record = {activity.kind, activity.detail, activity.bytes, start, end};
    memcpy(to, &record, sizeof record);
  }
}

}  // namespace

HOST_CUPTI cuptiGetVersion(uint32_t* version) {
  return *version = Wrong("version") ? 990000 : 130001, 0;
}
HOST_CUPTI cuptiGetResultString(int, const char** text) { return *text = "CUPTI_ERROR", 0; }
HOST_CUPTI cuptiActivityRegisterCallbacks(szarena::target::cuda::CuptiBufferRequested request,
                                          szarena::target::cuda::CuptiBufferCompleted complete) {
  requested = request;
  completed = complete;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  void* found = driver == nullptr ? nullptr : dlsym(driver, "szarena_host_observe");
  if (found == nullptr) return 15;
  int (*observe)(szarena_host_observer) = nullptr;
  memcpy(static_cast<void*>(&observe), static_cast<const void*>(&found), sizeof found);
  return observe([](const szarena_host_activity& activity) { activities.push_back(activity); });
}
HOST_CUPTI cuptiActivityEnable(uint32_t) { return Wrong("refuses") ? 15 : 0; }
HOST_CUPTI cuptiActivityFlushAll(uint32_t) {
  if (Wrong("never") || (Wrong("late") && ++flushes % 3 != 0)) return 0;
  size_t next = 0;
  while (next < activities.size()) {
    uint8_t* buffer = nullptr;
    size_t size = 0;
    size_t most = 0;
    requested(&buffer, &size, &most);
    size_t used = 0;
    // Small buffers, so that there are several.
    while (next < activities.size() && used + kRecordBytes <= size && used < 8 * kRecordBytes) {
      Write(activities[next++], buffer + used);
      used += kRecordBytes;
    }
    if (Wrong("cut")) used -= kRecordBytes - 20;
    completed(nullptr, 0, buffer, size, used);
  }
  activities.clear();
  return 0;
}
HOST_CUPTI cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, void** record) {
  uint8_t* next = *record == nullptr ? buffer : static_cast<uint8_t*>(*record) + kRecordBytes;
  if (next >= buffer + valid) return 12;
  *record = Wrong("outside") ? buffer + valid + 64 : next;
  return 0;
}
HOST_CUPTI cuptiActivityGetNumDroppedRecords(void*, uint32_t, size_t* dropped) {
  return *dropped = Wrong("dropped") ? 3 : 0, 0;
}
