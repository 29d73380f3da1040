// SPDX-License-Identifier: Apache-2.0
// A CUDA compiler that is too old is the environment's lack, never the candidate's fault.
#include "target/cuda/toolkit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "judge/evaluate.h"
#include "judge/profile.h"
#include "os/temp_dir.h"

namespace szarena::judge {
namespace {

using testing::HasSubstr;

class ToolkitTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_.emplace(*os::TempDir::Create("toolkit-", 0755));
    path_ = getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
    setenv("PATH", (folder_->path() + ":/usr/bin:/bin").c_str(),
           1);  // NOLINT(concurrency-mt-unsafe)
  }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  // An nvcc that says this of itself and compiles nothing.
  void StandIn(const std::string& says) {
    const std::string nvcc = folder_->path() + "/nvcc";
    std::ofstream(nvcc) << "#!/bin/sh\n[ \"$1\" = --version ] || { echo \"nvcc fatal   : Value "
                           "'c++20' is not defined for option 'std'\" >&2; exit 1; }\n"
                        << says << "\n";
    std::filesystem::permissions(nvcc, static_cast<std::filesystem::perms>(0755));
  }
  std::optional<os::TempDir> folder_;
  std::string path_;
};

TEST_F(ToolkitTest, TwelveIsTheOldest) {
  StandIn(
      "echo 'nvcc: NVIDIA (R) Cuda compiler driver'; echo 'Cuda compilation tools, release "
      "12.0, V12.0.140'");
  const auto oldest = target::cuda::FindToolkit();
  ASSERT_TRUE(oldest) << oldest.error().ToString();
  EXPECT_EQ(oldest->release, "12.0");
  for (const char* old : {"11.8, V11.8.89", "9.1, V9.1"}) {
    StandIn(std::string("echo 'Cuda compilation tools, release ") + old + "'");
    const auto found = target::cuda::FindToolkit();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(found.error().message, HasSubstr("too old"));
    EXPECT_THAT(found.error().message, HasSubstr("12.0 or newer"));
  }
}

TEST_F(ToolkitTest, OneThatDoesNotSayItsReleaseIsNotUsed) {
  for (const char* says : {"echo 'release soon'", "echo 'release 13.0'; exit 1", "exit 0"}) {
    StandIn(says);
    const auto found = target::cuda::FindToolkit();
    ASSERT_FALSE(found) << says;
    EXPECT_THAT(found.error().message, HasSubstr("does not say its release"));
  }
}

TEST_F(ToolkitTest, ACandidateIsNotBlamedForIt) {
  StandIn("echo 'Cuda compilation tools, release 11.8, V11.8.89'");
  const auto candidate = os::TempDir::Create("candidate-", 0755);
  ASSERT_TRUE(candidate);
  std::ofstream(candidate->path() + "/candidate.cu") << "int x;\n";
  EvaluateOptions options;
  options.task = *SpecFromTask(*task::LoadTask(SZARENA_SOURCE_DIR, "scan"));
  options.target = "cuda";
  options.candidate = candidate->path();
  const auto evaluation = Evaluate(options);
  ASSERT_FALSE(evaluation);
  EXPECT_EQ(evaluation.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(evaluation.error().message, HasSubstr("CUDA 11.8"));
  const auto profile = ProfileCandidate(options);
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace szarena::judge
