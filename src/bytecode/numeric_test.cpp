// SPDX-License-Identifier: Apache-2.0
// 16-bit floats against an oracle that knows no rounding code: the sorted table of all values and
// an exact comparison.
#include "bytecode/numeric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace szarena::bytecode {
namespace {

using Wide = __float128;  // 113 bits

// All finite non-negative values in order: the pattern is the index. Behind them the value at which
// rounding gives infinity.
class Oracle {
 public:
  explicit Oracle(FloatFormat f)
      : infinity_(f == FloatFormat::kF16    ? 0x7c00
                  : f == FloatFormat::kBf16 ? 0x7f80
                                            : 0x7e00) {
    const int fraction = f == FloatFormat::kF16 ? 10 : f == FloatFormat::kBf16 ? 7 : 9;
    const int bias = f == FloatFormat::kF16 ? 15 : f == FloatFormat::kBf16 ? 127 : 42;
    for (uint32_t bits = 0; bits <= infinity_; ++bits) {
      const int e = static_cast<int>(bits >> fraction);
      const int m = static_cast<int>(bits & ((1u << fraction) - 1));
      values_.push_back(e == 0 ? std::ldexp(m, 1 - bias - fraction)
                               : std::ldexp(m + (1 << fraction), e - bias - fraction));
    }
  }
  uint16_t infinity() const { return infinity_; }
  double Value(uint16_t bits) const {
    const uint16_t magnitude = bits & 0x7fff;
    if (magnitude > infinity_) return std::numeric_limits<double>::quiet_NaN();
    const double v =
        magnitude == infinity_ ? std::numeric_limits<double>::infinity() : values_[magnitude];
    return (bits & 0x8000) != 0 ? -v : v;
  }
  uint16_t Nearest(Wide v, bool negative_zero) const {
    const uint16_t sign = v < 0 || (v == 0 && negative_zero) ? 0x8000 : 0;
    const Wide x = v < 0 ? -v : v;
    if (x >= values_.back()) return static_cast<uint16_t>(sign | infinity_);
    const auto above = static_cast<size_t>(
        std::upper_bound(values_.begin(), values_.end(), x,
                         [](Wide a, double b) { return a < static_cast<Wide>(b); }) -
        values_.begin());
    const Wide down = x - static_cast<Wide>(values_[above - 1]);
    const Wide up = static_cast<Wide>(values_[above]) - x;
    const bool take_up = up < down || (up == down && above % 2 == 0);
    return static_cast<uint16_t>(sign | (take_up ? above : above - 1));
  }

 private:
  uint16_t infinity_;
  std::vector<double> values_;
};

class Float16 : public testing::TestWithParam<FloatFormat> {};
INSTANTIATE_TEST_SUITE_P(Formats, Float16,
                         testing::Values(FloatFormat::kF16, FloatFormat::kBf16, FloatFormat::kCb16),
                         [](const auto& i) { return std::string(FloatFormatName(i.param)); });

TEST_P(Float16, EveryPatternConvertsToItsValueAndBack) {
  const FloatFormat f = GetParam();
  const Oracle oracle(f);
  for (uint32_t b = 0; b < 0x10000; ++b) {
    const auto bits = static_cast<uint16_t>(b);
    const double want = oracle.Value(bits);
    const double got = F16ToDouble(f, bits);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(got)) << b;
      ASSERT_TRUE(F16IsNan(f, bits));
      ASSERT_TRUE(F16IsNan(f, F16FromDouble(f, got)));
      continue;
    }
    ASSERT_EQ(std::bit_cast<uint64_t>(want), std::bit_cast<uint64_t>(got)) << b;
    ASSERT_EQ(F16FromDouble(f, got), bits);
    ASSERT_EQ(F32ToDouble(F32FromF16(f, bits)), want);
    ASSERT_EQ(F16FromF32(f, F32FromF16(f, bits)), bits);
  }
}

