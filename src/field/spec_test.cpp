// SPDX-License-Identifier: Apache-2.0
#include "field/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "field/real.h"
#include "field/testing/temp_folder.h"
#include "field/writer.h"

namespace szarena::field {
namespace {

using testing::HasSubstr;

TEST(SpecTest, PrintsWhatItParses) {
  for (const char* text :
       {"gen:smooth:seed=1:dims=64x64",
        "gen:nonfinite:seed=9:dims=7:dtype=f64:scale=2.5:offset=-1:rate=0.5", "real:etopo5",
        "real:levitus-temp:dtype=f64:missing=0", "dir/file.nc:VAR", "file.h5:/group/data set",
        "a.npy:dtype=f64", "with:colon.npy", "raw.bin:dims=3x4:dtype=f32", "x.f32:dtype=f32",
        "geoid.gtx"}) {
    auto spec = FieldSpec::Parse(text);
    ASSERT_TRUE(spec.has_value()) << text << ": " << spec.error().message;
    EXPECT_EQ(spec->ToString(), text);
  }
}

TEST(SpecTest, RefusesWithAReason) {
  struct Case {
    const char* text;
    const char* reason;
  };
  for (const Case& c : {Case{"", "empty"},
                        {"gen:smooth", "dims"},
                        {"gen:nope:dims=3", "expected one of"},
                        {"gen:smooth:dims=3:missing=1", "missing"},
                        {"gen:smooth:dims=3x", "dimensions"},
                        {"gen:smooth:dims=3:seed=x", "number"},
                        {"gen:smooth:dims=3:dims=4", "twice"},
                        {"real:nope", "expected one of"},
                        {"a.nc", "VARIABLE"},
                        {"a.nc:", "VARIABLE"},
                        {"a.f32:dtype=f64", "by its name"},
                        {"a.npy:dims=3", "dims"},
                        {"real:etopo5:dims=3", "dims"}}) {
    auto spec = FieldSpec::Parse(c.text);
    ASSERT_FALSE(spec.has_value()) << c.text;
    EXPECT_THAT(spec.error().message, HasSubstr(c.reason)) << c.text;
  }
}

TEST(SpecTest, LoadsFilesAndGenerators) {
  TempFolder folder;
  Field made = *LoadField("gen:noise:seed=2:dims=6x4");
  ASSERT_TRUE(WriteField(made, folder / "a.npy").has_value());
  ASSERT_TRUE(WriteField(made, folder / "a.bin").has_value());
  EXPECT_EQ(LoadField(folder / "a.npy")->dims(), (Dims{6, 4}));
  EXPECT_EQ(LoadField(folder / "a.npy:dtype=f64")->values<double>()[5], made.values<float>()[5]);
  EXPECT_EQ(LoadField(folder / "a.bin:dtype=f32")->dims(), (Dims{24}));
  EXPECT_EQ(LoadField(folder / "a.bin:dtype=f64:dims=3x4")->dims(), (Dims{3, 4}));
  EXPECT_THAT(LoadField(folder / "a.bin").error().message, HasSubstr("add :dtype="));
  EXPECT_EQ(LoadField(folder / "none.npy").error().code, ErrorCode::kNotFound);
}

TEST(RealTest, EveryFieldOfTheCatalogueLoads) {
  for (const RealField& real : AllRealFields()) {
    auto field = LoadReal(real);
    ASSERT_TRUE(field.has_value()) << field.error().ToString();
    EXPECT_EQ(*FindRealField(real.name), &real);
    EXPECT_EQ(field->dims(), real.shape());
    Field replaced = *field->Clone();
    EXPECT_EQ(ReplaceMissing(replaced, 0) > 0, real.has_missing) << real.name;
  }
}

TEST(RealTest, KnownRanges) {
  // Ranges as the data sets' documentation and ncdump give them.
  struct Range {
    const char* spec;
    double low, high, tolerance;
  };
  for (const Range& range : {Range{"real:etopo5", -10376, 7833, 0.5},
                             {"real:levitus-temp:missing=0", -2.02, 29.74, 0.01},
                             {"real:navy-uwnd", -25.5, 18.5, 0.1},
                             {"real:egm96:dtype=f64", -106.99, 85.39, 0.01}}) {
    Field field = *ConvertTo(*LoadField(range.spec), DType::kF64);
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (double v : field.values<double>()) low = std::min(low, v), high = std::max(high, v);
    EXPECT_NEAR(low, range.low, range.tolerance) << range.spec;
    EXPECT_NEAR(high, range.high, range.tolerance) << range.spec;
  }
}

TEST(RealTest, MissingPackageNamesTheRemedy) {
  RealField real = AllRealFields()[0];
  real.path = "/usr/share/szarena-no-such-folder/etopo5.cdf";
  auto field = LoadReal(real);
  ASSERT_FALSE(field.has_value());
  EXPECT_EQ(field.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(field.error().message, HasSubstr("./dev setup"));
  EXPECT_THAT(field.error().message, HasSubstr("ferret-datasets"));
  real = AllRealFields()[0];
  real.sha256 = "0000000000000000";
  EXPECT_EQ(LoadReal(real).error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace szarena::field
