// SPDX-License-Identifier: Apache-2.0
// SZp on the simulated wafer against the CPU codec: same bytes from both encoders, same values
// from both decoders.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "cerebras_testing.h"
#include "codec/szp/szp.h"

namespace szarena::tasks {
namespace {

constexpr char kBaseline[] = "tasks/szp/baseline/cerebras";

const Reference kCpu{
    [](const Words& values, double eb, uint32_t chunk_blocks) {
      const codec::szp::Params params{eb, codec::szp::Mode::kPlain, chunk_blocks};
      std::vector<std::byte> bytes(
          codec::szp::MaxPayloadSize(values.size(), codec::DType::kF32, params).value());
      const uint64_t size = codec::szp::Compress({reinterpret_cast<const std::byte*>(values.data()),
                                                  values.size(), codec::DType::kF32},
                                                 params, bytes)
                                .value();
      EXPECT_EQ(size % 4, 0u);
      Words words(size / 4);
      std::memcpy(words.data(), bytes.data(), size);
      return words;
    },
    [](const Words& payload, size_t count, double eb, uint32_t chunk_blocks) {
      Words values(count);
      const auto done = codec::szp::Decompress(
          std::as_bytes(std::span(payload)), {eb, codec::szp::Mode::kPlain, chunk_blocks},
          {reinterpret_cast<std::byte*>(values.data()), count, codec::DType::kF32});
      EXPECT_TRUE(done) << done.error().ToString();
      return values;
    }};

class CerebrasSzp : public testing::TestWithParam<const char*> {};

TEST_P(CerebrasSzp, EveryLengthUpToAHundred) {
  const Geometry g{.width = 12, .height = 9, .max_elems = 128, .chunk_blocks = 4};
  const auto program = CompileCandidate(kBaseline, GetParam(), g);
  ASSERT_TRUE(program);
  const Words smooth = FieldBits(field::GeneratorKind::kSmooth, 3, 128);
  std::vector<Words> chunks;
  for (int n = 0; n <= 100; ++n) chunks.emplace_back(smooth.begin(), smooth.begin() + n);
  CheckBothWays(program, g, kCpu, chunks, 1e-3);
}

TEST_P(CerebrasSzp, EveryKindOfField) {
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

// Where the codec's rounding differs from the machine's.
TEST_P(CerebrasSzp, TiesAndBounds) {
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
TEST_P(CerebrasSzp, CyclesPerElement) {
  const Geometry g{.width = 1, .height = 1, .max_elems = 2048, .chunk_blocks = 64};
  const auto program = CompileCandidate(kBaseline, GetParam(), g);
  ASSERT_TRUE(program);
  const bool wse2 = std::string_view(GetParam()) == "wse2";
  struct Row {
    double eb, compress2, decompress2, compress3, decompress3;
  };
  for (const Row& row : std::vector<Row>{{1e-1, 13.5, 12.5, 9.0, 9.0},
                                         {1e-2, 13.5, 12.5, 9.0, 9.0},
                                         {1e-3, 18.5, 16.0, 11.5, 10.5},
                                         {1e-4, 21.0, 16.0, 14.0, 10.5}}) {
    const double eb = row.eb;
    const Words chunk = FieldBits(field::GeneratorKind::kSmooth, 7, 2048);
    const RunResult packed = RunCompress(program, g, {chunk}, eb);
    const RunResult values = RunDecompress(program, g, packed.out, {2048}, eb);
    const double compress = static_cast<double>(packed.cycles) / 2048;
    const double decompress = static_cast<double>(values.cycles) / 2048;
    fmt::print(
        "SZp {} eb {}: ratio {:.2f}, cycles an element: compress {:.2f}, decompress {:.2f}\n",
        GetParam(), eb, 2048.0 / static_cast<double>(packed.out[0].size()), compress, decompress);
    EXPECT_LT(compress, wse2 ? row.compress2 : row.compress3);
    EXPECT_LT(decompress, wse2 ? row.decompress2 : row.decompress3);
  }
}

constexpr char kStreaming[] = "tasks/szp/baseline/cerebras-streaming";

// Both directions of a row each, `rows` being whole blocks.
std::pair<uint64_t, uint64_t> CheckRows(const std::shared_ptr<const bytecode::Program>& program,
                                        const std::vector<Words>& rows, double eb) {
  std::vector<std::vector<Record>> records;
  std::vector<Words> values;
  for (const Words& row : rows) {
    const auto blocks = static_cast<uint32_t>(row.size() / 32);
    Words payload = row.empty() ? Words{} : kCpu.compress(row, eb, 4);
    std::vector<Record> of_row;
    size_t at = (blocks + 3) / 4;
    for (uint32_t b = 0; b < blocks; ++b) {
      const uint32_t rate = payload[b / 4] >> (8 * (b % 4)) & 0xff;
      const size_t n = rate == 0 ? 0 : rate == 0x3f ? 32 : rate + 1;
      Record r{b << 12 | rate};
      r.insert(r.end(), payload.begin() + static_cast<std::ptrdiff_t>(at),
               payload.begin() + static_cast<std::ptrdiff_t>(at + n));
      at += n;
      of_row.push_back(r);
    }
    records.push_back(of_row);
    values.push_back(row.empty() ? Words{} : kCpu.decompress(payload, row.size(), eb, 4));
  }
  return CheckStream(program, 32, rows, records, values, eb);
}

TEST_P(CerebrasSzp, StreamsOfEveryLength) {
  for (const int width : {1, 2, 3, 5}) {
    SCOPED_TRACE(width);
    std::vector<Words> rows;
    for (const uint32_t blocks : {0u, 1u, 2u, 15u, 16u, 17u, 33u, 48u, 80u, 81u, 200u})
      rows.push_back(FieldBits(field::GeneratorKind::kSmooth, 3, 32 * blocks));
    const auto program =
        CompileStreaming(kStreaming, GetParam(), width, static_cast<int>(rows.size()));
    ASSERT_TRUE(program);
    CheckRows(program, rows, 1e-3);
  }
}

TEST_P(CerebrasSzp, StreamsOfEveryKind) {
  std::vector<Words> rows;
  for (const field::GeneratorKind kind : field::AllGenerators())
    rows.push_back(FieldBits(kind, 7, 32 * 120));
  const auto program = CompileStreaming(kStreaming, GetParam(), 4, static_cast<int>(rows.size()));
  ASSERT_TRUE(program);
  for (const double eb : {1e-4, 0.3, 1e-2, 0.0}) CheckRows(program, rows, eb);
}

// Cycles a word of the row's stream; a link carries one a cycle.
TEST_P(CerebrasSzp, CyclesPerStreamedElement) {
  const Words row = FieldBits(field::GeneratorKind::kSmooth, 7, 1 << 16);
  const auto program = CompileStreaming(kStreaming, GetParam(), 16, 1);
  ASSERT_TRUE(program);
  for (const double eb : {1e-1, 1e-2, 1e-3, 1e-4}) {
    const auto [compress, decompress] = CheckRows(program, {row}, eb);
    fmt::print(
        "SZp {} eb {}, 16 columns: cycles an element of a row: compress {:.3f}, decompress "
        "{:.3f}\n",
        GetParam(), eb, static_cast<double>(compress) / static_cast<double>(row.size()),
        static_cast<double>(decompress) / static_cast<double>(row.size()));
    EXPECT_LT(static_cast<double>(compress) / static_cast<double>(row.size()), 2.1);
    EXPECT_LT(static_cast<double>(decompress) / static_cast<double>(row.size()), 2.9);
  }
}

// Every step of the ladder on fields of every kind; the last resident and the last streaming step
// are the baselines.
TEST_P(CerebrasSzp, Ladder) {
  int steps = 0;
  for (const std::string& step : LadderSteps("tasks/szp/ladder/cerebras")) {
    SCOPED_TRACE(step);
    ++steps;
    if (step.find("-stream-") == std::string::npos) {
      const Geometry g{.width = 5, .height = 3, .max_elems = 512, .chunk_blocks = 8};
      const auto program = CompileCandidate(step, GetParam(), g);
      ASSERT_TRUE(program);
      std::vector<Words> chunks;
      for (const field::GeneratorKind kind : field::AllGenerators()) {
        chunks.push_back(FieldBits(kind, 7, 512 - 23 * static_cast<uint32_t>(chunks.size())));
      }
      CheckBothWays(program, g, kCpu, chunks, 1e-2);
    } else {
      std::vector<Words> rows;
      for (const field::GeneratorKind kind : field::AllGenerators())
        rows.push_back(FieldBits(kind, 7, 32 * 40));
      const auto program = CompileStreaming(step, GetParam(), 3, static_cast<int>(rows.size()));
      ASSERT_TRUE(program);
      CheckRows(program, rows, 1e-2);
    }
  }
  EXPECT_GE(steps, 6);
}

TEST(CerebrasSzpFiles, LadderEndsAtTheBaselines) {
  ExpectCopies(
      kBaseline, "tasks/szp/ladder/cerebras/04-bank-free",
      {"layout.csl", "pe.csl", "encode.csl", "decode.csl", "planes.csl", "exact.csl", "wide.csl"});
  ExpectCopies(kStreaming, "tasks/szp/ladder/cerebras/08-stream-dealer",
               {"layout.csl", "dealer.csl", "coder.csl", "turns.csl", "symbols.csl", "idle.csl",
                "encode.csl", "decode.csl", "planes.csl", "exact.csl", "wide.csl"});
}

TEST(CerebrasSzpFiles, StreamingSharesTheCodec) {
  ExpectCopies(kBaseline, kStreaming,
               {"encode.csl", "decode.csl", "planes.csl", "exact.csl", "wide.csl"});
}

INSTANTIATE_TEST_SUITE_P(Archs, CerebrasSzp, testing::Values("wse2", "wse3"),
                         [](const auto& arch) { return std::string(arch.param); });

}  // namespace
}  // namespace szarena::tasks
