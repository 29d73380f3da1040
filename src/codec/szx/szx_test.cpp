// SPDX-License-Identifier: Apache-2.0
// The fast version against the reference: same bytes, same values, same refusals, whatever the
// data.
#define HWY_WANT_AVX3_DL 1  // as kernels_simd.cpp has it, so that this instruction set is listed
#include "codec/szx/szx.h"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "codec/core/accept.h"
#include "codec/core/testing/simd_targets.h"
#include "codec/szx/block.h"
#include "codec/szx/format.h"
#include "codec/szx/reference.h"

namespace szarena::codec::szx {
namespace {

constexpr unsigned kSeed = 20260101;

template <Real T>
using Generator = T (*)(std::size_t i, std::mt19937_64& random);

template <Real T>
T Uniform(std::mt19937_64& random) {
  return static_cast<T>(std::ldexp(static_cast<double>(random() >> 11), -53));
}

template <Real T>
struct Kind {
  const char* name;
  Generator<T> make;
};

// Each entry is a kind of data that has broken some compressor.
template <Real T>
const Kind<T> kKinds[] = {
    {"zero", [](std::size_t, std::mt19937_64&) { return T{0}; }},
    {"negative zero", [](std::size_t, std::mt19937_64&) { return -T{0}; }},
    {"zeros of both signs",
     [](std::size_t, std::mt19937_64& r) { return (r() & 1) != 0 ? T{0} : -T{0}; }},
    {"constant", [](std::size_t, std::mt19937_64&) { return T(100000001.5); }},
    {"smooth", [](std::size_t i,
                  std::mt19937_64&) { return T(std::sin(static_cast<double>(i) * 0.01) * 10); }},
    {"smooth and noise",
     [](std::size_t i, std::mt19937_64& r) {
       return T(std::sin(static_cast<double>(i) * 0.01)) + Uniform<T>(r) / 1000;
     }},
    {"noise", [](std::size_t, std::mt19937_64& r) { return Uniform<T>(r) * 2 - 1; }},
    {"steps", [](std::size_t i, std::mt19937_64&) { return T(i / 200); }},
    {"ramp", [](std::size_t i, std::mt19937_64&) { return T(1000000) + T(i) / 64; }},
    {"large with fine noise",
     [](std::size_t, std::mt19937_64& r) { return T(1e8) + Uniform<T>(r); }},
    {"midpoint that rounds",
     [](std::size_t i, std::mt19937_64&) { return T(i % 2 == 0 ? 16777216.0 : 16777218.0); }},
    {"huge range",
     [](std::size_t i, std::mt19937_64& r) {
       const T huge = std::numeric_limits<T>::max();
       return i % 300 < 200 ? (Uniform<T>(r) - T(0.5)) * huge * 2 : Uniform<T>(r);
     }},
    {"all exponents",
     [](std::size_t, std::mt19937_64& r) {
       return std::ldexp(Uniform<T>(r) - T(0.5), static_cast<int>(r() % 200) - 100);
     }},
    {"denormal",
     [](std::size_t, std::mt19937_64& r) { return Uniform<T>(r) * std::numeric_limits<T>::min(); }},
    {"random bits",
     [](std::size_t, std::mt19937_64& r) {
       return std::bit_cast<T>(static_cast<typename Type<T>::Bits>(r()));
     }},
    {"NaN and infinity sprinkled",
     [](std::size_t i, std::mt19937_64& r) {
       if (i % 131 == 5) return std::numeric_limits<T>::quiet_NaN();
       if (i % 397 == 0) return -std::numeric_limits<T>::infinity();
       return Uniform<T>(r);
     }},
    {"sparse",
     [](std::size_t, std::mt19937_64& r) { return r() % 50 == 0 ? Uniform<T>(r) : T{0}; }},
    {"fill values",
     [](std::size_t i, std::mt19937_64& r) { return i / 100 % 2 == 0 ? T(-1e34) : Uniform<T>(r); }},
    {"infinite runs",
     [](std::size_t i, std::mt19937_64&) {
       return i / 150 % 2 == 0 ? std::numeric_limits<T>::infinity() : T(1);
     }},
};

template <Real T>
std::vector<T> Make(const Kind<T>& kind, std::size_t n) {
  std::mt19937_64 random(kSeed);
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = kind.make(i, random);
  return values;
}

constexpr std::size_t kLengths[] = {0, 1, 2, 3, 31, 33, 127, 128, 129, 255, 272, 1000, 4096 + 77};
constexpr double kBounds[] = {0, 5e-324, 1e-42, 1e-12, 1e-8, 1e-3, 0.1, 0.5, 1, 1e6, 1e31, 1e300};

template <Real T>
ConstArray View(const std::vector<T>& values) {
  return ArrayOf<T>(std::span<const T>(values));
}

// Exactly |x - y| <= eb for finite values, equal bits for the others.
template <Real T>
bool Holds(T x, T y, double eb) {
  if (!std::isfinite(x)) return std::memcmp(&x, &y, sizeof x) == 0;
  return WithinBound<double>(x, y, eb);
}

template <Real T>
void CheckEverything(const Kind<T>& kind, std::size_t n, double eb, Mode mode) {
  SCOPED_TRACE(std::string(kind.name) + " n=" + std::to_string(n) + " eb=" + std::to_string(eb) +
               " " + std::string(ModeName(mode)));
  const std::vector<T> values = Make<T>(kind, n);
  const Params params{.eb = eb, .mode = mode};
  const auto reference = CompressReference(View(values), params);
  ASSERT_TRUE(reference) << reference.error().ToString();

  // The exact capacity suffices, and nothing is written beyond it.
  const auto capacity = MaxPayloadSize(n, kDTypeOf<T>, params);
  ASSERT_TRUE(capacity);
  ASSERT_LE(reference->size(), *capacity);
  for (const unsigned threads : {1U, 3U}) {
    std::vector<std::byte> buffer(*capacity + 64, std::byte{0xA5});
    const auto size = Compress(View(values), params, std::span(buffer).first(*capacity), threads);
    ASSERT_TRUE(size) << size.error().ToString();
    ASSERT_EQ(*size, reference->size());
    ASSERT_TRUE(std::equal(reference->begin(), reference->end(), buffer.begin()));
    for (std::size_t i = *capacity; i < buffer.size(); ++i) ASSERT_EQ(buffer[i], std::byte{0xA5});
  }
  const auto roomy = RoomySize(n, kDTypeOf<T>, params);
  ASSERT_TRUE(roomy);
  std::vector<std::byte> buffer(*roomy);
  const auto placed = CompressInPlace(View(values), params, buffer);
  ASSERT_TRUE(placed);
  ASSERT_EQ(placed->size, reference->size());
  ASSERT_TRUE(std::equal(reference->begin(), reference->end(),
                         buffer.begin() + static_cast<std::ptrdiff_t>(placed->offset)));

  std::vector<T> plain(n, std::numeric_limits<T>::signaling_NaN());
  ASSERT_TRUE(DecompressReference(*reference, ArrayOf<T>(std::span<T>(plain))));
  for (const unsigned threads : {1U, 3U}) {
    std::vector<T> fast(n, std::numeric_limits<T>::signaling_NaN());
    const auto status = Decompress(*reference, ArrayOf<T>(std::span<T>(fast)), threads);
    ASSERT_TRUE(status) << status.error().ToString();
    ASSERT_TRUE(n == 0 || std::memcmp(plain.data(), fast.data(), n * sizeof(T)) == 0);
  }
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_TRUE(Holds(values[i], plain[i], eb))
        << "value " << i << ": " << values[i] << " became " << plain[i];
    ASSERT_TRUE(eb > 0 || std::memcmp(&values[i], &plain[i], sizeof(T)) == 0) << i;
  }
}

template <typename T>
class SzxFast : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SzxFast, Types);

