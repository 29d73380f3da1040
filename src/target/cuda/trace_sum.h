// SPDX-License-Identifier: Apache-2.0
// TraceSum: from CUPTI's activity records to the trace page. Included by the driver program, and by
// tests for what it makes of damaged records.
#pragma once

#include <cxxabi.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "target/cuda/cupti_api.h"
#include "target/trace.h"

namespace szarena::target::cuda {

// The driver clears so many bytes to this value before each call and after the last: where one of
// those is missing, records of the calls may be missing, too.
inline constexpr uint64_t kMarkBytes = 61;
inline constexpr uint8_t kMarkValue = 0xa7;

// Adds up records in a page.
class TraceSum {
 public:
  explicit TraceSum(TracePage* page = nullptr) : page_(page) {}

  void Reset() {
    page_->state = static_cast<uint32_t>(TraceState::kNothing);
    page_->message[0] = '\0';
    page_->launches = 0;
    page_->nanoseconds = 0;
    page_->kernel_count = 0;
    memset(page_->transfers, 0, sizeof page_->transfers);
    marks_ = 0;
    failed_ = false;
  }

  [[gnu::format(printf, 2, 3)]] void Fail(const char* format, ...) {
    if (failed_) return;  // the first reason is the one
    failed_ = true;
    page_->state = static_cast<uint32_t>(TraceState::kFailed);
    va_list args;
    va_start(args, format);
    vsnprintf(page_->message, sizeof page_->message, format, args);
    va_end(args);
  }
  // Everything that ran has been added.
  void Complete() {
    if (!failed_) page_->state = static_cast<uint32_t>(TraceState::kComplete);
  }
  bool failed() const { return failed_; }
  uint64_t marks() const { return marks_; }

  // One record with `left` bytes from its first to the end of what is valid in its buffer. Kinds
  // that were not asked for are passed over.
  void Add(const void* record, size_t left) {
    uint32_t kind = 0;
    if (!Read(record, left, kind)) return;
    if (kind == kActivityKernel || kind == kActivityConcurrentKernel) {
      KernelRecord kernel;
      uint64_t time = 0;
      if (Read(record, left, kernel) && Duration(kernel, time)) AddKernel(kernel, time);
    } else if (kind == kActivityMemcpy) {
      MemcpyRecord copy;
      uint64_t time = 0;
      if (!Read(record, left, copy) || !Duration(copy, time)) return;
      const Transfer transfer = copy.copy_kind == kCopyHostToDevice     ? Transfer::kToDevice
                                : copy.copy_kind == kCopyDeviceToHost   ? Transfer::kFromDevice
                                : copy.copy_kind == kCopyDeviceToDevice ? Transfer::kOnDevice
                                                                        : Transfer::kOther;
      AddTransfer(transfer, copy.bytes, time);
    } else if (kind == kActivityMemset) {
      MemsetRecord set;
      uint64_t time = 0;
      if (!Read(record, left, set)) return;
      if (set.bytes == kMarkBytes && (set.value & 0xff) == kMarkValue) {
        ++marks_;
      } else if (Duration(set, time)) {
        AddTransfer(Transfer::kSet, set.bytes, time);
      }
    }
  }

 private:
  template <typename T>
  bool Read(const void* record, size_t left, T& value) {
    if (left < sizeof value) {
      Fail("a record was cut short: %zu of its first %zu bytes", left, sizeof value);
      return false;
    }
    memcpy(&value, record, sizeof value);
    return true;
  }

  template <typename T>
  bool Duration(const T& record, uint64_t& nanoseconds) {
    constexpr uint64_t kHour = 3600ull * 1000 * 1000 * 1000;
    if (record.start == 0 || record.end < record.start || record.end - record.start > kHour) {
      Fail("a record has no usable time: from %llu to %llu ns",
           static_cast<unsigned long long>(record.start),
           static_cast<unsigned long long>(record.end));
      return false;
    }
    nanoseconds = record.end - record.start;
    return true;
  }

  void AddKernel(const KernelRecord& record, uint64_t time) {
    page_->launches += 1;
    page_->nanoseconds += time;
    for (uint32_t i = 0; i < page_->kernel_count; ++i) {
      TracedKernel& known = page_->kernels[i];
      if (names_[i] != record.name || known.registers != record.registers ||
          memcmp(known.grid, record.grid, sizeof known.grid) != 0 ||
          memcmp(known.block, record.block, sizeof known.block) != 0 ||
          known.dynamic_shared_bytes != static_cast<uint32_t>(record.dynamic_shared_bytes))
        continue;
      known.launches += 1;
      known.nanoseconds += time;
      return;
    }
    if (page_->kernel_count == kMaxTracedKernels) return;  // counted in the sums alone
    names_[page_->kernel_count] = record.name;
    TracedKernel& added = page_->kernels[page_->kernel_count++];
    added = {};
    Name(record.name, added.name, sizeof added.name);
    memcpy(added.grid, record.grid, sizeof added.grid);
    memcpy(added.block, record.block, sizeof added.block);
    added.registers = record.registers;
    added.static_shared_bytes = static_cast<uint32_t>(record.static_shared_bytes);
    added.dynamic_shared_bytes = static_cast<uint32_t>(record.dynamic_shared_bytes);
    added.local_bytes = record.local_bytes;
    added.launches = 1;
    added.nanoseconds = time;
  }

  void AddTransfer(Transfer transfer, uint64_t bytes, uint64_t time) {
    TracedTransfers& sum = page_->transfers[static_cast<uint32_t>(transfer)];
    sum.count += 1;
    sum.bytes += bytes;
    sum.nanoseconds += time;
  }

  static void Name(const char* symbol, char* name, size_t size) {
    if (symbol == nullptr) symbol = "(unnamed)";
    int status = 0;
    char* readable = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
    snprintf(name, size, "%s", readable != nullptr ? readable : symbol);
    free(readable);
  }

  TracePage* page_ = nullptr;
  const char* names_[kMaxTracedKernels] = {};  // the same kernel, the same address
  uint64_t marks_ = 0;
  bool failed_ = false;
};

}  // namespace szarena::target::cuda
