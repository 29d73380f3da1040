// SPDX-License-Identifier: Apache-2.0
// The skeletons of tasks/contract/cerebras: they compile for both architectures, and the streaming
// one frames records as docs/contracts/cerebras.md says.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "csl/driver/driver.h"
#include "csl/driver/options.h"
#include "fabric/sim/fabric.h"

namespace szarena::target::cerebras {
namespace {

bytecode::Program CompileSkeleton(const std::string& variant, const std::string& arch,
                                  const std::string& params) {
  const auto options = csl::ParseOptions(
      {std::string(SZARENA_SOURCE_DIR) + "/tasks/contract/cerebras/" + variant + "/layout.csl",
       "--arch=" + arch, "--fabric-dims=10,5", "--fabric-offsets=4,1", "--memcpy", "--channels=1",
       "--params=" + params});
  EXPECT_TRUE(options) << options.error().ToString();
  csl::Outcome outcome = csl::Compile(*options, {});
  EXPECT_TRUE(outcome.program) << outcome.messages;
  EXPECT_EQ(outcome.messages, "");
  return *std::move(outcome.program);
}

class Skeleton : public testing::TestWithParam<const char*> {};

TEST_P(Skeleton, ResidentAndPrimitiveLaunch) {
  for (const auto& [variant, params, functions] :
       {std::tuple("resident", "width:3,height:2,max_elems_per_pe:2048,chunk_blocks:4",
                   std::pair("compress", "decompress")),
        std::tuple("primitive", "width:3,height:2,max_elems_per_pe:2048,chunk_blocks:4,bins:1024",
                   std::pair("run", "inverse"))}) {
    const auto program =
        std::make_shared<bytecode::Program>(CompileSkeleton(variant, GetParam(), params));
    for (const char* function : {functions.first, functions.second}) {
      auto machine = fabric::Fabric::Create(program, {});
      ASSERT_TRUE(machine) << machine.error().ToString();
      for (const char* name : {"n_local", "eb_f32", "eb_exponent", "input", "output_words",
                               "output_word_count", "in_words", "in_word_count", "output"}) {
        EXPECT_TRUE((*machine)->ExportId(name)) << name;
      }
      const auto launch = (*machine)->Launch((*machine)->ExportId(function).value(), {});
      ASSERT_TRUE(launch);
      const auto done = (*machine)->RunUntil(*launch);
      EXPECT_TRUE(done) << done.error().ToString();
    }
  }
}

TEST_P(Skeleton, StreamingStoresBlocksRaw) {
  constexpr int kWidth = 3;
  constexpr uint8_t kIn = 1;
  constexpr uint8_t kOut = 2;
  const auto program = std::make_shared<bytecode::Program>(
      CompileSkeleton("streaming", GetParam(), "width:3,height:2,in_color_id:1,out_color_id:2"));
  const uint32_t n_row[2] = {70, 32};  // three blocks, one block
  std::vector<std::vector<uint32_t>> values(2);
  std::vector<std::vector<uint32_t>> records(2);
  for (size_t y = 0; y < 2; ++y) {
    for (uint32_t block = 0; block * 32 < n_row[y]; ++block) {
      records[y].push_back(block << 12 | 0x3f);
      for (uint32_t i = 0; i < 32; ++i) {
        const uint32_t at = block * 32 + i;
        values[y].push_back(at < n_row[y] ? 0x3f800000 + at : 0);
        records[y].push_back(values[y].back());
      }
    }
  }
  for (const bool decompress : {false, true}) {
    auto created = fabric::Fabric::Create(program, {});
    ASSERT_TRUE(created) << created.error().ToString();
    fabric::Fabric& machine = **created;
    std::vector<uint32_t> words;
    for (const uint32_t n : n_row) words.insert(words.end(), kWidth, n);
    ASSERT_TRUE(machine.CopyIn(machine.ExportId("n_row").value(), {0, 0, kWidth, 2}, 32, 1, words));
    const auto launch =
        machine.Launch(machine.ExportId(decompress ? "decompress" : "compress").value(), {});
    ASSERT_TRUE(machine.RunUntil(*launch));
    for (int y = 0; y < 2; ++y) {
      const auto row = static_cast<size_t>(y);
      std::vector<uint32_t> expected = decompress ? std::vector<uint32_t>() : records[row];
      for (uint32_t i = 0; decompress && i < values[row].size(); ++i) {
        if (i % 32 == 0) expected.push_back(i / 32);
        expected.push_back(values[row][i]);
      }
      const auto out = machine.ReceiveFrom({kWidth - 1, y, bytecode::Direction::kEast, kOut},
                                           static_cast<uint32_t>(expected.size()));
      ASSERT_TRUE(out);
      ASSERT_TRUE(machine.SendInto({0, y, bytecode::Direction::kWest, kIn},
                                   decompress ? records[row] : values[row]));
      const auto done = machine.RunUntil(*out);
      ASSERT_TRUE(done) << done.error().ToString();
      EXPECT_EQ(machine.TakeOutput(*out), expected) << "row " << y;
    }
    const auto idle = machine.RunUntilIdle();
    EXPECT_TRUE(idle) << idle.error().ToString();
  }
}

INSTANTIATE_TEST_SUITE_P(Archs, Skeleton, testing::Values("wse2", "wse3"),
                         [](const auto& arch) { return std::string(arch.param); });

}  // namespace
}  // namespace szarena::target::cerebras
