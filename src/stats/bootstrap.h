// SPDX-License-Identifier: Apache-2.0
// Percentile bootstrap with a seeded generator.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace szarena::stats {

struct Interval {
  double low = 0;
  double high = 0;
};

struct BootstrapOptions {
  uint64_t seed = 1;
  int resamples = 10000;
};

// 95% percentile interval of the median. Fewer than 2 values have none.
std::optional<Interval> BootstrapMedian(std::span<const double> values,
                                        const BootstrapOptions& options = {});

// 95% percentile interval of median(numerator) / median(denominator), the two samples resampled
// independently. Nothing where a sample has fewer than 2 values or the denominator holds values
// that are not positive.
std::optional<Interval> BootstrapMedianRatio(std::span<const double> numerator,
                                             std::span<const double> denominator,
                                             const BootstrapOptions& options = {});

}  // namespace szarena::stats
