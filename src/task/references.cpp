// SPDX-License-Identifier: Apache-2.0
#include "task/references.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "task/text_file.h"

namespace szarena::task {
namespace {

namespace fs = std::filesystem;

// Pages under docs/ about each target's language and machine.
const std::vector<std::string>& Pages(Target target) {
  static const std::vector<std::string> kCpu = {"contracts/cpu.md"};
  static const std::vector<std::string> kCuda = {"contracts/cuda.md"};
  static const std::vector<std::string> kCerebras = {
      "contracts/cerebras.md", "csl/first-program.md", "csl/language.md",  "csl/builtins.md",
      "csl/libraries.md",      "csl/machine.md",       "csl/cost-model.md"};
  switch (target) {
    case Target::kCpu:
      return kCpu;
    case Target::kCuda:
      return kCuda;
    case Target::kCerebras:
      return kCerebras;
  }
  return kCpu;
}

// "Heading" of a page that begins with "# Heading"; else `otherwise`.
std::string TitleOf(const std::string& text, std::string_view otherwise) {
  if (!text.starts_with("# ")) return std::string(otherwise);
  return text.substr(2, text.find('\n') - 2);
}

// A file, or every file below a folder by name.
Result<void> Add(const std::string& path, const std::string& prefix, std::string_view what,
                 std::vector<ReferenceText>& out) {
  std::vector<std::pair<std::string, std::string>> files;  // name, path
  std::error_code error;
  if (fs::is_directory(path, error)) {
    for (const auto& entry : fs::recursive_directory_iterator(path, error)) {
      if (!entry.is_regular_file()) continue;
      files.emplace_back(fs::relative(entry.path(), path).generic_string(), entry.path().string());
    }
    if (error) return Fail(ErrorCode::kIo, fmt::format("cannot list folder '{}'", path));
    std::ranges::sort(files);
  } else {
    files.emplace_back(fs::path(path).filename().string(), path);
  }
  for (const auto& [name, file] : files) {
    SZARENA_TRY(std::string text, ReadTextFile(file));
    std::string title = TitleOf(text, what);
    out.push_back({prefix + "/" + name, std::move(title), std::move(text)});
  }
  return {};
}

}  // namespace

Result<std::vector<ReferenceText>> LoadReferences(const std::string& root, const Task& task,
                                                  Target target, Source source) {
  const auto info = task.targets.find(target);
  if (info == task.targets.end()) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("task '{}' has no target '{}'", task.name, TargetName(target)));
  }
  std::vector<ReferenceText> references;
  for (const std::string& path : info->second.contract) {
    SZARENA_TRY_VOID(Add(path, "contract", "What a candidate exports", references));
  }
  if (!task.format.empty()) {
    SZARENA_TRY_VOID(Add(task.format, "format", "The stream format", references));
  }
  if (source != Source::kNone) {
    SZARENA_TRY_VOID(Add(fmt::format("{}/source/{}", task.folder, SourceName(source)), "source",
                         "Code to start from", references));
  }
  for (const std::string& page : Pages(target)) {
    const std::string path = root + "/docs/" + page;
    std::error_code error;
    if (fs::exists(path, error)) SZARENA_TRY_VOID(Add(path, "docs", "Documentation", references));
  }
  return references;
}

}  // namespace szarena::task
