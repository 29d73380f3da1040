// SPDX-License-Identifier: Apache-2.0
// Tools that only read: the task, and what there is to read about it.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "agent/tools.h"

namespace szarena::agent {
namespace {

using data::Json;

constexpr size_t kMaxHits = 40;
constexpr size_t kMaxHitBytes = 300;

// Letters as they are compared in a search.
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool Holds(std::string_view line, std::string_view wanted) {
  return std::search(line.begin(), line.end(), wanted.begin(), wanted.end(),
                     [](char a, char b) { return Lower(a) == Lower(b); }) != line.end();
}

Result<ToolResult> DescribeTask(Toolbox& toolbox, const Json&, const JudgeHooks&) {
  const Json& description = toolbox.context().description;
  return ToolResult{true, description, description.Dump(2)};
}

Result<ToolResult> ListReferences(Toolbox& toolbox, const Json&, const JudgeHooks&) {
  Json list = Json::MakeArray();
  std::string text;
  for (const Reference& reference : toolbox.context().references) {
    list.Append(Json::Of({{"name", reference.name},
                          {"title", reference.title},
                          {"size_bytes", reference.text.size()}}));
    text +=
        fmt::format("{}: {} ({} bytes)\n", reference.name, reference.title, reference.text.size());
  }
  return ToolResult{true, Json::Of({{"references", std::move(list)}}),
                    text.empty() ? "no reference material" : text};
}

Result<ToolResult> ReadReference(Toolbox& toolbox, const Json& arguments, const JudgeHooks&) {
  const std::string& name = *arguments.Find("name")->string();
  const auto& all = toolbox.context().references;
  const auto found = std::ranges::find(all, name, &Reference::name);
  if (found == all.end()) {
    std::vector<std::string_view> names;
    for (const Reference& reference : all) names.push_back(reference.name);
    return Refused(
        fmt::format("there is no reference '{}'; references: {}", name, fmt::join(names, ", ")));
  }
  const Json* offset = arguments.Find("offset");
  Json content = Json::Of({{"name", name}});
  std::string page =
      Page(found->text, offset == nullptr ? 0 : offset->unsigned_integer().value_or(0), content);
  content.Set("text", page);
  return ToolResult{true, std::move(content), std::move(page)};
}

Result<ToolResult> SearchReferences(Toolbox& toolbox, const Json& arguments, const JudgeHooks&) {
  const std::string& wanted = *arguments.Find("text")->string();
  if (wanted.empty()) return Refused("'text' is empty; expected words to look for");
  Json hits = Json::MakeArray();
  std::string text;
  size_t count = 0;
  for (const Reference& reference : toolbox.context().references) {
    for (size_t begin = 0; begin < reference.text.size();) {
      const size_t end = std::min(reference.text.find('\n', begin), reference.text.size());
      const std::string_view line = std::string_view(reference.text).substr(begin, end - begin);
      if (Holds(line, wanted) && ++count <= kMaxHits) {
        const std::string shown(line.substr(0, kMaxHitBytes));
        hits.Append(Json::Of({{"name", reference.name}, {"offset", begin}, {"line", shown}}));
        text += fmt::format("{} @{}: {}\n", reference.name, begin, shown);
      }
      begin = end + 1;
    }
  }
  if (count > kMaxHits) text += fmt::format("and {} more lines\n", count - kMaxHits);
  return ToolResult{true, Json::Of({{"hits", std::move(hits)}, {"count", count}}),
                    text.empty() ? "no line holds that" : text};
}

constexpr std::array<Tool, 4> kTools = {{
    {"describe_task", "Describe the task",
     "What is to be produced: the task, its target, the public data, the rules.", kNoArguments,
     R"({"type": "object", "properties": {"task": {"type": "string"}, "target": {"type": "string"}, "summary": {"type": "string"}, "description": {"type": "string"}}, "required": ["task", "target"]})",
     ToolKind::kQuick, true, DescribeTask},
    {"list_references", "List reference material",
     "What there is to read: the contract, the format specification, the source to start from, "
     "documentation of the target.",
     kNoArguments,
     R"({"type": "object", "properties": {"references": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}, "title": {"type": "string"}, "size_bytes": {"type": "integer"}}, "required": ["name", "title", "size_bytes"]}}}, "required": ["references"]})",
     ToolKind::kQuick, true, ListReferences},
    {"read_reference", "Read reference material",
     "Reads one reference by its name, at most 16384 bytes at a time; go on at next_offset.",
     R"({"type": "object", "properties": {"name": {"type": "string"}, "offset": {"type": "integer", "minimum": 0}}, "required": ["name"], "additionalProperties": false})",
     R"({"type": "object", "properties": {"name": {"type": "string"}, "text": {"type": "string"}, "size_bytes": {"type": "integer"}, "next_offset": {"type": ["integer", "null"]}}, "required": ["name", "text", "size_bytes", "next_offset"]})",
     ToolKind::kQuick, true, ReadReference},
    {"search_references", "Search reference material",
     "Lines of the reference material that hold a text (case does not matter), with the offset at "
     "which read_reference shows them.",
     R"({"type": "object", "properties": {"text": {"type": "string", "maxLength": 200}}, "required": ["text"], "additionalProperties": false})",
     R"({"type": "object", "properties": {"count": {"type": "integer"}, "hits": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}, "offset": {"type": "integer"}, "line": {"type": "string"}}, "required": ["name", "offset", "line"]}}}, "required": ["count", "hits"]})",
     ToolKind::kQuick, true, SearchReferences},
}};

}  // namespace

std::string Page(std::string_view text, uint64_t offset, Json& content) {
  const auto torn = [&](size_t at) {  // in the middle of a character
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  const size_t begin = std::min<uint64_t>(offset, text.size());
  size_t end = std::min<uint64_t>(begin + kPageBytes, text.size());
  // At most three bytes back: bytes that are no UTF-8 must not stop the paging.
  for (int i = 0; i < 3 && end > begin + 4 && torn(end); ++i) --end;
  content.Set("size_bytes", text.size());
  content.Set("next_offset", end < text.size() ? Json(end) : Json());
  return std::string(text.substr(begin, end - begin));
}

std::span<const Tool> ReferenceTools() { return kTools; }

}  // namespace szarena::agent
