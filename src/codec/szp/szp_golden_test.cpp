// SPDX-License-Identifier: Apache-2.0
// Payloads computed by hand from docs/formats/szp.md: the bytes never change.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "codec/szp/reference.h"

namespace szarena::codec::szp {
namespace {

std::vector<std::byte> Bytes(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int v : values) bytes.push_back(static_cast<std::byte>(v));
  return bytes;
}

// Both versions write `expected` for `v` and decode it to `decoded`. Padding of one block.
template <Real T>
void Expect(const std::vector<T>& v, double eb, Mode mode, const std::vector<std::byte>& expected,
            const std::vector<T>& decoded) {
  const Params params{.eb = eb, .mode = mode, .padding_blocks = 1};
  for (const bool reference : {true, false}) {
    std::vector<std::byte> payload(*MaxPayloadSize(v.size(), kDTypeOf<T>, params));
    const auto values = ArrayOf(std::span<const T>(v));
    const auto size =
        reference ? ReferenceCompress(values, params, payload) : Compress(values, params, payload);
    ASSERT_TRUE(size);
    payload.resize(*size);
    EXPECT_EQ(payload, expected);
    std::vector<T> out(v.size(), T{77});
    const auto status = reference
                            ? ReferenceDecompress(expected, params, ArrayOf(std::span<T>(out)))
                            : Decompress(expected, params, ArrayOf(std::span<T>(out)));
    ASSERT_TRUE(status);
    EXPECT_EQ(std::memcmp(out.data(), decoded.data(), out.size() * sizeof(T)), 0);
  }
}

// With a bound of 0.5, q is the value rounded and the decoded value is q.
template <Real T>
std::vector<T> Ramp(T first, T step) {
  std::vector<T> v(32);
  for (size_t i = 0; i < v.size(); ++i) v[i] = first + step * static_cast<T>(i);
  return v;
}

template <typename T>
class SzpGolden : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SzpGolden, Types);

TYPED_TEST(SzpGolden, PlainRamp) {
  // q = 0, 1, 2..; differences 0, 1, 1..: one plane, all ones but the first value.
  const auto v = Ramp<TypeParam>(0, 1);
  Expect(v, 0.5, Mode::kPlain, Bytes({0x01, 0, 0, 0, 0, 0x7F, 0xFF, 0xFF, 0xFF}), v);
}

TYPED_TEST(SzpGolden, PlainSigns) {
  // q = 0, -3, -6..: differences 0, -3..: signs of all but the first, planes of binary 11.
  const auto v = Ramp<TypeParam>(0, -3);
  Expect(v, 0.5, Mode::kPlain,
         Bytes({0x02, 0x7F, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF}), v);
}

TYPED_TEST(SzpGolden, FixedCodesValues) {
  // Values 0..31 themselves: five planes, plane 0 alternates, plane 4 is set from value 16 on.
  const auto v = Ramp<TypeParam>(0, 1);
  Expect(v, 0.5, Mode::kFixed,
         Bytes({0x05, 0,    0,    0,    0,    0x55, 0x55, 0x55, 0x55, 0x33, 0x33, 0x33, 0x33,
                0x0F, 0x0F, 0x0F, 0x0F, 0x00, 0xFF, 0x00, 0xFF, 0x00, 0x00, 0xFF, 0xFF}),
         v);
}

TYPED_TEST(SzpGolden, OutlierAlone) {
  // First difference -1000 = 0x3E8 in two bytes, the rest 0: no planes, but the sign word stays.
  const std::vector<TypeParam> v(32, -1000);
  Expect(v, 0.5, Mode::kOutlier, Bytes({0xA0, 0xE8, 0x03, 0x80, 0, 0, 0}), v);
}

TYPED_TEST(SzpGolden, OutlierWithPlanes) {
  // 70000, 70001..: 0x11170 in three bytes, then one plane in which value 0's bit is 0.
  const auto v = Ramp<TypeParam>(70000, 1);
  Expect(v, 0.5, Mode::kOutlier,
         Bytes({0xC1, 0x70, 0x11, 0x01, 0, 0, 0, 0, 0x7F, 0xFF, 0xFF, 0xFF}), v);
}

TYPED_TEST(SzpGolden, OutlierModeKeepsPlainWhereItIsNotDearer) {
  // First difference 1, the rest 0: plain costs 8 bytes, apart 5. First 0: plain costs nothing.
  const std::vector<TypeParam> one(32, 1);
  Expect(one, 0.5, Mode::kOutlier, Bytes({0x80, 0x01, 0, 0, 0, 0}), one);
  const std::vector<TypeParam> zero(32, 0);
  Expect(zero, 0.5, Mode::kOutlier, Bytes({0x00}), zero);
  // First difference 2, the rest 1: two planes cost 12, apart 8 + 1.
  const auto two = Ramp<TypeParam>(2, 1);
  Expect(two, 0.5, Mode::kOutlier, Bytes({0x81, 0x02, 0, 0, 0, 0, 0x7F, 0xFF, 0xFF, 0xFF}), two);
  // First difference 1, the rest 1: one plane costs 8, apart 9.
  const auto same = Ramp<TypeParam>(1, 1);
  Expect(same, 0.5, Mode::kOutlier, Bytes({0x01, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF}), same);
}

TYPED_TEST(SzpGolden, TailIsPaddedWithZeroDifferences) {
  const std::vector<TypeParam> v = {1, 2, 3};
  Expect(v, 0.5, Mode::kPlain, Bytes({0x01, 0, 0, 0, 0, 0xE0, 0, 0, 0}), v);
}

