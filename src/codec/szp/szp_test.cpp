// SPDX-License-Identifier: Apache-2.0
// Round trips of every type, mode, bound, kind of data and odd length: the bound in exact
// arithmetic, the fast version equal to the reference, every thread count equal.
#include "codec/szp/szp.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <rapidcheck.h>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "codec/core/testing/sample_data.h"
#include "codec/core/testing/simd_targets.h"
#include "codec/szp/reference.h"

namespace szarena::codec::szp {
namespace {

using codec::testing::ForEachSimdTarget;
using codec::testing::kSampleKinds;
using codec::testing::SampleData;

template <Real T>
using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// Within the user's bound, in arithmetic at least 40 bits wider than the difference needs where the
// two are close, and exact in sign; non-finite values and raw ones keep their bits.
template <Real T>
bool Held(T x, T y, double eb) {
  if (!std::isfinite(x)) return std::bit_cast<Bits<T>>(x) == std::bit_cast<Bits<T>>(y);
  if (!std::isfinite(y)) return false;
  if constexpr (sizeof(T) == 4) {
    // The difference of two floats needs at most 278 bits; below, any that matters is exact: if the
    // exponents differ by more than 40 the larger one alone decides.
    const long double d = std::fabs(static_cast<long double>(x) - static_cast<long double>(y));
    return d <= static_cast<long double>(eb);
  } else {
    const T d = x - y;
    const T x_part = d + y;
    const T lost = (x - x_part) + (x_part - d - y);
    const T magnitude = std::fabs(d);
    return magnitude < eb || (magnitude == eb && (d > 0 ? lost <= 0 : lost >= 0));
  }
}

template <Real T>
std::vector<std::byte> CompressOrDie(const std::vector<T>& v, const Params& params,
                                     unsigned threads = 1) {
  std::vector<std::byte> payload(*MaxPayloadSize(v.size(), kDTypeOf<T>, params));
  const auto size = Compress(ArrayOf(std::span<const T>(v)), params, payload, threads);
  EXPECT_TRUE(size) << size.error().ToString();
  payload.resize(size.value_or(0));
  return payload;
}

template <Real T>
void CheckRoundTrip(const std::vector<T>& v, const Params& params, const std::string& what) {
  SCOPED_TRACE(what);
  std::vector<std::byte> expected(*MaxPayloadSize(v.size(), kDTypeOf<T>, params));
  const auto size = ReferenceCompress(ArrayOf(std::span<const T>(v)), params, expected);
  ASSERT_TRUE(size) << size.error().ToString();
  expected.resize(*size);
  const std::vector<std::byte> payload = CompressOrDie(v, params);
  ASSERT_EQ(payload, expected) << "fast and reference streams differ";

  std::vector<T> slow(v.size() + 1);
  std::memset(slow.data(), 0xA5, slow.size() * sizeof(T));
  std::vector<T> fast = slow;
  const T guard = slow.back();
  const auto slow_status =
      ReferenceDecompress(payload, params, ArrayOf(std::span<T>(slow.data(), v.size())));
  ASSERT_TRUE(slow_status) << slow_status.error().ToString();
  const auto fast_status =
      Decompress(payload, params, ArrayOf(std::span<T>(fast.data(), v.size())));
  ASSERT_TRUE(fast_status) << fast_status.error().ToString();
  ASSERT_EQ(std::memcmp(slow.data(), fast.data(), slow.size() * sizeof(T)), 0);
  ASSERT_EQ(std::bit_cast<Bits<T>>(fast.back()), std::bit_cast<Bits<T>>(guard));
  for (size_t i = 0; i < v.size(); ++i) {
    ASSERT_TRUE(Held(v[i], fast[i], params.eb))
        << "element " << i << ": " << v[i] << " -> " << fast[i];
  }
}

template <typename T>
class SzpTyped : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SzpTyped, Types);

TYPED_TEST(SzpTyped, HoldsTheBoundEverywhere) {
  constexpr uint64_t kLengths[] = {0, 1, 2, 31, 32, 33, 63, 96, 129, 1000, 32 * 1024 + 17};
  int targets = 0;
  ForEachSimdTarget([&](const char* target) {
    ++targets;
    for (const auto kind : kSampleKinds) {
      for (const uint64_t n : kLengths) {
        const auto v = SampleData<TypeParam>(kind, n, n);
        for (const double eb : {0.0, 1e-46, 1e-42, 1e-35, 1e-8, 1e-3, 0.5, 1.0, 1e30}) {
          for (const Mode mode : {Mode::kFixed, Mode::kPlain, Mode::kOutlier}) {
            if (n > 2000 && eb != 1e-3 && eb != 0.5) continue;
            CheckRoundTrip<TypeParam>(
                v, {.eb = eb, .mode = mode},
                fmt::format("{} {} n={} eb={} {}", target, kind, n, eb, ModeName(mode)));
          }
        }
        if (this->HasFatalFailure()) return;
      }
    }
  });
  EXPECT_GE(targets, 2);
}

TYPED_TEST(SzpTyped, PropertyAnyBitsAnyBound) {
  using T = TypeParam;
  rc::check([] {
    const auto bits = *rc::gen::container<std::vector<Bits<T>>>(rc::gen::arbitrary<Bits<T>>());
    const auto base = static_cast<T>(*rc::gen::inRange(-100000, 100000));
    std::vector<T> v;
    for (const auto b : bits) {
      v.push_back(b % 5 == 0 ? std::bit_cast<T>(b) : base + static_cast<T>(b % 1000) / 8);
    }
    const double eb = std::ldexp(1 + *rc::gen::inRange(0, 64) / 64.0, *rc::gen::inRange(-40, 20));
    const auto mode = static_cast<Mode>(*rc::gen::inRange(0, 3));
    const auto padding = static_cast<uint32_t>(*rc::gen::inRange(1, 5));
    CheckRoundTrip<T>(v, {.eb = eb, .mode = mode, .padding_blocks = padding}, "property");
    RC_ASSERT(!::testing::Test::HasFailure());
  });
}

TYPED_TEST(SzpTyped, ThreadCountDoesNotShow) {
  using T = TypeParam;
  for (const auto kind : {"smooth", "nonfinite", "sparse"}) {
    const auto v = SampleData<T>(kind, 32 * 1024 * 50 + 5, 3);
    const Params params{.eb = 1e-3};
    const auto expected = CompressOrDie(v, params, 1);
    for (const unsigned threads : {2u, 3u, 8u, 0u}) {
      EXPECT_EQ(CompressOrDie(v, params, threads), expected) << kind << ' ' << threads;
      std::vector<T> one(v.size());
      std::vector<T> many(v.size());
      ASSERT_TRUE(Decompress(expected, params, ArrayOf(std::span<T>(one)), 1));
      ASSERT_TRUE(Decompress(expected, params, ArrayOf(std::span<T>(many)), threads));
      EXPECT_EQ(std::memcmp(one.data(), many.data(), v.size() * sizeof(T)), 0);
    }
  }
}

TYPED_TEST(SzpTyped, ExactCapacitySufficesAndOneByteLessIsReported) {
  using T = TypeParam;
  for (const auto kind : {"random-bits", "smooth", "zero"}) {
    const auto v = SampleData<T>(kind, 32 * 1024 * 17 + 40, 9);
    const Params params{.eb = 1e-3};
    const auto expected = CompressOrDie(v, params);
    for (const unsigned threads : {1u, 3u}) {
      std::vector<std::byte> exact(expected.size());
      const auto size = Compress(ArrayOf(std::span<const T>(v)), params, exact, threads);
      ASSERT_TRUE(size);
      EXPECT_EQ(exact, expected);
      std::vector<std::byte> less(expected.size() - 1);
      const auto refused = Compress(ArrayOf(std::span<const T>(v)), params, less, threads);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, ErrorCode::kCapacity);
    }
  }
}

