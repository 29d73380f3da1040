// SPDX-License-Identifier: Apache-2.0
// Every candidate in testdata/candidates is judged; its own first lines say how that must end:
//   // FAILS: <stages, or none>    // EVIDENCE: <part of the failed stage's detail>      // FLAG:
//   <name of a flag, or any>
//   // FORMAT: free                // SLOWER_THAN: <GB/s of the forward direction>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "judge/evaluate.h"
#include "os/temp_dir.h"

namespace szarena::judge {
namespace {

namespace fs = std::filesystem;
const std::string kFolder = SZARENA_SOURCE_DIR "/src/judge/testdata/candidates";

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".cpp") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The rest of the first line that begins with "// KEY: ".
std::string Expected(const std::string& name, const std::string& key) {
  std::ifstream file(kFolder + "/" + name + ".cpp");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("// " + key + ": ")) return line.substr(key.size() + 5);
  }
  return "";
}

// The task szp on small fields that need no package.
TaskSpec SmallTask() {
  auto task = task::LoadTask(SZARENA_SOURCE_DIR, "szp");
  EXPECT_TRUE(task) << task.error().ToString();
  TaskSpec spec = *SpecFromTask(*task);
  const uint32_t mode = spec.modes.front();
  spec.public_fields = {
      {"smooth 4096", "gen:smooth:seed=1:dims=4096", {1e-3, true}, mode},
      {"turbulence 41x101", "gen:turbulence:seed=2:dims=41x101", {1e-2, true}, mode}};
  spec.timed_fields = {{"smooth 30000", "gen:smooth:seed=3:dims=30000", {1e-3, true}, mode}};
  spec.timed_elements = 65536;
  return spec;
}

class Attack : public testing::TestWithParam<std::string> {};

TEST_P(Attack, EndsAtTheRightStageWithEvidence) {
  const std::string name = GetParam();
  const auto dir = os::TempDir::Create("szarena-attack-");
  ASSERT_TRUE(dir);
  fs::copy_file(kFolder + "/" + name + ".cpp", dir->path() + "/candidate.cpp");
  fs::copy_file(kFolder + "/honest.h", dir->path() + "/honest.h");
  fs::copy_file(SZARENA_SOURCE_DIR "/tasks/szp/source/cpu/candidate.cpp",
                dir->path() + "/honest.inc");
  EvaluateOptions options;
  options.task = SmallTask();
  options.candidate = dir->path();
  options.free_format = Expected(name, "FORMAT") == "free";
  options.call_timeout = std::chrono::milliseconds(name == "hangs" ? 500 : 10000);
  const auto evaluation = Evaluate(options);
  ASSERT_TRUE(evaluation) << evaluation.error().ToString();
  const Verdict& verdict = evaluation->verdict;
  SCOPED_TRACE(verdict.feedback);

  const std::string fails = Expected(name, "FAILS");
  const std::optional<Stage> failed = verdict.Failed();
  const std::string stage = failed ? std::string(StageName(*failed)) : "none";
  EXPECT_THAT(" " + fails + " ", testing::HasSubstr(" " + stage + " "));
  if (failed) {
    EXPECT_THAT(verdict.at(*failed).detail, testing::HasSubstr(Expected(name, "EVIDENCE")));
  }
  const std::string flag = Expected(name, "FLAG");
  const auto has_flag = [&] {
    return std::any_of(verdict.flags.begin(), verdict.flags.end(),
                       [&](const Flag& f) { return f.name == flag; });
  };
  if (flag.empty()) {
    EXPECT_TRUE(verdict.flags.empty());
  } else if (flag != "any") {
    EXPECT_TRUE(has_flag());
  }
  EXPECT_EQ(verdict.ranked(), fails == "none" && flag != "work-left-running");
  if (verdict.ranked()) {
    ASSERT_TRUE(verdict.directions[0].candidate && verdict.directions[1].candidate);
    EXPECT_EQ(verdict.directions[0].candidate->host->samples, 10);
    const std::string limit = Expected(name, "SLOWER_THAN");
    if (!limit.empty()) {
      EXPECT_LT(verdict.directions[0].candidate->host->median, std::stod(limit));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Candidates, Attack, testing::ValuesIn(Names()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace szarena::judge
