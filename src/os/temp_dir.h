// SPDX-License-Identifier: Apache-2.0
// TempDir: a folder of our own that goes away with its object.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace szarena::os {

class TempDir {
 public:
  // A new folder "<prefix>XXXXXX" in $TMPDIR or /tmp; `mode` as for chmod.
  static Result<TempDir> Create(std::string_view prefix, unsigned mode = 0700);
  TempDir(TempDir&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TempDir& operator=(TempDir&& other) noexcept;
  ~TempDir();

  const std::string& path() const { return path_; }

 private:
  explicit TempDir(std::string path) : path_(std::move(path)) {}
  void Remove();
  std::string path_;
};

}  // namespace szarena::os