TYPED_TEST(SzpTyped, UnalignedPointers) {
  using T = TypeParam;
  const auto v = SampleData<T>("smooth", 5000, 4);
  const Params params{.eb = 1e-4};
  const auto expected = CompressOrDie(v, params);
  for (const size_t shift : {1u, 3u, 4u, 13u}) {
    std::vector<std::byte> in(v.size() * sizeof(T) + shift);
    std::memcpy(in.data() + shift, v.data(), v.size() * sizeof(T));
    std::vector<std::byte> payload(expected.size() + shift);
    const auto size = Compress({in.data() + shift, v.size(), kDTypeOf<T>}, params,
                               std::span(payload).subspan(shift));
    ASSERT_TRUE(size);
    EXPECT_EQ(std::memcmp(payload.data() + shift, expected.data(), expected.size()), 0);
    std::vector<std::byte> out(in.size());
    ASSERT_TRUE(Decompress(std::span(payload).subspan(shift), params,
                           {out.data() + shift, v.size(), kDTypeOf<T>}));
    std::vector<T> aligned(v.size());
    ASSERT_TRUE(Decompress(expected, params, ArrayOf(std::span<T>(aligned))));
    EXPECT_EQ(std::memcmp(out.data() + shift, aligned.data(), v.size() * sizeof(T)), 0);
  }
}