TYPED_TEST(SzxFast, EqualsReferenceAndHoldsTheBoundOnEveryInstructionSet) {
  testing::ForEachSimdTarget([](const char* instructions) {
    SCOPED_TRACE(instructions);
    for (const auto& kind : kKinds<TypeParam>) {
      for (const std::size_t n : kLengths) {
        for (const double eb : kBounds) {
          for (const Mode mode : {Mode::kSequential, Mode::kRandomAccess}) {
            CheckEverything<TypeParam>(kind, n, eb, mode);
            if (::testing::Test::HasFatalFailure()) return;
          }
        }
      }
    }
  });
}

// Several chunks of blocks, so that threads meet.
TYPED_TEST(SzxFast, ManyChunks) {
  for (const std::size_t k : {5U, 15U, 16U, 17U}) {
    const auto& kind = kKinds<TypeParam>[k];
    CheckEverything<TypeParam>(kind, 3 * 512 * 128 + 4321, 1e-3, Mode::kRandomAccess);
    CheckEverything<TypeParam>(kind, 3 * 512 * 128 + 4321, 1e-3, Mode::kSequential);
  }
}

TYPED_TEST(SzxFast, RandomBounds) {
  std::mt19937_64 random(kSeed);
  for (int round = 0; round < 300; ++round) {
    const auto& kind = kKinds<TypeParam>[random() % std::size(kKinds<TypeParam>)];
    const double eb =
        std::ldexp(Uniform<double>(random) + 0.5, static_cast<int>(random() % 120) - 80);
    CheckEverything<TypeParam>(kind, random() % 1500, eb, Mode::kRandomAccess);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// Input, payload and output at odd addresses; nothing beyond the payload may be read (sanitizers
// see it).
TYPED_TEST(SzxFast, UnalignedPointers) {
  using T = TypeParam;
  const std::size_t n = 1000;
  const auto values = Make<T>(kKinds<T>[5], n);
  const Params params{.eb = 1e-3};
  const auto expected = CompressReference(View(values), params);
  ASSERT_TRUE(expected);
  std::vector<std::byte> shifted(n * sizeof(T) + 1);
  std::memcpy(shifted.data() + 1, values.data(), n * sizeof(T));
  std::vector<std::byte> buffer(*RoomySize(n, kDTypeOf<T>, params) + 1);
  const auto placed =
      CompressInPlace({shifted.data() + 1, n, kDTypeOf<T>}, params, std::span(buffer).subspan(1));
  ASSERT_TRUE(placed);
  const auto at = buffer.begin() + 1 + static_cast<std::ptrdiff_t>(placed->offset);
  ASSERT_TRUE(std::equal(expected->begin(), expected->end(), at));
  std::vector<std::byte> payload(placed->size + 1);
  std::memcpy(payload.data() + 1, expected->data(), expected->size());
  std::vector<std::byte> output(n * sizeof(T) + 1);
  ASSERT_TRUE(Decompress(std::span(payload).subspan(1), {output.data() + 1, n, kDTypeOf<T>}));
  std::vector<T> plain(n);
  ASSERT_TRUE(DecompressReference(*expected, ArrayOf<T>(std::span<T>(plain))));
  EXPECT_EQ(std::memcmp(plain.data(), output.data() + 1, n * sizeof(T)), 0);
}

TYPED_TEST(SzxFast, BlocksAtRandom) {
  using T = TypeParam;
  const std::size_t n = 700 * 128 + 55;
  for (const Mode mode : {Mode::kSequential, Mode::kRandomAccess}) {
    const auto values = Make<T>(kKinds<T>[17], n);
    const auto payload = CompressReference(View(values), {.eb = 1e-3, .mode = mode});
    ASSERT_TRUE(payload);
    std::vector<T> all(n);
    ASSERT_TRUE(Decompress(*payload, ArrayOf<T>(std::span<T>(all))));
    const std::pair<std::size_t, std::size_t> ranges[] = {{0, 1},   {1, 3},   {510, 5},
                                                          {699, 2}, {700, 1}, {0, 701}};
    for (const auto& [first, blocks] : ranges) {
      const std::size_t count = std::min(blocks * 128, n - first * 128);
      std::vector<T> part(count);
      ASSERT_TRUE(DecompressBlocks(*payload, n, first, ArrayOf<T>(std::span<T>(part))));
      EXPECT_EQ(std::memcmp(part.data(), all.data() + first * 128, count * sizeof(T)), 0) << first;
    }
    std::vector<T> part(100);
    EXPECT_FALSE(
        DecompressBlocks(*payload, n, 0, ArrayOf<T>(std::span<T>(part))));  // no whole block
    EXPECT_FALSE(
        DecompressBlocks(*payload, n, 701, ArrayOf<T>(std::span<T>(part))));  // beyond the end
    EXPECT_TRUE(DecompressBlocks(*payload, n, 9, ArrayOf<T>(std::span<T>())));
  }
}

// The longest stream: no two neighbours share a byte, every block is at full length.
TYPED_TEST(SzxFast, CapacityIsReached) {
  using T = TypeParam;
  using Word = typename Type<T>::Bits;
  for (const std::size_t n : {1U, 2U, 3U, 127U, 128U, 129U, 1000U}) {
    std::vector<T> values(n);
    for (std::size_t i = 0; i < n; ++i) {
      values[i] = std::bit_cast<T>(
          static_cast<Word>(i % 2 == 0 ? Word(~Word{0}) : Word(1) << (Type<T>::kBits - 2)));
    }
    for (const Mode mode : {Mode::kSequential, Mode::kRandomAccess}) {
      const Params params{.eb = 1, .mode = mode};
      const auto capacity = MaxPayloadSize(n, kDTypeOf<T>, params);
      ASSERT_TRUE(capacity);
      std::vector<std::byte> buffer(*capacity);
      EXPECT_EQ(Compress(View(values), params, buffer).value_or(0), *capacity) << n;
      buffer.pop_back();
      const auto refused = Compress(View(values), params, buffer);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, ErrorCode::kCapacity);
    }
  }
}

TEST(SzxSizes, NeverWrap) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    std::uint64_t before = 0;
    for (const std::uint64_t n :
         {0ULL, 1ULL, 128ULL, (1ULL << 32) - 1, 1ULL << 32, 1ULL << 40, 1ULL << 55}) {
      const auto size = MaxPayloadSize(n, dtype, {});
      ASSERT_TRUE(size);
      EXPECT_GT(*size, n * SizeOf(dtype));
      EXPECT_GT(*size, before);
      EXPECT_GE(*RoomySize(n, dtype, {}), *size);
      before = *size;
    }
    EXPECT_EQ(MaxPayloadSize(128, DType::kF32, {}).value(), 20U + 2 + 1 + 549);
    for (const std::uint64_t n : {~0ULL, ~0ULL / 4, 1ULL << 63}) {
      EXPECT_FALSE(MaxPayloadSize(n, dtype, {})) << n;
      EXPECT_FALSE(RoomySize(n, dtype, {})) << n;
    }
  }
}

