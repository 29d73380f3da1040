// SPDX-License-Identifier: Apache-2.0
// Tracer: CUPTI at work in the driver program. What ran on the device between Begin and End comes
// to the trace page.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <mutex>

#include "target/cuda/cupti_api.h"
#include "target/cuda/trace_sum.h"

namespace szarena::target::cuda {

class Tracer {
 public:
  // Before the device is opened. Where it cannot be, the page says why, and nothing is traced.
  void Start(TracePage* page) {
    sum_ = TraceSum(page);
    sum_.Reset();
    char why[400];
    if (!cupti_.Open(page->library, why, sizeof why)) {
      sum_.Fail("%s: %s", page->library, why);
      return;
    }
    CuptiResult code = cupti_.RegisterCallbacks(Requested, Completed);
    const char* what = "cuptiActivityRegisterCallbacks";
    for (const uint32_t kind : {kActivityConcurrentKernel, kActivityMemcpy, kActivityMemset}) {
      if (code != 0) break;
      what = "cuptiActivityEnable";
      code = cupti_.Enable(kind);
    }
    if (code != 0) sum_.Fail("%s: %s", what, cupti_.Name(code));
    started_ = code == 0;
  }
  bool started() const { return started_; }

  // Forgets what ran until now; the device is idle.
  void Begin() {
    cupti_.FlushAll(kCuptiFlushForced);
    const std::lock_guard lock(mutex_);
    sum_.Reset();
    collecting_ = true;
  }

  // Everything has run, and the driver's own clearings, `marks` of them, among it. Their records
  // may come a moment later.
  void End(uint64_t marks) {
    constexpr int kTries = 200;
    constexpr unsigned kPauseMicroseconds = 5000;
    for (int i = 0; i < kTries && !Came(marks); ++i) usleep(kPauseMicroseconds);
    const std::lock_guard lock(mutex_);
    collecting_ = false;
    size_t dropped = 0;
    if (cupti_.GetNumDropped(nullptr, 0, &dropped) == 0 && dropped > 0)
      sum_.Fail("%zu records were dropped", dropped);
    if (sum_.marks() < marks) {
      sum_.Fail("not every record came: %llu of the driver's %llu marks",
                static_cast<unsigned long long>(sum_.marks()),
                static_cast<unsigned long long>(marks));
    }
    sum_.Complete();
  }

 private:
  bool Came(uint64_t marks) {
    const CuptiResult flushed = cupti_.FlushAll(kCuptiFlushForced);
    const std::lock_guard lock(mutex_);
    if (flushed != 0) sum_.Fail("cuptiActivityFlushAll: %s", cupti_.Name(flushed));
    return sum_.failed() || sum_.marks() >= marks;
  }

  static void Requested(uint8_t** buffer, size_t* size, size_t* most_records);
  static void Completed(CUcontext, uint32_t, uint8_t* buffer, size_t size, size_t valid_size);

  void Parse(uint8_t* buffer, size_t size, size_t valid_size) {
    if (valid_size > size) {
      sum_.Fail("a buffer of %zu bytes came back with %zu", size, valid_size);
      return;
    }
    const uint8_t* last = nullptr;
    void* record = nullptr;
    for (;;) {
      const CuptiResult code = cupti_.GetNextRecord(buffer, valid_size, &record);
      if (code == kCuptiMaxLimitReached || sum_.failed()) return;
      const auto* at = static_cast<const uint8_t*>(record);
      if (code != 0) {
        sum_.Fail("cuptiActivityGetNextRecord: %s", cupti_.Name(code));
        return;
      }
      if (at < buffer || at >= buffer + valid_size || (last != nullptr && at <= last)) {
        sum_.Fail("a record lies outside its buffer");
        return;
      }
      sum_.Add(at, static_cast<size_t>(buffer + valid_size - at));
      last = at;
    }
  }

  CuptiApi cupti_;
  bool started_ = false;
  std::mutex mutex_;  // CUPTI hands buffers over on a thread of its own
  TraceSum sum_;
  bool collecting_ = false;
};

// One in a process: CUPTI's callbacks have no argument of ours.
inline Tracer tracer;

inline void Tracer::Requested(uint8_t** buffer, size_t* size, size_t* most_records) {
  constexpr size_t kBytes = 1u << 20;
  *buffer = static_cast<uint8_t*>(aligned_alloc(16, kBytes));
  *size = *buffer == nullptr ? 0 : kBytes;
  *most_records = 0;  // as many as there is room for
}

inline void Tracer::Completed(CUcontext, uint32_t, uint8_t* buffer, size_t size,
                              size_t valid_size) {
  const std::lock_guard lock(tracer.mutex_);
  if (tracer.collecting_) tracer.Parse(buffer, size, valid_size);
  free(buffer);
}

}  // namespace szarena::target::cuda
