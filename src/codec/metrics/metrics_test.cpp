// SPDX-License-Identifier: Apache-2.0
#include "codec/metrics/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace szarena::codec::metrics {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

template <Real T>
ConstArray View(const std::vector<T>& values) {
  return ArrayOf<T>(std::span<const T>(values));
}

template <Real T>
ErrorStats Compare(const std::vector<T>& x, const std::vector<T>& y, const Options& options = {}) {
  auto stats = CompareErrors(View(x), View(y), options);
  EXPECT_TRUE(stats) << stats.error().ToString();
  return stats.value_or(ErrorStats{});
}

TEST(Metrics, FiguresByHand) {
  const std::vector<double> x = {0, 1, 2, 10};
  const std::vector<double> y = {0.5, 1, 2, 9.5};
  const auto s = Compare(x, y, {.eb = 0.5, .histogram_bins = 4});
  EXPECT_EQ(s.n, 4U);
  EXPECT_EQ(s.compared, 4U);
  EXPECT_EQ(s.violations, 0U);
  EXPECT_EQ(s.max_abs_error, 0.5);
  EXPECT_EQ(s.max_abs_error_at, 0U);
  EXPECT_EQ(s.min, 0);
  EXPECT_EQ(s.max, 10);
  EXPECT_EQ(s.mean_error, 0);
  EXPECT_DOUBLE_EQ(s.rmse, std::sqrt(0.5 / 4));
  EXPECT_DOUBLE_EQ(*s.nrmse, s.rmse / 10);
  EXPECT_DOUBLE_EQ(*s.psnr_db, 20 * std::log10(10 / s.rmse));
  EXPECT_DOUBLE_EQ(*s.error_autocorrelation, 0);
  EXPECT_EQ(s.histogram.counts, (std::vector<std::uint64_t>{1, 0, 2, 1}));
  EXPECT_EQ(s.histogram.outside, 0U);
}

TEST(Metrics, ViolationsAreExact) {
  // The difference of 1 + 2^-52 and 2^-60 rounds to the bound but is below it; 1 + 2^-52 and -2^-60
  // is above.
  const double one_up = 1 + std::ldexp(1.0, -52);
  const std::vector<double> x = {one_up, one_up};
  EXPECT_EQ(Compare<double>(x, {std::ldexp(1.0, -60), 0}, {.eb = one_up}).violations, 0U);
  const auto s = Compare<double>(x, {0, -std::ldexp(1.0, -60)}, {.eb = one_up});
  EXPECT_EQ(s.violations, 1U);
  EXPECT_EQ(s.first_violation, 1U);
  // f32 against a bound that f32 cannot hold: 1e-3 as f64 is less than 1e-3f.
  EXPECT_EQ(Compare<float>({0}, {1e-3F}, {.eb = 1e-3}).violations, 1U);
  EXPECT_EQ(Compare<float>({0}, {std::nextafter(1e-3F, 0.0F)}, {.eb = 1e-3}).violations, 0U);
  // Nothing may be off by even the smallest amount where the bound is 0.
  EXPECT_EQ(Compare<double>({5e-324}, {0}, {.eb = 0.0}).violations, 1U);
}

TEST(Metrics, NonFiniteValuesAreKeptOrBroken) {
  const std::vector<double> x = {kNan, kInf, -kInf, kNan, kInf, 1, 2};
  const std::vector<double> y = {kNan, kInf, -kInf, 0, -kInf, kNan, 2};
  const auto s = Compare(x, y, {.eb = 1e300});
  EXPECT_EQ(s.non_finite, 5U);
  EXPECT_EQ(s.compared, 1U);
  EXPECT_EQ(s.broken, 3U);
  EXPECT_EQ(s.violations, 3U);
  EXPECT_EQ(s.first_violation, 3U);
  EXPECT_EQ(s.max_abs_error, 0);
  EXPECT_EQ(Compare(x, y).violations, 3U);  // broken without any bound
}

TEST(Metrics, FillValuesAreLeftOut) {
  const std::vector<float> x = {-1e34F, 1, 2, -1e34F};
  const std::vector<float> y = {-1e34F, 1, 2.5F, -1e33F};
  const auto s = Compare(x, y, {.eb = 1, .fill = -1e34});
  EXPECT_EQ(s.fill_values, 2U);
  EXPECT_EQ(s.compared, 2U);
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.broken, 1U);
  EXPECT_EQ(s.violations, 1U);
  EXPECT_EQ(s.max_abs_error, 0.5);
}

