// SPDX-License-Identifier: Apache-2.0
// Tests of bounds, the acceptance test, sizes and threads.
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "codec/core/accept.h"
#include "codec/core/bound.h"
#include "codec/core/parallel.h"
#include "codec/core/size.h"
#include "codec/core/testing/sample_data.h"
#include "codec/core/testing/simd_targets.h"

namespace szarena::codec {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Bound, RoundsDownNeverUp) {
  EXPECT_EQ(RoundBoundDown<double>(1e-3), 1e-3);
  for (const double eb : {1e-3, 0.1, 1.0 / 3, 1e-40, 1e-44, 7e30, 0.5}) {
    const float down = RoundBoundDown<float>(eb);
    EXPECT_LE(static_cast<double>(down), eb);
    EXPECT_GT(static_cast<double>(std::nextafter(down, kInf)), eb) << eb;
  }
  EXPECT_EQ(RoundBoundDown<float>(1e-46), 0.0f);
  EXPECT_EQ(RoundBoundDown<float>(1e300), std::numeric_limits<float>::max());
  EXPECT_EQ(RoundBoundDown<float>(std::numeric_limits<double>::infinity()),
            std::numeric_limits<float>::max());
  EXPECT_EQ(RoundBoundDown<float>(0), 0.0f);
}