TYPED_TEST(SzpTyped, RandomAccessEqualsTheWhole) {
  using T = TypeParam;
  const auto v = SampleData<T>("nonfinite", 32 * 1024 * 2 + 77, 5);
  const Params params{.eb = 1e-3};
  const auto payload = CompressOrDie(v, params);
  std::vector<T> whole(v.size());
  ASSERT_TRUE(Decompress(payload, params, ArrayOf(std::span<T>(whole))));
  const uint64_t blocks = BlockCount(v.size());
  const std::pair<uint64_t, uint64_t> parts[] = {{0, 1},    {5, 3},          {1023, 2},
                                                 {1500, 9}, {blocks - 2, 1}, {2048, 0}};
  for (const auto& [first, count] : parts) {
    std::vector<T> part(count * 32);
    ASSERT_TRUE(DecompressBlocks(payload, v.size(), params, first, ArrayOf(std::span<T>(part))));
    if (part.empty()) continue;
    EXPECT_EQ(std::memcmp(part.data(), whole.data() + first * 32, part.size() * sizeof(T)), 0);
  }
  std::vector<T> tail(v.size() - (blocks - 2) * 32);
  ASSERT_TRUE(DecompressBlocks(payload, v.size(), params, blocks - 2, ArrayOf(std::span<T>(tail))));
  EXPECT_EQ(std::memcmp(tail.data(), whole.data() + (blocks - 2) * 32, tail.size() * sizeof(T)), 0);
  std::vector<T> odd(33);
  EXPECT_FALSE(DecompressBlocks(payload, v.size(), params, 0, ArrayOf(std::span<T>(odd))));
  std::vector<T> beyond(64);
  EXPECT_FALSE(
      DecompressBlocks(payload, v.size(), params, blocks - 1, ArrayOf(std::span<T>(beyond))));
  EXPECT_FALSE(
      DecompressBlocks(payload, v.size(), params, ~uint64_t{0}, ArrayOf(std::span<T>(beyond))));
}

TYPED_TEST(SzpTyped, FlushToZeroOfTheHostDoesNotShow) {
#if defined(__SSE2__)
  using T = TypeParam;
  const auto v = SampleData<T>("denormal", 1000, 6);
  const Params params{.eb = 10 * static_cast<double>(std::numeric_limits<T>::denorm_min())};
  const auto expected = CompressOrDie(v, params);
  const unsigned before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before | 0x8040);  // flush to zero, denormals are zero
  const auto flushed = CompressOrDie(v, params);
  const unsigned after = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before);
  EXPECT_EQ(flushed, expected);
  EXPECT_EQ(after & 0x8040, 0x8040u) << "the caller's mode is restored";
#endif
}

TEST(Szp, BoundIsTheUsersNotItsFloatRounding) {
  // 1e-3 as a float is larger than 1e-3: the check is against the f64 bound.
  const auto v = SampleData<float>("noise", 1 << 16, 1);
  CheckRoundTrip<float>(v, {.eb = 1e-3}, "f64 bound");
  // Bounds that f32 cannot hold (1e-46) or that its scale cannot (1e-42) store raw bits.
  const auto d = SampleData<float>("denormal", 320, 1);
  for (const double eb : {0.0, 1e-46, 1e-42}) {
    const auto payload = CompressOrDie(d, {.eb = eb});
    EXPECT_EQ(payload.size(), 1024u + 320 * 4);
  }
}

