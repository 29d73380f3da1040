// SPDX-License-Identifier: Apache-2.0
// Every one of the 2^32 f32 bit patterns through the codec, and more than 2^32 elements. Minutes
// long: label slow.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "codec/core/parallel.h"
#include "codec/szp/reference.h"

namespace szarena::codec::szp {
namespace {

constexpr uint64_t kSlice = 1 << 20;

// |x - y| <= eb decided exactly: the difference as an unevaluated sum of two doubles.
bool Held(float x, float y, double eb) {
  if (std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y)) return true;
  if (!std::isfinite(x) || !std::isfinite(y)) return false;
  const double a = x;
  const double b = -static_cast<double>(y);
  const double sum = a + b;
  const double b_seen = sum - a;
  const double lost = (a - (sum - b_seen)) + (b - b_seen);
  const double magnitude = std::fabs(sum);
  return magnitude < eb || (magnitude == eb && (sum > 0 ? lost <= 0 : lost >= 0));
}

// Patterns i * stride mod 2^32: neighbours in a block then differ wildly (odd stride) or not (1).
uint64_t CountFaults(double eb, Mode mode, uint32_t stride, bool against_reference) {
  const Params params{.eb = eb, .mode = mode};
  std::atomic<uint64_t> faults{0};
  ForEachChunk(0, (uint64_t{1} << 32) / kSlice, [&](uint64_t slice) {
    std::vector<float> v(kSlice);
    for (uint64_t i = 0; i < kSlice; ++i) {
      v[i] = std::bit_cast<float>(static_cast<uint32_t>(slice * kSlice + i) * stride);
    }
    const auto values = ArrayOf(std::span<const float>(v));
    std::vector<std::byte> payload(*MaxPayloadSize(kSlice, DType::kF32, params));
    payload.resize(Compress(values, params, payload).value_or(0));
    if (against_reference) {
      std::vector<std::byte> expected(*MaxPayloadSize(kSlice, DType::kF32, params));
      expected.resize(ReferenceCompress(values, params, expected).value_or(0));
      faults += payload != expected;
    }
    std::vector<float> decoded(kSlice, -77.0f);
    if (!Decompress(payload, params, ArrayOf(std::span<float>(decoded)))) ++faults;
    uint64_t broken = 0;
    for (uint64_t i = 0; i < kSlice; ++i) broken += !Held(v[i], decoded[i], eb);
    faults += broken;
  });
  return faults;
}

TEST(SzpExhaustive, EveryFloatKeepsTheBound) {
  for (const double eb : {1e-3, 0.5, 3e-39, 1e10}) {
    EXPECT_EQ(CountFaults(eb, Mode::kOutlier, 1, false), 0u) << eb;
  }
}

TEST(SzpExhaustive, EveryFloatAsTheReference) {
  EXPECT_EQ(CountFaults(0.1, Mode::kPlain, 1, true), 0u);
}

TEST(SzpExhaustive, EveryFloatAmongStrangers) {
  EXPECT_EQ(CountFaults(1.0, Mode::kFixed, 2654435761u, false), 0u);
}

// More elements than 32 bits count: pages of zeros that are never written, with some values at the
// end.
TEST(SzpLarge, MoreThanTwoToThe32Elements) {
  constexpr uint64_t kCount = (uint64_t{1} << 32) + 77;
  constexpr uint64_t kBytes = kCount * sizeof(float);
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED) << "no address space of 16 GiB";
  auto* const bytes = static_cast<std::byte*>(memory);
  for (uint64_t i = kCount - 100; i < kCount; ++i) {
    Store<float>(bytes + i * sizeof(float), static_cast<float>(i % 1000));
  }
  const Params params{.eb = 0.25};
  const ConstArray values{bytes, kCount, DType::kF32};
  std::vector<std::byte> payload(((BlockCount(kCount) + 1023) / 1024) * 1024 + 100 * 128);
  const auto size = Compress(values, params, payload, 0);
  ASSERT_TRUE(size) << size.error().ToString();
  payload.resize(*size);
  const auto info = Inspect(payload, kCount, DType::kF32, params);
  ASSERT_TRUE(info) << info.error().ToString();
  EXPECT_EQ(info->blocks, BlockCount(kCount));
  EXPECT_LE(info->blocks - info->zero_blocks, 5u);
  const uint64_t first_block = (kCount - 120) / 32;
  std::vector<float> tail(kCount - first_block * 32);
  const auto status =
      DecompressBlocks(payload, kCount, params, first_block, ArrayOf(std::span<float>(tail)));
  ASSERT_TRUE(status) << status.error().ToString();
  for (uint64_t i = 0; i < tail.size(); ++i) {
    const float x = Load<float>(bytes + (first_block * 32 + i) * sizeof(float));
    ASSERT_LE(std::fabs(tail[i] - x), 0.25f) << i;
  }
  munmap(memory, kBytes);
}

}  // namespace
}  // namespace szarena::codec::szp
