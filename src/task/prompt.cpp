// SPDX-License-Identifier: Apache-2.0
#include "task/prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "data/sha256.h"
#include "task/text_file.h"

namespace szarena::task {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> TierPieces(const std::string& root, const Task& task, Target target,
                                    Tier tier) {
  std::string_view name = TargetName(target);
  std::vector<std::string> pieces = {
      root + "/tasks/prompt/role.md",
      task.folder + "/description.md",
      fmt::format("{}/tasks/prompt/target_{}.md", root, name),
  };
  // A language that few have read: every tier gets its primer.
  if (target == Target::kCerebras) pieces.push_back(root + "/tasks/prompt/csl_primer.md");
  if (tier >= Tier::kKnowledgeable) {
    pieces.push_back(fmt::format("{}/tasks/prompt/architecture_{}.md", root, name));
    pieces.push_back(task.folder + "/parallelism.md");
  }
  if (tier == Tier::kExpert) pieces.push_back(fmt::format("{}/expert_{}.md", task.folder, name));
  pieces.push_back(root + "/tasks/prompt/rules.md");
  return pieces;
}

// A fence longer than any run of backticks in the text.
std::string Fenced(const std::string& name, const std::string& text) {
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) fence += '`';
  std::string end = text.ends_with('\n') ? "" : "\n";
  return fmt::format("### {}\n\n{}\n{}{}{}\n", name, fence, text, end, fence);
}

// All regular files of `folder`, by name, each named with `prefix`.
Result<std::string> Listing(const std::string& folder, const std::string& prefix = "") {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
    if (entry.is_regular_file()) files.push_back(fs::relative(entry.path(), folder).string());
  }
  if (error || files.empty()) {
    return Fail(ErrorCode::kNotFound, fmt::format("no files in '{}'", folder));
  }
  std::ranges::sort(files);
  std::string text;
  for (const std::string& file : files) {
    SZARENA_TRY(std::string content, ReadTextFile(folder + "/" + file));
    text += (text.empty() ? "" : "\n") + Fenced(prefix + file, content);
  }
  return text;
}

Result<std::string> ContractText(const TargetInfo& info) {
  std::string text;
  for (const std::string& path : info.contract) {
    if (fs::is_directory(path)) {
      SZARENA_TRY(std::string files, Listing(path, fs::path(path).filename().string() + "/"));
      text += (text.empty() ? "" : "\n") + files;
    } else {
      SZARENA_TRY(std::string content, ReadTextFile(path));
      text += (text.empty() ? "" : "\n") + Fenced(fs::path(path).filename().string(), content);
    }
  }
  return text;
}

}  // namespace

Result<std::string> ComposePrompt(const std::string& root, const Task& task, Target target,
                                  Tier tier, Source source) {
  auto found = task.targets.find(target);
  if (found == task.targets.end()) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("task '{}' has no target '{}'", task.name, TargetName(target)));
  }
  const TargetInfo& info = found->second;
  if (std::ranges::find(info.sources, source) == info.sources.end()) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("task '{}' on '{}' has no source '{}'", task.name, TargetName(target),
                            SourceName(source)));
  }
  std::string prompt;
  for (const std::string& path : TierPieces(root, task, target, tier)) {
    SZARENA_TRY(std::string piece, ReadTextFile(path));
    prompt += (prompt.empty() ? "" : "\n") + piece;
    if (!prompt.ends_with('\n')) prompt += '\n';
  }
  SZARENA_TRY(std::string contract, ContractText(info));
  prompt += "\n## Contract\n\n" + contract;
  if (!task.format.empty()) {
    SZARENA_TRY(std::string format, ReadTextFile(task.format));
    prompt += "\n## Format\n\n" + Fenced(fs::path(task.format).filename().string(), format);
  }
  if (source != Source::kNone) {
    SZARENA_TRY(std::string files,
                Listing(fmt::format("{}/source/{}", task.folder, SourceName(source))));
    prompt += fmt::format("\n## Source to start from ({})\n\n{}", SourceName(source), files);
  }
  return prompt;
}

Result<std::map<std::string, std::string>> LoadWorkflowWords(const std::string& root,
                                                             std::string_view workflow) {
  const std::string folder = root + "/tasks/workflow";
  std::map<std::string, std::string> words;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().stem().string();
    const bool wanted = name == workflow || name.starts_with(std::string(workflow) + "-");
    if (it->path().extension() != ".md" || !wanted) continue;
    SZARENA_TRY(words[name], ReadTextFile(it->path().string()));
  }
  if (words.empty()) {
    return Fail(ErrorCode::kNotFound,
                fmt::format("workflow '{}' has no words under '{}'", workflow, folder));
  }
  SZARENA_TRY(words["nudge"], ReadTextFile(folder + "/nudge.md"));
  return words;
}

std::string PromptHash(const std::string& prompt) { return data::Sha256Hex(prompt); }

}  // namespace szarena::task
