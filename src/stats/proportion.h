// SPDX-License-Identifier: Apache-2.0
// Success rates: interval and pass@k.
#pragma once

#include <cstdint>
#include <optional>

#include "stats/bootstrap.h"

namespace szarena::stats {

// 95% Wilson score interval of successes / trials (Wilson 1927), without continuity correction.
// No trials have none. 0 <= successes <= trials.
std::optional<Interval> Wilson(int64_t successes, int64_t trials);

// Unbiased estimate of the chance that at least one of k draws is right, given `correct` of n
// samples: 1 - C(n - c, k) / C(n, k) (Chen et al. 2021). Nothing where k > n or k < 1.
std::optional<double> PassAtK(int64_t n, int64_t correct, int64_t k);

}  // namespace szarena::stats
