// SPDX-License-Identifier: Apache-2.0
// Files below one folder, reached step by step from an open descriptor of it.
#include "agent/workspace.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>

#include "os/errno.h"
#include "os/fd.h"

namespace szarena::agent {
namespace {

constexpr int kMaxDepth = 16;
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

tl::unexpected<Error> Refuse(std::string_view path, std::string_view why) {
  return Fail(ErrorCode::kInvalidArgument, fmt::format("path '{}' {}", path, why));
}

Result<void> RefuseBadName(std::string_view path) {
  if (path.empty()) {
    return Refuse(path, "is empty; expected a relative path such as 'candidate.cpp'");
  }
  if (path.size() > 200) return Refuse(path, "is longer than 200 bytes");
  if (path.front() == '/') return Refuse(path, "is absolute; expected one below the workspace");
  for (const char c : path) {
    if (static_cast<unsigned char>(c) < 0x20 || c == '\\' || c == 0x7F) {
      return Refuse(path, "holds a control character or a backslash");
    }
  }
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") {
      return Refuse(path, "has an empty, '.' or '..' part");
    }
    begin = end + 1;
  }
  return {};
}

Result<os::UniqueFd> OpenFolder(const std::string& folder) {
  os::UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return os::FailErrno("cannot open folder '" + folder + "'");
  return fd;
}

// A file's folder, open, and its name there.
struct Place {
  os::UniqueFd folder;
  std::string name;
};

// Walks to the folder of `path`, making missing ones where `make`.
Result<Place> Walk(const std::string& root, std::string_view path, bool make,
                   const std::optional<uid_t>& owner) {
  SZARENA_TRY_VOID(RefuseBadName(path));
  SZARENA_TRY(os::UniqueFd at, OpenFolder(root));
  size_t begin = 0;
  for (size_t slash = path.find('/'); slash != std::string_view::npos;
       slash = path.find('/', begin)) {
    const std::string part(path.substr(begin, slash - begin));
    if (make && mkdirat(at.get(), part.c_str(), 0777) == 0 && owner) {
      fchownat(at.get(), part.c_str(), *owner, *owner, AT_SYMLINK_NOFOLLOW);
    }
    os::UniqueFd next(openat(at.get(), part.c_str(), kFolderFlags));
    if (!next && errno == ENOENT) {
      return Fail(ErrorCode::kInvalidArgument, fmt::format("there is no file '{}'", path));
    }
    if (!next && (errno == ELOOP || errno == ENOTDIR)) {
      return Refuse(path, "leads through a symbolic link or a file");
    }
    if (!next) return os::FailErrno(fmt::format("cannot open folder '{}' of '{}'", part, path));
    at = std::move(next);
    begin = slash + 1;
  }
  return Place{std::move(at), std::string(path.substr(begin))};
}

// Calls f(folder descriptor, path of the entry, its name, stat) for everything below a folder whose
// name does not begin with a dot (with `hidden`: for all), folders before their contents; stops at
// the first Error.
template <typename F>
Result<void> ForEach(os::UniqueFd folder, const std::string& prefix, int depth, bool hidden, F& f) {
  if (depth > kMaxDepth) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("folder '{}' is nested too deeply", prefix));
  }
  const int raw = dup(folder.get());
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(fdopendir(raw), closedir);
  if (dir == nullptr) {
    close(raw);
    return os::FailErrno("cannot list folder '" + prefix + "'");
  }
  while (const dirent* entry = readdir(dir.get())) {  // NOLINT(concurrency-mt-unsafe)
    const std::string name = entry->d_name;
    if (name == "." || name == ".." || (!hidden && name.front() == '.')) continue;
    struct stat status;
    if (fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0) continue;  // gone
    const std::string path = prefix.empty() ? name : prefix + "/" + name;
    SZARENA_TRY_VOID(f(folder.get(), path, name, status));
    if (!S_ISDIR(status.st_mode)) continue;
    os::UniqueFd inner(openat(folder.get(), name.c_str(), kFolderFlags));
    if (inner) SZARENA_TRY_VOID(ForEach(std::move(inner), path, depth + 1, hidden, f));
  }
  return {};
}

Result<void> WriteAll(int fd, std::string_view text, std::string_view path) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return os::FailErrno(fmt::format("cannot write '{}'", path));
    text.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

}  // namespace

