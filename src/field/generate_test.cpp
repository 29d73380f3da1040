// SPDX-License-Identifier: Apache-2.0
#include "field/generate.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "field/counter_rng.h"
#include "field/wave.h"

namespace szarena::field {
namespace {

// FNV-1a over the bytes: a fingerprint that needs no library.
uint64_t Fingerprint(const Field& field) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (std::byte b : field.bytes()) hash = (hash ^ std::to_integer<uint64_t>(b)) * 0x100000001B3u;
  return hash;
}

GeneratorSpec Spec(GeneratorKind kind, DType dtype, Dims dims, uint64_t seed = 7) {
  GeneratorSpec spec;
  spec.kind = kind;
  spec.seed = seed;
  spec.dtype = dtype;
  spec.dims = std::move(dims);
  return spec;
}

class GeneratorTest : public testing::TestWithParam<GeneratorKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, GeneratorTest, testing::ValuesIn(AllGenerators()),
                         [](const auto& kind) { return std::string(GeneratorName(kind.param)); });

TEST_P(GeneratorTest, SameBitsWithAnyThreadCount) {
  for (DType dtype : {DType::kF32, DType::kF64}) {
    for (const Dims& dims : {Dims{300001}, Dims{37, 9001}, Dims{19, 33, 129}, Dims{1}, Dims{0}}) {
      GeneratorSpec spec = Spec(GetParam(), dtype, dims);
      Field one = *Generate(spec, 1);
      for (unsigned threads : {2u, 5u}) {
        Field many = *Generate(spec, threads);
        ASSERT_EQ(std::memcmp(one.bytes().data(), many.bytes().data(), one.size_bytes()), 0);
      }
    }
  }
}

TEST_P(GeneratorTest, FiniteUnlessItSaysOtherwise) {
  Field field = *Generate(Spec(GetParam(), DType::kF32, {40, 50, 60}));
  size_t nonfinite = 0;
  for (float v : field.values<float>()) nonfinite += !std::isfinite(v);
  if (GetParam() == GeneratorKind::kNonfinite) {
    EXPECT_GT(nonfinite, 60u);
    EXPECT_LT(nonfinite, 240u);
  } else {
    EXPECT_EQ(nonfinite, 0u);
  }
}

TEST_P(GeneratorTest, SeedMatters) {
  bool fixed = GetParam() == GeneratorKind::kConstant || GetParam() == GeneratorKind::kZero ||
               GetParam() == GeneratorKind::kRamp || GetParam() == GeneratorKind::kEdges;
  Field a = *Generate(Spec(GetParam(), DType::kF64, {64, 64}, 1));
  Field b = *Generate(Spec(GetParam(), DType::kF64, {64, 64}, 2));
  EXPECT_EQ(Fingerprint(a) == Fingerprint(b), fixed);
}

TEST_P(GeneratorTest, NameParsesBack) {
  EXPECT_EQ(*ParseGeneratorKind(GeneratorName(GetParam())), GetParam());
  EXPECT_FALSE(GeneratorDescription(GetParam()).empty());
}

// The bits are part of what results mean: a change of these numbers changes published data.
TEST(GoldenTest, Fingerprints) {
  struct Golden {
    GeneratorKind kind;
    uint64_t f32, f64;
  };
  const std::vector<Golden> goldens = {
#include "field/testing/generator_golden.inc"
  };
  EXPECT_EQ(goldens.size(), AllGenerators().size());
  for (const Golden& golden : goldens) {
    uint64_t f32 = Fingerprint(*Generate(Spec(golden.kind, DType::kF32, {7, 33, 65}, 11)));
    uint64_t f64 = Fingerprint(*Generate(Spec(golden.kind, DType::kF64, {7, 33, 65}, 11)));
    EXPECT_TRUE(f32 == golden.f32 && f64 == golden.f64)
        << GeneratorName(golden.kind) << std::hex << " 0x" << f32 << "u, 0x" << f64 << "u";
  }
}

TEST(ShapeTest, CharactersOfKinds) {
  Field fronts = *Generate(Spec(GeneratorKind::kFronts, DType::kF32, {128, 128}));
  size_t zeros = 0;
  for (float v : fronts.values<float>()) zeros += v == 0;
  EXPECT_GT(zeros, fronts.size() / 2);
  EXPECT_LT(zeros, fronts.size());

  Field denormal = *Generate(Spec(GeneratorKind::kDenormal, DType::kF64, {4096}));
  for (double v : denormal.values<double>()) {
    EXPECT_TRUE(v == 0 || std::fpclassify(v) == FP_SUBNORMAL);
  }

  // Neighbours of turbulence differ much less than its range; neighbours of noise do not.
  auto roughness = [](const Field& f) {
    double sum = 0, low = 1e30, high = -1e30;
    auto v = f.values<float>();
    for (size_t i = 1; i < v.size(); ++i) sum += std::fabs(v[i] - v[i - 1]);
    for (float x : v) low = std::min<double>(low, x), high = std::max<double>(high, x);
    return sum / static_cast<double>(v.size()) / (high - low);
  };
  EXPECT_LT(roughness(*Generate(Spec(GeneratorKind::kSmooth, DType::kF32, {1 << 16}))), 0.01);
  EXPECT_LT(roughness(*Generate(Spec(GeneratorKind::kTurbulence, DType::kF32, {256, 256}))), 0.1);
  EXPECT_GT(roughness(*Generate(Spec(GeneratorKind::kNoise, DType::kF32, {1 << 16}))), 0.2);
}

TEST(ShapeTest, HugeCoversTheExponents) {
  Field huge = *Generate(Spec(GeneratorKind::kHuge, DType::kF32, {1 << 16}));
  bool seen[255] = {};
  for (float v : huge.values<float>()) seen[std::bit_cast<uint32_t>(v) >> 23 & 0xFF] = true;
  for (int e = 0; e < 255; ++e) EXPECT_TRUE(seen[e]) << e;
}

TEST(ShapeTest, ScaleAndOffset) {
  GeneratorSpec spec = Spec(GeneratorKind::kConstant, DType::kF32, {5});
  spec.scale = 3;
  spec.offset = -0.5;
  Field field = *Generate(spec);
  for (float v : field.values<float>()) EXPECT_EQ(v, 2.5f);
  spec.kind = GeneratorKind::kHuge;
  EXPECT_FALSE(Generate(spec).has_value());
  spec.kind = GeneratorKind::kNonfinite;
  spec.rate = 2;
  EXPECT_FALSE(Generate(spec).has_value());
}

TEST(RngTest, UniformAndNormalMoments) {
  CounterRng rng(3, 4);
  double sum = 0, square = 0, normal = 0, normal_square = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    double u = rng.Uniform(static_cast<uint64_t>(i)), n = rng.Normal(static_cast<uint64_t>(i));
    ASSERT_TRUE(u >= 0 && u < 1);
    sum += u, square += u * u, normal += n, normal_square += n * n;
  }
  EXPECT_NEAR(sum / kCount, 0.5, 0.005);
  EXPECT_NEAR(square / kCount, 1.0 / 3, 0.005);
  EXPECT_NEAR(normal / kCount, 0, 0.02);
  EXPECT_NEAR(normal_square / kCount, 1, 0.02);
}

TEST(SineTest, CloseToLibm) {
  for (int i = -5000; i < 5000; ++i) {
    double turns = i / 777.0;
    EXPECT_NEAR(SinTurns(turns), std::sin(turns * 2 * 3.14159265358979323846), 1e-9);
  }
}

}  // namespace
}  // namespace szarena::field
