// SPDX-License-Identifier: Apache-2.0
// Runs a program of ours and catches what it prints.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "os/process.h"

namespace szarena {

inline os::ProcessSpec ProgramSpec(std::vector<std::string> arguments) {
  os::ProcessSpec spec;
  arguments.insert(arguments.begin(), std::string(SZARENA_BIN_DIR) + "/szarena");
  spec.argv = std::move(arguments);
  spec.inherit_env = true;
  return spec;
}

inline os::ProcessResult RunProgram(std::vector<std::string> arguments,
                                    std::chrono::seconds limit = std::chrono::seconds(300)) {
  const auto result = os::RunProcess(ProgramSpec(std::move(arguments)), limit);
  EXPECT_TRUE(result) << result.error().ToString();
  if (!result) return {};
  EXPECT_FALSE(result->timed_out);
  return *result;
}

// A folder of the test's own that goes away with it.
class ProgramTest : public testing::Test {
 protected:
  ProgramTest() : folder_(testing::TempDir() + "/program_" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~ProgramTest() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string folder_;
};

}  // namespace szarena
