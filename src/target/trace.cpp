// SPDX-License-Identifier: Apache-2.0
#include "target/trace.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace szarena::target {
namespace {

template <size_t N>
std::string Text(const char (&text)[N]) {
  return std::string(text, strnlen(text, N));
}

double Seconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

bool SameShape(const Trace::Kernel& a, const Trace::Kernel& b) {
  return a.name == b.name && a.grid == b.grid && a.block == b.block && a.registers == b.registers &&
         a.static_shared_bytes == b.static_shared_bytes &&
         a.dynamic_shared_bytes == b.dynamic_shared_bytes && a.local_bytes == b.local_bytes;
}

}  // namespace

Trace ReadTrace(const TracePage& page) {
  Trace trace;
  const auto state = static_cast<TraceState>(page.state);
  if (state != TraceState::kComplete) {
    if (state == TraceState::kFailed) trace.failure = Text(page.message);
    if (trace.failure.empty()) trace.failure = "the process said nothing about its kernels";
    return trace;
  }
  if (page.launches == 0 || page.nanoseconds == 0) {
    trace.failure = "no kernel ran";
    return trace;
  }
  trace.runs = 1;
  trace.launches = page.launches;
  trace.seconds = Seconds(page.nanoseconds);
  const uint32_t count = std::min(page.kernel_count, kMaxTracedKernels);
  for (const TracedKernel& kernel : std::span(page.kernels, count)) {
    trace.kernels.push_back({Text(kernel.name), std::to_array(kernel.grid),
                             std::to_array(kernel.block), kernel.registers,
                             kernel.static_shared_bytes, kernel.dynamic_shared_bytes,
                             kernel.local_bytes, kernel.launches, Seconds(kernel.nanoseconds)});
  }
  for (size_t i = 0; i < kTransferCount; ++i) {
    const TracedTransfers& from = page.transfers[i];
    trace.transfers[i] = {from.count, from.bytes, Seconds(from.nanoseconds)};
  }
  return trace;
}

void AddTrace(Trace& sum, const Trace& run) {
  sum.runs += run.runs;
  sum.launches += run.launches;
  sum.seconds += run.seconds;
  for (const Trace::Kernel& kernel : run.kernels) {
    const auto same = std::ranges::find_if(
        sum.kernels, [&](const Trace::Kernel& known) { return SameShape(known, kernel); });
    if (same == sum.kernels.end()) {
      sum.kernels.push_back(kernel);
    } else {
      same->launches += kernel.launches;
      same->seconds += kernel.seconds;
    }
  }
  for (size_t i = 0; i < kTransferCount; ++i) {
    sum.transfers[i].count += run.transfers[i].count;
    sum.transfers[i].bytes += run.transfers[i].bytes;
    sum.transfers[i].seconds += run.transfers[i].seconds;
  }
}

}  // namespace szarena::target
