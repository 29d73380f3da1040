// SPDX-License-Identifier: Apache-2.0
// How a decompressed array differs from its original. Results do not depend on the number of
// threads.
//
// Elements that are not finite, in either array, take no part in ranges, sums and errors. They are
// kept (NaN stays NaN, an infinity stays the same infinity) or broken; a broken one violates every
// bound. So do fill values: elements of the original that equal `fill` must come back with the same
// value and are left out of everything else.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "codec/core/array.h"

namespace szarena::codec::metrics {

struct Options {
  std::optional<double> eb = std::nullopt;    // absolute bound to count violations of, >= 0
  std::optional<double> fill = std::nullopt;  // rounded to the arrays' type
  std::uint32_t histogram_bins = 64;
  unsigned threads = 1;  // 0: one per processor
};

// Errors e = y - x counted in bins of equal width over [-limit, limit]; a bin holds its lower end,
// the last one both.
struct Histogram {
  double limit = 0;  // the bound where one is given, else the largest error
  std::vector<std::uint64_t> counts;
  std::uint64_t outside = 0;  // |e| > limit
};

struct ErrorStats {
  std::uint64_t n = 0;
  std::uint64_t compared = 0;     // pairs that count: finite, and the original is no fill value
  std::uint64_t fill_values = 0;  // in the original
  std::uint64_t non_finite = 0;   // elements of the original that are NaN or infinite
  std::uint64_t broken =
      0;  // non-finite or fill values that were not kept, finite ones that became non-finite
  std::uint64_t violations =
      0;  // |x - y| > eb exactly, and broken ones; without eb, broken ones alone
  std::uint64_t first_violation = 0;  // index, where violations > 0
  double max_abs_error = 0;           // correctly rounded to f64; infinite where f64 cannot hold it
  std::uint64_t max_abs_error_at = 0;  // first index that has it
  double min = 0, max = 0;  // of the compared elements of the original; 0 where there is none
  double mean_error = 0;
  double rmse = 0;              // root of the mean of squared errors
  std::optional<double> nrmse;  // rmse / (max - min); nothing where max == min
  std::optional<double>
      psnr_db;  // -20 log10(nrmse); nothing where nrmse is 0 (no error at all) or nothing
  std::optional<double> max_error_over_range;  // nothing where max == min
  // Correlation of the errors of neighbours in memory; nothing where all errors are equal.
  std::optional<double> error_autocorrelation;
  Histogram histogram;
};

// Fails with kInvalidArgument where the arrays differ in type or length, or an option has no
// meaning.
Result<ErrorStats> CompareErrors(ConstArray original, ConstArray decompressed,
                                 const Options& options);

// Mean structural similarity (Wang et al. 2004) over all windows of 7 x 7 values (7 in one
// dimension; in three, those of every slice along the slowest one; a shorter dimension shortens the
// window), one value apart, with uniform weights, sample variances, K1 = 0.01, K2 = 0.03 and the
// original's max - min as dynamic range. Windows that hold an element which does not count (see
// above) are left out. Nothing where no window is left or the original's range is 0 (then 1 where
// no value differs). `dims`: 1 to 3 entries, slowest first, whose product is the arrays' length;
// else kInvalidArgument.
Result<std::optional<double>> Ssim(ConstArray original, ConstArray decompressed,
                                   std::span<const std::uint64_t> dims, const Options& options);

}  // namespace szarena::codec::metrics
