// SPDX-License-Identifier: Apache-2.0
#include "task/task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "data/json_reader.h"
#include "data/toml.h"
#include "field/spec.h"
#include "task/text_file.h"

namespace szarena::task {
namespace {

namespace fs = std::filesystem;
using data::Json;
using data::JsonReader;

constexpr std::array<std::string_view, 3> kTargetNames = {"cpu", "cuda", "cerebras"};
constexpr std::array<std::string_view, 3> kTierNames = {"user", "knowledgeable", "expert"};
constexpr std::array<std::string_view, 3> kSourceNames = {"none", "cpu", "cuda"};
constexpr std::array<std::string_view, 2> kKindNames = {"compressor", "primitive"};
constexpr std::array<std::string_view, 6> kInputNames = {"field", "codes", "differences",
                                                         "bins",  "sizes", "words"};
constexpr std::array<std::string_view, 6> kModeNames = {"none",    "fixed",         "plain",
                                                        "outlier", "random-access", "sequential"};

template <typename E, size_t N>
Result<E> ParseName(std::string_view name, const std::array<std::string_view, N>& names,
                    std::string_view what) {
  auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<E>(found - names.begin());
  return Fail(ErrorCode::kInvalidArgument, fmt::format("unknown {} '{}': expected one of {}", what,
                                                       name, fmt::join(names, ", ")));
}

Result<void> CheckName(std::string_view name) {
  bool good = !name.empty() && name.size() <= 40;
  for (char c : name) good &= (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  if (good) return {};
  return Fail(
      ErrorCode::kInvalidArgument,
      fmt::format("bad task name '{}': expected lower-case letters, digits and hyphens", name));
}

// `relative` below `root`; must not lead out of it.
Result<std::string> PathBelow(const std::string& root, const std::string& relative,
                              const JsonReader& reader, std::string_view key) {
  fs::path normal = fs::path(relative).lexically_normal();
  if (relative.empty() || normal.is_absolute() || *normal.begin() == "..") {
    return tl::unexpected(reader.Fault(key, fmt::format("'{}' is not below the root", relative)));
  }
  return (fs::path(root) / normal).string();
}

Result<std::string> ExistingPath(const std::string& root, const std::string& relative,
                                 const JsonReader& reader, std::string_view key) {
  SZARENA_TRY(std::string path, PathBelow(root, relative, reader, key));
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    return tl::unexpected(reader.Fault(key, fmt::format("names '{}', which does not exist", path)));
  }
  return path;
}

Result<TargetInfo> LoadTarget(const std::string& root, const std::string& folder,
                              std::string_view target, const JsonReader& reader) {
  SZARENA_TRY_VOID(reader.RefuseOtherKeys({"contract", "sources"}));
  TargetInfo info;
  SZARENA_TRY(std::vector<std::string> contract, reader.GetStrings("contract"));
  for (const std::string& file : contract) {
    SZARENA_TRY(std::string path, ExistingPath(root, file, reader, "contract"));
    info.contract.push_back(path);
  }
  SZARENA_TRY(std::vector<std::string> sources, reader.GetStrings("sources"));
  for (const std::string& name : sources) {
    auto source = ParseSource(name);
    if (!source) return WithContext(std::move(source).error(), reader.name());
    if (*source != Source::kNone) {
      SZARENA_TRY([[maybe_unused]] std::string path,
                  ExistingPath(folder, fmt::format("source/{}", name), reader, "sources"));
    }
    info.sources.push_back(*source);
  }
  // Baseline and ladder are where they are: their folders are the list.
  std::error_code ignored;
  std::string baseline = fmt::format("{}/baseline/{}", folder, target);
  if (fs::is_directory(baseline, ignored)) info.baseline = baseline;
  std::string ladder = fmt::format("{}/ladder/{}", folder, target);
  for (const auto& entry : fs::directory_iterator(ladder, ignored)) {
    if (entry.is_directory(ignored)) info.ladder.push_back(entry.path().string());
  }
  std::ranges::sort(info.ladder);
  if (info.baseline.empty() && !info.ladder.empty()) info.baseline = info.ladder.back();
  return info;
}

Result<PublicField> LoadField(const JsonReader& reader) {
  SZARENA_TRY_VOID(reader.RefuseOtherKeys({"name", "spec", "bounds", "timed"}));
  PublicField field;
  SZARENA_TRY(field.name, reader.GetString("name"));
  SZARENA_TRY(field.spec, reader.GetString("spec"));
  if (auto spec = field::FieldSpec::Parse(field.spec); !spec) {
    return WithContext(std::move(spec).error(), reader.name());
  }
  SZARENA_TRY(std::vector<std::string> bounds, reader.GetStrings("bounds"));
  for (const std::string& text : bounds) {
    auto bound = Bound::Parse(text);
    if (!bound) return WithContext(std::move(bound).error(), reader.name());
    field.bounds.push_back(*bound);
  }
  SZARENA_TRY(std::optional<bool> timed, reader.OptionalBool("timed"));
  field.timed = timed.value_or(false);
  return field;
}

Result<void> LoadNumbers(const JsonReader& reader, Task& task) {
  for (auto [key, value] : {std::pair{"block_size", &task.block_size},
                            {"pad_blocks", &task.pad_blocks},
                            {"bins", &task.bins}}) {
    SZARENA_TRY(std::optional<int64_t> number, reader.OptionalInt(key));
    if (number && (*number < 0 || *number > UINT32_MAX)) {
      return tl::unexpected(reader.Fault(key, "is out of range"));
    }
    *value = static_cast<uint32_t>(number.value_or(0));
  }
  if (!reader.Has("ratio_rule")) return {};
  SZARENA_TRY(JsonReader rule, reader.GetObject("ratio_rule"));
  SZARENA_TRY_VOID(rule.RefuseOtherKeys({"min_of_reference", "raw_block_margin"}));
  SZARENA_TRY(task.ratio_rule.min_of_reference, rule.GetNumber("min_of_reference"));
  SZARENA_TRY(task.ratio_rule.raw_block_margin, rule.GetNumber("raw_block_margin"));
  return {};
}

Result<void> LoadHead(const std::string& root, const JsonReader& reader, Task& task) {
  SZARENA_TRY_VOID(reader.RefuseOtherKeys({"schema", "kind", "summary", "format", "modes", "dtypes",
                                           "input", "inverse", "block_size", "pad_blocks", "bins",
                                           "ratio_rule", "fields", "targets"}));
  SZARENA_TRY(int64_t schema, reader.GetInt("schema"));
  if (schema != 1) return tl::unexpected(reader.Fault("schema", "is not 1, the known version"));
  SZARENA_TRY(std::string kind, reader.GetString("kind"));
  SZARENA_TRY(task.kind, (ParseName<Kind>(kind, kKindNames, "kind")));
  SZARENA_TRY(task.summary, reader.GetString("summary"));
  SZARENA_TRY(std::optional<std::string> format, reader.OptionalString("format"));
  if (format) {
    SZARENA_TRY(task.format, PathBelow(root, *format, reader, "format"));
  }
  SZARENA_TRY(task.dtypes, reader.GetStrings("dtypes"));
  for (const std::string& dtype : task.dtypes) {
    SZARENA_TRY([[maybe_unused]] field::DType known, field::ParseDType(dtype));
  }
  SZARENA_TRY(std::optional<std::string> input, reader.OptionalString("input"));
  SZARENA_TRY(task.input, (ParseName<Input>(input.value_or("field"), kInputNames, "input")));
  SZARENA_TRY(std::optional<bool> inverse, reader.OptionalBool("inverse"));
  task.has_inverse = inverse.value_or(task.kind == Kind::kCompressor);
  if (task.kind == Kind::kPrimitive) {
    task.modes = {Mode::kNone};
    return {};
  }
  SZARENA_TRY(std::vector<std::string> modes, reader.GetStrings("modes"));
  for (const std::string& name : modes) {
    SZARENA_TRY(Mode mode, ParseMode(name));
    task.modes.push_back(mode);
  }
  if (task.modes.empty()) return tl::unexpected(reader.Fault("modes", "is empty"));
  return {};
}

}  // namespace

std::string_view TargetName(Target target) { return kTargetNames[static_cast<size_t>(target)]; }
std::string_view TierName(Tier tier) { return kTierNames[static_cast<size_t>(tier)]; }
std::string_view SourceName(Source source) { return kSourceNames[static_cast<size_t>(source)]; }
std::string_view InputName(Input input) { return kInputNames[static_cast<size_t>(input)]; }
std::string_view ModeName(Mode mode) { return kModeNames[static_cast<size_t>(mode)]; }

Result<Target> ParseTarget(std::string_view name) {
  return ParseName<Target>(name, kTargetNames, "target");
}
Result<Tier> ParseTier(std::string_view name) { return ParseName<Tier>(name, kTierNames, "tier"); }
Result<Source> ParseSource(std::string_view name) {
  return ParseName<Source>(name, kSourceNames, "source");
}
Result<Mode> ParseMode(std::string_view name) { return ParseName<Mode>(name, kModeNames, "mode"); }

std::string Bound::ToString() const {
  return fmt::format("{}:{}", relative ? "rel" : "abs", value);
}

Result<Bound> Bound::Parse(std::string_view text) {
  Bound bound;
  bound.relative = text.starts_with("rel:");
  const char* end = text.data() + text.size();
  if (bound.relative || text.starts_with("abs:")) {
    auto [next, code] = std::from_chars(text.data() + 4, end, bound.value);
    if (code == std::errc() && next == end && bound.value > 0 && std::isfinite(bound.value)) {
      return bound;
    }
  }
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("bad bound '{}': expected rel:X or abs:X with X > 0", text));
}

