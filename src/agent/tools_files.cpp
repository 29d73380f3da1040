// SPDX-License-Identifier: Apache-2.0
// Tools on the files of the workspace.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "agent/tools.h"

namespace szarena::agent {
namespace {

using data::Json;

// A fault of the caller becomes a refusal; anything else ends the session.
template <typename T>
bool CallersFault(const Result<T>& result) {
  return !result && (result.error().code == ErrorCode::kInvalidArgument ||
                     result.error().code == ErrorCode::kCorrupt);
}

// Members that the input schema requires.
const std::string& Text(const Json& arguments, std::string_view key) {
  return *arguments.Find(key)->string();
}

Result<ToolResult> ListFiles(Toolbox& toolbox, const Json& /*arguments*/, const JudgeHooks&) {
  const auto files = toolbox.context().workspace.List();
  if (CallersFault(files)) return Refused(files.error().message);
  if (!files) return tl::unexpected(files.error());
  Json list = Json::MakeArray();
  std::string text;
  for (const WorkspaceFile& file : *files) {
    list.Append(Json::Of({{"path", file.path}, {"size_bytes", file.size_bytes}}));
    text += fmt::format("{} ({} bytes)\n", file.path, file.size_bytes);
  }
  return ToolResult{true, Json::Of({{"files", std::move(list)}}),
                    files->empty() ? "no files" : text};
}

Result<ToolResult> ReadFile(Toolbox& toolbox, const Json& arguments, const JudgeHooks&) {
  const std::string& path = Text(arguments, "path");
  const auto text = toolbox.context().workspace.Read(path);
  if (CallersFault(text)) return Refused(text.error().message);
  if (!text) return tl::unexpected(text.error());
  const Json* offset = arguments.Find("offset");
  Json content = Json::Of({{"path", path}});
  std::string page =
      Page(*text, offset == nullptr ? 0 : offset->unsigned_integer().value_or(0), content);
  content.Set("text", page);
  return ToolResult{true, std::move(content), std::move(page)};
}

Result<ToolResult> Written(Toolbox& toolbox, const std::string& path, const std::string& text) {
  const auto written = toolbox.context().workspace.Write(path, text);
  if (CallersFault(written)) return Refused(written.error().message);
  if (!written) return tl::unexpected(written.error());
  return ToolResult{true, Json::Of({{"path", path}, {"size_bytes", text.size()}}),
                    fmt::format("wrote {} ({} bytes)", path, text.size())};
}

Result<ToolResult> WriteFile(Toolbox& toolbox, const Json& arguments, const JudgeHooks&) {
  return Written(toolbox, Text(arguments, "path"), Text(arguments, "text"));
}

Result<ToolResult> EditFile(Toolbox& toolbox, const Json& arguments, const JudgeHooks&) {
  const std::string& path = Text(arguments, "path");
  const std::string& old_text = Text(arguments, "old_text");
  const std::string& new_text = Text(arguments, "new_text");
  const Json* all = arguments.Find("replace_all");
  const bool replace_all = all != nullptr && all->boolean().value_or(false);
  if (old_text.empty()) return Refused("'old_text' is empty; expected text that the file holds");
  const auto text = toolbox.context().workspace.Read(path);
  if (CallersFault(text)) return Refused(text.error().message);
  if (!text) return tl::unexpected(text.error());
  size_t count = 0;
  for (size_t at = text->find(old_text); at != std::string::npos;
       at = text->find(old_text, at + old_text.size())) {
    ++count;
  }
  if (count == 0) return Refused(fmt::format("'{}' does not hold 'old_text'", path));
  if (count > 1 && !replace_all) {
    return Refused(fmt::format(
        "'{}' holds 'old_text' {} times; give more of its surroundings, or \"replace_all\": true",
        path, count));
  }
  // A small request can ask for a huge text: its size is known before it is made.
  const uint64_t kept = text->size() - count * old_text.size();
  if (new_text.size() >
      (Workspace::kMaxFileBytes - std::min(kept, Workspace::kMaxFileBytes)) / count) {
    return Refused(fmt::format("'{}' would have {} bytes; at most {} are allowed", path,
                               kept + count * static_cast<uint64_t>(new_text.size()),
                               Workspace::kMaxFileBytes));
  }
  std::string out;
  out.reserve(kept + count * new_text.size());
  size_t from = 0;
  for (size_t at = text->find(old_text); at != std::string::npos; at = text->find(old_text, from)) {
    out.append(*text, from, at - from).append(new_text);
    from = at + old_text.size();
  }
  out.append(*text, from);
  auto result = Written(toolbox, path, out);
  if (result && result->ok) result->content.Set("replaced", count);
  return result;
}

Result<ToolResult> DeleteFile(Toolbox& toolbox, const Json& arguments, const JudgeHooks&) {
  const std::string& path = Text(arguments, "path");
  const auto removed = toolbox.context().workspace.Remove(path);
  if (CallersFault(removed)) return Refused(removed.error().message);
  if (!removed) return tl::unexpected(removed.error());
  return ToolResult{true, Json::Of({{"path", path}}), fmt::format("deleted {}", path)};
}

constexpr std::string_view kWrittenSchema =
    R"({"type": "object", "properties": {"path": {"type": "string"}, "size_bytes": {"type": "integer"}, "replaced": {"type": "integer"}}, "required": ["path", "size_bytes"]})";

constexpr std::array<Tool, 5> kTools = {{
    {"list_files", "List files", "The files of your workspace with their sizes.", kNoArguments,
     R"({"type": "object", "properties": {"files": {"type": "array", "items": {"type": "object", "properties": {"path": {"type": "string"}, "size_bytes": {"type": "integer"}}, "required": ["path", "size_bytes"]}}}, "required": ["files"]})",
     ToolKind::kQuick, true, ListFiles},
    {"read_file", "Read a file",
     "Reads a file of your workspace, at most 16384 bytes at a time; go on at next_offset.",
     R"({"type": "object", "properties": {"path": {"type": "string"}, "offset": {"type": "integer", "minimum": 0}}, "required": ["path"], "additionalProperties": false})",
     R"({"type": "object", "properties": {"path": {"type": "string"}, "text": {"type": "string"}, "size_bytes": {"type": "integer"}, "next_offset": {"type": ["integer", "null"]}}, "required": ["path", "text", "size_bytes", "next_offset"]})",
     ToolKind::kQuick, true, ReadFile},
    {"write_file", "Write a file",
     "Creates or replaces a file of your workspace with the given text.",
     R"({"type": "object", "properties": {"path": {"type": "string"}, "text": {"type": "string"}}, "required": ["path", "text"], "additionalProperties": false})",
     kWrittenSchema, ToolKind::kQuick, false, WriteFile},
    {"edit_file", "Edit a file",
     "Replaces old_text, which must occur exactly once (or anywhere, with replace_all), by "
     "new_text.",
     R"({"type": "object", "properties": {"path": {"type": "string"}, "old_text": {"type": "string"}, "new_text": {"type": "string"}, "replace_all": {"type": "boolean"}}, "required": ["path", "old_text", "new_text"], "additionalProperties": false})",
     kWrittenSchema, ToolKind::kQuick, false, EditFile},
    {"delete_file", "Delete a file", "Deletes a file of your workspace.",
     R"({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": false})",
     R"({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})",
     ToolKind::kQuick, false, DeleteFile},
}};

}  // namespace

std::span<const Tool> FileTools() { return kTools; }

}  // namespace szarena::agent
