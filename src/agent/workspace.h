// SPDX-License-Identifier: Apache-2.0
// The files of one session. Only plain files below one folder can be named.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace szarena::agent {

struct WorkspaceFile {
  std::string path;  // relative, with '/'
  uint64_t size_bytes = 0;
};

// Refusals (kInvalidArgument) are worded for whoever called the tool.
class Workspace {
 public:
  static constexpr uint64_t kMaxFileBytes = 1 << 20;
  static constexpr uint64_t kMaxTotalBytes = 8 << 20;
  static constexpr size_t kMaxFiles = 200;

  // Takes an existing folder.
  explicit Workspace(std::string folder) : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }

  Result<std::vector<WorkspaceFile>> List() const;  // sorted by path
  Result<std::string> Read(std::string_view path) const;
  Result<void> Write(std::string_view path, std::string_view text) const;
  Result<void> Remove(std::string_view path) const;

 private:
  // The real path of a relative one: no "..", no absolute path, no symbolic link on the way.
  Result<std::string> Resolve(std::string_view path) const;
  std::string folder_;
};

}  // namespace szarena::agent
