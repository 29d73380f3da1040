// SPDX-License-Identifier: Apache-2.0
// What ran on the device during one command of calls, as the device's tracing library tells it in
// the candidate's process: a claim. The page is shared memory of its own, so that ordinary runs do
// not know of it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace szarena::target {

// Descriptor of the page, where Control's `trace` says that there is one.
inline constexpr int kTraceFd = 9;
inline constexpr uint32_t kMaxTracedKernels = 128;

enum class TraceState : uint32_t {
  kNothing = 0,
  kComplete = 1,  // everything that ran during the calls is in the page
  kFailed = 2,    // `message` says why there are no figures
};

// Launches of one kernel in one shape.
struct TracedKernel {
  char name[256];  // readable, cut
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t registers;             // of a thread
  uint32_t static_shared_bytes;   // of a block
  uint32_t dynamic_shared_bytes;  // of a block
  uint32_t local_bytes;           // of a thread
  uint64_t launches;
  uint64_t nanoseconds;  // of all of them
};

enum class Transfer : uint32_t { kToDevice, kFromDevice, kOnDevice, kOther, kSet };
inline constexpr uint32_t kTransferCount = 5;
constexpr std::string_view TransferName(uint32_t transfer) {
  constexpr std::array<std::string_view, kTransferCount> kNames = {
      "copy-to-device", "copy-from-device", "copy-on-device", "copy-other", "set"};
  return kNames[transfer];
}
struct TracedTransfers {
  uint64_t count;
  uint64_t bytes;
  uint64_t nanoseconds;
};

struct TracePage {
  char library[512];  // the tracing library as the driver is to open it
  // answers, of the last command of calls
  uint32_t state;  // TraceState
  char message[512];
  uint64_t launches;     // of all kernels, those without room below too
  uint64_t nanoseconds;  // the sum of the kernels' own durations
  uint32_t kernel_count;
  TracedKernel kernels[kMaxTracedKernels];
  TracedTransfers transfers[kTransferCount];
};

// The same, copied from the page and fit for use: counts within their limits, texts ended.
struct Trace {
  std::string failure;  // empty: the figures below hold
  uint64_t runs = 0;    // commands that are summed up here
  uint64_t launches = 0;
  double seconds = 0;  // of kernels
  struct Kernel {
    std::string name;
    std::array<uint32_t, 3> grid = {};
    std::array<uint32_t, 3> block = {};
    uint32_t registers = 0;
    uint32_t static_shared_bytes = 0;
    uint32_t dynamic_shared_bytes = 0;
    uint32_t local_bytes = 0;
    uint64_t launches = 0;
    double seconds = 0;
  };
  struct Transfers {
    uint64_t count = 0;
    uint64_t bytes = 0;
    double seconds = 0;
  };
  std::vector<Kernel> kernels;
  std::array<Transfers, kTransferCount> transfers = {};
};

Trace ReadTrace(const TracePage& page);
// Adds another run's figures.
void AddTrace(Trace& sum, const Trace& run);

}  // namespace szarena::target
