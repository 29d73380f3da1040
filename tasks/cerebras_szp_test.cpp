// SPDX-License-Identifier: Apache-2.0
// SZp on the simulated wafer against the CPU codec: same bytes from both encoders, same values from
// both decoders.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "cerebras_testing.h"
#include "codec/szp/szp.h"
#include "field/generate.h"

namespace szarena::tasks {
namespace {

constexpr char kBaseline[] = "tasks/szp/baseline/cerebras";

Words CpuCompress(const Words& chunk, double eb, uint32_t chunk_blocks) {
  if (chunk.empty()) return {};
  const codec::szp::Params params{eb, codec::szp::Mode::kPlain, chunk_blocks};
  const codec::ConstArray values{reinterpret_cast<const std::byte*>(chunk.data()), chunk.size(),
                                 codec::DType::kF32};
  std::vector<std::byte> bytes(
      codec::szp::MaxPayloadSize(chunk.size(), codec::DType::kF32, params).value());
  const auto size = codec::szp::Compress(values, params, bytes);
  EXPECT_TRUE(size);
  EXPECT_EQ(*size % 4, 0u);
  Words words(*size / 4);
  std::memcpy(words.data(), bytes.data(), *size);
  return words;
}

Words CpuDecompress(const Words& payload, size_t count, double eb, uint32_t chunk_blocks) {
  Words values(count);
  const codec::MutableArray array{reinterpret_cast<std::byte*>(values.data()), count,
                                  codec::DType::kF32};
  const auto done = codec::szp::Decompress(std::as_bytes(std::span(payload)),
                                           {eb, codec::szp::Mode::kPlain, chunk_blocks}, array);
  EXPECT_TRUE(done) << done.error().ToString();
  return values;
}

Words FieldBits(field::GeneratorKind kind, uint64_t seed, uint32_t n) {
  field::GeneratorSpec spec;
  spec.kind = kind;
  spec.seed = seed;
  spec.dims = {n};
  spec.rate = 0.01;
  const auto f = field::Generate(spec, 1).value();
  Words bits(n);
  std::memcpy(bits.data(), f.bytes().data(), 4 * size_t{n});
  return bits;
}

class CerebrasSzp : public testing::TestWithParam<const char*> {
 protected:
  // Both directions on one chunk a PE.
  void Check(const std::shared_ptr<const bytecode::Program>& program, const Geometry& g,
             std::vector<Words> chunks, double eb, const std::string& what) {
    SCOPED_TRACE(fmt::format("{} eb {}", what, eb));
    chunks.resize(static_cast<size_t>(g.width * g.height));
    std::vector<Words> expected;
    std::vector<uint32_t> counts;
    for (const Words& c : chunks) {
      expected.push_back(CpuCompress(c, eb, g.chunk_blocks));
      counts.push_back(static_cast<uint32_t>(c.size()));
    }
    const RunResult packed = RunCompress(program, g, chunks, eb);
    for (size_t p = 0; p < chunks.size(); ++p) {
      if (packed.out[p] != expected[p]) {
        size_t at = 0;
        while (at < std::min(packed.out[p].size(), expected[p].size()) &&
               packed.out[p][at] == expected[p][at])
          ++at;
        FAIL() << "chunk " << p << " of " << counts[p] << " values: " << packed.out[p].size()
               << " words, expected " << expected[p].size() << "; first difference at word " << at;
      }
    }
    const RunResult values = RunDecompress(program, g, expected, counts, eb);
    for (size_t p = 0; p < chunks.size(); ++p) {
      const Words right =
          counts[p] == 0 ? Words{} : CpuDecompress(expected[p], counts[p], eb, g.chunk_blocks);
      for (size_t i = 0; i < right.size(); ++i) {
        if (values.out[p][i] != right[i]) {
          FAIL() << "chunk " << p << " value " << i
                 << fmt::format(": {:08x}, expected {:08x}", values.out[p][i], right[i]);
        }
      }
    }
  }
};

TEST_P(CerebrasSzp, EveryLengthUpToAHundred) {
  const Geometry g{.width = 12, .height = 9, .max_elems = 128, .chunk_blocks = 4};
  const auto program = CompileCandidate(kBaseline, GetParam(), g);
  ASSERT_TRUE(program);
  const Words smooth = FieldBits(field::GeneratorKind::kSmooth, 3, 128);
  std::vector<Words> chunks;
  for (size_t n = 0; n <= 100; ++n)
    chunks.emplace_back(smooth.begin(), smooth.begin() + static_cast<std::ptrdiff_t>(n));
  Check(program, g, chunks, 1e-3, "smooth");
}

TEST_P(CerebrasSzp, EveryKindOfField) {
  const Geometry g{.width = 5, .height = 3, .max_elems = 2048, .chunk_blocks = 64};
  const auto program = CompileCandidate(kBaseline, GetParam(), g);
  ASSERT_TRUE(program);
  for (const double eb : {1e-4, 0.3, 1e-2, 0.5, 1e-7, 0.0, 1e-42, 1e30}) {
    std::vector<Words> chunks;
    uint32_t n = 2048;
    for (const field::GeneratorKind kind : field::AllGenerators()) {
      chunks.push_back(FieldBits(kind, 7, n));
      n = n - 97;
    }
    ASSERT_LE(chunks.size(), 15u);
    Check(program, g, chunks, eb, "kinds");
  }
}

// Values on and beside ties and bounds, where the codec's rounding differs from the machine's.
TEST_P(CerebrasSzp, TiesAndBounds) {
  const Geometry g{.width = 4, .height = 2, .max_elems = 512, .chunk_blocks = 8};
  const auto program = CompileCandidate(kBaseline, GetParam(), g);
  ASSERT_TRUE(program);
  for (const double eb : {1.0, 0.5, 0.1, 3e-5}) {
    std::vector<Words> chunks(8);
    std::mt19937 random(5);
    for (size_t p = 0; p < chunks.size(); ++p) {
      for (uint32_t i = 0; i < 512; ++i) {
        const auto k = static_cast<int>(random() % (1u << (2 * p + 2))) - (1 << (2 * p + 1));
        const float x = static_cast<float>(k * eb);
        const int nudge = static_cast<int>(random() % 5) - 2;
        chunks[p].push_back(std::bit_cast<uint32_t>(x) +
                            static_cast<uint32_t>(p % 2 == 0 ? 0 : nudge));
      }
    }
    Check(program, g, chunks, eb, "ties");
  }
}

// The budget: cycles an element of one PE with a full chunk, by the simulator's cost model. The
// limits are what was reached, a little rounded up: a change that makes a program slower shows
// here.
TEST_P(CerebrasSzp, CyclesPerElement) {
  const Geometry g{.width = 1, .height = 1, .max_elems = 2048, .chunk_blocks = 64};
  const auto program = CompileCandidate(kBaseline, GetParam(), g);
  ASSERT_TRUE(program);
  const bool wse2 = std::string_view(GetParam()) == "wse2";
  for (const auto& [eb, limit2, limit3] :
       {std::tuple(1e-1, 30.0, 20.0), std::tuple(1e-2, 30.0, 20.0), std::tuple(1e-3, 30.0, 20.0),
        std::tuple(1e-4, 30.0, 20.0)}) {
    const Words chunk = FieldBits(field::GeneratorKind::kSmooth, 7, 2048);
    const RunResult packed = RunCompress(program, g, {chunk}, eb);
    const RunResult values = RunDecompress(program, g, packed.out, {2048}, eb);
    const double compress = static_cast<double>(packed.cycles) / 2048;
    const double decompress = static_cast<double>(values.cycles) / 2048;
    fmt::print("{} eb {}: ratio {:.2f}, cycles an element: compress {:.2f}, decompress {:.2f}\n",
               GetParam(), eb, 2048.0 / static_cast<double>(packed.out[0].size()), compress,
               decompress);
    EXPECT_LT(compress, wse2 ? limit2 : limit3);
    EXPECT_LT(decompress, wse2 ? limit2 : limit3);
  }
}

INSTANTIATE_TEST_SUITE_P(Archs, CerebrasSzp, testing::Values("wse2", "wse3"),
                         [](const auto& arch) { return std::string(arch.param); });

}  // namespace
}  // namespace szarena::tasks
