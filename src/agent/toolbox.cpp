// SPDX-License-Identifier: Apache-2.0
// Dispatch, budget, recording.
#include "agent/toolbox.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/tools.h"

namespace szarena::agent {

std::span<const Tool> AllTools() {
  static const std::vector<Tool> kTools = [] {
    std::vector<Tool> tools;
    for (const std::span<const Tool> part : {FileTools(), JudgeTools()}) {
      tools.insert(tools.end(), part.begin(), part.end());
    }
    return tools;
  }();
  return kTools;
}

ToolResult Refused(std::string message) {
  return {false, data::Json::Of({{"error", message}}), std::move(message)};
}

Toolbox::Toolbox(ToolboxContext context) : context_(std::move(context)), meter_(context_.budget) {}

Result<ToolResult> Toolbox::Call(std::string_view name, const data::Json& arguments) {
  if (context_.stop.stop_requested()) return Fail(ErrorCode::kCancelled, "stopped on request");
  if (context_.on_call) context_.on_call(name);
  SZARENA_TRY_VOID(context_.transcript.Add(
      "tool-call", data::Json::Of({{"tool", name}, {"arguments", arguments}})));
  const double begin = meter_.ElapsedSeconds();
  const auto tools = AllTools();
  const auto tool = std::find_if(tools.begin(), tools.end(),
                                 [&](const Tool& candidate) { return candidate.name == name; });
  ToolResult result;
  if (tool == tools.end()) {
    std::vector<std::string_view> names;
    for (const Tool& known : tools) names.push_back(known.name);
    result = Refused(fmt::format("there is no tool '{}'; tools: {}", name, fmt::join(names, ", ")));
  } else if (!arguments.is_object() && !arguments.is_null()) {
    result = Refused(fmt::format("arguments of '{}' must be an object", name));
  } else {
    SZARENA_TRY(result, tool->run(*this, arguments));
  }
  SZARENA_TRY_VOID(context_.transcript.Add(
      "tool-result", data::Json::Of({{"tool", name},
                                     {"ok", result.ok},
                                     {"content", result.content},
                                     {"seconds", meter_.ElapsedSeconds() - begin}})));
  return result;
}

Result<judge::Verdict> Toolbox::Judge(Depth depth) {
  auto verdict = context_.judge.Evaluate(context_.workspace.folder(), depth);
  // A stop may have killed the candidate's processes: such a verdict says nothing about it.
  if (context_.stop.stop_requested()) return Fail(ErrorCode::kCancelled, "stopped on request");
  return verdict;
}

Result<void> Toolbox::AddAttempt(store::Attempt attempt) {
  SZARENA_TRY_VOID(context_.record(attempt));
  meter_.AddAttempt();
  attempts_.push_back(std::move(attempt));
  return {};
}

}  // namespace szarena::agent
