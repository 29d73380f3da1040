// SPDX-License-Identifier: Apache-2.0
// Resampling with replacement.
#include "stats/bootstrap.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "stats/summary.h"

namespace szarena::stats {
namespace {

// SplitMix64 (Steele, Lea and Flood 2014): the same numbers whatever the standard library.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  // Uniform in [0, bound), without bias: draws beyond the last whole multiple are thrown away.
  size_t Below(size_t bound) {
    const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    uint64_t draw = Next();
    while (draw >= limit) draw = Next();
    return static_cast<size_t>(draw % bound);
  }

 private:
  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }
  uint64_t state_;
};

double ResampledMedian(std::span<const double> values, Random& random,
                       std::vector<double>& buffer) {
  buffer.resize(values.size());
  for (double& slot : buffer) slot = values[random.Below(values.size())];
  const size_t middle = buffer.size() / 2;
  const auto at = buffer.begin() + static_cast<std::ptrdiff_t>(middle);
  std::nth_element(buffer.begin(), at, buffer.end());
  if (buffer.size() % 2 == 1) return *at;
  return (*at + *std::max_element(buffer.begin(), at)) / 2;
}

Interval Middle95(const std::vector<double>& statistics) {
  return {*Quantile(statistics, 0.025), *Quantile(statistics, 0.975)};
}

}  // namespace

std::optional<Interval> BootstrapMedian(std::span<const double> values,
                                        const BootstrapOptions& options) {
  SZARENA_CHECK(options.resamples > 0, "at least one resample");
  if (values.size() < 2) return std::nullopt;
  Random random(options.seed);
  std::vector<double> buffer;
  std::vector<double> medians(static_cast<size_t>(options.resamples));
  for (double& median : medians) median = ResampledMedian(values, random, buffer);
  return Middle95(medians);
}

std::optional<Interval> BootstrapMedianRatio(std::span<const double> numerator,
                                             std::span<const double> denominator,
                                             const BootstrapOptions& options) {
  SZARENA_CHECK(options.resamples > 0, "at least one resample");
  if (numerator.size() < 2 || denominator.size() < 2) return std::nullopt;
  for (const double value : denominator) {
    if (!(value > 0)) return std::nullopt;
  }
  Random random(options.seed);
  std::vector<double> buffer;
  std::vector<double> ratios(static_cast<size_t>(options.resamples));
  for (double& ratio : ratios) {
    const double top = ResampledMedian(numerator, random, buffer);
    ratio = top / ResampledMedian(denominator, random, buffer);
  }
  return Middle95(ratios);
}

}  // namespace szarena::stats
