// SPDX-License-Identifier: Apache-2.0
// Appends lines, reads them, gives steps back.
#include "agent/transcript.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/utc.h"

namespace szarena::agent {
namespace {

using data::Json;

// What an agent does in an order that depends only on what it is told.
constexpr std::array<std::string_view, 5> kStepKinds = {"message", "usage", "tool-call",
                                                        "tool-result", "note"};
constexpr std::string_view kRemedy = "; run the session again without --resume";

tl::unexpected<Error> WriteFault(const std::string& path) {
  const ErrorCode code = errno == ENOSPC ? ErrorCode::kCapacity : ErrorCode::kIo;
  return Fail(code, fmt::format("cannot write transcript '{}': {}", path,
                                std::generic_category().message(errno)));
}

std::string_view KindOf(const Json& record) {
  const Json* kind = record.Find("kind");
  return kind && kind->string() ? std::string_view(*kind->string()) : std::string_view();
}

bool Has(const Json& record, std::string_view kind, const Json& members) {
  return KindOf(record) == kind && std::ranges::all_of(members.members(), [&](const auto& member) {
           const Json* value = record.Find(member.key);
           // As written: what a Json held before it was written may differ (bytes that are no
           // UTF-8).
           return value && (*value == member.value || value->Dump() == member.value.Dump());
         });
}

// Why a session cannot go on with what was read; empty: it can.
std::string DamageOf(const TranscriptRecords& earlier) {
  if (!earlier.faults.empty()) return earlier.faults.front().message;
  const Json* version = earlier.records.front().Find("version");
  if (*version->integer() < kTranscriptVersion) {
    return fmt::format("an older program wrote it (version {}, this is {})", *version->integer(),
                       kTranscriptVersion);
  }
  for (size_t i = 0; i < earlier.records.size(); ++i) {
    const Json* seq = earlier.records[i].Find("seq");
    if (!seq || seq->integer() != static_cast<int64_t>(i)) {
      return fmt::format("record {} is missing or not in its place", i);
    }
  }
  return "";
}

}  // namespace

Result<Transcript> Transcript::Create(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return WriteFault(path);
  return Transcript(path, fd);
}

Result<Transcript> Transcript::Continue(const std::string& path) {
  SZARENA_TRY(TranscriptRecords earlier, ReadTranscript(path));
  if (const std::string damage = DamageOf(earlier); !damage.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("cannot go on with transcript '{}': {}{}", path, damage, kRemedy));
  }
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
  for (const Json& record : earlier.records) {
    if (std::ranges::find(kStepKinds, KindOf(record)) != kStepKinds.end()) {
      transcript.steps_.push_back(record);
    }
    const Json* number = KindOf(record) == "attempt" ? record.Find("number") : nullptr;
    if (number && number->integer()) {
      transcript.attempts_.insert_or_assign(*number->integer(), record);
    }
  }
  transcript.earlier_ = std::move(earlier);
  return transcript;
}

