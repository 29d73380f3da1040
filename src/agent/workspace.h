// SPDX-License-Identifier: Apache-2.0
// The files of one session. Only plain files below one folder can be named.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace szarena::agent {

struct WorkspaceFile {
  std::string path;  // relative, with '/'
  uint64_t size_bytes = 0;
};

// Refusals (kInvalidArgument) are worded for whoever called the tool. Safe beside a program that
// changes the folder meanwhile: no path is followed through a symbolic link or out of the folder.
class Workspace {
 public:
  static constexpr uint64_t kMaxFileBytes = 1 << 20;
  static constexpr uint64_t kMaxTotalBytes = 8 << 20;
  static constexpr size_t kMaxFiles = 200;

  // Takes an existing folder. `owner`: the user that files and folders made here shall belong to.
  explicit Workspace(std::string folder, std::optional<uid_t> owner = std::nullopt)
      : folder_(std::move(folder)), owner_(owner) {}

  const std::string& folder() const { return folder_; }
  // From now on an agent program of this user works in the folder too; nothing: back to ourselves.
  // Hands over what is there.
  Result<void> SetOwner(std::optional<uid_t> owner);

  // Regular files, sorted by path. Names that begin with a dot are passed over, as the judge does.
  // More than kMaxFiles are refused.
  Result<std::vector<WorkspaceFile>> List() const;
  Result<std::string> Read(std::string_view path) const;
  Result<void> Write(std::string_view path, std::string_view text) const;
  Result<void> Remove(std::string_view path) const;

 private:
  std::string folder_;
  std::optional<uid_t> owner_;
};

}  // namespace szarena::agent
