// SPDX-License-Identifier: Apache-2.0
// Plays a ladder.
#include "agent/ladder.h"

#include <fmt/format.h>

#include <set>

namespace szarena::agent {
namespace {

using data::Json;

constexpr std::string_view kStepFile =
    "ladder.toml";  // describes the step; no part of the candidate

// A refusal would mean that the ladder's own files are unfit: an error, not a result.
Result<ToolResult> Must(Result<ToolResult> result, const LadderStep& step) {
  if (!result || result->ok) return result;
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("ladder step '{}': {}", step.directory, result->text));
}

// Makes the workspace hold the step's files and no others.
Result<void> PlaceFiles(const LadderStep& step, Toolbox& toolbox) {
  const Workspace source(step.directory);
  SZARENA_TRY(const auto wanted, source.List());
  if (wanted.empty()) {
    return Fail(ErrorCode::kNotFound, fmt::format("ladder step '{}' has no files", step.directory));
  }
  std::set<std::string> keep;
  for (const WorkspaceFile& file : wanted) {
    if (file.path == kStepFile) continue;
    keep.insert(file.path);
    SZARENA_TRY(const std::string text, source.Read(file.path));
    SZARENA_TRY_VOID(
        Must(toolbox.Call("write_file", Json::Of({{"path", file.path}, {"text", text}})), step));
  }
  SZARENA_TRY(const ToolResult listed, Must(toolbox.Call("list_files", Json::MakeObject()), step));
  for (const Json& file : listed.content.Find("files")->items()) {
    const std::string& path = *file.Find("path")->string();
    if (keep.contains(path)) continue;
    SZARENA_TRY_VOID(Must(toolbox.Call("delete_file", Json::Of({{"path", path}})), step));
  }
  return {};
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
    SZARENA_TRY_VOID(PlaceFiles(step, toolbox));
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
