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

Result<Transcript> Transcript::Continue(const std::string& path) {
  SZARENA_TRY(const TranscriptRecords earlier, ReadTranscript(path));
  const int fd = open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC);
  if (fd < 0) return WriteFault(path);
  Transcript transcript(path, fd);
  if (earlier.torn_tail) {
    off_t end = lseek(fd, 0, SEEK_END);
    for (char c = 0; end > 0; --end) {
      if (pread(fd, &c, 1, end - 1) != 1) return WriteFault(path);
      if (c == '\n') break;
    }
    if (ftruncate(fd, end) != 0) return WriteFault(path);
  }
  transcript.next_seq_ = static_cast<int64_t>(earlier.records.size());
  return transcript;
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

namespace {

bool IsKind(const data::Json& record, std::string_view kind) {
  const data::Json* value = record.Find("kind");
  return value && value->string() && *value->string() == kind;
}

}  // namespace

const data::Json* TranscriptRecords::First(std::string_view kind) const {
  for (const data::Json& record : records) {
    if (IsKind(record, kind)) return &record;
  }
  return nullptr;
}

const data::Json* TranscriptRecords::Last(std::string_view kind) const {
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    if (IsKind(*record, kind)) return &*record;
  }
  return nullptr;
}

Result<TranscriptRecords> ReadTranscript(const std::string& path) {
  SZARENA_TRY(data::JsonLines lines, data::ReadJsonLines(path));
  const data::Json* version = lines.values.empty() || !IsKind(lines.values.front(), "session")
                                  ? nullptr
                                  : lines.values.front().Find("version");
  if (!version || !version->integer()) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("'{}' is no transcript: its first line is no session record", path));
  }
  if (*version->integer() > kTranscriptVersion) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("transcript '{}' has version {}; this program reads up to {}", path,
                            *version->integer(), kTranscriptVersion));
  }
  return TranscriptRecords{std::move(lines.values), lines.torn_tail};
}

}  // namespace szarena::agent
