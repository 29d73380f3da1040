// SPDX-License-Identifier: Apache-2.0
#include "judge/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace szarena::judge {
namespace {

template <typename T>
ByteView View(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

TEST(Poison, TouchedBytesAreFoundAtEveryPlace) {
  Bytes bytes(37);
  const PoisonKey key{42, false};
  Poison(bytes, key);
  EXPECT_FALSE(FirstTouched(bytes, key));
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{1};
    EXPECT_EQ(FirstTouched(bytes, key), i);
    bytes[i] ^= std::byte{1};
  }
  EXPECT_TRUE(FirstTouched(bytes, {43, false}));
}

TEST(Poison, WhatIsWrittenIsNeverTakenForPoison) {
  // The worst case: the right answer happens to be the first pattern.
  Bytes first(400);
  Poison(first, {7, false});
  EXPECT_FALSE(FirstUnwritten(first, first, 0, 4, 7));
  Bytes second(400);
  Poison(second, {7, true});
  EXPECT_EQ(FirstUnwritten(first, second, 0, 4, 7), 0u);
}

TEST(Poison, OneUnwrittenElementIsFound) {
  for (const uint64_t offset : {0u, 3u}) {
    Bytes first(400, std::byte{1});
    Bytes second(400, std::byte{1});
    for (uint64_t i = 80; i < 84; ++i) {
      first[i] = PoisonByte({9, false}, offset + i);
      second[i] = PoisonByte({9, true}, offset + i);
    }
    EXPECT_EQ(FirstUnwritten(first, second, offset, 4, 9), 20u);
  }
}

TEST(CompareFields, TheBoundIsExact) {
  // 0.1f is 0.1 + 1.49e-9: beyond a bound of 0.1, although the f32 difference rounds to it.
  const std::vector<float> x = {0.1f, 1.0f, 0.0f};
  const std::vector<float> y = {0.0f, 1.0f, 0.0f};
  EXPECT_EQ(CompareFields(SZARENA_F32, View(x), View(y), 0.1).violations, 1u);
  EXPECT_EQ(CompareFields(SZARENA_F32, View(x), View(y), static_cast<double>(0.1f)).violations, 0u);
}

TEST(CompareFields, F64DifferencesThatRoundToTheBoundAreDecidedExactly) {
  // 1 - (-2^-60) rounds to 1 in f64; exactly it is larger.
  const std::vector<double> x = {1.0};
  const std::vector<double> y = {-0x1p-60};
  EXPECT_EQ(CompareFields(SZARENA_F64, View(x), View(y), 1.0).violations, 1u);
  const std::vector<double> z = {0x1p-60};
  EXPECT_EQ(CompareFields(SZARENA_F64, View(x), View(z), 1.0).violations, 0u);
}

TEST(CompareFields, SpecialValuesMustStay) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {NAN, inf, -inf, 0.0f, 1.0f, 1.0f, NAN};
  const std::vector<float> good = {NAN, inf, -inf, -0.0f, 1.0f, 1.0f, NAN};
  EXPECT_EQ(CompareFields(SZARENA_F32, View(x), View(good), 1e-3).violations, 0u);
  // Another NaN is another value: docs/formats keeps such values bit for bit.
  const std::vector<float> other = {
      -std::bit_cast<float>(0x7fc00001u), inf, -inf, -0.0f, 1.0f, 1.0f, NAN};
  const FieldError changed = CompareFields(SZARENA_F32, View(x), View(other), 1e-3);
  EXPECT_EQ(changed.violations, 1u);
  EXPECT_EQ(changed.first_violation, 0u);
  EXPECT_THAT(DescribeElement(SZARENA_F32, View(x), View(other), 0, 1e-3),
              testing::HasSubstr("0x7fc00000 became 0xffc00001"));
  const std::vector<float> bad = {0.0f, -inf, 3e38f, NAN, inf, NAN, inf};
  const FieldError error = CompareFields(SZARENA_F32, View(x), View(bad), 1e-3);
  EXPECT_EQ(error.violations, 7u);
  EXPECT_EQ(error.first_violation, 0u);
  EXPECT_TRUE(std::isinf(error.max_error_over_bound));
}

TEST(CompareFields, FiguresAreThoseOfTheDefinition) {
  const std::vector<float> x = {0, 1, 2, 4};
  const std::vector<float> y = {0, 1.5f, 2, 4};
  const FieldError error = CompareFields(SZARENA_F32, View(x), View(y), 1.0);
  EXPECT_EQ(error.worst, 1u);
  EXPECT_DOUBLE_EQ(error.max_error_over_bound, 0.5);
  EXPECT_DOUBLE_EQ(error.nrmse, 0.25 / 4);
  EXPECT_DOUBLE_EQ(error.psnr, 20 * std::log10(16.0));
}

TEST(Unwritten, OtherBytesEachTimeAreNoUnwrittenOnes) {
  Bytes first(1 << 20);
  Bytes second(first.size());
  Poison(first, {1, false});
  Poison(second, {2, false});
  EXPECT_FALSE(FirstUnwritten(first, second, 0, 1, 3));
  second = first;
  first[77] = PoisonByte({3, false}, 77);
  second[77] = PoisonByte({3, true}, 77);
  EXPECT_EQ(FirstUnwritten(first, second, 0, 1, 3), 77u);
}

TEST(Printable, ATerminalObeysNothingOfIt) {
  EXPECT_EQ(Printable("a\x1b[31m\x07"
                      "b\xc2\x9b"
                      "c\r\x7f",
                      100, Lines::kAny),
            "a?[31m?b?c??");
  EXPECT_EQ(Printable("\u2018x\u2019 \u00e9\n", 100, Lines::kAny), "\u2018x\u2019 \u00e9\n");
  EXPECT_EQ(Printable("failed\nall stages hold", 100, Lines::kOne), "failed all stages hold");
  EXPECT_EQ(Printable("12345", 3, Lines::kAny), "123...");
}

}  // namespace
}  // namespace szarena::judge