Result<std::string> FindRoot() {
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (;; folder = folder.parent_path()) {
    for (const fs::path& root : {folder, folder / "share/szarena"}) {
      if (fs::is_directory(root / "tasks/contract", error)) return root.string();
    }
    if (folder == folder.root_path() || folder.empty()) break;
  }
  return Fail(ErrorCode::kUnavailable,
              "no folder tasks/contract above this program: keep the program in its installation");
}

Result<std::vector<std::string>> ListTasks(const std::string& root) {
  std::vector<std::pair<Kind, std::string>> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::path(root) / "tasks", error)) {
    if (!fs::exists(entry.path() / "task.toml")) continue;
    std::string name = entry.path().filename().string();
    SZARENA_TRY(Json toml, data::ReadTomlFile((entry.path() / "task.toml").string()));
    const Json* kind = toml.Find("kind");
    bool primitive = kind != nullptr && kind->string() != nullptr && *kind->string() == "primitive";
    found.emplace_back(primitive ? Kind::kPrimitive : Kind::kCompressor, name);
  }
  if (error) {
    return Fail(ErrorCode::kNotFound,
                fmt::format("cannot list '{}/tasks': {}", root, error.message()));
  }
  std::ranges::sort(found);
  std::vector<std::string> names;
  for (auto& [kind, name] : found) names.push_back(std::move(name));
  return names;
}

