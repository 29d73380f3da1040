// SPDX-License-Identifier: Apache-2.0
// Against numpy 1.24 and scipy 1.10 (values computed offline), and against enumeration.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "stats/bootstrap.h"
#include "stats/proportion.h"
#include "stats/rank_test.h"
#include "stats/summary.h"

namespace szarena::stats {
namespace {

const std::vector<double> kSample = {3.1, 2.7, 9.4, 4.4, 5.0, 1.2, 8.8};

TEST(Summary, QuantilesAsNumpy) {
  const std::vector<std::pair<double, double>> expected = {
      {0, 1.2}, {0.025, 1.425}, {0.25, 2.9}, {0.5, 4.4}, {0.75, 6.9}, {0.9, 9.04}, {1, 9.4}};
  for (const auto& [p, value] : expected) EXPECT_NEAR(*Quantile(kSample, p), value, 1e-12) << p;
  EXPECT_NEAR(QuartilesOf(kSample)->q3, 6.9, 1e-12);
  EXPECT_EQ(*Median(std::vector<double>{4, 1}), 2.5);
  EXPECT_EQ(*Median(std::vector<double>{7}), 7);
  EXPECT_FALSE(Median({}));
  EXPECT_FALSE(QuartilesOf({}));
}

TEST(Summary, GeometricMeanAsScipy) {
  EXPECT_NEAR(*GeometricMean(kSample), 4.063016244123929, 1e-12);
  EXPECT_FALSE(GeometricMean(std::vector<double>{1, 0, 2}));
  EXPECT_FALSE(GeometricMean({}));
}

TEST(Proportion, WilsonAsScipy) {
  struct Case {
    int64_t successes, trials;
    double low, high;
  };
  for (const Case& c :
       {Case{0, 10, 0, 0.27753279986288926}, Case{3, 10, 0.10779126740630102, 0.6032218525388546},
        Case{10, 10, 0.7224672001371109, 1}, Case{57, 100, 0.47215389549212305, 0.6626670147588988},
        Case{1, 1, 0.20654931437723745, 1}}) {
    const auto interval = Wilson(c.successes, c.trials);
    EXPECT_NEAR(interval->low, c.low, 1e-12) << c.successes << "/" << c.trials;
    EXPECT_NEAR(interval->high, c.high, 1e-12) << c.successes << "/" << c.trials;
  }
  EXPECT_FALSE(Wilson(0, 0));
}

TEST(Proportion, PassAtKAsExactFractions) {
  EXPECT_NEAR(*PassAtK(10, 3, 1), 0.3, 1e-15);
  EXPECT_NEAR(*PassAtK(10, 3, 5), 11.0 / 12, 1e-15);
  EXPECT_NEAR(*PassAtK(200, 13, 100), 0.9999194971988055, 1e-13);
  EXPECT_EQ(*PassAtK(5, 5, 2), 1);
  EXPECT_EQ(*PassAtK(5, 0, 3), 0);
  EXPECT_FALSE(PassAtK(5, 1, 6));
  EXPECT_FALSE(PassAtK(5, 1, 0));
}

TEST(RankTest, AsScipy) {
  const auto exact = MannWhitney(std::vector<double>{1.1, 2.2, 3.3, 4.4, 5.5},
                                 std::vector<double>{2.5, 3.5, 6.6, 7.7, 8.8, 9.9});
  EXPECT_TRUE(exact->exact);
  EXPECT_EQ(exact->u, 5);
  EXPECT_NEAR(exact->p_value, 0.08225108225108226, 1e-12);

  const auto ties = MannWhitney(std::vector<double>{1, 2, 2, 3, 4, 4, 4, 5, 7, 9},
                                std::vector<double>{2, 3, 5, 5, 6, 8, 8, 9, 10, 11, 12});
  EXPECT_FALSE(ties->exact);
  EXPECT_EQ(ties->u, 24);
  EXPECT_NEAR(ties->p_value, 0.0309059020526857, 1e-12);

  std::vector<double> first;
  std::vector<double> second;
  for (int i = 0; i < 12; ++i) first.push_back(i * 1.7);
  for (int i = 0; i < 15; ++i) second.push_back(i * 1.3 + 4.05);
  const auto normal = MannWhitney(first, second);
  EXPECT_FALSE(normal->exact);
  EXPECT_EQ(normal->u, 59);
  EXPECT_NEAR(normal->p_value, 0.1366856053627003, 1e-12);
}

TEST(RankTest, EdgeCases) {
  EXPECT_FALSE(MannWhitney({}, kSample));
  const std::vector<double> same(20, 4.0);
  EXPECT_EQ(MannWhitney(same, same)->p_value, 1);  // all tied: nothing to tell apart
  EXPECT_NEAR(MannWhitney(kSample, std::vector<double>{2.0})->u +
                  MannWhitney(std::vector<double>{2.0}, kSample)->u,
              7, 0);
}

// All n^n equally likely resamples, enumerated.
std::vector<double> EveryResampledMedian(const std::vector<double>& values) {
  const size_t n = values.size();
  size_t count = 1;
  for (size_t i = 0; i < n; ++i) count *= n;
  std::vector<double> medians;
  for (size_t code = 0; code < count; ++code) {
    std::vector<double> draw;
    for (size_t i = 0, rest = code; i < n; ++i, rest /= n) draw.push_back(values[rest % n]);
    medians.push_back(*Median(draw));
  }
  return medians;
}

TEST(Bootstrap, ConvergesToTheEnumeratedDistribution) {
  const std::vector<double> values = {3.0, 1.0, 7.0, 4.0, 10.0, 2.5};
  const std::vector<double> every = EveryResampledMedian(values);
  const auto interval = BootstrapMedian(values, {.seed = 7, .resamples = 200000});
  EXPECT_NEAR(interval->low, *Quantile(every, 0.025), 1e-9);
  EXPECT_NEAR(interval->high, *Quantile(every, 0.975), 1e-9);
}

TEST(Bootstrap, SeededAndDegenerate) {
  EXPECT_EQ(BootstrapMedian(kSample, {.seed = 3})->low, BootstrapMedian(kSample, {.seed = 3})->low);
  EXPECT_FALSE(BootstrapMedian(std::vector<double>{1.0}));
  const auto constant = BootstrapMedian(std::vector<double>(9, 2.0));
  EXPECT_EQ(constant->low, 2);
  EXPECT_EQ(constant->high, 2);
  EXPECT_FALSE(BootstrapMedianRatio(kSample, std::vector<double>{1, 0}));
}

TEST(Bootstrap, RatioIsScaleFreeAndOrdered) {
  std::vector<double> doubled;
  for (const double value : kSample) doubled.push_back(2 * value);
  const auto ratio = BootstrapMedianRatio(doubled, kSample);
  const auto same = BootstrapMedianRatio(kSample, kSample);
  EXPECT_NEAR(ratio->low, 2 * same->low, 1e-12);
  EXPECT_NEAR(ratio->high, 2 * same->high, 1e-12);
  EXPECT_LT(same->low, 1);
  EXPECT_GT(same->high, 1);
}

// The nominal level is 95%; the percentile bootstrap of a median of 25 lies near it.
TEST(Bootstrap, CoversTheTrueMedianAboutAsOftenAsItSays) {
  uint64_t state = 12345;
  const auto uniform = [&state] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state >> 11) / 9007199254740992.0;
  };
  int covered = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> sample(25);
    for (double& value : sample) value = uniform();
    const auto interval =
        BootstrapMedian(sample, {.seed = static_cast<uint64_t>(trial), .resamples = 1000});
    covered += interval->low <= 0.5 && 0.5 <= interval->high;
  }
  EXPECT_GE(covered, kTrials * 90 / 100);
  EXPECT_LE(covered, kTrials * 99 / 100);
}

}  // namespace
}  // namespace szarena::stats
