// SPDX-License-Identifier: Apache-2.0
// The front door on one small candidate; many more in attack_test.cpp.
#include "judge/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

#include "judge/cases.h"
#include "os/temp_dir.h"

namespace szarena::judge {
namespace {

TaskSpec Small(const char* name) {
  auto task = task::LoadTask(SZARENA_SOURCE_DIR, name);
  EXPECT_TRUE(task) << task.error().ToString();
  TaskSpec spec = *SpecFromTask(*task);
  const uint32_t mode = spec.modes.front();
  spec.public_fields = {{"smooth 5000", "gen:smooth:seed=1:dims=5000", {1e-3, true}, mode}};
  spec.timed_fields = {{"smooth 30000", "gen:smooth:seed=3:dims=30000", {1e-3, true}, mode}};
  spec.timed_elements = 65536;
  return spec;
}

std::string PlainSource(const std::string& task) {
  return std::string(SZARENA_SOURCE_DIR "/tasks/") + task + "/source/cpu";
}

TEST(Evaluate, AScanIsRankedBesideItsBaseline) {
  EvaluateOptions options;
  options.task = Small("scan");
  options.task.timed_elements =
      1u << 20;  // so long that it matters little who else gets the processor
  options.candidate = options.baseline.emplace(PlainSource("scan"));
  const auto evaluation = Evaluate(options);
  ASSERT_TRUE(evaluation) << evaluation.error().ToString();
  const Verdict& verdict = evaluation->verdict;
  EXPECT_TRUE(verdict.ranked()) << verdict.feedback;
  EXPECT_EQ(verdict.at(Stage::kRatioOk).status, StageStatus::kNotApplicable);
  const DirectionResult& run = verdict.directions[0];
  ASSERT_TRUE(run.candidate && run.baseline && run.speedup && run.floor_fraction &&
              verdict.copy_bandwidth_gbs);
  EXPECT_EQ(run.candidate->host->samples, 10);
  EXPECT_FALSE(run.candidate->kernel || run.candidate->device);
  EXPECT_GT(run.speedup->median, 0.1);  // it is compared with itself
  EXPECT_LT(run.speedup->median, 10);
  EXPECT_FALSE(verdict.directions[1].candidate);
  EXPECT_EQ(VerdictToJson(verdict),
            VerdictToJson(*VerdictFromJson(VerdictToJson(verdict), "verdict")));
}

TEST(Evaluate, AFullCheckIsRefusedWhereItMeansNothing) {
  EvaluateOptions options;
  options.task = Small("scan");
  options.candidate = PlainSource("scan");
  options.full = true;
  const auto evaluation = Evaluate(options);
  ASSERT_FALSE(evaluation);
  EXPECT_EQ(evaluation.error().code, ErrorCode::kInvalidArgument);
}

TEST(Evaluate, StopsWhereItIsTold) {
  EvaluateOptions options;
  options.task = Small("histogram");
  options.candidate = PlainSource("histogram");
  options.until = Stage::kBuilt;
  EXPECT_EQ(Evaluate(options)->verdict.Reached(), Stage::kBuilt);
  options.until = Stage::kRatioOk;
  options.hidden = false;
  const Verdict verdict = Evaluate(options)->verdict;
  EXPECT_TRUE(verdict.correct());
  EXPECT_EQ(verdict.at(Stage::kMeasured).status, StageStatus::kNotReached);
  EXPECT_EQ(verdict.cases.size(), 1u);
}

TEST(Evaluate, BadUsageIsAnErrorAndNotAVerdict) {
  EvaluateOptions options;
  options.task = Small("scan");
  options.candidate = "/nonexistent";
  EXPECT_EQ(Evaluate(options).error().code, ErrorCode::kNotFound);
  options.candidate = PlainSource("scan");
  options.trials = 3;
  EXPECT_EQ(Evaluate(options).error().code, ErrorCode::kInvalidArgument);
  options.trials = 10;
  options.target = "abacus";
  EXPECT_EQ(Evaluate(options).error().code, ErrorCode::kUnavailable);
}

TEST(Evaluate, AFolderThatCannotBeACandidateStopsAtReceived) {
  const auto dir = os::TempDir::Create("szarena-evaluate-test-");
  ASSERT_TRUE(dir);
  std::filesystem::create_symlink("/etc/passwd", dir->path() + "/candidate.cpp");
  EvaluateOptions options;
  options.task = Small("scan");
  options.candidate = dir->path();
  const auto evaluation = Evaluate(options);
  ASSERT_TRUE(evaluation) << evaluation.error().ToString();
  EXPECT_EQ(evaluation->verdict.Failed(), Stage::kReceived);
  EXPECT_FALSE(evaluation->verdict.Reached());
}

TEST(HiddenCases, DependOnTheSeedAlone) {
  const TaskSpec task = Small("szp");
  const auto first = HiddenCases(task, 5, 2);
  const auto again = HiddenCases(task, 5, 2);
  const auto other = HiddenCases(task, 6, 2);
  ASSERT_TRUE(first && again && other);
  ASSERT_EQ(first->size(), again->size());
  size_t different = 0;
  for (size_t i = 0; i < first->size(); ++i) {
    EXPECT_EQ((*first)[i].input, (*again)[i].input);
    different += (*first)[i].input != (*other)[i].input ? 1 : 0;
  }
  // Zero and no element are what they are.
  EXPECT_GE(different + 4, first->size());
}

TEST(HiddenCases, CoverEveryModeTypeAndAwkwardLength) {
  const TaskSpec task = Small("szp");
  const auto cases = HiddenCases(task, 1, 2);
  ASSERT_TRUE(cases);
  std::set<uint32_t> modes;
  std::set<uint32_t> dtypes;
  std::set<uint64_t> sizes;
  for (const Case& item : *cases) {
    modes.insert(item.problem.mode);
    dtypes.insert(item.problem.dtype);
    sizes.insert(item.problem.n);
    EXPECT_EQ(item.problem.dims[0] * item.problem.dims[1] * item.problem.dims[2], item.problem.n)
        << item.name;
    EXPECT_GT(item.problem.abs_bound, 0) << item.name;
  }
  EXPECT_EQ(modes.size(), 3u);
  EXPECT_EQ(dtypes.size(), 2u);
  for (const uint64_t n : {0u, 1u, 31u}) EXPECT_TRUE(sizes.contains(n)) << n;
}

// SZx without a look at what the decoder will compute: a block whose half range is within the bound
// is coded as its middle.
TEST(HiddenCases, FindOutWhoDoesNotCheckConstantBlocks) {
  const TaskSpec task = Small("szx");
  for (const uint64_t seed : {1, 2, 3}) {
    const auto cases = HiddenCases(task, seed, 2);
    ASSERT_TRUE(cases);
    size_t broken = 0;
    for (const Case& item : *cases) {
      if (item.name != "hidden: values twice the bound apart" || item.problem.dtype != SZARENA_F32)
        continue;
      const auto* x = reinterpret_cast<const float*>(item.input.data());
      const auto e = static_cast<float>(item.problem.abs_bound);
      for (uint64_t begin = 0; begin + 128 <= item.problem.n; begin += 128) {
        const auto [low, high] = std::minmax_element(x + begin, x + begin + 128);
        const float radius = (*high - *low) / 2;
        if (radius > e) continue;
        const float middle = *low + radius;
        bool breaks = false;
        for (uint64_t i = begin; i < begin + 128; ++i)
          breaks |= std::fabs(double{x[i]} - double{middle}) > item.problem.abs_bound;
        broken += breaks ? 1 : 0;
      }
    }
    EXPECT_GT(broken, 10u) << seed;
  }
}

TEST(TimedData, EveryVariationIsNewInEveryElementButZeros) {
  const auto data = TimedData::Load(Small("szp"), 1);
  ASSERT_TRUE(data) << data.error().ToString();
  Bytes first(data->problem().n * 4);
  Bytes second(first.size());
  data->Fill(1, first);
  data->Fill(2, second);
  size_t equal = 0;
  for (size_t i = 0; i < first.size(); i += 4)
    equal += std::equal(&first[i], &first[i] + 4, &second[i]) ? 1 : 0;
  EXPECT_LT(equal, first.size() / 4 / 100);
}

TEST(TimedData, HoldsValuesThatNeedTheExceptionalPath) {
  const auto data = TimedData::Load(Small("szp"), 1);
  ASSERT_TRUE(data) << data.error().ToString();
  Bytes bytes(data->problem().n * 4);
  data->Fill(1, bytes);
  std::vector<float> values(data->problem().n);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  EXPECT_TRUE(std::any_of(values.begin(), values.end(), [](float v) { return std::isnan(v); }));
  EXPECT_TRUE(std::any_of(values.begin(), values.end(),
                          [](float v) { return std::isfinite(v) && std::abs(v) > 1e30f; }));
}

}  // namespace
}  // namespace szarena::judge
