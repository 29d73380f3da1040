// SPDX-License-Identifier: Apache-2.0
// A target whose device this machine lacks: built, not run, and no word about the candidate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "judge/evaluate.h"
#include "os/temp_dir.h"
#include "target/cuda/build.h"
#include "target/cuda/device.h"
#include "target/cuda/toolkit.h"

namespace szarena::judge {
namespace {

TEST(NoDevice, BuiltIsReachedAndNothingIsSaidOfTheCandidate) {
  if (!target::cuda::FindNvcc()) GTEST_SKIP() << target::cuda::FindNvcc().error().message;
  if (!target::cuda::FindDriverLibraryFolder().empty())
    GTEST_SKIP() << "this machine has a CUDA driver";
  auto folder = os::TempDir::Create("candidate-", 0755);
  ASSERT_TRUE(folder);
  std::ofstream(folder->path() + "/candidate.cu")
      << "#include \"szarena_candidate_cuda.h\"\n__global__ void k() {}\n";
  auto task = task::LoadTask(SZARENA_SOURCE_DIR, "scan");
  ASSERT_TRUE(task);
  EvaluateOptions options;
  options.task = *SpecFromTask(*task);
  options.target = "cuda";
  options.candidate = folder->path();
  const auto evaluation = Evaluate(options);
  ASSERT_TRUE(evaluation) << evaluation.error().ToString();
  const Verdict& verdict = evaluation->verdict;
  EXPECT_EQ(verdict.Reached(), Stage::kBuilt);
  EXPECT_FALSE(verdict.Failed());
  EXPECT_FALSE(verdict.runnable());
  EXPECT_THAT(verdict.not_run, testing::HasSubstr("no CUDA device: not run"));
  EXPECT_THAT(verdict.feedback, testing::HasSubstr("no CUDA device: not run"));
}

}  // namespace
}  // namespace szarena::judge
