// SPDX-License-Identifier: Apache-2.0
// Values worked out by hand from the definitions in szarena_candidate.h, and round trips.
#include "judge/primitives.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstring>

namespace szarena::judge {
namespace {

template <typename T>
ByteView View(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

template <typename T>
std::vector<T> Values(const Bytes& bytes, size_t count) {
  std::vector<T> values(count);
  if (count > 0) std::memcpy(values.data(), bytes.data(), count * sizeof(T));
  return values;
}

szarena_problem Line(uint64_t n) {
  szarena_problem problem = {};
  problem.n = n;
  problem.dims[0] = problem.dims[1] = 1;
  problem.dims[2] = n;
  problem.dtype = SZARENA_F32;
  return problem;
}

TEST(Quantize, RoundsAsTheFormatSays) {
  szarena_problem problem = Line(6);
  problem.abs_bound = 0.5;
  // t = x: -1.5 gives -2 (one lower than floor(t + 0.5)), 0.5 gives 1.
  const std::vector<float> x = {-1.5f, -0.5f, 0.5f, NAN, 3e9f, 2.4f};
  const Bytes out = RunQuantize(problem, View(x));
  EXPECT_EQ(Values<int32_t>(out, 6), (std::vector<int32_t>{-2, 0, 1, 0, 0, 2}));
  ASSERT_EQ(out.size(), 25u);
  EXPECT_EQ(static_cast<int>(out[24]), 0b011000);
}

TEST(Lorenzo, ThreeDimensions) {
  szarena_problem problem = Line(8);
  problem.dims[0] = problem.dims[1] = problem.dims[2] = 2;
  // v = 1 at the origin only: the operator's stencil, signs alternating.
  const std::vector<int32_t> x = {1, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(Values<int32_t>(RunLorenzo(problem, View(x)), 8),
            (std::vector<int32_t>{1, -1, -1, 1, -1, 1, 1, -1}));
}

RC_GTEST_PROP(Lorenzo, InverseGivesTheInputBack, (std::vector<int32_t> values)) {
  const auto w = *rc::gen::inRange<uint64_t>(1, 5);
  const auto h = *rc::gen::inRange<uint64_t>(1, 5);
  values.resize(values.size() / (w * h) * w * h);
  szarena_problem problem = Line(values.size());
  problem.dims[0] = values.size() / (w * h);
  problem.dims[1] = h;
  problem.dims[2] = w;
  const Bytes back = InvertLorenzo(problem, RunLorenzo(problem, View(values)));
  RC_ASSERT(Values<int32_t>(back, values.size()) == values);
}

TEST(Histogram, CountsWhatIsOutsideInTheLastBin) {
  szarena_problem problem = Line(6);
  problem.bins = 3;
  const std::vector<int32_t> x = {0, 2, 2, 3, -1, INT32_MIN};
  EXPECT_EQ(Values<uint32_t>(RunHistogram(problem, View(x)), 4),
            (std::vector<uint32_t>{1, 0, 2, 3}));
}

TEST(Bitpack, OneBlockByHand) {
  szarena_problem problem = Line(3);
  problem.pad_blocks = 4;
  const std::vector<int32_t> x = {1, -2, 0};
  // Rate 2; signs: value 1; plane 0: value 0; plane 1: value 1.
  const std::vector<uint8_t> expected = {2, 0, 0, 0, 0x40, 0, 0, 0, 0x80, 0, 0, 0, 0x40, 0, 0, 0};
  EXPECT_EQ(Values<uint8_t>(RunBitpack(problem, View(x)), 16), expected);
}

RC_GTEST_PROP(Bitpack, InverseGivesTheInputBack, (std::vector<int32_t> values, uint8_t shift)) {
  for (int32_t& value : values) value = (value == INT32_MIN ? 0 : value) >> (shift % 32);
  szarena_problem problem = Line(values.size());
  problem.pad_blocks = 2;
  Bytes payload = RunBitpack(problem, View(values));
  const auto back = InvertBitpack(problem, payload);
  RC_ASSERT(back.has_value());
  RC_ASSERT(Values<int32_t>(*back, values.size()) == values);
  if (!payload.empty()) {
    payload.pop_back();
    RC_ASSERT(!InvertBitpack(problem, payload).has_value());
  }
}

TEST(Scan, IsExclusiveAndEndsWithTheTotal) {
  const std::vector<uint32_t> x = {UINT32_MAX, UINT32_MAX, 1};
  const uint64_t big = UINT32_MAX;
  EXPECT_EQ(Values<uint64_t>(RunScan(Line(3), View(x)), 4),
            (std::vector<uint64_t>{0, big, 2 * big, 2 * big + 1}));
  EXPECT_EQ(Values<uint64_t>(RunScan(Line(0), {}), 1), std::vector<uint64_t>{0});
}

TEST(LeadingBytes, CodesAreNotClampedAndStartAnewInEveryBlock) {
  szarena_problem problem = Line(6);
  problem.block_size = 4;
  const std::vector<uint32_t> x = {0, 0x000000ff, 0x0000ffff, 0x0000ffff, 0x0000ffff, 0xff00ffff};
  // 3 (all equal), 3, 2, 3 | 2 (predecessor 0 again), 0
  EXPECT_EQ(Values<uint8_t>(RunLeadingBytes(problem, View(x)), 2),
            (std::vector<uint8_t>{0b11111011, 0b10000000}));
}

}  // namespace
}  // namespace szarena::judge
