// SPDX-License-Identifier: Apache-2.0
// Files below one folder.
#include "agent/workspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "base/atomic_file.h"

namespace szarena::agent {
namespace fs = std::filesystem;
namespace {

Result<void> RefuseBadName(std::string_view path) {
  const auto refuse = [&](std::string_view why) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("path '{}' {}", path, why));
  };
  if (path.empty()) return refuse("is empty; expected a relative path such as 'candidate.cpp'");
  if (path.size() > 200) return refuse("is longer than 200 bytes");
  if (path.front() == '/') return refuse("is absolute; expected one below the workspace");
  for (const char c : path) {
    if (static_cast<unsigned char>(c) < 0x20 || c == '\\' || c == 0x7F) {
      return refuse("holds a control character or a backslash");
    }
  }
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..")
      return refuse("has an empty, '.' or '..' part");
    begin = end + 1;
  }
  return {};
}

}  // namespace

Result<std::string> Workspace::Resolve(std::string_view path) const {
  SZARENA_TRY_VOID(RefuseBadName(path));
  fs::path full = folder_;
  for (const fs::path& part : fs::path(path)) {
    full /= part;
    std::error_code ignored;  // a path that does not exist yet is no link
    if (fs::is_symlink(full, ignored)) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("path '{}' leads through a symbolic link", path));
    }
  }
  return full.string();
}

Result<std::vector<WorkspaceFile>> Workspace::List() const {
  std::vector<WorkspaceFile> files;
  std::error_code fault;
  for (fs::recursive_directory_iterator it(folder_, fault), end; !fault && it != end;
       it.increment(fault)) {
    if (it->is_symlink(fault) || !it->is_regular_file(fault)) continue;
    files.push_back(
        {it->path().lexically_relative(folder_).generic_string(), it->file_size(fault)});
  }
  if (fault) {
    return Fail(ErrorCode::kIo, fmt::format("cannot list '{}': {}", folder_, fault.message()));
  }
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

Result<std::string> Workspace::Read(std::string_view path) const {
  SZARENA_TRY(const std::string full, Resolve(path));
  std::error_code ignored;
  if (!fs::is_regular_file(full, ignored)) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("there is no file '{}'", path));
  }
  std::ifstream file(full, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) return Fail(ErrorCode::kIo, fmt::format("cannot read '{}'", full));
  return text;
}

Result<void> Workspace::Write(std::string_view path, std::string_view text) const {
  SZARENA_TRY(const std::string full, Resolve(path));
  if (text.size() > kMaxFileBytes) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("file '{}' has {} bytes, {} are allowed",
                                                         path, text.size(), kMaxFileBytes));
  }
  SZARENA_TRY(const std::vector<WorkspaceFile> files, List());
  uint64_t total = text.size();
  size_t others = 0;
  for (const WorkspaceFile& file : files) {
    if (file.path == path) continue;
    total += file.size_bytes;
    ++others;
  }
  if (total > kMaxTotalBytes || others + 1 > kMaxFiles) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("with '{}' the workspace would hold {} files and {} bytes; {} and {} are "
                    "allowed",
                    path, others + 1, total, kMaxFiles, kMaxTotalBytes));
  }
  std::error_code fault;
  fs::create_directories(fs::path(full).parent_path(), fault);
  if (fault || fs::is_directory(full, fault)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("cannot write '{}': a file or folder is in the way", path));
  }
  return WriteFileAtomically(full, text);
}

Result<void> Workspace::Remove(std::string_view path) const {
  SZARENA_TRY(const std::string full, Resolve(path));
  std::error_code fault;
  if (!fs::is_regular_file(full, fault) || !fs::remove(full, fault)) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("there is no file '{}'", path));
  }
  return {};
}

}  // namespace szarena::agent
