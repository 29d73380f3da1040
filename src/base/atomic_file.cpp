// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace szarena {
namespace {

std::string LastError() { return std::generic_category().message(errno); }

// A new file beside `path`, with the permissions an ordinary new file gets (mkstemp gives 0600).
int OpenTemporary(const std::string& path, std::string& temp_path) {
  static std::atomic<unsigned> counter = 0;
  for (;;) {
    temp_path = fmt::format("{}.tmp-{}-{}", path, getpid(), counter++);
    int fd = open(temp_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
}

}  // namespace

AtomicFile::AtomicFile(std::string path, std::string temp_path, int fd)
    : path_(std::move(path)), temp_path_(std::move(temp_path)), fd_(fd) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temp_path_(std::move(other.temp_path_)),
      fd_(std::exchange(other.fd_, -1)) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  if (this != &other) {
    Discard();
    path_ = std::move(other.path_);
    temp_path_ = std::move(other.temp_path_);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

AtomicFile::~AtomicFile() { Discard(); }

void AtomicFile::Discard() {
  if (fd_ < 0) return;
  close(std::exchange(fd_, -1));
  unlink(temp_path_.c_str());
}

Result<AtomicFile> AtomicFile::Create(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("cannot write '{}': expected a regular file", path));
  }
  std::string temp_path;
  int fd = OpenTemporary(path, temp_path);
  if (fd < 0) {
    return Fail(ErrorCode::kIo, fmt::format("cannot create '{}': {}", path, LastError()));
  }
  AtomicFile file(path, temp_path, fd);
  // What replaces a file is as private as that was. Best effort: a file system may know no modes.
  if (lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    (void)fchmod(fd, status.st_mode & 0777);
  }
  return file;
}

Result<void> AtomicFile::Append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t done = write(fd_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) {
      return Fail(ErrorCode::kIo, fmt::format("cannot write '{}': {}", path_, LastError()));
    }
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
  return {};
}

Result<void> AtomicFile::Append(std::string_view text) {
  return Append(std::as_bytes(std::span(text.data(), text.size())));
}

Result<void> AtomicFile::Commit() {
  if (fsync(fd_) != 0 && errno != EINVAL) {
    return Fail(ErrorCode::kIo, fmt::format("cannot flush '{}': {}", path_, LastError()));
  }
  if (rename(temp_path_.c_str(), path_.c_str()) != 0) {
    return Fail(ErrorCode::kIo, fmt::format("cannot rename onto '{}': {}", path_, LastError()));
  }
  if (close(std::exchange(fd_, -1)) != 0) {
    return Fail(ErrorCode::kIo, fmt::format("cannot close '{}': {}", path_, LastError()));
  }
  return {};
}

Result<void> WriteFileAtomically(const std::string& path, std::string_view text) {
  SZARENA_TRY(AtomicFile file, AtomicFile::Create(path));
  SZARENA_TRY_VOID(file.Append(text));
  return file.Commit();
}

}  // namespace szarena
