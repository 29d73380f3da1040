// SPDX-License-Identifier: Apache-2.0
// The page of a driver that is asked where its processor time goes: addresses at which a profiling
// timer found it. Shared memory of its own, so that ordinary runs do not know of it.
#pragma once

#include <cstdint>

namespace szarena::target {

// Descriptor of the page; a driver that was started without it takes no samples.
inline constexpr int kSamplesFd = 8;
inline constexpr uint32_t kMaxSamples = 16384;
inline constexpr long kSampleMicroseconds = 1000;  // of processor time; the kernel may make it more

struct SamplePage {
  uint64_t library_begin;  // where the candidate's library lies
  uint64_t library_end;
  uint32_t count;  // may be more than there is room for
  uint64_t addresses[kMaxSamples];
};

}  // namespace szarena::target
