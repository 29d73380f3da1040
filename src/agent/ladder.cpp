// SPDX-License-Identifier: Apache-2.0
// Plays a ladder.
#include "agent/ladder.h"

#include <fmt/format.h>

#include "agent/answer_files.h"

namespace szarena::agent {
namespace {

using data::Json;

constexpr std::string_view kStepFile =
    "ladder.toml";  // describes the step; no part of the candidate

// The step's files. A refusal of the tools would mean that they are unfit: an error, not a result.
Result<void> PlaceStep(const LadderStep& step, Toolbox& toolbox) {
  const Workspace source(step.directory);
  SZARENA_TRY(const auto listed, source.List());
  if (listed.empty()) {
    return Fail(ErrorCode::kNotFound, fmt::format("ladder step '{}' has no files", step.directory));
  }
  FileTexts files;
  for (const WorkspaceFile& file : listed) {
    if (file.path == kStepFile) continue;
    SZARENA_TRY(files[file.path], source.Read(file.path));
  }
  SZARENA_TRY(const ToolResult placed, PlaceFiles(files, toolbox));
  if (placed.ok) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("ladder step '{}': {}", step.directory, placed.text));
}

}  // namespace

Json LadderAgent::Identity() const {
  Json steps = Json::MakeArray();
  for (const LadderStep& step : steps_) steps.Append(step.label);
  return Json::Of({{"kind", "scripted"},
                   {"name", "ladder"},
                   {"note", "hand-written candidates, no model"},
                   {"steps", std::move(steps)}});
}

Result<AgentEnd> LadderAgent::Run(const std::string& /*prompt*/, Toolbox& toolbox) {
  SZARENA_TRY([[maybe_unused]] const ToolResult task,
              toolbox.Call("describe_task", Json::MakeObject()));
  for (const LadderStep& step : steps_) {
    SZARENA_TRY_VOID(PlaceStep(step, toolbox));
    const bool last = &step == &steps_.back();
    SZARENA_TRY(
        const ToolResult result,
        toolbox.Call("submit",
                     Json::Of({{"label", step.label}, {"idea", step.idea}, {"final", last}})));
    if (!result.ok) {
      return AgentEnd{store::StopReason::kBudget, fmt::format("before step '{}'", step.label)};
    }
  }
  return AgentEnd{store::StopReason::kSubmitted, "every step of the ladder was handed in"};
}

}  // namespace szarena::agent
