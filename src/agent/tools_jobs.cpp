// SPDX-License-Identifier: Apache-2.0
// Tools around long work and long output.
#include <fmt/format.h>

#include <array>

#include "agent/tools.h"

namespace szarena::agent {
namespace {

using data::Json;

Result<ToolResult> PollJob(Toolbox& toolbox, const Json& arguments, const JudgeHooks& hooks) {
  const Json* wait = arguments.Find("wait_seconds");
  return toolbox.Poll(*arguments.Find("job")->string(),
                      wait == nullptr ? std::nullopt : wait->number(), hooks);
}

Result<ToolResult> CancelJob(Toolbox& toolbox, const Json& arguments, const JudgeHooks&) {
  return toolbox.Cancel(*arguments.Find("job")->string());
}

Result<ToolResult> ReadOutput(Toolbox& toolbox, const Json& arguments, const JudgeHooks&) {
  const std::string& handle = *arguments.Find("handle")->string();
  const std::optional<std::string> text = toolbox.Output(handle);
  if (!text) {
    return Refused(fmt::format("there is no output '{}'; only the latest are kept", handle));
  }
  const Json* offset = arguments.Find("offset");
  Json content = Json::Of({{"handle", handle}});
  std::string page =
      Page(*text, offset == nullptr ? 0 : offset->unsigned_integer().value_or(0), content);
  content.Set("text", page);
  return ToolResult{true, std::move(content), std::move(page)};
}

constexpr std::array<Tool, 3> kTools = {{
    {"poll", "Wait for a job",
     "The result of a build, test, benchmark, profile or submission that was still running; waits "
     "for it for a while.",
     R"({"type": "object", "properties": {"job": {"type": "string"}, "wait_seconds": {"type": "number", "minimum": 0, "maximum": 600}}, "required": ["job"], "additionalProperties": false})",
     R"({"type": "object", "properties": {"status": {"enum": ["running", "done"]}, "job": {"type": "string"}}, "required": ["status", "job"]})",
     ToolKind::kWaits, true, PollJob},
    {"cancel", "Cancel a job", "Ends a running job at its next stage; its result is dropped.",
     R"({"type": "object", "properties": {"job": {"type": "string"}}, "required": ["job"], "additionalProperties": false})",
     R"({"type": "object", "properties": {"status": {"enum": ["cancelling", "done"]}, "job": {"type": "string"}}, "required": ["status", "job"]})",
     ToolKind::kWaits, false, CancelJob},
    {"read_output", "Read long output",
     "More of a result that was too long to be given at once, at most 16384 bytes at a time.",
     R"({"type": "object", "properties": {"handle": {"type": "string"}, "offset": {"type": "integer", "minimum": 0}}, "required": ["handle"], "additionalProperties": false})",
     R"({"type": "object", "properties": {"handle": {"type": "string"}, "text": {"type": "string"}, "size_bytes": {"type": "integer"}, "next_offset": {"type": ["integer", "null"]}}, "required": ["handle", "text", "size_bytes", "next_offset"]})",
     ToolKind::kQuick, true, ReadOutput},
}};

}  // namespace

std::span<const Tool> JobTools() { return kTools; }

}  // namespace szarena::agent