// Both readers take and refuse the same streams, and nothing is touched outside the buffers.
template <Real T>
void CheckSameVerdict(const std::vector<std::byte>& payload, std::size_t n) {
  // Exactly as large as what they hold, so that a sanitizer sees any step beyond.
  const std::vector<std::byte> exact(payload);
  std::vector<T> plain(n, T{0});
  std::vector<T> fast(n, T{0});
  const auto expected = DecompressReference(exact, ArrayOf<T>(std::span<T>(plain)));
  const auto status = Decompress(exact, ArrayOf<T>(std::span<T>(fast)), 1);
  ASSERT_EQ(expected.has_value(), status.has_value())
      << (expected ? std::string("reference reads it") : expected.error().ToString()) << "; "
      << (status ? std::string("fast reads it") : status.error().ToString());
  if (status) {
    ASSERT_TRUE(n == 0 || std::memcmp(plain.data(), fast.data(), n * sizeof(T)) == 0);
    ASSERT_TRUE(Inspect(exact, n, kDTypeOf<T>));
  } else {
    ASSERT_EQ(status.error().code, ErrorCode::kCorrupt);
  }
}

TYPED_TEST(SzxFast, DamagedStreams) {
  using T = TypeParam;
  std::mt19937_64 random(kSeed);
  for (const Mode mode : {Mode::kSequential, Mode::kRandomAccess}) {
    const std::size_t n = 1000;
    const auto values = Make<T>(kKinds<T>[17], n);
    const auto payload = CompressReference(View(values), {.eb = 1e-3, .mode = mode});
    ASSERT_TRUE(payload);
    for (std::size_t size = 0; size < payload->size(); ++size) {
      const std::vector<std::byte> cut(payload->begin(),
                                       payload->begin() + static_cast<std::ptrdiff_t>(size));
      CheckSameVerdict<T>(cut, n);
      std::vector<T> out(n);
      ASSERT_FALSE(Decompress(cut, ArrayOf<T>(std::span<T>(out)))) << size;
    }
    for (int round = 0; round < 4000; ++round) {
      auto bad = *payload;
      // The tables first, then anywhere.
      const std::size_t at =
          round < 1200 ? static_cast<std::size_t>(round / 8) % bad.size() : random() % bad.size();
      bad[at] ^= std::byte{1} << (round < 1200 ? round % 8 : static_cast<int>(random() % 8));
      if (random() % 8 == 0) bad.push_back(std::byte{7});
      CheckSameVerdict<T>(bad, n);
      if (::testing::Test::HasFatalFailure()) return;
    }
    for (const std::size_t wrong : {std::size_t{0}, n - 1, n + 1, n * 2, n - 128})
      CheckSameVerdict<T>(*payload, wrong);
    for (int round = 0; round < 300; ++round) {
      std::vector<std::byte> noise(random() % 1100);
      for (auto& byte : noise) byte = static_cast<std::byte>(random());
      const std::uint8_t head[] = {1, 1, Type<T>::kVersionByte, static_cast<std::uint8_t>(mode)};
      for (std::size_t i = 0; i < noise.size() && i < 12; ++i)
        noise[i] = std::byte{i < 4 ? head[i] : std::uint8_t{0}};
      if (noise.size() > 11) noise[mode == Mode::kRandomAccess ? 11 : 4] = std::byte{128};
      CheckSameVerdict<T>(noise, random() % 600);
    }
  }
}

