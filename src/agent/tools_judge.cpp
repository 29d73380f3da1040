// SPDX-License-Identifier: Apache-2.0
// Tools that judge what lies in the workspace, and the list of earlier attempts.
#include <fmt/format.h>

#include <array>

#include "agent/feedback.h"
#include "agent/tools.h"
#include "data/json_reader.h"

namespace szarena::agent {
namespace {

using data::Json;
using data::JsonReader;

ToolResult BudgetRefusal() {
  return Refused("the session's budget is used up; nothing is built or judged any more");
}

Result<ToolResult> JudgeTo(Toolbox& toolbox, Depth depth) {
  if (toolbox.BudgetUsed()) return BudgetRefusal();
  SZARENA_TRY(const judge::Verdict verdict, toolbox.Judge(depth));
  return ToolResult{true, FeedbackJson(verdict), FeedbackText(verdict)};
}

Result<ToolResult> Build(Toolbox& toolbox, const Json& /*arguments*/) {
  return JudgeTo(toolbox, Depth::kBuild);
}
Result<ToolResult> Test(Toolbox& toolbox, const Json& /*arguments*/) {
  return JudgeTo(toolbox, Depth::kTest);
}
Result<ToolResult> Benchmark(Toolbox& toolbox, const Json& /*arguments*/) {
  return JudgeTo(toolbox, Depth::kBenchmark);
}

Result<ToolResult> Submit(Toolbox& toolbox, const Json& arguments) {
  if (toolbox.BudgetUsed()) return BudgetRefusal();
  const JsonReader reader(arguments, "submit");
  const auto label = reader.OptionalString("label");
  const auto idea = reader.OptionalString("idea");
  const auto final = reader.OptionalBool("final");
  if (!label || !idea || !final)
    return Refused("'label' and 'idea' are text, 'final' is true or false");
  store::Attempt attempt;
  attempt.number = static_cast<int64_t>(toolbox.attempts().size()) + 1;
  attempt.label = label->value_or(fmt::format("attempt {}", attempt.number)).substr(0, 80);
  attempt.idea = idea->value_or("").substr(0, 400);
  SZARENA_TRY(attempt.verdict, toolbox.Judge(Depth::kSubmit));
  Json content = FeedbackJson(attempt.verdict);
  content.Set("attempt", attempt.number);
  std::string text = fmt::format("attempt {}: {}", attempt.number, FeedbackText(attempt.verdict));
  SZARENA_TRY_VOID(toolbox.AddAttempt(std::move(attempt)));
  if (final->value_or(false)) toolbox.MarkFinal();
  return ToolResult{true, std::move(content), std::move(text)};
}

Result<ToolResult> History(Toolbox& toolbox, const Json& /*arguments*/) {
  Json list = Json::MakeArray();
  std::string text;
  for (const store::Attempt& attempt : toolbox.attempts()) {
    Json entry = FeedbackJson(attempt.verdict);
    entry.Set("attempt", attempt.number).Set("label", attempt.label).Set("idea", attempt.idea);
    list.Append(std::move(entry));
    text += fmt::format("attempt {} {}: {}\n", attempt.number, attempt.label,
                        FeedbackText(attempt.verdict));
  }
  return ToolResult{true, Json::Of({{"attempts", std::move(list)}}),
                    text.empty() ? "no attempts yet" : text};
}

constexpr std::string_view kNoArguments =
    R"({"type": "object", "properties": {}, "additionalProperties": false})";

constexpr std::array<Tool, 5> kTools = {{
    {"build", "Builds the workspace and tells what the compiler said.", kNoArguments, Build},
    {"test", "Builds, then checks correctness on the public data: error bound, format, ratio.",
     kNoArguments, Test},
    {"benchmark", "Tests, then measures throughput beside the baseline's.", kNoArguments,
     Benchmark},
    {"submit",
     "Hands the workspace in as an attempt: the whole judgement, hidden data too. The best attempt "
     "counts; `final` ends the session.",
     R"({"type": "object", "properties": {"label": {"type": "string", "description": "short name of this version"}, "idea": {"type": "string", "description": "one line: what it changes"}, "final": {"type": "boolean"}}, "additionalProperties": false})",
     Submit},
    {"history", "Your attempts so far with their results.", kNoArguments, History},
}};

}  // namespace

std::span<const Tool> JudgeTools() { return kTools; }

}  // namespace szarena::agent