TEST(Metrics, NothingToCompareAndNoError) {
  const auto empty = Compare<float>({}, {});
  EXPECT_EQ(empty.compared, 0U);
  EXPECT_FALSE(empty.psnr_db || empty.nrmse || empty.error_autocorrelation);
  const auto same = Compare<float>({1, 2}, {1, 2});
  EXPECT_EQ(same.nrmse, 0.0);
  EXPECT_FALSE(same.psnr_db);
  const auto constant = Compare<float>({1, 1}, {1, 2});
  EXPECT_FALSE(constant.nrmse);
}

TEST(Metrics, RangeBeyondF64) {
  const double huge = std::numeric_limits<double>::max();
  const auto s = Compare<double>({-huge, huge}, {-huge, huge});
  EXPECT_EQ(s.nrmse, 0.0);
  EXPECT_EQ(Compare<double>({huge}, {-huge}, {.eb = huge}).violations, 1U);
}

TEST(Metrics, RefusesWhatDoesNotMatch) {
  const std::vector<float> a = {1, 2};
  const std::vector<float> b = {1};
  const std::vector<double> c = {1, 2};
  EXPECT_FALSE(CompareErrors(View(a), View(b), {}));
  EXPECT_FALSE(CompareErrors(View(a), View(c), {}));
  EXPECT_FALSE(CompareErrors(View(a), View(a), {.eb = -1.0}));
  EXPECT_FALSE(CompareErrors(View(a), View(a), {.eb = kNan}));
}

TEST(Metrics, ThreadsChangeNothing) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> x(300'000);
  std::vector<float> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    y[i] = (x[i] = normal(random)) + normal(random) * 1e-3F;
  const auto one = Compare(x, y, {.eb = 1e-3, .threads = 1});
  const auto three = Compare(x, y, {.eb = 1e-3, .threads = 3});
  EXPECT_EQ(one.rmse, three.rmse);
  EXPECT_EQ(one.error_autocorrelation, three.error_autocorrelation);
  EXPECT_EQ(one.histogram.counts, three.histogram.counts);
  EXPECT_NEAR(*one.error_autocorrelation, 0, 0.01);
  EXPECT_NEAR(static_cast<double>(one.violations) / 300'000, 0.3173, 0.01);  // beyond one sigma
  const std::uint64_t dims[] = {3, 100, 1000};
  EXPECT_EQ(*Ssim(View(x), View(y), dims, {.threads = 1}),
            *Ssim(View(x), View(y), dims, {.threads = 3}));
}

// Constants worked out with the formula for one window: x = 0..6, y = x + 1.
TEST(Metrics, SsimOfOneWindow) {
  const std::vector<double> x = {0, 1, 2, 3, 4, 5, 6};
  const std::vector<double> y = {1, 2, 3, 4, 5, 6, 7};
  const std::uint64_t dims[] = {7};
  const double c1 = 0.06 * 0.06;
  const double c2 = 0.18 * 0.18;
  const double variance = 28.0 / 6;  // sample variance of 0..6
  const double expected =
      (2 * 3.0 * 4.0 + c1) * (2 * variance + c2) / ((9.0 + 16.0 + c1) * (2 * variance + c2));
  EXPECT_DOUBLE_EQ(Ssim(View(x), View(y), dims, {})->value(), expected);
  EXPECT_DOUBLE_EQ(Ssim(View(x), View(x), dims, {})->value(), 1);
}

TEST(Metrics, SsimLeavesOutWindowsWithHoles) {
  std::vector<double> x(100);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(i));
  std::vector<double> y = x;
  const std::uint64_t dims[] = {10, 10};
  x[0] = y[0] = kNan;
  y[99] = 5;
  x[99] = y[99] = kNan;
  EXPECT_DOUBLE_EQ(Ssim(View(x), View(y), dims, {})->value(), 1);
  std::fill(x.begin(), x.end(), kNan);
  EXPECT_EQ(*Ssim(View(x), View(x), dims, {}), std::nullopt);
  const std::vector<double> constant(100, 4);
  EXPECT_EQ(*Ssim(View(constant), View(constant), dims, {}), 1.0);
  const std::uint64_t wrong[] = {10, 11};
  EXPECT_FALSE(Ssim(View(constant), View(constant), wrong, {}));
}

}  // namespace
}  // namespace szarena::codec::metrics