TEST(SzxStream, OtherTypeIsRefused) {
  const auto values = Make<double>(kKinds<double>[5], 500);
  const auto payload = CompressReference(View(values), {.eb = 1e-3});
  ASSERT_TRUE(payload);
  std::vector<float> out(500);
  const auto status = Decompress(*payload, ArrayOf<float>(std::span<float>(out)));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
}

// A stream of another writer with blocks of 48 values.
TEST(SzxStream, OtherBlockSizesAreRead) {
  const std::size_t n = 48 * 9 + 7;
  const auto values = Make<float>(kKinds<float>[5], n);
  const auto bound = MakeBound<float>(1e-3);
  ASSERT_TRUE(bound);
  for (const Mode mode : {Mode::kSequential, Mode::kRandomAccess}) {
    std::vector<std::uint8_t> sizes, states(2), coded;
    for (std::size_t b = 0; b * 48 < n; ++b) {
      const auto* first = reinterpret_cast<const std::byte*>(values.data() + b * 48);
      const std::size_t count = std::min<std::size_t>(48, n - b * 48);
      const auto plan = PlanBlock<float>(first, count, *bound);
      ASSERT_FALSE(plan.constant);
      std::vector<std::uint8_t> block(MaxBlockBytes<float>(count));
      const std::size_t size = WriteBlock<float>(first, count, plan, block.data());
      coded.insert(coded.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(size));
      sizes.push_back(static_cast<std::uint8_t>(size));
      sizes.push_back(static_cast<std::uint8_t>(size >> 8));
      states[b / 8] |= static_cast<std::uint8_t>(0x80 >> (b % 8));
    }
    std::vector<std::uint8_t> stream(HeaderBytes(mode));
    WriteHeader<float>({.mode = mode, .block_values = 48}, stream.data());
    if (mode == Mode::kRandomAccess) stream.insert(stream.end(), sizes.begin(), sizes.end());
    stream.insert(stream.end(), states.begin(), states.end());
    stream.insert(stream.end(), coded.begin(), coded.end());
    const auto payload = std::as_bytes(std::span(stream));
    std::vector<float> out(n), plain(n);
    const auto status = Decompress(payload, ArrayOf<float>(std::span<float>(out)), 2);
    ASSERT_TRUE(status) << status.error().ToString();
    ASSERT_TRUE(DecompressReference(payload, ArrayOf<float>(std::span<float>(plain))));
    EXPECT_EQ(out, plain);
    for (std::size_t i = 0; i < n; ++i) ASSERT_TRUE(Holds(values[i], out[i], 1e-3));
    std::vector<float> part(48);
    ASSERT_TRUE(DecompressBlocks(payload, n, 4, ArrayOf<float>(std::span<float>(part))));
    EXPECT_TRUE(std::equal(part.begin(), part.end(), out.begin() + 4 * 48));
  }
}