TEST(Bound, UserBoundsWithoutMeaningAreRefused) {
  for (const double bad : {0.0, -0.0, -1.0, std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    EXPECT_FALSE(CheckUserBound(bad, "bound"));
  }
  EXPECT_TRUE(CheckUserBound(5e-324, "bound"));
}

TEST(Bound, RangeSkipsNonFiniteAndFill) {
  const std::vector<float> v = {kNan, 3, -1e34f, kInf, -2, -kInf, -1e34f};
  const ValueRange r = FindRange(ArrayOf(std::span<const float>(v)), -1e34);
  EXPECT_EQ(r.min, -2);
  EXPECT_EQ(r.max, 3);
  EXPECT_EQ(r.finite, 2u);
  EXPECT_EQ(r.non_finite, 3u);
  EXPECT_EQ(r.fill, 2u);
  EXPECT_TRUE(FindRange(ConstArray{}).empty());
  EXPECT_TRUE(FindRange(ConstArray{}).constant());
}

TEST(Bound, RangeIsTheSameForEveryThreadCount) {
  std::mt19937 rng(7);
  std::uniform_real_distribution<double> uniform(-5, 9);
  std::vector<double> v((1 << 19) + 77);
  for (double& x : v) x = uniform(rng);
  v[300000] = -6;
  v.back() = 10;
  for (const unsigned threads : {1u, 2u, 3u, 0u}) {
    const ValueRange r = FindRange(ArrayOf(std::span<const double>(v)), std::nullopt, threads);
    EXPECT_EQ(r.min, -6);
    EXPECT_EQ(r.max, 10);
    EXPECT_EQ(r.finite, v.size());
  }
}

TEST(Bound, RangeIsTheSameForEveryInstructionSetAndKind) {
  testing::ForEachSimdTarget([](const char* target) {
    for (const auto kind : testing::kSampleKinds) {
      for (const uint64_t n : {0u, 1u, 7u, 15u, 16u, 17u, 1000u}) {
        const auto v = testing::SampleData<float>(kind, n, 5);
        const double fill = n > 3 ? v[3] : 0;
        for (const bool has_fill : {false, true}) {
          ValueRange expected;
          for (const float x : v) {
            if (has_fill &&
                std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(static_cast<float>(fill))) {
              ++expected.fill;
            } else if (!std::isfinite(x)) {
              ++expected.non_finite;
            } else {
              const bool first = expected.finite++ == 0;
              expected.min = first ? x : std::min<double>(expected.min, x);
              expected.max = first ? x : std::max<double>(expected.max, x);
            }
          }
          const ValueRange r = FindRange(ArrayOf(std::span<const float>(v)),
                                         has_fill ? std::optional(fill) : std::nullopt);
          EXPECT_EQ(r.min, expected.min) << target << ' ' << kind << ' ' << n;
          EXPECT_EQ(r.max, expected.max) << target << ' ' << kind << ' ' << n;
          EXPECT_EQ(r.finite, expected.finite) << target << ' ' << kind << ' ' << n;
          EXPECT_EQ(r.non_finite, expected.non_finite);
          EXPECT_EQ(r.fill, expected.fill);
        }
      }
    }
  });
}

TEST(Bound, RelativeBoundDoesNotOverflow) {
  constexpr double kMax = std::numeric_limits<double>::max();
  EXPECT_EQ(ResolveRelativeBound(0.25, {.min = -2, .max = 2}), 1);
  EXPECT_EQ(ResolveRelativeBound(0.25, {.min = 2, .max = 2}), 0);
  EXPECT_EQ(ResolveRelativeBound(0.25, {.min = -kMax, .max = kMax}), kMax / 2);
  EXPECT_EQ(ResolveRelativeBound(10, {.min = -kMax, .max = kMax}), kMax);
}

TEST(Accept, IsExactAgainstWiderArithmetic) {
  std::mt19937_64 rng(11);
  uint64_t at_border = 0;
  for (int i = 0; i < 2'000'000; ++i) {
    // Small exponent spread, so that |x - y| == ebq after rounding happens often.
    const auto draw = [&] {
      const int exponent = static_cast<int>(rng() % 12) - 6;
      const float mantissa =
          1 + static_cast<float>(rng() % 64) / 64 + static_cast<float>(rng() % 2) * 0x1p-23f;
      return std::ldexp((rng() & 1) ? mantissa : -mantissa, exponent);
    };
    const float x = draw();
    const float y = draw();
    float ebq = std::fabs(draw());
    if (rng() % 2) ebq = std::fabs(x - y);
    const bool exact =
        std::fabs(static_cast<double>(x) - static_cast<double>(y)) <= static_cast<double>(ebq);
    at_border += std::fabs(x - y) == ebq && !exact;
    ASSERT_EQ(WithinBound(x, y, ebq), exact) << x << ' ' << y << ' ' << ebq;
  }
  EXPECT_GT(at_border, 1000u);
}

TEST(Accept, SpecialValues) {
  EXPECT_FALSE(WithinBound(kNan, 0.0f, 1.0f));
  EXPECT_FALSE(WithinBound(0.0f, kNan, 1.0f));
  EXPECT_FALSE(WithinBound(kInf, kInf, 1.0f));
  EXPECT_FALSE(WithinBound(kInf, 0.0f, kInf));
  EXPECT_FALSE(WithinBound(3e38f, -3e38f, std::numeric_limits<float>::max()));
  EXPECT_TRUE(WithinBound(1.0f, 1.0f, 0.0f));
  EXPECT_TRUE(WithinBound(0.0f, -0.0f, 0.0f));
  EXPECT_FALSE(WithinBound(1.0f, std::nextafter(1.0f, 2.0f), 0.0f));
  EXPECT_TRUE(WithinBound(1e-45f, 0.0f, 1e-45f));
  EXPECT_FALSE(WithinBound(3e-45f, 0.0f, 1e-45f));
}

TEST(Size, SaysWhenAResultDoesNotFit) {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(CheckedAdd(kMax, 1), std::nullopt);
  EXPECT_EQ(CheckedAdd(kMax - 1, 1), kMax);
  EXPECT_EQ(CheckedMul(kMax / 2, 3), std::nullopt);
  EXPECT_EQ(CheckedMul(std::nullopt, 3), std::nullopt);
  EXPECT_EQ(CeilDiv(kMax, 32), kMax / 32 + 1);
  EXPECT_EQ(CeilDiv(0, 32), 0u);
}

TEST(Parallel, EveryChunkOnceInOrderOfStart) {
  for (const unsigned threads : {0u, 1u, 2u, 5u, 64u}) {
    std::vector<std::atomic<int>> seen(333);
    ForEachChunk(threads, seen.size(), [&](uint64_t c) { ++seen[c]; });
    for (const auto& s : seen) EXPECT_EQ(s.load(), 1);
    ForEachChunk(threads, 0, [](uint64_t) { FAIL(); });
  }
}

}  // namespace
}  // namespace szarena::codec
