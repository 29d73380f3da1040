// SPDX-License-Identifier: Apache-2.0
// docs/verdict.schema.json and VerdictToJson say the same: every verdict made here is valid, and
// tampered ones are not.
#include <gtest/gtest.h>

#include "data/json.h"
#include "data/schema.h"
#include "judge/verdict.h"

namespace szarena::judge {
namespace {

using data::Json;

Verdict Full() {
  Verdict verdict;
  verdict.task = "szp";
  verdict.target = "cpu";
  verdict.candidate_sha256 = std::string(64, 'a');
  for (StageResult& stage : verdict.stages) stage = {StageStatus::kOk, 0.5, "fine"};
  verdict.ratio = verdict.reference_ratio = verdict.max_error_over_bound = verdict.psnr =
      verdict.nrmse = 1.5;
  verdict.peak_memory_bytes = 1;
  for (DirectionResult& direction : verdict.directions) {
    direction.candidate = direction.baseline =
        Throughput{std::nullopt, std::nullopt, Figure{1, 1, 1, 10}, Basis::kMeasured};
    direction.speedup = Figure{1, 1, 1, 10};
    direction.floor_fraction = 0.5;
  }
  verdict.flags.push_back({"work-left-running", FlagKind::kCheat, "it ran"});
  verdict.tools = {
      {"compute-sanitizer memcheck", ToolResult::Status::kClean, "nothing found in 3 calls"},
      {"compute-sanitizer racecheck", ToolResult::Status::kNotRun, "it is not there"}};
  verdict.cases.push_back({.name = "smooth", .n = 3, .abs_bound = 0.1, .ratio = 2});
  return verdict;
}

TEST(VerdictSchema, DescribesEveryVerdict) {
  const auto schema = data::ReadJsonFile(SZARENA_SOURCE_DIR "/docs/verdict.schema.json");
  ASSERT_TRUE(schema) << schema.error().ToString();
  Verdict empty;
  empty.task = "scan";
  empty.target = "cpu";
  EXPECT_EQ(data::SchemaFault(*schema, VerdictToJson(empty)), "");
  EXPECT_EQ(data::SchemaFault(*schema, VerdictToJson(Full())), "");
}

TEST(VerdictSchema, RefusesWhatIsNoVerdict) {
  const auto schema = data::ReadJsonFile(SZARENA_SOURCE_DIR "/docs/verdict.schema.json");
  ASSERT_TRUE(schema);
  Json extra = VerdictToJson(Full());
  extra.Set("score", 17);
  EXPECT_EQ(data::SchemaFault(*schema, extra), "$.score: is not known here");
  Json stage = VerdictToJson(Full());
  stage.Set("stage", "polished");
  EXPECT_EQ(data::SchemaFault(*schema, stage), "$.stage: fits none of the forms allowed");
  Json ratio = VerdictToJson(Full());
  ratio.Set("ratio", "good");
  EXPECT_EQ(data::SchemaFault(*schema, ratio), "$.ratio: must be number or null");
}

}  // namespace
}  // namespace szarena::judge