TEST_P(Float16, MidpointsAndTheirNeighboursRoundToEven) {
  const FloatFormat f = GetParam();
  const Oracle oracle(f);
  for (uint16_t bits = 0; bits < oracle.infinity(); ++bits) {
    const double below = oracle.Value(bits);
    const double above = bits + 1 == oracle.infinity()
                             ? 2 * below - oracle.Value(static_cast<uint16_t>(bits - 1))
                             : oracle.Value(static_cast<uint16_t>(bits + 1));
    const double middle = (below + above) / 2;
    ASSERT_EQ(F16FromDouble(f, middle), bits % 2 == 0 ? bits : bits + 1) << bits;
    ASSERT_EQ(F16FromDouble(f, std::nextafter(middle, 0)), bits) << bits;
    ASSERT_EQ(F16FromDouble(f, std::nextafter(middle, 1e300)), bits + 1) << bits;
    ASSERT_EQ(F16FromDouble(f, -middle), 0x8000 | (bits % 2 == 0 ? bits : bits + 1));
  }
}

void ExpectSame(FloatFormat f, const Oracle& oracle, uint16_t got, Wide want, bool negative_zero,
                const char* op, uint16_t a, uint16_t b, uint16_t c) {
  if (want != want) {
    ASSERT_TRUE(F16IsNan(f, got)) << op << " " << a << " " << b << " " << c;
    return;
  }
  ASSERT_EQ(got, oracle.Nearest(want, negative_zero))
      << FloatFormatName(f) << " " << op << " " << a << " " << b << " " << c;
}

void RandomPairs(FloatFormat f, int count, uint64_t seed) {
  const Oracle oracle(f);
  std::mt19937_64 random(seed);
  for (int i = 0; i < count; ++i) {
    const uint64_t r = random();
    const auto a = static_cast<uint16_t>(r);
    const auto b = static_cast<uint16_t>(r >> 16);
    auto c = static_cast<uint16_t>(r >> 32);
    const Wide x = oracle.Value(a);
    const Wide y = oracle.Value(b);
    if ((r >> 48 & 3) == 0)
      c = static_cast<uint16_t>(oracle.Nearest(x * y, false) ^ 0x8000);  // cancellation
    const Wide z = oracle.Value(c);
    const bool na = (a & 0x8000) != 0;
    const bool nb = (b & 0x8000) != 0;
    const bool nc = (c & 0x8000) != 0;
    ExpectSame(f, oracle, F16Add(f, a, b), x + y, na && nb, "add", a, b, 0);
    ExpectSame(f, oracle, F16Sub(f, a, b), x - y, na && !nb, "sub", a, b, 0);
    ExpectSame(f, oracle, F16Mul(f, a, b), x * y, na != nb, "mul", a, b, 0);
    if (y != 0) ExpectSame(f, oracle, F16Div(f, a, b), x / y, na != nb, "div", a, b, 0);
    // In bf16 the exact sum of a product and a term far away needs more than 113 bits: such pairs
    // round like the larger one, moved a little, which the 113-bit sum represents by its own
    // rounding unless it is a tie: ties are then excluded.
    const Wide product = x * y;
    const Wide sum = product + z;
    if (sum - product == z && sum - z == product)
      ExpectSame(f, oracle, F16Fma(f, a, b, c), sum, (na != nb) && nc, "fma", a, b, c);
    if (!(sum != sum) && product != 0 &&
        z != 0) {  // tiny terms only break ties: compare with the sum of the larger and a nudge
      const Wide big = (product < 0 ? -product : product) > (z < 0 ? -z : z) ? product : z;
      const Wide small = big == product ? z : product;
      if (sum == big && sum - sum == 0) {
        const Wide nudge = (big < 0 ? -big : big) * 0x1p-100;
        ExpectSame(f, oracle, F16Fma(f, a, b, c), small > 0 ? big + nudge : big - nudge, false,
                   "fma-far", a, b, c);
      }
    }
    if (testing::Test::HasFatalFailure()) return;
  }
}