Transcript::Transcript(Transcript&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      mutex_(std::move(other.mutex_)),
      next_seq_(other.next_seq_),
      last_add_(other.last_add_),
      announced_(std::move(other.announced_)),
      earlier_(std::move(other.earlier_)),
      steps_(std::move(other.steps_)),
      attempts_(std::move(other.attempts_)) {}

Transcript::~Transcript() {
  if (fd_ >= 0) close(fd_);
}

Result<void> Transcript::Add(std::string_view kind, const Json& body) {
  const std::lock_guard lock(*mutex_);
  return AddLocked(kind, body);
}

void Transcript::Announce(std::string kind, Json body, std::function<Result<void>()> first) {
  const std::lock_guard lock(*mutex_);
  announced_ = Announcement{std::move(kind), std::move(body), std::move(first)};
}

Result<void> Transcript::AddLocked(std::string_view kind, const Json& body) {
  if (const auto announced = std::exchange(announced_, std::nullopt)) {
    SZARENA_TRY_VOID(announced->first());
    SZARENA_TRY_VOID(AddLocked(announced->kind, announced->body));
  }
  Json record = Json::Of({{"seq", next_seq_}, {"at", UtcNow()}, {"kind", kind}});
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
  last_add_ = std::chrono::steady_clock::now();
  return {};
}

Result<void> Transcript::Beat(std::chrono::steady_clock::duration quiet) {
  const std::lock_guard lock(*mutex_);
  if (announced_ || std::chrono::steady_clock::now() - last_add_ < quiet) return {};
  return AddLocked("alive", Json::MakeObject());
}

Result<void> Transcript::Sync() {
  if (fdatasync(fd_) == 0) return {};
  return WriteFault(path_);
}

bool Transcript::NextIs(std::string_view kind, const Json& members) const {
  return Replaying() && Has(steps_.front(), kind, members);
}

Result<std::optional<Json>> Transcript::Again(std::string_view kind, const Json& members) {
  if (!Replaying()) return std::optional<Json>();
  if (!NextIs(kind, members)) {
    const Json* seq = steps_.front().Find("seq");
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("cannot go on with transcript '{}': its record {} is a '{}' where the "
                            "agent now has the '{}' {:.200}; program, task or settings have "
                            "changed{}",
                            path_, seq ? seq->Dump() : "?", KindOf(steps_.front()), kind,
                            members.Dump(), kRemedy));
  }
  std::optional<Json> step = std::move(steps_.front());
  steps_.pop_front();
  return step;
}

const Json* TranscriptRecords::First(std::string_view kind) const {
  const auto found =
      std::ranges::find_if(records, [kind](const Json& each) { return KindOf(each) == kind; });
  return found == records.end() ? nullptr : &*found;
}

const Json* TranscriptRecords::Last(std::string_view kind) const {
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    if (KindOf(*record) == kind) return &*record;
  }
  return nullptr;
}

std::vector<std::string> TranscriptRecords::LeftOut(const std::string& path) const {
  std::vector<std::string> lines;
  for (const Error& fault : faults) lines.push_back("left out: " + fault.message);
  constexpr size_t kMostNamed = 20;
  std::vector<std::string> misplaced;
  int64_t last = -1;
  for (size_t i = 0; i < records.size(); ++i) {
    const Json* member = records[i].Find("seq");
    const auto seq = member ? member->integer() : std::nullopt;
    if (seq == last + 1) {
      last = *seq;
    } else if (!seq || *seq <= last) {
      misplaced.push_back(
          fmt::format("record {} of '{}' ('{:.40}', seq {:.40}) is not in its place", i + 1, path,
                      KindOf(records[i]), member ? member->Dump() : "missing"));
    } else {
      // Lines that are no JSON are named already.
      if (faults.empty()) {
        misplaced.push_back(
            fmt::format("'{}' has no records with seq {} to {}: missing, or not in "
                        "their place",
                        path, last + 1, *seq - 1));
      }
      last = *seq;
    }
  }
  if (misplaced.size() > kMostNamed) {
    const size_t more = misplaced.size() - kMostNamed;
    misplaced.resize(kMostNamed);
    misplaced.push_back(fmt::format("and {} more of '{}'", more, path));
  }
  lines.insert(lines.end(), misplaced.begin(), misplaced.end());
  if (torn_tail) lines.push_back(fmt::format("the last line of '{}' is torn and left out", path));
  return lines;
}

double TranscriptRecords::WallSeconds() const {
  double sum = 0;
  std::optional<double> begin;  // of a run
  double last = 0;
  for (const Json& record : records) {
    const Json* at = record.Find("at");
    const auto time = at && at->string() ? UtcSeconds(*at->string()) : std::nullopt;
    if (!time) continue;
    if (!begin || KindOf(record) == "resume") {
      sum += begin ? std::max(0.0, last - *begin) : 0;
      begin = time;
    }
    last = *time;
  }
  return sum + (begin ? std::max(0.0, last - *begin) : 0);
}

Result<TranscriptRecords> ReadTranscript(const std::string& path) {
  SZARENA_TRY(data::JsonLines lines, data::ReadJsonLines(path, data::BadLines::kSkip));
  const Json* version = lines.values.empty() || KindOf(lines.values.front()) != "session"
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
  return TranscriptRecords{std::move(lines.values), lines.torn_tail, std::move(lines.faults)};
}

}  // namespace szarena::agent
