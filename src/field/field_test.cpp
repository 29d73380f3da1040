// SPDX-License-Identifier: Apache-2.0
#include "field/field.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace szarena::field {
namespace {

TEST(DimsTest, ParsesAndPrints) {
  EXPECT_EQ(*ParseDims("20x180x360"), (Dims{20, 180, 360}));
  EXPECT_EQ(*ParseDims("20,180"), (Dims{20, 180}));
  EXPECT_EQ(*ParseDims("0"), (Dims{0}));
  EXPECT_EQ(DimsToString({20, 180}), "20x180");
  for (const char* bad : {"", "x", "1x", "1x2x3x4", "-1", "1.5", "99999999999999999999", "3 x 4"}) {
    EXPECT_FALSE(ParseDims(bad).has_value()) << bad;
  }
}

TEST(DimsTest, OverflowIsAnError) {
  EXPECT_EQ(ElementCount({SIZE_MAX, 2}).error().code, ErrorCode::kCapacity);
  EXPECT_EQ(ElementCount({size_t{1} << 62}).error().code, ErrorCode::kCapacity);
  EXPECT_EQ(*ElementCount({SIZE_MAX, 0}), 0u);
}

TEST(DimsTest, LeadingDimensionsFold) {
  EXPECT_EQ(*FoldDims({}), (Dims{1}));
  EXPECT_EQ(*FoldDims({12, 19, 90, 180}), (Dims{228, 90, 180}));
  EXPECT_EQ(*FoldDims({2, 3, 5, 7, 11}), (Dims{30, 7, 11}));
  EXPECT_FALSE(FoldDims({SIZE_MAX, 2, 2, 2, 2}).has_value());
}

TEST(FieldTest, AllocatesZeroesAndClones) {
  auto field = Field::Allocate(DType::kF64, {3, 5});
  ASSERT_TRUE(field.has_value());
  EXPECT_EQ(field->size(), 15u);
  EXPECT_EQ(field->size_bytes(), 120u);
  for (double v : field->values<double>()) EXPECT_EQ(v, 0);
  field->mutable_values<double>()[7] = 4;
  auto copy = field->Clone();
  field->mutable_values<double>()[7] = 5;
  EXPECT_EQ(copy->values<double>()[7], 4);
}

TEST(FieldTest, ZeroElementsAreAField) {
  auto field = Field::Allocate(DType::kF32, {0});
  ASSERT_TRUE(field.has_value());
  EXPECT_EQ(field->size(), 0u);
  EXPECT_TRUE(field->Clone().has_value());
}

TEST(FieldTest, AbsurdSizesAreErrors) {
  EXPECT_EQ(Field::Allocate(DType::kF32, {size_t{1} << 59}).error().code, ErrorCode::kCapacity);
  EXPECT_EQ(Field::Allocate(DType::kF32, {1, 1, 1, 1}).error().code, ErrorCode::kInvalidArgument);
}

TEST(FieldTest, AdoptChecksRoomAndAlignment) {
  EXPECT_TRUE(Field::Adopt(*Pages::Allocate(20), 4, DType::kF32, {4}).has_value());
  EXPECT_FALSE(Field::Adopt(*Pages::Allocate(20), 4, DType::kF32, {5}).has_value());
  EXPECT_FALSE(Field::Adopt(*Pages::Allocate(20), 2, DType::kF32, {4}).has_value());
  EXPECT_FALSE(Field::Adopt(*Pages::Allocate(20), 24, DType::kF32, {0}).has_value());
}

TEST(ConvertTest, WidensExactly) {
  auto field = Field::Allocate(DType::kF32, {3});
  auto values = field->mutable_values<float>();
  values[0] = 0.1f;
  values[1] = -std::numeric_limits<float>::denorm_min();
  values[2] = std::numeric_limits<float>::infinity();
  auto wide = ConvertTo(*field, DType::kF64);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(wide->values<double>()[i], values[i]);
  auto back = ConvertTo(*wide, DType::kF32);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(back->values<float>()[i], values[i]);
}

TEST(MissingTest, ReplacesDeclaredValuesOnly) {
  auto field = Field::Allocate(DType::kF32, {4});
  auto values = field->mutable_values<float>();
  values[0] = -1e34f;
  values[1] = 2;
  values[2] = std::nanf("");
  values[3] = -1e34f;
  EXPECT_EQ(ReplaceMissing(*field, 0), 0u);
  field->set_missing_values({-1e34, std::nan("")});
  EXPECT_EQ(ReplaceMissing(*field, 7), 3u);
  EXPECT_EQ(values[0], 7);
  EXPECT_EQ(values[1], 2);
  EXPECT_EQ(values[2], 7);
}

}  // namespace
}  // namespace szarena::field
