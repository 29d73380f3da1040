// SPDX-License-Identifier: Apache-2.0
// Tools that judge what lies in the workspace, and the list of earlier attempts.
#include <fmt/format.h>

#include <array>

#include "agent/feedback.h"
#include "agent/tools.h"

namespace szarena::agent {
namespace {

using data::Json;

constexpr size_t kHistoryEntries = 20;

Result<ToolResult> JudgeTo(Toolbox& toolbox, Depth depth, const JudgeHooks& hooks) {
  SZARENA_TRY(const judge::Verdict verdict,
              toolbox.context().judge.Evaluate(toolbox.JobFiles().folder.path(), depth, hooks));
  return ToolResult{true, FeedbackJson(verdict), FeedbackText(verdict)};
}

Result<ToolResult> Build(Toolbox& toolbox, const Json&, const JudgeHooks& hooks) {
  return JudgeTo(toolbox, Depth::kBuild, hooks);
}
Result<ToolResult> Test(Toolbox& toolbox, const Json&, const JudgeHooks& hooks) {
  return JudgeTo(toolbox, Depth::kTest, hooks);
}
Result<ToolResult> Benchmark(Toolbox& toolbox, const Json&, const JudgeHooks& hooks) {
  return JudgeTo(toolbox, Depth::kBenchmark, hooks);
}

Result<ToolResult> ProfileIt(Toolbox& toolbox, const Json&, const JudgeHooks& hooks) {
  SZARENA_TRY(Profile profile,
              toolbox.context().judge.Profile(toolbox.JobFiles().folder.path(), hooks));
  if (!profile.ok) return Refused(std::move(profile.text));
  return ToolResult{true, std::move(profile.content), std::move(profile.text)};
}

Result<ToolResult> Submit(Toolbox& toolbox, const Json& arguments, const JudgeHooks& hooks) {
  const auto text = [&](std::string_view key, size_t limit) {
    const Json* value = arguments.Find(key);
    return value == nullptr ? std::string() : value->string()->substr(0, limit);
  };
  const Json* final = arguments.Find("final");
  SZARENA_TRY(const store::Attempt attempt,
              toolbox.Submit(text("label", 80), text("idea", 400),
                             final != nullptr && final->boolean().value_or(false), hooks));
  Json content = FeedbackJson(attempt.verdict);
  content.Set("attempt", attempt.number);
  return ToolResult{true, std::move(content),
                    fmt::format("attempt {}: {}", attempt.number, FeedbackText(attempt.verdict))};
}

Result<ToolResult> History(Toolbox& toolbox, const Json& arguments, const JudgeHooks&) {
  const std::vector<store::Attempt> attempts = toolbox.attempts();
  const Budget& budget = toolbox.context().budget;
  const Json* from = arguments.Find("from");
  const int64_t latest =
      static_cast<int64_t>(attempts.size()) - static_cast<int64_t>(kHistoryEntries) + 1;
  const int64_t first = from == nullptr ? std::max<int64_t>(1, latest) : *from->integer();
  Json list = Json::MakeArray();
  std::string text;
  for (const store::Attempt& attempt : attempts) {
    if (attempt.number < first || list.items().size() == kHistoryEntries) continue;
    list.Append(SummaryJson(attempt));
    text += SummaryText(attempt) + "\n";
  }
  Json left = Json::Of(
      {{"attempts",
        budget.attempts ? Json(*budget.attempts - static_cast<int64_t>(attempts.size())) : Json()},
       {"seconds", budget.wall_seconds
                       ? Json(*budget.wall_seconds - toolbox.meter().ElapsedSeconds())
                       : Json()}});
  return ToolResult{
      true,
      Json::Of(
          {{"attempts", std::move(list)}, {"count", attempts.size()}, {"left", std::move(left)}}),
      text.empty() ? "no attempts yet" : text};
}

constexpr std::string_view kJobArguments =
    R"({"type": "object", "properties": {"wait_seconds": {"type": "number", "minimum": 0, "maximum": 600, "description": "how long to wait; work that takes longer gives a job to poll"}}, "additionalProperties": false})";

constexpr std::string_view kVerdictSchema =
    R"({"type": "object", "properties": {
"status": {"enum": ["running", "done"]}, "job": {"type": "string"}, "seconds": {"type": "number"},
"stage": {"type": ["string", "null"], "description": "the furthest stage reached; while it runs, the one at work"},
"attempt": {"type": "integer"},
"runnable": {"type": "boolean"}, "decodable": {"type": "boolean"}, "correct": {"type": "boolean"}, "ranked": {"type": "boolean"},
"failed": {"type": ["object", "null"], "properties": {"stage": {"type": "string"}, "detail": {"type": "string"}}, "required": ["stage", "detail"]},
"ratio": {"type": ["number", "null"]}, "reference_ratio": {"type": ["number", "null"]},
"max_error_over_bound": {"type": ["number", "null"]},
"throughput_gbs": {"type": "object", "additionalProperties": {"type": "object", "properties": {
"candidate": {"$ref": "#/definitions/throughput"}, "baseline": {"$ref": "#/definitions/throughput"},
"speedup_over_baseline": {"$ref": "#/definitions/figure"}, "floor_fraction": {"type": ["number", "null"]}}}},
"flags": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}, "kind": {"enum": ["cheat", "warning"]}, "detail": {"type": "string"}}, "required": ["name", "kind", "detail"]}},
"message": {"type": "string"}},
"required": ["status", "job", "stage"],
"definitions": {
"figure": {"type": ["object", "null"], "properties": {"median": {"type": "number"}, "q1": {"type": "number"}, "q3": {"type": "number"}, "samples": {"type": "integer"}}},
"throughput": {"type": ["object", "null"], "properties": {"kernel": {"$ref": "#/definitions/figure"}, "device": {"$ref": "#/definitions/figure"}, "host": {"$ref": "#/definitions/figure"}, "basis": {"enum": ["measured", "estimated"]}}}}})";