TEST(Szp, WorstCaseNeverExceedsTheBoundOnSize) {
  for (const uint64_t n : {1u, 3u, 18u, 31u, 33u, 272u, 4096u}) {
    const auto v = SampleData<float>("random-bits", n, n);
    const Params params{.eb = 1e-8};
    EXPECT_LE(CompressOrDie(v, params).size(), 1024 + BlockCount(n) * 128);
  }
}

TEST(Szp, SizesNeverOverflow) {
  const Params params;
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(*MaxPayloadSize(0, DType::kF32, params), 0u);
  EXPECT_EQ(*MaxPayloadSize(1, DType::kF32, params), 1024u + 128);
  EXPECT_EQ(*MaxPayloadSize(32768, DType::kF64, params), 1024u + 32768 * 8);
  EXPECT_EQ(*MaxPayloadSize(32769, DType::kF32, params), 2048u + 32800 * 4);
  EXPECT_EQ(*MaxPayloadSize(0xFFFFFFFFu, DType::kF32, params),
            (uint64_t{1} << 27) + (uint64_t{1} << 34));
  EXPECT_EQ(*MaxPayloadSize(uint64_t{1} << 40, DType::kF32, params),
            (uint64_t{1} << 35) + (uint64_t{1} << 42));
  EXPECT_FALSE(MaxPayloadSize(kMax, DType::kF32, params));
  EXPECT_FALSE(MaxPayloadSize(uint64_t{1} << 62, DType::kF32, params));
  EXPECT_TRUE(MaxPayloadSize((uint64_t{1} << 61), DType::kF32, params));
  EXPECT_FALSE(MaxPayloadSize((uint64_t{1} << 61), DType::kF64, params));
  EXPECT_EQ(*MaxPayloadSize(33, DType::kF32, {.padding_blocks = 0xFFFFFFFFu}), 0xFFFFFFFFull + 256);
}

TEST(Szp, ParametersWithoutMeaningAreRefused) {
  const std::vector<float> v(40, 1.0f);
  std::vector<std::byte> payload(4096);
  const Params bad[] = {{.eb = -1},
                        {.eb = std::nan("")},
                        {.eb = 1, .padding_blocks = 0},
                        {.eb = 1, .mode = static_cast<Mode>(3)}};
  for (const Params& params : bad) {
    const auto size = Compress(ArrayOf(std::span<const float>(v)), params, payload);
    ASSERT_FALSE(size);
    EXPECT_EQ(size.error().code, ErrorCode::kInvalidArgument);
    std::vector<float> out(40);
    EXPECT_FALSE(Decompress(payload, params, ArrayOf(std::span<float>(out))));
    EXPECT_FALSE(MaxPayloadSize(1, DType::kF32, params));
  }
  EXPECT_EQ(ParseMode("plain"), Mode::kPlain);
  EXPECT_EQ(ParseMode("Plain"), std::nullopt);
}

TEST(Szp, InspectCountsBlocks) {
  std::vector<float> v(32 * 5 + 1, 0.0f);
  v[33] = std::numeric_limits<float>::quiet_NaN();  // block 1 raw
  for (int i = 0; i < 32; ++i) v[64 + i] = 1e4f;    // block 2 outlier
  v[3 * 32 + 4] = 1;                                // block 3 plain
  const Params params{.eb = 0.25};
  const auto payload = CompressOrDie(v, params);
  const auto info = Inspect(payload, v.size(), DType::kF32, params);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->blocks, 6u);
  EXPECT_EQ(info->zero_blocks, 3u);
  EXPECT_EQ(info->raw_blocks, 1u);
  EXPECT_EQ(info->outlier_blocks, 1u);
  EXPECT_EQ(info->rate_bytes, 1024u);
}

TEST(Szp, ThreadsOfTheCallerDoNotDisturbEachOther) {
  std::vector<std::jthread> callers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t) {
    callers.emplace_back([t, &wrong] {
      const auto v = SampleData<float>("smooth", 2000 + static_cast<uint64_t>(t), t);
      std::vector<float> out(v.size());
      for (int i = 0; i < 30; ++i) {
        const auto payload = CompressOrDie(v, {.eb = 1e-3}, 2);
        wrong += !Decompress(payload, {.eb = 1e-3}, ArrayOf(std::span<float>(out)), 2);
        for (size_t k = 0; k < v.size(); ++k) wrong += !Held(v[k], out[k], 1e-3);
      }
    });
  }
  callers.clear();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace szarena::codec::szp
