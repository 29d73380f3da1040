// SPDX-License-Identifier: Apache-2.0
#include "os/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "os/errno.h"

namespace szarena::os {

Result<std::string> SafeJoin(const std::string& root, std::string_view relative) {
  const auto refuse = [&relative](const char* why) {
    return Fail(ErrorCode::kInvalidArgument,
                "path '" + std::string(relative) + "' is refused: " + why);
  };
  if (relative.empty()) return refuse("it is empty");
  if (relative.front() == '/') return refuse("it is absolute");
  if (relative.size() > 4000) return refuse("it is too long");
  if (std::any_of(relative.begin(), relative.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) {
    return refuse("it holds a control character");
  }
  std::string path = root;
  for (size_t begin = 0; begin <= relative.size();) {
    const size_t end = std::min(relative.find('/', begin), relative.size());
    const std::string_view part = relative.substr(begin, end - begin);
    if (part.empty() || part == ".") return refuse("it has an empty component");
    if (part == "..") return refuse("it leaves its folder");
    path.append("/").append(part);
    struct stat info;
    if (lstat(path.c_str(), &info) == 0) {
      if (S_ISLNK(info.st_mode)) return refuse("it passes through a symbolic link");
      if (end < relative.size() && !S_ISDIR(info.st_mode))
        return refuse("a component is no folder");
    }
    begin = end + 1;
  }
  return path;
}

Result<std::string> ReadRegularFile(const std::string& path, size_t limit) {
  // O_NONBLOCK: opening a pipe must not wait.
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return FailErrno("cannot open '" + path + "'");
  struct stat info;
  if (fstat(fd.get(), &info) < 0) return FailErrno("cannot inspect '" + path + "'");
  if (!S_ISREG(info.st_mode)) {
    return Fail(ErrorCode::kInvalidArgument, "'" + path + "' is no regular file");
  }
  if (static_cast<uint64_t>(info.st_size) > limit) {
    return Fail(ErrorCode::kCapacity,
                "'" + path + "' is larger than " + std::to_string(limit) + " bytes");
  }
  std::string text(static_cast<size_t>(info.st_size), '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = read(fd.get(), text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FailErrno("cannot read '" + path + "'");
    if (got == 0) break;  // it shrank meanwhile
    done += static_cast<size_t>(got);
  }
  text.resize(done);
  return text;
}

Result<UniqueFd> MemoryFile(const std::string& name, std::string_view bytes) {
  UniqueFd fd(memfd_create(name.c_str(), MFD_CLOEXEC));
  if (!fd) return FailErrno("cannot make an anonymous file");
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t put = write(fd.get(), bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return FailErrno("cannot write an anonymous file");
    done += static_cast<size_t>(put);
  }
  if (lseek(fd.get(), 0, SEEK_SET) < 0) return FailErrno("cannot rewind an anonymous file");
  return fd;
}

}  // namespace szarena::os