constexpr std::string_view kProfileSchema =
    R"({"type": "object", "properties": {"status": {"enum": ["running", "done"]}, "job": {"type": "string"}, "stage": {"type": ["string", "null"]}, "seconds": {"type": "number"}, "target": {"type": "string"}}, "required": ["status", "job"]})";

constexpr std::string_view kHistorySchema =
    R"({"type": "object", "properties": {"count": {"type": "integer"},
"left": {"type": "object", "properties": {"attempts": {"type": ["integer", "null"]}, "seconds": {"type": ["number", "null"]}}},
"attempts": {"type": "array", "items": {"type": "object", "properties": {"attempt": {"type": "integer"}, "label": {"type": "string"}, "idea": {"type": "string"}, "stage": {"type": "string"}, "correct": {"type": "boolean"}, "ranked": {"type": "boolean"}, "ratio": {"type": ["number", "null"]}, "failed": {"type": ["string", "null"]}, "speedup_over_baseline": {"type": "object"}, "basis": {"enum": ["measured", "estimated", "synthetic"]}}, "required": ["attempt", "stage"]}}},
"required": ["count", "left", "attempts"]})";

constexpr std::array<Tool, 6> kTools = {{
    {"build", "Build", "Builds the workspace and tells what the compiler said.", kJobArguments,
     kVerdictSchema, ToolKind::kJob, true, Build},
    {"test", "Test",
     "Builds, then checks correctness on the public data: error bound, format, ratio.",
     kJobArguments, kVerdictSchema, ToolKind::kJob, true, Test},
    {"benchmark", "Benchmark", "Tests, then measures throughput beside the baseline's.",
     kJobArguments, kVerdictSchema, ToolKind::kJob, true, Benchmark},
    {"profile", "Profile",
     "Builds and runs the workspace on public data and tells where it spends its time.",
     kJobArguments, kProfileSchema, ToolKind::kJob, true, ProfileIt},
    {"submit", "Submit",
     "Hands the workspace in as an attempt: the whole judgement, hidden data too. The best attempt "
     "counts; `final` ends the session.",
     R"({"type": "object", "properties": {"label": {"type": "string", "description": "short name of this version"}, "idea": {"type": "string", "description": "one line: what it changes"}, "final": {"type": "boolean"}, "wait_seconds": {"type": "number", "minimum": 0, "maximum": 600, "description": "how long to wait; work that takes longer gives a job to poll"}}, "additionalProperties": false})",
     kVerdictSchema, ToolKind::kJob, false, Submit},
    {"history", "History",
     "Your attempts so far with their results (the latest 20, or 20 from attempt `from` on), and "
     "what is left of the budget.",
     R"({"type": "object", "properties": {"from": {"type": "integer", "minimum": 1}}, "additionalProperties": false})",
     kHistorySchema, ToolKind::kQuick, true, History},
}};

}  // namespace

std::span<const Tool> JudgeTools() { return kTools; }

}  // namespace szarena::agent
