// SPDX-License-Identifier: Apache-2.0
// Mean structural similarity by sums over columns, then over windows.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "codec/core/bound.h"
#include "codec/core/float_env.h"
#include "codec/core/parallel.h"
#include "codec/core/size.h"
#include "codec/metrics/counting.h"
#include "codec/metrics/metrics.h"

namespace szarena::codec::metrics {
namespace {

constexpr std::uint64_t kWindow = 7;

// Sums over some elements of x, y, their squares and product, all relative to a common origin; and
// how many elements do not count.
struct Sums {
  double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  std::uint64_t missing = 0;

  void Add(const Sums& other) {
    x += other.x;
    y += other.y;
    xx += other.xx;
    yy += other.yy;
    xy += other.xy;
    missing += other.missing;
  }
};

struct Mean {
  double sum = 0;
  std::uint64_t windows = 0;
};

// The similarity of one window of `count` elements. `origin` has been subtracted from all values.
double WindowSsim(const Sums& s, double count, double origin, double c1, double c2) {
  const double mean_x = s.x / count;
  const double mean_y = s.y / count;
  const double sample = count > 1 ? count / (count - 1) : 1;
  const double var_x = sample * (s.xx / count - mean_x * mean_x);
  const double var_y = sample * (s.yy / count - mean_y * mean_y);
  const double cov = sample * (s.xy / count - mean_x * mean_y);
  const double ux = mean_x + origin;
  const double uy = mean_y + origin;
  return (2 * ux * uy + c1) * (2 * cov + c2) / ((ux * ux + uy * uy + c1) * (var_x + var_y + c2));
}

template <Real T>
std::optional<double> SsimTyped(ConstArray original, ConstArray decompressed,
                                std::array<std::uint64_t, 3> dims, const Options& options) {
  const Pairs<T> pairs(original, decompressed, options.fill);
  const ValueRange range = FindRange(original, options.fill, options.threads);
  if (range.empty()) return std::nullopt;
  const double span = range.max - range.min;
  if (!(span > 0)) {
    for (std::uint64_t i = 0; i < original.count; ++i) {
      const auto pair = pairs.At(i);
      if (pair.broken || (pair.counts && pair.x != pair.y)) return std::nullopt;
    }
    return 1;
  }
  if (!std::isfinite(span)) return std::nullopt;
  const double origin = range.min + span / 2;
  const double c1 = (0.01 * span) * (0.01 * span);
  const double c2 = (0.03 * span) * (0.03 * span);
  const auto [slices, rows, columns] = dims;
  const std::uint64_t high = std::min(kWindow, rows);
  const std::uint64_t wide = std::min(kWindow, columns);
  const std::uint64_t window_rows = rows - high + 1;
  const auto count = static_cast<double>(high * wide);

  // One row of windows is one piece of work; means are joined in order.
  std::vector<Mean> means(slices * window_rows);
  ForEachChunk(options.threads, means.size(),
               [&, columns = columns, rows = rows](std::uint64_t piece) {
                 const std::uint64_t slice = piece / window_rows;
                 const std::uint64_t row = piece % window_rows;
                 std::vector<Sums> column_sums(columns);
                 for (std::uint64_t r = row; r < row + high; ++r) {
                   for (std::uint64_t c = 0; c < columns; ++c) {
                     const auto pair = pairs.At((slice * rows + r) * columns + c);
                     Sums& sums = column_sums[c];
                     if (!pair.counts) {
                       ++sums.missing;
                       continue;
                     }
                     const double x = pair.x - origin;
                     const double y = pair.y - origin;
                     sums.Add({x, y, x * x, y * y, x * y, 0});
                   }
                 }
                 Mean& mean = means[piece];
                 for (std::uint64_t c = 0; c + wide <= columns; ++c) {
                   Sums sums;
                   for (std::uint64_t k = 0; k < wide; ++k) sums.Add(column_sums[c + k]);
                   if (sums.missing != 0) continue;
                   mean.sum += WindowSsim(sums, count, origin, c1, c2);
                   ++mean.windows;
                 }
               });
  Mean all;
  for (const Mean& mean : means) {
    all.sum += mean.sum;
    all.windows += mean.windows;
  }
  if (all.windows == 0 || !std::isfinite(all.sum)) return std::nullopt;
  return all.sum / static_cast<double>(all.windows);
}

}  // namespace

Result<std::optional<double>> Ssim(ConstArray original, ConstArray decompressed,
                                   std::span<const std::uint64_t> dims, const Options& options) {
  SZARENA_TRY_VOID(CheckPair(original, decompressed));
  std::optional<std::uint64_t> product = 1;
  for (const std::uint64_t dim : dims) product = CheckedMul(product, dim);
  if (dims.empty() || dims.size() > 3 || product != original.count) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("dimensions do not describe an array of {} elements in 1 to 3 dimensions",
                    original.count));
  }
  if (original.count == 0) return std::optional<double>();
  const DefaultFloatEnv float_env;
  std::array<std::uint64_t, 3> padded = {1, 1, 1};
  std::copy(dims.rbegin(), dims.rend(), padded.rbegin());
  return original.dtype == DType::kF32 ? SsimTyped<float>(original, decompressed, padded, options)
                                       : SsimTyped<double>(original, decompressed, padded, options);
}

}  // namespace szarena::codec::metrics