Result<void> Workspace::SetOwner(std::optional<uid_t> owner) {
  owner_ = owner;
  const uid_t user = owner.value_or(geteuid());
  SZARENA_TRY(os::UniqueFd root, OpenFolder(folder_));
  if (fchown(root.get(), user, user) < 0) {
    return os::FailErrno("cannot hand over folder '" + folder_ + "'");
  }
  auto hand_over = [user](int folder, const std::string& path, const std::string& name,
                          const struct stat&) -> Result<void> {
    if (fchownat(folder, name.c_str(), user, user, AT_SYMLINK_NOFOLLOW) < 0 && errno != ENOENT) {
      return os::FailErrno("cannot hand over '" + path + "'");
    }
    return {};
  };
  return ForEach(std::move(root), "", 0, true, hand_over);
}

Result<std::vector<WorkspaceFile>> Workspace::List() const {
  SZARENA_TRY(os::UniqueFd root, OpenFolder(folder_));
  std::vector<WorkspaceFile> files;
  auto note = [&](int, const std::string& path, const std::string&,
                  const struct stat& status) -> Result<void> {
    if (!S_ISREG(status.st_mode)) return {};
    files.push_back({path, static_cast<uint64_t>(status.st_size)});
    if (files.size() <= kMaxFiles) return {};
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("the workspace holds more than {} files; delete some", kMaxFiles));
  };
  SZARENA_TRY_VOID(ForEach(std::move(root), "", 0, false, note));
  std::ranges::sort(files, {}, &WorkspaceFile::path);
  return files;
}

Result<std::string> Workspace::Read(std::string_view path) const {
  SZARENA_TRY(const Place place, Walk(folder_, path, false, owner_));
  const os::UniqueFd fd(openat(place.folder.get(), place.name.c_str(),
                               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status;
  if (!fd || fstat(fd.get(), &status) < 0 || !S_ISREG(status.st_mode)) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("there is no file '{}'", path));
  }
  if (static_cast<uint64_t>(status.st_size) > kMaxFileBytes) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("file '{}' has {} bytes, {} are allowed",
                                                         path, status.st_size, kMaxFileBytes));
  }
  std::string text(kMaxFileBytes + 1, '\0');
  size_t size = 0;
  for (;;) {
    const ssize_t got = read(fd.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os::FailErrno(fmt::format("cannot read '{}'", path));
    if (got == 0) break;
    size += static_cast<size_t>(got);
    if (size == text.size()) return Refuse(path, "grew while it was read");
  }
  text.resize(size);
  return text;
}

Result<void> Workspace::Write(std::string_view path, std::string_view text) const {
  SZARENA_TRY_VOID(RefuseBadName(path));
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
  SZARENA_TRY(const Place place, Walk(folder_, path, true, owner_));
  struct stat status;
  if (fstatat(place.folder.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
      !S_ISREG(status.st_mode)) {
    return Refuse(path, "is a folder, a symbolic link or a special file");
  }
  static std::atomic<unsigned> counter = 0;
  const std::string temporary = fmt::format(".write-{}-{}", getpid(), counter++);
  const os::UniqueFd fd(openat(place.folder.get(), temporary.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!fd) return os::FailErrno(fmt::format("cannot write '{}'", path));
  Result<void> written = WriteAll(fd.get(), text, path);
  if (written && owner_ && fchown(fd.get(), *owner_, *owner_) < 0) {
    written = os::FailErrno(fmt::format("cannot hand over '{}'", path));
  }
  if (written &&
      renameat(place.folder.get(), temporary.c_str(), place.folder.get(), place.name.c_str()) < 0) {
    written = os::FailErrno(fmt::format("cannot write '{}'", path));
  }
  if (!written) unlinkat(place.folder.get(), temporary.c_str(), 0);
  return written;
}

Result<void> Workspace::Remove(std::string_view path) const {
  SZARENA_TRY(const Place place, Walk(folder_, path, false, owner_));
  struct stat status;
  if (fstatat(place.folder.get(), place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0 ||
      !S_ISREG(status.st_mode) || unlinkat(place.folder.get(), place.name.c_str(), 0) < 0) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("there is no file '{}'", path));
  }
  return {};
}

}  // namespace szarena::agent
