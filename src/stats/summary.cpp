// SPDX-License-Identifier: Apache-2.0
// Quantiles and means.
#include "stats/summary.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"

namespace szarena::stats {
namespace {

double QuantileOfSorted(std::span<const double> sorted, double p) {
  const double position = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double weight = position - static_cast<double>(below);
  return sorted[below] + (sorted[above] - sorted[below]) * weight;
}

std::vector<double> Sorted(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  for (const double value : sorted) SZARENA_CHECK(!std::isnan(value), "a sample holds no NaN");
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace

std::optional<double> Quantile(std::span<const double> values, double p) {
  SZARENA_CHECK(p >= 0 && p <= 1, "a quantile lies between 0 and 1");
  if (values.empty()) return std::nullopt;
  return QuantileOfSorted(Sorted(values), p);
}

std::optional<double> Median(std::span<const double> values) { return Quantile(values, 0.5); }

std::optional<Quartiles> QuartilesOf(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  const std::vector<double> sorted = Sorted(values);
  return Quartiles{QuantileOfSorted(sorted, 0.25), QuantileOfSorted(sorted, 0.5),
                   QuantileOfSorted(sorted, 0.75)};
}

std::optional<double> GeometricMean(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) {
    if (!(value > 0)) return std::nullopt;
    sum += std::log(value);
  }
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace szarena::stats
