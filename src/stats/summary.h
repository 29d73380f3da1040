// SPDX-License-Identifier: Apache-2.0
// Location and spread of a sample. Empty samples have none: the functions return nothing.
#pragma once

#include <optional>
#include <span>

namespace szarena::stats {

struct Quartiles {
  double q1 = 0;
  double median = 0;
  double q3 = 0;
};

// The p-quantile, 0 <= p <= 1, with linear interpolation between order statistics
// (type 7 of Hyndman and Fan; numpy's default). NaN values are a programmer mistake.
std::optional<double> Quantile(std::span<const double> values, double p);
std::optional<double> Median(std::span<const double> values);
std::optional<Quartiles> QuartilesOf(std::span<const double> values);

// exp(mean(log(x))). Nothing where a value is not positive: a speed-up of 0 is a fault upstream
// and must not turn the whole figure into 0.
std::optional<double> GeometricMean(std::span<const double> values);

}  // namespace szarena::stats