TYPED_TEST(SzpGolden, RoundingIsCuszps) {
  // t = x: 0.5 -> 1, 1.5 -> 2, -0.5 -> 0, -1.5 -> -2 (trunc(t + 0.5) - 1), 0.49 -> 0, -0.51 -> -1.
  const std::vector<TypeParam> v = {0.5, 1.5, -0.5, -1.5, TypeParam(0.49), TypeParam(-0.51)};
  const std::vector<TypeParam> decoded = {1, 2, 0, -2, 0, -1};
  // Fixed: magnitudes 1 2 0 2 0 1, signs at 3 and 5.
  Expect(v, 0.5, Mode::kFixed, Bytes({0x02, 0x14, 0, 0, 0, 0x84, 0, 0, 0, 0x50, 0, 0, 0}), decoded);
}

TEST(SzpGoldenRaw, NanBlockKeepsItsBits) {
  const float nan = std::bit_cast<float>(0x7FC12345u);
  const std::vector<float> v = {1.0f, nan, -0.0f};
  std::vector<std::byte> expected(1 + 128);
  const auto head = Bytes({0x3F, 0, 0, 0x80, 0x3F, 0x45, 0x23, 0xC1, 0x7F, 0, 0, 0, 0x80});
  std::copy(head.begin(), head.end(), expected.begin());
  for (const Mode mode : {Mode::kFixed, Mode::kPlain, Mode::kOutlier}) {
    Expect(v, 0.5, mode, expected, v);
  }
}

TEST(SzpGoldenRaw, F64BlockIsTwiceAsLong) {
  const std::vector<double> v = {std::numeric_limits<double>::infinity()};
  std::vector<std::byte> expected(1 + 256);
  const auto head = Bytes({0x3F, 0, 0, 0, 0, 0, 0, 0xF0, 0x7F});
  std::copy(head.begin(), head.end(), expected.begin());
  Expect(v, 0.5, Mode::kOutlier, expected, v);
}

TEST(SzpGoldenRaw, QuantiserLimits) {
  // |q| = 2^24 - 1 is coded, 2^24 is raw; f64 likewise at 2^30. In f32, t + 0.5 rounds to even from
  // 2^23 on: 2^24 - 1 becomes 2^24.
  const Quantiser<float> f(0.5);
  EXPECT_EQ(f.Quantise(16777214.0f), 16777214);
  EXPECT_EQ(f.Quantise(16777215.0f), std::nullopt);
  EXPECT_EQ(f.Quantise(-16777215.0f), -16777215);
  EXPECT_EQ(f.Quantise(16777216.0f), std::nullopt);
  const Quantiser<double> d(0.5);
  EXPECT_EQ(d.Quantise(1073741823.0), 1073741823);
  EXPECT_EQ(d.Quantise(-1073741823.0), -1073741823);
  EXPECT_EQ(d.Quantise(1073741824.0), std::nullopt);
  EXPECT_EQ(d.Quantise(-1073741824.0), std::nullopt);
}

TEST(SzpGoldenForeign, PrefixSumsWrapModulo2To32) {
  // Rate 31, which our f32 encoder never writes: every difference 2^31 - 1. Sums wrap: value 1 is
  // -2.
  std::vector<std::byte> payload(1 + 4 + 31 * 4, std::byte{0xFF});
  payload[0] = std::byte{31};
  std::fill(payload.begin() + 1, payload.begin() + 5, std::byte{0});
  const Params params{.eb = 0.5, .mode = Mode::kPlain, .padding_blocks = 1};
  for (const bool reference : {true, false}) {
    std::vector<float> out(32);
    const auto status = reference
                            ? ReferenceDecompress(payload, params, ArrayOf(std::span<float>(out)))
                            : Decompress(payload, params, ArrayOf(std::span<float>(out)));
    ASSERT_TRUE(status);
    EXPECT_EQ(out[0], 2147483648.0f);  // 2^31 - 1 rounds to f32
    EXPECT_EQ(out[1], -2.0f);
    EXPECT_EQ(out[2], 2147483648.0f);  // 2^31 - 3
    EXPECT_EQ(out[31], -32.0f);
  }
}

TEST(SzpGoldenForeign, BitsOfTheFirstValueAreIgnoredWhereItIsApart) {
  auto payload = Bytes({0x81, 0x05, 0, 0, 0, 0, 0x80, 0, 0, 0});
  const Params params{.eb = 0.5, .mode = Mode::kOutlier, .padding_blocks = 1};
  for (const bool reference : {true, false}) {
    std::vector<float> out(32);
    const auto status = reference
                            ? ReferenceDecompress(payload, params, ArrayOf(std::span<float>(out)))
                            : Decompress(payload, params, ArrayOf(std::span<float>(out)));
    ASSERT_TRUE(status);
    EXPECT_EQ(out, std::vector<float>(32, 5.0f));
  }
}

TEST(SzpGoldenLayout, RateTableIsPaddedTo1024Blocks) {
  std::vector<float> v(33, 0.0f);
  v[32] = 1;
  const Params params{.eb = 0.5, .mode = Mode::kPlain};
  std::vector<std::byte> payload(*MaxPayloadSize(v.size(), DType::kF32, params));
  const auto size = Compress(ArrayOf(std::span<const float>(v)), params, payload);
  ASSERT_TRUE(size);
  ASSERT_EQ(*size, 1024u + 8);
  for (size_t i = 0; i < 1024; ++i) EXPECT_EQ(payload[i], std::byte{i == 1}) << i;
  EXPECT_EQ(payload[1024 + 4], std::byte{0x80});
}

}  // namespace
}  // namespace szarena::codec::szp
