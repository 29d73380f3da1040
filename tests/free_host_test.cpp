// SPDX-License-Identifier: Apache-2.0
// Candidates with a host program of their own: every free_host_* of the judge's test data is judged
// as its expect.toml says, and none is ever ranked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "data/toml.h"
#include "judge/evaluate.h"
#include "os/temp_dir.h"
#include "sandbox/sandbox.h"
#include "target/cerebras/free_host.h"

namespace szarena::judge {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string kFolder = SZARENA_SOURCE_DIR "/src/judge/testdata/cerebras/";

// A copy, so that files can be added.
class FreeHost : public testing::Test {
 protected:
  void Take(const std::string& name) {
    for (const auto& entry : fs::directory_iterator(kFolder + name))
      fs::copy(entry.path(), Path(entry.path().filename()));
    if (name != "free_host_right") return;
    // The program on the wafer is the plain resident one.
    for (const char* file : {"layout.csl", "pe.csl"})
      fs::copy(kFolder + "right_scalar/" + file, Path(file));
  }
  std::string Path(const std::string& file) const { return dir_.path() + "/" + file; }
  void Write(const std::string& file, const std::string& text) const {
    std::ofstream(Path(file), std::ios::app) << text;
  }
  // Task szp, the shown cases only: each call starts a Python.
  Verdict Judge() const {
    auto task = task::LoadTask(SZARENA_SOURCE_DIR, "szp");
    EXPECT_TRUE(task) << task.error().ToString();
    EvaluateOptions options;
    options.task = *SpecFromTask(*task);
    const uint32_t mode = options.task.modes.front();
    options.task.public_fields = {
        {"smooth 4100", "gen:smooth:seed=1:dims=4100", {1e-3, true}, mode},
        {"nonfinite 300", "gen:nonfinite:seed=2:dims=300", {1e-3, true}, mode}};
    options.task.timed_fields = {
        {"smooth 40000", "gen:smooth:seed=3:dims=40000", {1e-3, true}, mode}};
    options.target = "cerebras";
    options.candidate = dir_.path();
    options.hidden = false;
    const auto evaluation = Evaluate(options);
    EXPECT_TRUE(evaluation) << evaluation.error().ToString();
    return evaluation ? evaluation->verdict : Verdict();
  }
  static std::string Expected(const std::string& name) {
    const auto expected = data::ReadTomlFile(kFolder + name + "/expect.toml");
    EXPECT_TRUE(expected) << expected.error().ToString();
    return expected ? *expected->Find("stage")->string() : "";
  }

  os::TempDir dir_ = *os::TempDir::Create("szarena-free-host-test-");
};

TEST_F(FreeHost, AnHonestHostProgramIsShownAndNotRanked) {
  Take("free_host_right");
  const Verdict verdict = Judge();
  ASSERT_TRUE(verdict.Reached());
  EXPECT_EQ(StageName(*verdict.Reached()), Expected("free_host_right")) << verdict.feedback;
  EXPECT_TRUE(verdict.correct());
  EXPECT_FALSE(verdict.ranked());
  EXPECT_THAT(verdict.feedback, HasSubstr("flag free-host"));
  // No figure is made of what a process with the candidate's code says.
  EXPECT_FALSE(verdict.directions[0].candidate || verdict.directions[1].candidate);
  ASSERT_TRUE(verdict.wafer);
  EXPECT_EQ(verdict.wafer->variant, "free-host");
}

TEST_F(FreeHost, AHostThatDoesTheWorkItselfIsFound) {
  Take("free_host_computes_on_the_host");
  const Verdict verdict = Judge();
  ASSERT_TRUE(verdict.Reached());
  EXPECT_EQ(StageName(*verdict.Reached()), Expected("free_host_computes_on_the_host"))
      << verdict.feedback;
  EXPECT_FALSE(verdict.ranked());
  EXPECT_THAT(verdict.feedback, HasSubstr("the host did the work"));
}

TEST_F(FreeHost, NothingIsKeptFromOneDirectionToTheOther) {
  Take("free_host_keeps_the_input");
  const Verdict verdict = Judge();
  ASSERT_TRUE(verdict.Reached());
  EXPECT_EQ(StageName(*verdict.Reached()), Expected("free_host_keeps_the_input"))
      << verdict.feedback;
}

TEST_F(FreeHost, FlagsThatNameFilesAreRefused) {
  Take("free_host_right");
  Write("cslc_args", "--import-path=/\n");
  const Verdict verdict = Judge();
  EXPECT_EQ(verdict.Failed(), Stage::kBuilt);
  EXPECT_THAT(verdict.feedback, HasSubstr("'--import-path=/' is no flag"));
}

TEST_F(FreeHost, FilesOfOthersAreNotSeen) {
  Take("free_host_right");
  Write("pe.csl", "const other = @import_module(\"/proc/self/environ\");\n");
  const Verdict verdict = Judge();
  EXPECT_EQ(verdict.Failed(), Stage::kBuilt);
  EXPECT_THAT(verdict.feedback, HasSubstr("outside of the folder that may be read"));
}

TEST_F(FreeHost, AHostProgramThatFailsIsShownWithItsLastWords) {
  Take("free_host_right");
  Write("run.py", "raise SystemExit('lost its way')\n");
  const Verdict verdict = Judge();
  EXPECT_EQ(verdict.Failed(), Stage::kFinished);
  EXPECT_THAT(verdict.feedback, HasSubstr("lost its way"));
}

// What the machine lacks is no fault of a candidate.
TEST(HostTools, ThatCannotImportTheirModulesAreTheEnvironmentsFault) {
  const auto sandbox = sandbox::Sandbox::Probe();
  ASSERT_TRUE(sandbox) << sandbox.error().ToString();
  const auto empty = os::TempDir::Create("szarena-host-tools-test-");
  ASSERT_TRUE(empty);
  target::cerebras::HostTools tools{SZARENA_BIN_DIR,
                                    fs::path(SZARENA_BIN_DIR).parent_path() / "python"};
  const auto ready = target::cerebras::CheckHostTools(*sandbox, tools);
  EXPECT_TRUE(ready) << ready.error().ToString();
  tools.python = empty->path();
  const auto broken = target::cerebras::CheckHostTools(*sandbox, tools);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(broken.error().message, HasSubstr("No module named 'cerebras'"));
}

}  // namespace
}  // namespace szarena::judge
