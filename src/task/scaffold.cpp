// SPDX-License-Identifier: Apache-2.0
#include "task/scaffold.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/atomic_file.h"
#include "task/text_file.h"

namespace szarena::task {
namespace {

namespace fs = std::filesystem;

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

Result<void> MakeFolder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return {};
  return Fail(ErrorCode::kIo,
              fmt::format("cannot make folder '{}': {}", folder.string(), error.message()));
}

// Copies every file below `from`, with {{NAME}} replaced.
Result<void> CopyTree(const fs::path& from, const fs::path& to, std::string_view name) {
  std::error_code error;
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(from, error)) {
    if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), from));
  }
  if (error || files.empty()) {
    return Fail(ErrorCode::kNotFound, fmt::format("no template in '{}'", from.string()));
  }
  for (const fs::path& file : files) {
    SZARENA_TRY(std::string text, ReadTextFile((from / file).string()));
    SZARENA_TRY_VOID(MakeFolder((to / file).parent_path()));
    SZARENA_TRY_VOID(WriteFileAtomically((to / file).string(), Replaced(text, "{{NAME}}", name)));
  }
  return {};
}

}  // namespace

Result<std::string> NewTask(const std::string& root, std::string_view name) {
  bool good = !name.empty() && name.size() <= 40 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
  if (!good) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("bad task name '{}': expected lower-case letters, digits and hyphens", name));
  }
  fs::path folder = fs::path(root) / "tasks" / name;
  std::error_code ignored;
  if (fs::exists(folder, ignored)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' exists already: expected a new name", folder.string()));
  }
  SZARENA_TRY_VOID(CopyTree(fs::path(root) / "tasks/template/task", folder, name));
  return folder.string();
}

Result<void> NewCandidate(const std::string& root, const Task& task, Target target, Source source,
                          const std::string& directory) {
  auto found = task.targets.find(target);
  if (found == task.targets.end() ||
      std::ranges::find(found->second.sources, source) == found->second.sources.end()) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("task '{}' has no source '{}' for target '{}'", task.name,
                            SourceName(source), TargetName(target)));
  }
  std::error_code ignored;
  if (fs::exists(directory, ignored) && !fs::is_empty(directory, ignored)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is not empty: expected a new directory", directory));
  }
  SZARENA_TRY_VOID(MakeFolder(directory));
  bool stub = false;
  for (const std::string& path : found->second.contract) {
    // Folders of the Cerebras contract are skeletons that build, one a variant: the first is the
    // stub itself.
    if (fs::is_directory(path)) {
      if (!std::exchange(stub, true)) SZARENA_TRY_VOID(CopyTree(path, directory, task.name));
    } else {
      SZARENA_TRY(std::string text, ReadTextFile(path));
      fs::path to = fs::path(directory) / fs::path(path).filename();
      SZARENA_TRY_VOID(WriteFileAtomically(to.string(), text));
    }
  }
  if (target == Target::kCerebras && source == Source::kNone) return {};
  fs::path from = source == Source::kNone
                      ? fs::path(root) / "tasks/template/candidate" /
                            fmt::format("{}_{}", TargetName(target),
                                        task.kind == Kind::kCompressor ? "compressor" : "primitive")
                      : fs::path(task.folder) / "source" / SourceName(source);
  return CopyTree(from, directory, task.name);
}

}  // namespace szarena::task
