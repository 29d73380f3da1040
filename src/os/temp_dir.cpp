// SPDX-License-Identifier: Apache-2.0
#include "os/temp_dir.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "os/errno.h"

namespace szarena::os {

Result<TempDir> TempDir::Create(std::string_view prefix, unsigned mode) {
  const char* root = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe)
  std::string path = (root != nullptr && *root != '\0') ? root : "/tmp";
  path.append("/").append(prefix).append("XXXXXX");
  if (mkdtemp(path.data()) == nullptr) return FailErrno("cannot make a folder like '" + path + "'");
  TempDir dir(path);
  if (chmod(path.c_str(), mode) < 0) return FailErrno("cannot set the mode of '" + path + "'");
  return dir;
}

TempDir& TempDir::operator=(TempDir&& other) noexcept {
  if (this != &other) {
    Remove();
    path_ = std::move(other.path_);
    other.path_.clear();
  }
  return *this;
}

TempDir::~TempDir() { Remove(); }

void TempDir::Remove() {
  if (path_.empty()) return;
  std::error_code ignored;  // nothing useful can be done in a destructor
  std::filesystem::remove_all(path_, ignored);
  path_.clear();
}

}  // namespace szarena::os