#ifdef SZARENA_SLOW
constexpr int kPairs = 100'000'000;  // of each format
#else
constexpr int kPairs = 100'000;
#endif

TEST_P(Float16, RandomOperandsMatchTheOracle) { RandomPairs(GetParam(), kPairs, 20240611); }

TEST_P(Float16, IntegersRoundOnce) {
  const FloatFormat f = GetParam();
  const Oracle oracle(f);
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t v = random() >> (random() % 64);
    ASSERT_EQ(F16FromU64(f, v), oracle.Nearest(static_cast<Wide>(v), false)) << v;
    const auto s = static_cast<int64_t>(random()) >> (random() % 64);
    ASSERT_EQ(F16FromI64(f, s), oracle.Nearest(static_cast<Wide>(s), false)) << s;
  }
  // A tie broken only by the last bit of 64.
  const uint64_t tie = (uint64_t{1} << 62) + (uint64_t{1} << (62 - 8)) + 1;
  EXPECT_EQ(F16FromU64(f, tie), oracle.Nearest(static_cast<Wide>(tie), false));
}

TEST(Float16Docs, SixInEachFormat) {  // the documentation's own example
  EXPECT_EQ(F16FromDouble(FloatFormat::kCb16, 6.0), 0b0101100100000000);
  EXPECT_EQ(F16FromDouble(FloatFormat::kBf16, 6.0), 0x40C0);
  EXPECT_EQ(F16FromDouble(FloatFormat::kF16, 6.0), 0x4600);
}

TEST(Float16Max, IgnoresNanAndOrdersZeros) {
  const FloatFormat f = FloatFormat::kF16;
  EXPECT_EQ(F16Max(f, 0x7e00, 0x3c00), 0x3c00);
  EXPECT_EQ(F16Max(f, 0x3c00, 0xfe01), 0x3c00);
  EXPECT_EQ(F16Max(f, 0x8000, 0x0000), 0x0000);
  EXPECT_EQ(F16Max(f, 0xc000, 0xbc00), 0xbc00);
}

TEST(Float32, MultiplyAddRoundsTheProductAndNanIsCanonical) {
  const auto bits = [](float v) { return std::bit_cast<uint32_t>(v); };
  const float a = 1.0f + 0x1p-12f;
  EXPECT_EQ(F32MulAdd(bits(a), bits(a), bits(-1.0f)),
            bits(0x1p-11f));  // fused: 0x1p-11f + 0x1p-24f
  EXPECT_EQ(F32Add(bits(INFINITY), bits(-INFINITY)), 0x7fc00000u);
  EXPECT_EQ(F32Max(0x7fc00000u, bits(-2.0f)), bits(-2.0f));
}

TEST(Integers, FloatsTruncateSaturateAndNanIsZero) {
  EXPECT_EQ(IntFromDouble(-1.9, 16, true), -1);
  EXPECT_EQ(IntFromDouble(1e9, 16, true), 32767);
  EXPECT_EQ(IntFromDouble(-1e9, 16, true), -32768);
  EXPECT_EQ(IntFromDouble(1e9, 16, false), 65535);
  EXPECT_EQ(IntFromDouble(-0.5, 16, false), 0);
  EXPECT_EQ(IntFromDouble(-7.0, 16, false), 0);
  EXPECT_EQ(IntFromDouble(NAN, 32, true), 0);
  EXPECT_EQ(IntFromDouble(1e30, 64, true), INT64_MAX);
  EXPECT_EQ(IntFromDouble(1e30, 64, false), -1);
  EXPECT_EQ(SignExtend(0x8000, 16), -32768);
  EXPECT_EQ(ZeroExtend(~uint64_t{0}, 16), 0xffffu);
}

}  // namespace
}  // namespace szarena::bytecode
