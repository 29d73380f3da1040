// SPDX-License-Identifier: Apache-2.0
#include "codec/metrics/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "codec/core/accept.h"
#include "codec/core/float_env.h"
#include "codec/core/parallel.h"
#include "codec/core/size.h"
#include "codec/metrics/counting.h"

namespace szarena::codec::metrics {
namespace {

constexpr std::uint64_t kChunk = 1 << 16;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What one chunk contributes; chunks are joined in order.
struct Partial {
  std::uint64_t compared = 0, fill_values = 0, non_finite = 0, broken = 0, violations = 0;
  std::uint64_t first_violation = std::numeric_limits<std::uint64_t>::max();
  double max_abs_error = -1;
  std::uint64_t max_abs_error_at = 0;
  double min = kInfinity, max = -kInfinity;
  double error_sum = 0, square_sum = 0;
};

// What needs the first pass's mean and limit.
struct SecondPartial {
  double variance_sum = 0, product_sum = 0;
  std::uint64_t outside = 0;
  std::vector<std::uint64_t> counts;
};

template <Real T>
Partial FirstPass(const Pairs<T>& pairs, std::uint64_t first, std::uint64_t last,
                  std::optional<double> eb) {
  Partial p;
  for (std::uint64_t i = first; i < last; ++i) {
    const auto pair = pairs.At(i);
    p.fill_values += pair.is_fill;
    p.non_finite += pair.original_non_finite;
    bool violation = pair.broken;
    if (pair.counts) {
      ++p.compared;
      p.min = std::min(p.min, pair.x);
      p.max = std::max(p.max, pair.x);
      const double error = pair.y - pair.x;
      const double magnitude = std::abs(error);
      if (magnitude > p.max_abs_error) {
        p.max_abs_error = magnitude;
        p.max_abs_error_at = i;
      }
      p.error_sum += error;
      p.square_sum += error * error;
      violation = eb && !WithinBound<double>(pair.x, pair.y, *eb);
    } else {
      p.broken += pair.broken;
    }
    if (violation && p.violations++ == 0) p.first_violation = i;
  }
  return p;
}

template <Real T>
SecondPartial SecondPass(const Pairs<T>& pairs, std::uint64_t first, std::uint64_t last,
                         std::uint64_t n, double mean, double limit, std::uint32_t bins) {
  SecondPartial p;
  p.counts.resize(bins);
  for (std::uint64_t i = first; i < last; ++i) {
    const auto pair = pairs.At(i);
    if (!pair.counts) continue;
    const double error = pair.y - pair.x;
    const double deviation = error - mean;
    p.variance_sum += deviation * deviation;
    if (i + 1 < n) {
      const auto next = pairs.At(i + 1);
      if (next.counts) p.product_sum += deviation * ((next.y - next.x) - mean);
    }
    if (!(std::abs(error) <= limit)) {
      ++p.outside;
    } else {
      // In [0, 1]; a limit of 0 puts everything in the middle.
      const double place = limit > 0 ? error / limit / 2 + 0.5 : 0.5;
      ++p.counts[std::min<std::uint64_t>(static_cast<std::uint64_t>(place * bins), bins - 1)];
    }
  }
  return p;
}

template <Real T>
ErrorStats CompareTyped(ConstArray original, ConstArray decompressed, const Options& options) {
  const Pairs<T> pairs(original, decompressed, options.fill);
  const std::uint64_t n = original.count;
  const std::uint64_t chunks = CeilDiv(n, kChunk);
  std::vector<Partial> partials(chunks);
  ForEachChunk(options.threads, chunks, [&](std::uint64_t c) {
    partials[c] = FirstPass<T>(pairs, c * kChunk, std::min(n, (c + 1) * kChunk), options.eb);
  });
  Partial all;
  for (const Partial& p : partials) {
    all.compared += p.compared;
    all.fill_values += p.fill_values;
    all.non_finite += p.non_finite;
    all.broken += p.broken;
    all.violations += p.violations;
    all.first_violation = std::min(all.first_violation, p.first_violation);
    if (p.max_abs_error > all.max_abs_error) {
      all.max_abs_error = p.max_abs_error;
      all.max_abs_error_at = p.max_abs_error_at;
    }
    all.min = std::min(all.min, p.min);
    all.max = std::max(all.max, p.max);
    all.error_sum += p.error_sum;
    all.square_sum += p.square_sum;
  }

  ErrorStats stats;
  stats.n = n;
  stats.compared = all.compared;
  stats.fill_values = all.fill_values;
  stats.non_finite = all.non_finite;
  stats.broken = all.broken;
  stats.violations = all.violations;
  stats.first_violation = all.violations > 0 ? all.first_violation : 0;
  stats.histogram.counts.resize(options.histogram_bins);
  if (all.compared == 0) {
    stats.histogram.limit = options.eb.value_or(0);
    return stats;
  }
  const auto compared = static_cast<double>(all.compared);
  stats.max_abs_error = all.max_abs_error;
  stats.max_abs_error_at = all.max_abs_error_at;
  stats.min = all.min;
  stats.max = all.max;
  stats.mean_error = all.error_sum / compared;
  stats.rmse = std::sqrt(all.square_sum / compared);
  const double half_range = all.max / 2 - all.min / 2;  // the range itself may not fit f64
  if (half_range > 0) {
    stats.nrmse = stats.rmse / half_range / 2;
    stats.max_error_over_range = stats.max_abs_error / half_range / 2;
    if (*stats.nrmse > 0) stats.psnr_db = -20 * std::log10(*stats.nrmse);
  }

  stats.histogram.limit = options.eb.value_or(stats.max_abs_error);
  std::vector<SecondPartial> seconds(chunks);
  ForEachChunk(options.threads, chunks, [&](std::uint64_t c) {
    seconds[c] = SecondPass<T>(pairs, c * kChunk, std::min(n, (c + 1) * kChunk), n,
                               stats.mean_error, stats.histogram.limit, options.histogram_bins);
  });
  double variance_sum = 0;
  double product_sum = 0;
  for (const SecondPartial& p : seconds) {
    variance_sum += p.variance_sum;
    product_sum += p.product_sum;
    stats.histogram.outside += p.outside;
    for (std::uint32_t b = 0; b < options.histogram_bins; ++b)
      stats.histogram.counts[b] += p.counts[b];
  }
  if (variance_sum > 0 && std::isfinite(variance_sum))
    stats.error_autocorrelation = product_sum / variance_sum;
  return stats;
}

}  // namespace

Result<void> CheckPair(ConstArray original, ConstArray decompressed) {
  if (original.dtype != decompressed.dtype) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("arrays differ in type: {} and {}", DTypeName(original.dtype),
                            DTypeName(decompressed.dtype)));
  }
  if (original.count != decompressed.count) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("arrays differ in length: {} and {} elements", original.count,
                            decompressed.count));
  }
  return {};
}

Result<ErrorStats> CompareErrors(ConstArray original, ConstArray decompressed,
                                 const Options& options) {
  SZARENA_TRY_VOID(CheckPair(original, decompressed));
  if (options.eb && !(*options.eb >= 0)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("error bound is {}, expected a number >= 0", *options.eb));
  }
  if (options.histogram_bins < 1)
    return Fail(ErrorCode::kInvalidArgument, "a histogram needs at least one bin");
  const DefaultFloatEnv float_env;
  return original.dtype == DType::kF32 ? CompareTyped<float>(original, decompressed, options)
                                       : CompareTyped<double>(original, decompressed, options);
}

}  // namespace szarena::codec::metrics