Result<Task> LoadTask(const std::string& root, std::string_view name) {
  SZARENA_TRY_VOID(CheckName(name));
  Task task;
  task.name = name;
  task.folder = fmt::format("{}/tasks/{}", root, name);
  const std::string path = task.folder + "/task.toml";
  std::error_code error;
  if (!fs::exists(path, error)) {
    SZARENA_TRY(std::vector<std::string> known, ListTasks(root));
    return Fail(ErrorCode::kNotFound,
                fmt::format("no task '{}': expected one of {}", name, fmt::join(known, ", ")));
  }
  SZARENA_TRY(Json toml, data::ReadTomlFile(path));
  JsonReader reader(toml, path);
  auto head = LoadHead(root, reader, task);
  if (!head) return WithContext(std::move(head).error(), fmt::format("while reading '{}'", path));
  SZARENA_TRY_VOID(LoadNumbers(reader, task));
  SZARENA_TRY(task.description, ReadTextFile(task.folder + "/description.md"));
  SZARENA_TRY(std::vector<JsonReader> fields, reader.GetObjects("fields"));
  for (const JsonReader& entry : fields) {
    SZARENA_TRY(PublicField field, LoadField(entry));
    task.fields.push_back(std::move(field));
  }
  SZARENA_TRY(JsonReader targets, reader.GetObject("targets"));
  for (const data::JsonMember& member : targets.json().members()) {
    SZARENA_TRY(Target target, ParseTarget(member.key));
    SZARENA_TRY(JsonReader entry, targets.GetObject(member.key));
    SZARENA_TRY(task.targets[target], LoadTarget(root, task.folder, member.key, entry));
  }
  return task;
}

Result<LadderStep> LoadLadderStep(const std::string& directory) {
  const std::string path = directory + "/ladder.toml";
  SZARENA_TRY(Json toml, data::ReadTomlFile(path));
  JsonReader reader(toml, path);
  SZARENA_TRY_VOID(reader.RefuseOtherKeys({"idea", "regression"}));
  LadderStep step;
  SZARENA_TRY(step.idea, reader.GetString("idea"));
  SZARENA_TRY(std::optional<bool> regression, reader.OptionalBool("regression"));
  step.regression = regression.value_or(false);
  return step;
}

}  // namespace szarena::task
