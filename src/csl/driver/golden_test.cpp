// SPDX-License-Identifier: Apache-2.0
// Every file in src/csl/testdata/{parse,layout,check} gives exactly the output it holds.
#include <gtest/gtest.h>

#include <filesystem>

#include "csl/driver/golden_file_testing.h"

namespace szarena::csl {
namespace {

class Golden : public ::testing::TestWithParam<const char*> {};

TEST_P(Golden, OutputIsAsExpected) {
  auto paths =
      testing::GoldenFilesIn(std::string(SZARENA_SOURCE_DIR "/src/csl/testdata/") + GetParam());
  EXPECT_FALSE(paths.empty());
  for (const std::string& path : paths) {
    testing::GoldenFile golden = testing::ReadGolden(path);
    std::string name = std::filesystem::path(path).filename().string();
    testing::GoldenRun run = testing::RunGolden(golden);
    EXPECT_EQ(run.failed, name.starts_with("fail_"))
        << path << " must be named fail_… if and only if it has errors\n"
        << run.output;
    if (testing::UpdatesGolden()) {
      EXPECT_TRUE(testing::WriteGolden(golden, run.output)) << path;
    } else {
      EXPECT_EQ(run.output, golden.expected)
          << path << ": if the new output is right, run tools/update_golden";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Testdata, Golden, ::testing::Values("parse", "layout", "check"));

}  // namespace
}  // namespace szarena::csl
