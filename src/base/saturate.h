// SPDX-License-Identifier: Apache-2.0
// Sums of counts that stay at the largest value instead of wrapping.
#pragma once

#include <cstdint>
#include <limits>

namespace szarena {

// a + b for counts (not negative); INT64_MAX where that does not fit.
inline int64_t AddCounts(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

}  // namespace szarena
