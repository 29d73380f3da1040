// SPDX-License-Identifier: Apache-2.0
// Tools that read and write: the task and the workspace's files.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "agent/tools.h"
#include "data/json_reader.h"

namespace szarena::agent {
namespace {

using data::Json;
using data::JsonReader;

constexpr uint64_t kReadLimitBytes = 16384;

// A fault of the caller becomes a refusal; anything else ends the session.
template <typename T>
bool CallersFault(const Result<T>& result) {
  return !result && (result.error().code == ErrorCode::kInvalidArgument ||
                     result.error().code == ErrorCode::kCorrupt);
}

Result<ToolResult> DescribeTask(Toolbox& toolbox, const Json& /*arguments*/) {
  const Json& description = toolbox.context().description;
  return ToolResult{true, description, description.Dump(2)};
}

Result<ToolResult> ListFiles(Toolbox& toolbox, const Json& /*arguments*/) {
  SZARENA_TRY(const auto files, toolbox.context().workspace.List());
  Json list = Json::MakeArray();
  std::string text;
  for (const WorkspaceFile& file : files) {
    list.Append(Json::Of({{"path", file.path}, {"size_bytes", file.size_bytes}}));
    text += fmt::format("{} ({} bytes)\n", file.path, file.size_bytes);
  }
  return ToolResult{true, Json::Of({{"files", std::move(list)}}),
                    files.empty() ? "no files" : text};
}

Result<ToolResult> ReadFile(Toolbox& toolbox, const Json& arguments) {
  const JsonReader reader(arguments, "read_file");
  const auto path = reader.GetString("path");
  if (!path) return Refused(path.error().message);
  const auto offset = reader.OptionalInt("offset");
  if (!offset || offset->value_or(0) < 0)
    return Refused("'offset' must be a whole number of bytes");
  const auto text = toolbox.context().workspace.Read(*path);
  if (CallersFault(text)) return Refused(text.error().message);
  if (!text) return tl::unexpected(text.error());
  const uint64_t begin =
      std::min<uint64_t>(static_cast<uint64_t>(offset->value_or(0)), text->size());
  std::string part = text->substr(begin, kReadLimitBytes);
  const uint64_t end = begin + part.size();
  const Json next = end < text->size() ? Json(end) : Json();
  Json content = Json::Of(
      {{"path", *path}, {"text", part}, {"size_bytes", text->size()}, {"next_offset", next}});
  return ToolResult{true, std::move(content), std::move(part)};
}

Result<ToolResult> WriteFile(Toolbox& toolbox, const Json& arguments) {
  const JsonReader reader(arguments, "write_file");
  const auto path = reader.GetString("path");
  if (!path) return Refused(path.error().message);
  const auto text = reader.GetString("text");
  if (!text) return Refused(text.error().message);
  const auto written = toolbox.context().workspace.Write(*path, *text);
  if (CallersFault(written)) return Refused(written.error().message);
  if (!written) return tl::unexpected(written.error());
  return ToolResult{true, Json::Of({{"path", *path}, {"size_bytes", text->size()}}),
                    fmt::format("wrote {} ({} bytes)", *path, text->size())};
}

Result<ToolResult> DeleteFile(Toolbox& toolbox, const Json& arguments) {
  const auto path = JsonReader(arguments, "delete_file").GetString("path");
  if (!path) return Refused(path.error().message);
  const auto removed = toolbox.context().workspace.Remove(*path);
  if (CallersFault(removed)) return Refused(removed.error().message);
  if (!removed) return tl::unexpected(removed.error());
  return ToolResult{true, Json::Of({{"path", *path}}), fmt::format("deleted {}", *path)};
}

constexpr std::array<Tool, 5> kTools = {{
    {"describe_task", "What is to be produced: the task, its contract, the data, the rules.",
     R"({"type": "object", "properties": {}, "additionalProperties": false})", DescribeTask},
    {"list_files", "The files of your workspace with their sizes.",
     R"({"type": "object", "properties": {}, "additionalProperties": false})", ListFiles},
    {"read_file",
     "Reads a file of your workspace, at most 16384 bytes at a time; go on at next_offset.",
     R"({"type": "object", "properties": {"path": {"type": "string"}, "offset": {"type": "integer", "minimum": 0}}, "required": ["path"], "additionalProperties": false})",
     ReadFile},
    {"write_file", "Creates or replaces a file of your workspace with the given text.",
     R"({"type": "object", "properties": {"path": {"type": "string"}, "text": {"type": "string"}}, "required": ["path", "text"], "additionalProperties": false})",
     WriteFile},
    {"delete_file", "Deletes a file of your workspace.",
     R"({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": false})",
     DeleteFile},
}};

}  // namespace

std::span<const Tool> FileTools() { return kTools; }

}  // namespace szarena::agent
