// SPDX-License-Identifier: Apache-2.0
// Finds, shows and places files.
#include "agent/answer_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace szarena::agent {
namespace {

using data::Json;

bool IsPathCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-' || c == '/' || c == '+';
}

// The word where it looks like a file's name: has a dot with something after it.
std::string AsName(std::string_view word) {
  const auto decoration = [](char c) {
    return c == '#' || c == '*' || c == '`' || c == ' ' || c == '\t' || c == ':' || c == '\r' ||
           c == '"' || c == '(' || c == ')';
  };
  while (!word.empty() && decoration(word.front())) word.remove_prefix(1);
  while (!word.empty() && decoration(word.back())) word.remove_suffix(1);
  const size_t dot = word.rfind('.');
  if (word.empty() || dot == std::string_view::npos || dot + 1 == word.size()) return "";
  return std::all_of(word.begin(), word.end(), IsPathCharacter) ? std::string(word) : "";
}

// "### candidate.cpp", "File: a.h": the line says a name and hardly anything else.
std::string NameInLine(std::string_view line) {
  for (const std::string_view prefix : {"File:", "file:", "File", "Filename:"}) {
    const size_t at = line.find(prefix);
    if (at != std::string_view::npos) {
      if (std::string name = AsName(line.substr(at + prefix.size())); !name.empty()) return name;
    }
  }
  return AsName(line);
}

// "cpp candidate.cpp", "cpp title=a.h": a name among the words after the language.
std::string NameInInfo(std::string_view info) {
  const size_t space = info.find_first_of(" :");
  if (space == std::string_view::npos) return "";
  std::string_view rest = info.substr(space + 1);
  if (const size_t equals = rest.find('='); equals != std::string_view::npos) {
    rest.remove_prefix(equals + 1);
  }
  return AsName(rest);
}

// The length of the fence that the line opens or closes, or 0.
size_t FenceLength(std::string_view line, char& mark) {
  size_t blanks = 0;
  while (blanks < line.size() && blanks < 4 && line[blanks] == ' ') ++blanks;
  line.remove_prefix(blanks);
  if (line.empty() || (line.front() != '`' && line.front() != '~')) return 0;
  mark = line.front();
  const size_t length = std::min(line.find_first_not_of(mark), line.size());
  return length >= 3 ? length : 0;
}

}  // namespace

FileTexts FilesInAnswer(std::string_view answer, const std::string& default_name) {
  FileTexts files;
  std::string longest_unnamed;
  std::string name;
  std::string text;
  std::string before;  // the last line with something in it before the fence
  size_t fence = 0;
  char mark = 0;
  for (size_t begin = 0; begin < answer.size();) {
    const size_t end = std::min(answer.find('\n', begin), answer.size());
    std::string_view line = answer.substr(begin, end - begin);
    begin = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    char here_mark = 0;
    const size_t here = FenceLength(line, here_mark);
    if (fence == 0 && here > 0) {
      fence = here;
      mark = here_mark;
      const size_t info = line.find_first_not_of(mark, line.find(mark));
      name = info == std::string_view::npos ? "" : NameInInfo(line.substr(info));
      if (name.empty()) name = NameInLine(before);
      text.clear();
    } else if (fence > 0 && here >= fence && here_mark == mark &&
               line.find_first_not_of("`~ \t") == std::string_view::npos) {
      if (!name.empty()) {
        files[name] = text;
      } else if (text.size() > longest_unnamed.size()) {
        longest_unnamed = text;
      }
      fence = 0;
      before.clear();
    } else if (fence > 0) {
      text += line;
      text += '\n';
    } else if (line.find_first_not_of(" \t") != std::string_view::npos) {
      before = line;
    }
  }
  if (files.empty() && !longest_unnamed.empty() && !default_name.empty()) {
    files[default_name] = longest_unnamed;
  }
  return files;
}

std::string FilesAsText(const FileTexts& files) {
  std::string all;
  for (const auto& [path, text] : files) {
    std::string fence = "```";
    while (text.find(fence) != std::string::npos) fence += '`';
    all += fmt::format("### {}\n\n{}\n{}{}{}\n\n", path, fence, text,
                       text.ends_with('\n') ? "" : "\n", fence);
  }
  return all;
}

FileTexts FilesFromJson(const Json& list) {
  FileTexts files;
  for (const Json& file : list.items()) {
    const Json* path = file.Find("path");
    const Json* text = file.Find("text");
    if (path && path->string() && text && text->string()) files[*path->string()] = *text->string();
  }
  return files;
}

Result<ToolResult> PlaceFiles(const FileTexts& files, Toolbox& toolbox) {
  SZARENA_TRY(const ToolResult listed, toolbox.Call("list_files", Json::MakeObject()));
  const Json* present = listed.ok ? listed.content.Find("files") : nullptr;
  std::vector<std::string> extra;
  for (const Json& file : present ? present->items() : Json::Array{}) {
    const std::string& path = *file.Find("path")->string();
    if (!files.contains(path)) extra.push_back(path);
  }
  for (const std::string& path : extra) {  // first, so that a folder may give way to a file
    SZARENA_TRY(ToolResult deleted, toolbox.Call("delete_file", Json::Of({{"path", path}})));
    if (!deleted.ok) return deleted;
  }
  ToolResult last;
  for (const auto& [path, text] : files) {
    SZARENA_TRY(last, toolbox.Call("write_file", Json::Of({{"path", path}, {"text", text}})));
    if (!last.ok) return last;
  }
  return last;
}

}  // namespace szarena::agent