// Element counts that do not belong to the stream, up to the largest.
TEST(SzxStream, AbsurdCounts) {
  const std::vector<float> values(500, 2.0F);
  for (const Mode mode : {Mode::kSequential, Mode::kRandomAccess}) {
    const auto payload = CompressReference(View(values), {.eb = 1e-3, .mode = mode});
    ASSERT_TRUE(payload);
    for (const std::uint64_t count : {~0ULL, ~0ULL - 127, 1ULL << 63, 1ULL << 40, 1000ULL}) {
      const auto info = Inspect(*payload, count, DType::kF32);
      ASSERT_FALSE(info) << count;
      EXPECT_EQ(info.error().code, ErrorCode::kCorrupt);
      std::vector<float> part(128);
      EXPECT_FALSE(
          DecompressBlocks(*payload, count, count / 128, ArrayOf<float>(std::span<float>(part))));
    }
  }
}

TEST(SzxStream, Inspect) {
  std::vector<float> values(128 * 4, 3.0F);
  for (std::size_t i = 128; i < 256; ++i) values[i] = static_cast<float>(i);
  values[300] = std::numeric_limits<float>::quiet_NaN();
  const auto payload = CompressReference(View(values), {.eb = 0.5});
  ASSERT_TRUE(payload);
  const auto info = Inspect(*payload, values.size(), DType::kF32);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->blocks, 4U);
  EXPECT_EQ(info->constant_blocks, 2U);
  EXPECT_EQ(info->full_blocks, 1U);
  EXPECT_EQ(info->table_bytes, 20U + 4 + 1 + 8);
  EXPECT_EQ(info->table_bytes + info->block_bytes, payload->size());
}

