// SPDX-License-Identifier: Apache-2.0
#include "judge/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace szarena::judge {
namespace {

Verdict Sample() {
  Verdict verdict;
  verdict.task = "szp";
  verdict.target = "cpu";
  for (StageResult& stage : verdict.stages) stage = {StageStatus::kOk, 0.5, "fine"};
  verdict.ratio = 7.25;
  verdict.peak_memory_bytes = 1u << 20;
  DirectionResult& forward = verdict.directions[0];
  forward.candidate =
      Throughput{.kernel = std::nullopt, .device = std::nullopt, .host = Figure{2, 1.5, 2.5, 10}};
  forward.speedup = Figure{0.5, 0.4, 0.6, 10};
  verdict.cases.push_back({.name = "smooth", .n = 100, .abs_bound = 0.01, .ratio = 7.25});
  verdict.flags.push_back({"nondeterministic-stream", FlagKind::kWarning, "two runs, two streams"});
  return verdict;
}

TEST(Verdict, ColumnsAreDerivedFromTheStages) {
  Verdict verdict = Sample();
  EXPECT_TRUE(verdict.ranked());
  verdict.flags.push_back({"work-left-running", FlagKind::kCheat, ""});
  EXPECT_TRUE(verdict.correct());
  EXPECT_FALSE(verdict.ranked());

  verdict.at(Stage::kRatioOk).status = StageStatus::kFailed;
  verdict.at(Stage::kMeasured).status = StageStatus::kNotReached;
  EXPECT_EQ(verdict.Reached(), Stage::kDecodable);
  EXPECT_EQ(verdict.Failed(), Stage::kRatioOk);
  EXPECT_TRUE(verdict.decodable());
  EXPECT_FALSE(verdict.correct());
}

TEST(Verdict, AWrongTimedOutputIsNotCorrect) {
  for (const Stage stage :
       {Stage::kOutputProduced, Stage::kBoundHeld, Stage::kDecodable, Stage::kRatioOk}) {
    Verdict verdict = Sample();
    verdict.at(Stage::kMeasured).status = StageStatus::kFailed;
    EXPECT_TRUE(verdict.correct());
    verdict.timed_fault = stage;
    EXPECT_FALSE(verdict.correct());
    EXPECT_EQ(verdict.decodable(), stage == Stage::kRatioOk);
    EXPECT_EQ(verdict.Reached(), Stage::kRatioOk);
    const Result<Verdict> back = VerdictFromJson(VerdictToJson(verdict), "sample");
    ASSERT_TRUE(back) << back.error().ToString();
    EXPECT_EQ(back->timed_fault, stage);
  }
}

TEST(Verdict, StagesThatDoNotApplyArePassedOver) {
  Verdict verdict = Sample();
  verdict.at(Stage::kBoundHeld).status = StageStatus::kNotApplicable;
  EXPECT_TRUE(verdict.ranked());
  EXPECT_EQ(verdict.Reached(), Stage::kMeasured);
}

TEST(Verdict, AStreamFormatOfItsOwnIsCorrectButNotDecodable) {
  Verdict verdict = Sample();
  verdict.format = "free";
  verdict.at(Stage::kDecodable).status = StageStatus::kNotApplicable;
  EXPECT_FALSE(verdict.decodable());
  EXPECT_TRUE(verdict.correct());
}

TEST(Verdict, SurvivesJson) {
  const data::Json json = VerdictToJson(Sample());
  const Result<Verdict> back = VerdictFromJson(json, "sample");
  ASSERT_TRUE(back) << back.error().ToString();
  EXPECT_EQ(VerdictToJson(*back), json);
  EXPECT_EQ(*json.FindPath({"throughput", "compress", "host", "median"})->number(), 2);
  EXPECT_TRUE(json.FindPath({"throughput", "compress", "kernel"})->is_null());
  EXPECT_TRUE(json.FindPath({"throughput", "decompress"})->is_null());
  EXPECT_EQ(*json.Find("stage")->string(), "measured");
}

TEST(Verdict, RefusesForeignJsonNamingTheKey) {
  data::Json json = VerdictToJson(Sample());
  json.Set("stages", data::Json::MakeArray().Append(data::Json::Of({{"name", "polished"}})));
  const Result<Verdict> back = VerdictFromJson(json, "sample");
  ASSERT_FALSE(back);
  EXPECT_THAT(back.error().ToString(), testing::HasSubstr("name"));
}

TEST(Figure, QuartilesInterpolate) {
  EXPECT_EQ(MakeFigure({4, 1, 3, 2}), (Figure{2.5, 1.75, 3.25, 4}));
  EXPECT_EQ(MakeFigure({7}), (Figure{7, 7, 7, 1}));
}

}  // namespace
}  // namespace szarena::judge
