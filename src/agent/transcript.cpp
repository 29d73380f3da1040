// SPDX-License-Identifier: Apache-2.0
// Appends lines.
#include "agent/transcript.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/utc.h"

namespace szarena::agent {
namespace {

tl::unexpected<Error> WriteFault(const std::string& path) {
  const ErrorCode code = errno == ENOSPC ? ErrorCode::kCapacity : ErrorCode::kIo;
  return Fail(code, fmt::format("cannot write transcript '{}': {}", path,
                                std::generic_category().message(errno)));
}

}  // namespace

Result<Transcript> Transcript::Create(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return WriteFault(path);
  return Transcript(path, fd);
}

Transcript::Transcript(Transcript&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      mutex_(std::move(other.mutex_)),
      next_seq_(other.next_seq_) {}

Transcript::~Transcript() {
  if (fd_ >= 0) close(fd_);
}

Result<void> Transcript::Add(std::string_view kind, const data::Json& body) {
  const std::lock_guard lock(*mutex_);
  data::Json record = data::Json::Of({{"seq", next_seq_}, {"at", UtcNow()}, {"kind", kind}});
  for (const data::JsonMember& member : body.members()) record.Set(member.key, member.value);
  const std::string line = record.Dump() + "\n";
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return WriteFault(path_);
    rest.remove_prefix(static_cast<size_t>(written));
  }
  ++next_seq_;
  return {};
}

}  // namespace szarena::agent
