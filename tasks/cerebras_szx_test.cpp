// SPDX-License-Identifier: Apache-2.0
// SZx on the simulated wafer against the CPU codec: same bytes from both encoders, same values
// from both decoders.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "cerebras_testing.h"
#include "codec/szx/szx.h"

namespace szarena::tasks {
namespace {

constexpr char kBaseline[] = "tasks/szx/baseline/cerebras";

const Reference kCpu{
    [](const Words& values, double eb, uint32_t) {
      const codec::szx::Params params{eb, codec::szx::Mode::kRandomAccess};
      std::vector<std::byte> bytes(
          codec::szx::MaxPayloadSize(values.size(), codec::DType::kF32, params).value());
      const uint64_t size = codec::szx::Compress({reinterpret_cast<const std::byte*>(values.data()),
                                                  values.size(), codec::DType::kF32},
                                                 params, bytes)
                                .value();
      Words words((size + 3) / 4);
      std::copy_n(bytes.begin(), size, std::as_writable_bytes(std::span(words)).begin());
      return words;
    },
    [](const Words& payload, size_t count, double, uint32_t) {
      // Up to three bytes of padding: the codec wants the exact size.
      Words values(count);
      const auto bytes = std::as_bytes(std::span(payload));
      for (size_t pad = 0; pad < 4; ++pad) {
        const auto done = codec::szx::Decompress(
            bytes.first(bytes.size() - pad),
            {reinterpret_cast<std::byte*>(values.data()), count, codec::DType::kF32});
        if (done) return values;
      }
      ADD_FAILURE() << "the payload does not decode";
      return values;
    }};

class CerebrasSzx : public testing::TestWithParam<const char*> {};

TEST_P(CerebrasSzx, EveryLengthUpToAHundred) {
  const Geometry g{.width = 12, .height = 9, .max_elems = 128, .chunk_blocks = 4};
  const auto program = CompileCandidate(kBaseline, GetParam(), g);
  ASSERT_TRUE(program);
  const Words smooth = FieldBits(field::GeneratorKind::kSmooth, 3, 128);
  std::vector<Words> chunks;
  for (int n = 0; n <= 100; ++n) chunks.emplace_back(smooth.begin(), smooth.begin() + n);
  CheckBothWays(program, g, kCpu, chunks, 1e-3);
}

TEST_P(CerebrasSzx, EveryKindOfField) {
  const Geometry g{.width = 5, .height = 3, .max_elems = 2048, .chunk_blocks = 64};
  const auto program = CompileCandidate(kBaseline, GetParam(), g);
  ASSERT_TRUE(program);
  std::vector<Words> chunks;
  for (const field::GeneratorKind kind : field::AllGenerators()) {
    chunks.push_back(FieldBits(kind, 7, 2048 - 97 * static_cast<uint32_t>(chunks.size())));
  }
  ASSERT_EQ(chunks.size(), 15u);
  for (const double eb : {1e-4, 0.3, 1e-2, 0.5, 1e-7, 0.0, 1e-42, 1e30}) {
    CheckBothWays(program, g, kCpu, chunks, eb);
  }
}

// Differences that equal the bound, and radii on the border between constant and coded.
TEST_P(CerebrasSzx, TiesAndBounds) {
  const Geometry g{.width = 4, .height = 2, .max_elems = 512, .chunk_blocks = 8};
  const auto program = CompileCandidate(kBaseline, GetParam(), g);
  ASSERT_TRUE(program);
  for (const double eb : {1.0, 0.5, 0.1, 3e-5}) {
    std::vector<Words> chunks;
    for (uint32_t p = 0; p < 8; ++p) chunks.push_back(TieBits(512, eb, 2 * p + 1, p % 2 == 1, p));
    CheckBothWays(program, g, kCpu, chunks, eb);
  }
}

// The budget: cycles an element of one PE with a full chunk, by the simulator's cost model. The
// limits are what was reached, a little rounded up: a change that makes a program slower shows
// here.
TEST_P(CerebrasSzx, CyclesPerElement) {
  const Geometry g{.width = 1, .height = 1, .max_elems = 2048, .chunk_blocks = 64};
  const auto program = CompileCandidate(kBaseline, GetParam(), g);
  ASSERT_TRUE(program);
  const bool wse2 = std::string_view(GetParam()) == "wse2";
  for (const auto& [eb, limit2, limit3] :
       {std::tuple(1e-1, 85.0, 85.0), std::tuple(1e-2, 85.0, 85.0), std::tuple(1e-3, 85.0, 85.0),
        std::tuple(1e-4, 85.0, 85.0)}) {
    const Words chunk = FieldBits(field::GeneratorKind::kSmooth, 7, 2048);
    const RunResult packed = RunCompress(program, g, {chunk}, eb);
    const RunResult values = RunDecompress(program, g, packed.out, {2048}, eb);
    const double compress = static_cast<double>(packed.cycles) / 2048;
    const double decompress = static_cast<double>(values.cycles) / 2048;
    fmt::print(
        "SZx {} eb {}: ratio {:.2f}, cycles an element: compress {:.2f}, decompress {:.2f}\n",
        GetParam(), eb, 2048.0 / static_cast<double>(packed.out[0].size()), compress, decompress);
    EXPECT_LT(compress, wse2 ? limit2 : limit3);
    EXPECT_LT(decompress, wse2 ? limit2 : limit3);
  }
}

INSTANTIATE_TEST_SUITE_P(Archs, CerebrasSzx, testing::Values("wse2", "wse3"),
                         [](const auto& arch) { return std::string(arch.param); });

}  // namespace
}  // namespace szarena::tasks
