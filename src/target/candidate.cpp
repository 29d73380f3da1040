// SPDX-License-Identifier: Apache-2.0
#include "target/candidate.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/atomic_file.h"
#include "data/sha256.h"
#include "os/errno.h"
#include "os/files.h"

namespace szarena::target {
namespace {

namespace fs = std::filesystem;
constexpr size_t kMaxFiles = 200;
constexpr size_t kMaxBytes = 8u << 20;
constexpr int kMaxDepth = 8;

bool GoodName(const std::string& name) {
  return !name.empty() && name.size() <= 100 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == '+';
  });
}

Result<void> ReadFolder(const std::string& folder, const std::string& prefix, int depth,
                        size_t& total, std::vector<CandidateFile>& files) {
  if (depth > kMaxDepth) {
    return Fail(ErrorCode::kInvalidArgument, "'" + folder + "' is nested too deep");
  }
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error)
    return tl::unexpected(os::ErrnoError(error.value(), "cannot read folder '" + folder + "'"));
  for (; entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (name.starts_with(".")) continue;
    if (!GoodName(name)) {
      return Fail(ErrorCode::kInvalidArgument,
                  "'" + prefix + name + "': names are made of letters, digits and ._-+");
    }
    const std::string path = folder + "/" + name;
    struct stat info;
    if (lstat(path.c_str(), &info) < 0) return os::FailErrno("cannot inspect '" + path + "'");
    if (S_ISDIR(info.st_mode)) {
      SZARENA_TRY_VOID(ReadFolder(path, prefix + name + "/", depth + 1, total, files));
      continue;
    }
    if (files.size() == kMaxFiles) {
      return Fail(ErrorCode::kCapacity, "a candidate has at most 200 files");
    }
    SZARENA_TRY(std::string bytes, os::ReadRegularFile(path, kMaxBytes));
    total += bytes.size();
    if (total > kMaxBytes) return Fail(ErrorCode::kCapacity, "a candidate has at most 8 MiB");
    files.push_back({prefix + name, std::move(bytes)});
  }
  return {};
}

}  // namespace

Result<Candidate> ReadCandidate(const std::string& folder) {
  Candidate candidate;
  size_t total = 0;
  SZARENA_TRY_VOID(ReadFolder(folder, "", 0, total, candidate.files));
  std::sort(candidate.files.begin(), candidate.files.end(),
            [](const CandidateFile& a, const CandidateFile& b) { return a.path < b.path; });
  std::string all;
  for (const CandidateFile& file : candidate.files) {
    all += file.path + '\0' + std::to_string(file.bytes.size()) + '\0' + file.bytes;
  }
  candidate.sha256 = data::Sha256Hex(all);
  return candidate;
}

Result<void> WriteCandidate(const Candidate& candidate, const std::string& folder) {
  for (const CandidateFile& file : candidate.files) {
    SZARENA_TRY(const std::string path, os::SafeJoin(folder, file.path));
    std::error_code error;
    fs::create_directories(fs::path(path).parent_path(), error);
    if (error)
      return tl::unexpected(
          os::ErrnoError(error.value(), "cannot make the folder of '" + path + "'"));
    SZARENA_TRY_VOID(WriteFileAtomically(path, file.bytes));
    if (chmod(path.c_str(), 0644) < 0)
      return os::FailErrno("cannot set the mode of '" + path + "'");
  }
  for (auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_directory()) chmod(entry.path().c_str(), 0755);
  }
  return {};
}

}  // namespace szarena::target
