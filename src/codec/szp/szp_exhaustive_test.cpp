// SPDX-License-Identifier: Apache-2.0
// Every one of the 2^32 f32 bit patterns through the codec. Minutes long: label slow.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace szarena::codec::szp