// No state is shared between callers.
TEST(SzxStream, ManyCallersAtOnce) {
  std::vector<std::jthread> callers;
  std::atomic<int> failures = 0;
  for (std::size_t c = 0; c < 8; ++c) {
    callers.emplace_back([c, &failures] {
      const auto values = Make<float>(kKinds<float>[4 + c], 70'000);
      const auto expected = CompressReference(View(values), {.eb = 1e-3});
      std::vector<std::byte> buffer(
          MaxPayloadSize(values.size(), DType::kF32, {.eb = 1e-3}).value());
      std::vector<float> out(values.size());
      for (int i = 0; i < 20; ++i) {
        const auto size = Compress(View(values), {.eb = 1e-3}, buffer, 2);
        if (!size || *size != expected->size() ||
            !std::equal(expected->begin(), expected->end(), buffer.begin()) ||
            !Decompress(std::span(buffer).first(*size), ArrayOf<float>(std::span<float>(out)), 2)) {
          ++failures;
        }
      }
    });
  }
  callers.clear();
  EXPECT_EQ(failures, 0);
}

TEST(SzxStream, ModeNames) {
  for (const Mode mode : {Mode::kSequential, Mode::kRandomAccess})
    EXPECT_EQ(ParseMode(ModeName(mode)), mode);
  EXPECT_EQ(ParseMode("plain"), std::nullopt);
}

}  // namespace
}  // namespace szarena::codec::szx
