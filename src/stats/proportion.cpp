// SPDX-License-Identifier: Apache-2.0
// Wilson interval and pass@k.
#include "stats/proportion.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace szarena::stats {

std::optional<Interval> Wilson(int64_t successes, int64_t trials) {
  SZARENA_CHECK(successes >= 0 && successes <= trials, "successes lie within the trials");
  if (trials == 0) return std::nullopt;
  constexpr double kZ = 1.959963984540054;  // 0.975 quantile of the normal distribution
  const auto n = static_cast<double>(trials);
  const double p = static_cast<double>(successes) / n;
  const double scale = 1 + kZ * kZ / n;
  const double centre = (p + kZ * kZ / (2 * n)) / scale;
  const double half = kZ / scale * std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n));
  return Interval{successes == 0 ? 0 : std::max(0.0, centre - half),
                  successes == trials ? 1 : std::min(1.0, centre + half)};
}

std::optional<double> PassAtK(int64_t n, int64_t correct, int64_t k) {
  SZARENA_CHECK(correct >= 0 && correct <= n, "correct samples lie within all samples");
  if (k < 1 || k > n) return std::nullopt;
  if (n - correct < k) return 1.0;
  double all_wrong = 1;
  for (int64_t i = n - correct + 1; i <= n; ++i) {
    all_wrong *= 1 - static_cast<double>(k) / static_cast<double>(i);
  }
  return 1 - all_wrong;
}

}  // namespace szarena::stats
