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

TEST(Unwritten, WhatIsWrittenIsNeverTakenForPoison) {
  // The worst case: the right answer happens to be the first pattern.
  Bytes first(400);
  Poison(first, {7, false});
  EXPECT_FALSE(FindUnwritten({first, first, 0, 4, 7}).first);
  Bytes second(400);
  Poison(second, {7, true});
  const Unwritten all = FindUnwritten({first, second, 0, 4, 7});
  EXPECT_EQ(all.first, 0u);
  EXPECT_TRUE(all.certain);
}

// Makes [begin, end) of both look unwritten.
void Leave(Bytes& first, Bytes& second, uint64_t offset, uint64_t begin, uint64_t end,
           uint64_t seed) {
  for (uint64_t i = begin; i < end; ++i) {
    first[i] = PoisonByte({seed, false}, offset + i);
    second[i] = PoisonByte({seed, true}, offset + i);
  }
}

TEST(Unwritten, OneElementIsFound) {
  for (const uint64_t offset : {0u, 4u}) {
    Bytes first(400, std::byte{1});
    Bytes second = first;
    Leave(first, second, offset, 80, 84, 9);
    const PoisonedPair pair{first, second, offset, 4, 9};
    const Unwritten found = FindUnwritten(pair);
    EXPECT_EQ(found.first, offset + 80);
    EXPECT_THAT(found.doubtful, testing::ElementsAre(offset + 80));
    EXPECT_TRUE(LooksUnwritten(pair, offset + 80));
    EXPECT_FALSE(LooksUnwritten(pair, offset + 84));
    EXPECT_FALSE(LooksUnwritten(pair, 1000)) << "outside of what both gave";
  }
}

TEST(Unwritten, OneByteOfAnyNumberIsDoubtful) {
  for (const bool others : {false, true}) {
    Bytes first(1 << 20);
    Poison(first, {1, false});
    Bytes second = first;
    if (others) Poison(second, {1, true});
    Leave(first, second, 0, 77, 78, 3);
    const Unwritten found = FindUnwritten({first, second, 0, 1, 3});
    EXPECT_TRUE(found.first);
    EXPECT_FALSE(found.certain);
    EXPECT_THAT(found.doubtful, testing::Contains(77u));
  }
}

TEST(Unwritten, ManyBytesAreCertainEvenAmongOthers) {
  Bytes first(1 << 20);
  Bytes second(first.size());
  Poison(first, {1, false});
  Poison(second, {1, true});
  Leave(first, second, 0, 500, 50000, 3);
  const Unwritten found = FindUnwritten({first, second, 0, 1, 3});
  EXPECT_TRUE(found.first);
  EXPECT_TRUE(found.certain);
  EXPECT_THAT(found.doubtful, testing::IsEmpty());
}

TEST(Unwritten, BytesThatAProgramWritesAreNeverCertain) {
  // The worst: the inverse bytes in the second run. From one byte, where chance says "all of them"
  // once in 256 pairs, to many.
  uint64_t looked_so = 0;
  uint64_t bytes = 0;
  for (const size_t size : {1u, 2u, 8u, 100u, 4096u, 1u << 18}) {
    for (uint64_t trial = 0; trial < 100'000 / size + 4; ++trial) {
      Bytes first(size);
      Bytes second(size);
      Poison(first, {2 * trial + 1, false});
      Poison(second, {2 * trial + 1, true});
      const Unwritten found = FindUnwritten({first, second, 0, 1, 2 * trial});
      EXPECT_FALSE(found.certain) << size << " bytes, trial " << trial;
      looked_so += found.doubtful.size();
      bytes += size;
    }
  }
  EXPECT_GT(looked_so, bytes / 300);
  EXPECT_LT(looked_so, bytes / 200);
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
