// SPDX-License-Identifier: Apache-2.0
#include "csl/module/files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "csl/lib/library.h"
#include "csl/parse/parser.h"

namespace szarena::csl {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kMaxFileBytes = uintmax_t{256} << 20;

bool IsLibraryPath(std::string_view path) {
  return path.size() > 2 && path.front() == '<' && path.back() == '>';
}

}  // namespace

Files::Files(SourceMap& sources, NameTable& names, DiagSink& diags,
             std::vector<std::string> import_dirs, std::string only_below)
    : sources_(sources),
      names_(names),
      diags_(diags),
      import_dirs_(std::move(import_dirs)),
      only_below_(std::move(only_below)) {}

std::vector<Files::Candidate> Files::Candidates(std::string_view path, SourceId from) const {
  std::vector<Candidate> list;
  if (IsLibraryPath(path)) {
    std::string name(path.substr(1, path.size() - 2));
    if (name.ends_with(".csl")) name.resize(name.size() - 4);
    list.push_back({"<" + name + ">", true});
    for (const std::string& dir : import_dirs_)
      list.push_back({(fs::path(dir) / (name + ".csl")).lexically_normal().string(), false});
    return list;
  }
  fs::path wanted(path);
  auto origin = origins_.find(from);
  if (origin != origins_.end() && origin->second.embedded) {
    std::string inner = origin->second.path.substr(1, origin->second.path.size() - 2);
    fs::path name = (fs::path(inner).parent_path() / wanted).lexically_normal();
    list.push_back({"<" + name.replace_extension().string() + ">", true});
    return list;
  }
  if (wanted.is_absolute()) {
    list.push_back({wanted.lexically_normal().string(), false});
    return list;
  }
  fs::path base =
      origin == origins_.end() ? fs::path() : fs::path(origin->second.path).parent_path();
  list.push_back({(base / wanted).lexically_normal().string(), false});
  if (first_dir_ && *first_dir_ != base)
    list.push_back({(*first_dir_ / wanted).lexically_normal().string(), false});
  for (const std::string& dir : import_dirs_)
    list.push_back({(fs::path(dir) / wanted).lexically_normal().string(), false});
  return list;
}

// Of the path with its links followed, as far as it exists.
bool Files::MayRead(const std::string& path) const {
  if (only_below_.empty()) return true;
  std::error_code error;
  const fs::path root = fs::canonical(only_below_, error);
  if (error) return false;
  const fs::path real = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) return false;
  return std::mismatch(root.begin(), root.end(), real.begin(), real.end()).first == root.end();
}

// The text; nothing where there is no such file (`why` empty) or it cannot be read (`why` says
// why).
std::optional<std::string> Files::Read(const Candidate& candidate, std::string* why) const {
  if (candidate.embedded) {
    auto text = LibraryText(std::string_view(candidate.path).substr(1, candidate.path.size() - 2));
    if (!text) return std::nullopt;
    return std::string(*text);
  }
  if (!MayRead(candidate.path)) {
    *why = "it lies outside of the folder that may be read";
    return std::nullopt;
  }
  std::error_code error;
  fs::file_status status = fs::status(candidate.path, error);
  if (!fs::exists(status)) return std::nullopt;
  if (fs::is_directory(status)) {
    *why = "it is a directory";
    return std::nullopt;
  }
  if (fs::is_regular_file(status) && fs::file_size(candidate.path, error) > kMaxFileBytes) {
    *why = "it is larger than 256 MiB";
    return std::nullopt;
  }
  std::ifstream file(candidate.path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file && !file.eof()) {
    *why = std::strerror(errno);
    return std::nullopt;
  }
  return text;
}

const Ast* Files::Load(std::string_view path, SourceId from, Span span) {
  std::string tried;
  for (const Candidate& candidate : Candidates(path, from)) {
    std::error_code error;
    std::string key =
        candidate.embedded ? candidate.path : fs::weakly_canonical(candidate.path, error).string();
    if (key.empty()) key = candidate.path;
    if (auto known = asts_.find(key); known != asts_.end()) return known->second.get();
    std::string why;
    auto text = Read(candidate, &why);
    if (!why.empty()) {
      diags_.Report(DiagKind::kFileUnreadable, span, candidate.path, why);
      return nullptr;
    }
    if (!text) {
      tried += (tried.empty() ? "" : ", ") + candidate.path;
      continue;
    }
    auto id = sources_.Add(candidate.path, std::move(*text));
    if (!id) {
      diags_.Report(DiagKind::kFileUnreadable, span, candidate.path, id.error().message);
      return nullptr;
    }
    origins_[*id] = candidate;
    if (!first_dir_ && !candidate.embedded) first_dir_ = fs::path(candidate.path).parent_path();
    auto ast = std::make_unique<Ast>(Parse(sources_, *id, names_, diags_));
    return asts_.emplace(key, std::move(ast)).first->second.get();
  }
  diags_.Report(IsLibraryPath(path) ? DiagKind::kLibraryNotFound : DiagKind::kFileNotFound, span,
                path, tried);
  return nullptr;
}

std::optional<std::string> Files::ReadText(std::string_view path, SourceId from, Span span) {
  std::string tried;
  for (const Candidate& candidate : Candidates(path, from)) {
    std::string why;
    auto text = Read(candidate, &why);
    if (text) return text;
    if (!why.empty()) {
      diags_.Report(DiagKind::kFileUnreadable, span, candidate.path, why);
      return std::nullopt;
    }
    tried += (tried.empty() ? "" : ", ") + candidate.path;
  }
  diags_.Report(DiagKind::kFileNotFound, span, path, tried);
  return std::nullopt;
}

bool Files::IsLibrary(SourceId file) const {
  auto found = origins_.find(file);
  return found != origins_.end() && found->second.embedded;
}

std::vector<std::string> Files::DiskFiles() const {
  std::vector<std::string> paths;
  for (const auto& [id, candidate] : origins_) {
    if (!candidate.embedded) paths.push_back(candidate.path);
  }
  return paths;
}

}  // namespace szarena::csl
