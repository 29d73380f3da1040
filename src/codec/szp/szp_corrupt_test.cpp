// SPDX-License-Identifier: Apache-2.0
// Damaged and foreign bytes: refused or decoded, never a fault (run under ASan and UBSan too),
// every element written.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "codec/core/testing/sample_data.h"
#include "codec/core/testing/simd_targets.h"
#include "codec/szp/format.h"
#include "codec/szp/reference.h"

namespace szarena::codec::szp {
namespace {

using codec::testing::SampleData;

// Decodes from a buffer of exactly the payload's size and checks that accepted streams write every
// element and that both versions agree. Returns whether the stream was accepted.
template <Real T>
bool TryDecode(const std::vector<std::byte>& bytes, uint64_t count, const Params& params) {
  const auto payload = std::make_unique<std::byte[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), payload.get());
  const std::span<const std::byte> view(payload.get(), bytes.size());
  std::vector<T> a(count);
  std::vector<T> b(count);
  if (count > 0) {
    std::memset(a.data(), 0x5A, count * sizeof(T));
    std::memset(b.data(), 0xC3, count * sizeof(T));
  }
  const auto fast = Decompress(view, params, ArrayOf(std::span<T>(a)), 2);
  codec::testing::ForEachSimdTarget([&](const char* target) {
    std::vector<T> c(count, T{1});
    ASSERT_EQ(Decompress(view, params, ArrayOf(std::span<T>(c))).has_value(), fast.has_value());
    if (!fast || count == 0) return;
    ASSERT_EQ(std::memcmp(a.data(), c.data(), count * sizeof(T)), 0) << target;
  });
  const auto slow = ReferenceDecompress(view, params, ArrayOf(std::span<T>(b)));
  EXPECT_EQ(fast.has_value(), slow.has_value());
  if (!fast) {
    EXPECT_EQ(fast.error().code, ErrorCode::kCorrupt);
    EXPECT_FALSE(fast.error().message.empty());
    return false;
  }
  EXPECT_TRUE(count == 0 || std::memcmp(a.data(), b.data(), count * sizeof(T)) == 0);
  return true;
}

template <typename T>
class SzpCorrupt : public ::testing::Test {
 protected:
  static std::vector<std::byte> Make(uint64_t n, const Params& params) {
    auto v = SampleData<T>("smooth", n, 2);
    if (n > 50) v[40] = std::numeric_limits<T>::infinity();
    std::vector<std::byte> payload(*MaxPayloadSize(n, kDTypeOf<T>, params));
    payload.resize(*Compress(ArrayOf(std::span<const T>(v)), params, payload));
    return payload;
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SzpCorrupt, Types);

TYPED_TEST(SzpCorrupt, EveryTruncationIsRefused) {
  for (const Mode mode : {Mode::kFixed, Mode::kPlain, Mode::kOutlier}) {
    const Params params{.eb = 1e-3, .mode = mode, .padding_blocks = 4};
    auto payload = this->Make(200, params);
    ASSERT_TRUE(TryDecode<TypeParam>(payload, 200, params));
    while (!payload.empty()) {
      payload.pop_back();
      EXPECT_FALSE(TryDecode<TypeParam>(payload, 200, params)) << payload.size();
    }
  }
}

TYPED_TEST(SzpCorrupt, BytesLeftOverAreRefused) {
  const Params params{.eb = 1e-3, .padding_blocks = 4};
  auto payload = this->Make(200, params);
  payload.push_back(std::byte{0});
  EXPECT_FALSE(TryDecode<TypeParam>(payload, 200, params));
  EXPECT_FALSE(TryDecode<TypeParam>({std::byte{0}}, 0, params));
  EXPECT_TRUE(TryDecode<TypeParam>({}, 0, params));
}

TYPED_TEST(SzpCorrupt, FlippedBits) {
  for (const Mode mode : {Mode::kFixed, Mode::kPlain, Mode::kOutlier}) {
    const Params params{.eb = 1e-3, .mode = mode, .padding_blocks = 4};
    const auto payload = this->Make(333, params);
    int accepted = 0;
    for (size_t bit = 0; bit < payload.size() * 8; bit += bit < 128 ? 1 : 7) {
      auto damaged = payload;
      damaged[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
      accepted += TryDecode<TypeParam>(damaged, 333, params);
    }
    EXPECT_GT(accepted, 0);  // a flip in a plane is another valid stream
  }
}

TYPED_TEST(SzpCorrupt, RandomBytes) {
  std::mt19937_64 rng(99);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::byte> bytes(rng() % 1024);
    for (auto& b : bytes) b = static_cast<std::byte>(rng() >> (rng() % 8));
    const uint64_t count = rng() % 300;
    const Params params{.eb = 1e-3,
                        .mode = static_cast<Mode>(rng() % 3),
                        .padding_blocks = static_cast<uint32_t>(1 + rng() % 8)};
    TryDecode<TypeParam>(bytes, count, params);
  }
}

// Any valid stream is accepted, not only one that our encoder would write: random rate bytes and
// planes.
TYPED_TEST(SzpCorrupt, RandomValidStreams) {
  std::mt19937_64 rng(5);
  for (int round = 0; round < 600; ++round) {
    const Params params{.eb = 0.01 * static_cast<double>(1 + rng() % 100),
                        .mode = static_cast<Mode>(rng() % 3),
                        .padding_blocks = 2};
    const SizeTable sizes = MakeSizeTable(kDTypeOf<TypeParam>, params.mode);
    const uint64_t count = 1 + rng() % 400;
    std::vector<std::byte> bytes((BlockCount(count) + 1) / 2 * 2);
    uint64_t total = bytes.size();
    for (uint64_t b = 0; b < BlockCount(count); ++b) {
      uint8_t rate = 0;
      do {
        rate = static_cast<uint8_t>(rng());
      } while (sizes[rate] == kInvalidSize);
      bytes[b] = static_cast<std::byte>(rate);
      total += sizes[rate];
    }
    const size_t table = bytes.size();
    bytes.resize(total);
    for (size_t i = table; i < total; ++i) bytes[i] = static_cast<std::byte>(rng());
    EXPECT_TRUE(TryDecode<TypeParam>(bytes, count, params));
  }
}

TYPED_TEST(SzpCorrupt, InvalidRateBytesAreNamed) {
  const Params params{.eb = 1, .mode = Mode::kPlain, .padding_blocks = 1};
  std::vector<TypeParam> out(64);
  for (const int rate : {0x20, 0x3E, 0x40, 0x7F, 0x80, 0xFF}) {
    const std::vector<std::byte> bytes = {std::byte{0}, static_cast<std::byte>(rate)};
    const auto status = Decompress(bytes, params, ArrayOf(std::span<TypeParam>(out)));
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().message.find("of block '1'"), std::string::npos)
        << status.error().message;
  }
}

TYPED_TEST(SzpCorrupt, AnotherTypeOrLengthIsRefused) {
  const Params params{.eb = 1e-3};
  const auto payload = this->Make(1000, params);  // holds a raw block: its size tells the type
  using Other = std::conditional_t<sizeof(TypeParam) == 4, double, float>;
  EXPECT_FALSE(TryDecode<Other>(payload, 1000, params));
  EXPECT_FALSE(TryDecode<TypeParam>(payload, 900, params));
}

}  // namespace
}  // namespace szarena::codec::szp
