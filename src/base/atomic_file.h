// SPDX-License-Identifier: Apache-2.0
// Files that appear whole or not at all: written under a temporary name, renamed on Commit.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace szarena {

// Writes `path` through a temporary file in the same folder. Without Commit() the temporary file is
// removed and whatever stood at `path` before stays as it was. Move-only; not for several threads.
class AtomicFile {
 public:
  static Result<AtomicFile> Create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();

  Result<void> Append(std::span<const std::byte> bytes);
  Result<void> Append(std::string_view text);
  // Flushes to disk, then renames onto `path`. To be called once, last.
  Result<void> Commit();

 private:
  AtomicFile(std::string path, std::string temp_path, int fd);
  void Discard();

  std::string path_;
  std::string temp_path_;
  int fd_ = -1;
};

// The whole of `text` as file `path`, atomically.
Result<void> WriteFileAtomically(const std::string& path, std::string_view text);

}  // namespace szarena
