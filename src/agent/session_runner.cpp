// SPDX-License-Identifier: Apache-2.0
// Wires workspace, transcript, toolbox and store around an agent.
#include "agent/session_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/utc.h"
#include "data/json_reader.h"
#include "data/sha256.h"

namespace szarena::agent {
namespace fs = std::filesystem;
namespace {

using data::Json;

// "szp-cpu-none-none-ladder-scripted-1": fit for a file name whatever the agent is called.
std::string FileStem(const store::SessionKey& key) {
  std::string stem = fmt::format("{}-{}-{}-{}-{}-{}-{}-{}", key.campaign, key.task, key.target,
                                 key.source, key.tier, key.agent, key.workflow, key.trial);
  for (char& c : stem) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    if (!plain) c = '_';
  }
  return stem;
}

Result<void> MakeFolder(const fs::path& folder) {
  std::error_code fault;
  fs::create_directories(folder, fault);
  if (!fault) return {};
  return Fail(ErrorCode::kIo,
              fmt::format("cannot make folder '{}': {}", folder.string(), fault.message()));
}

// An empty workspace with the files to start from; the one that is there where a session goes on.
Result<Workspace> PrepareWorkspace(const SessionPlan& plan, const std::string& stem) {
  const fs::path folder = fs::path(plan.out_dir) / "workspaces" / stem;
  if (plan.resume) {
    SZARENA_TRY_VOID(MakeFolder(folder));
    return Workspace(folder.string());
  }
  std::error_code fault;
  fs::remove_all(folder, fault);
  SZARENA_TRY_VOID(MakeFolder(folder));
  Workspace workspace(folder.string());
  if (plan.start_files_dir.empty()) return workspace;
  const Workspace source(plan.start_files_dir);
  SZARENA_TRY(const auto files, source.List());
  for (const WorkspaceFile& file : files) {
    SZARENA_TRY(const std::string text, source.Read(file.path));
    SZARENA_TRY_VOID(workspace.Write(file.path, text));
  }
  return workspace;
}

// On the transcript while a session runs: no other process may go on with it or begin it anew. It
// goes with the process, however that ends.
class SessionLock {
 public:
  static Result<SessionLock> Take(const fs::path& path, const store::SessionKey& key) {
    SZARENA_TRY_VOID(MakeFolder(path.parent_path()));
    SessionLock lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (lock.fd_ < 0) return Fault(path);
    if (flock(lock.fd_, LOCK_EX | LOCK_NB) == 0) return lock;
    if (errno != EWOULDBLOCK) return Fault(path);
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("session '{}' of campaign '{}' is running in another process; wait "
                            "for it or stop it first",
                            key.Title(), key.campaign));
  }
  SessionLock(SessionLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  SessionLock& operator=(SessionLock&&) = delete;
  ~SessionLock() {
    if (fd_ >= 0) close(fd_);
  }

 private:
  explicit SessionLock(int fd) : fd_(fd) {}
  static tl::unexpected<Error> Fault(const fs::path& path) {
    return Fail(ErrorCode::kIo, fmt::format("cannot lock '{}': {}", path.string(),
                                            std::generic_category().message(errno)));
  }
  int fd_;
};

AgentEnd EndOfError(const Error& error) {
  const bool stopped = error.code == ErrorCode::kCancelled;
  return {stopped ? store::StopReason::kInterrupted : store::StopReason::kError, error.ToString()};
}

struct Played {
  AgentEnd end;
  store::Usage usage = {};
  size_t attempts = 0;
  std::optional<Error> error;  // what ended it, where the agent did not end by itself
};

store::Usage UsageFromJson(const Json& json) {
  const data::JsonReader reader(json, "usage");
  store::Usage usage;
  usage.wall_seconds = reader.OptionalNumber("wall_seconds").value_or(std::nullopt).value_or(0);
  usage.model_calls = reader.OptionalInt("model_calls").value_or(std::nullopt);
  usage.tokens_in = reader.OptionalInt("tokens_in").value_or(std::nullopt);
  usage.tokens_cached = reader.OptionalInt("tokens_cached").value_or(std::nullopt);
  usage.tokens_out = reader.OptionalInt("tokens_out").value_or(std::nullopt);
  usage.tokens_reasoning = reader.OptionalInt("tokens_reasoning").value_or(std::nullopt);
  usage.cost_usd = reader.OptionalNumber("cost_usd").value_or(std::nullopt);
  return usage;
}

// The transcript of a new session, or of the one that goes on with what it had used so far.
struct Record {
  Transcript transcript;
  store::Usage earlier;
};
Result<Record> OpenTranscript(const SessionPlan& plan, const store::Session& session) {
  const std::string path = (fs::path(plan.out_dir) / session.transcript).string();
  if (plan.resume) {
    SZARENA_TRY(const TranscriptRecords records, ReadTranscript(path));
    const Json* last = records.Last("usage");
    const Json* total = last ? last->Find("total") : nullptr;
    SZARENA_TRY(Transcript transcript, Transcript::Continue(path));
    SZARENA_TRY_VOID(transcript.Add("resume", Json::MakeObject()));
    return Record{std::move(transcript), total ? UsageFromJson(*total) : store::Usage{}};
  }
  SZARENA_TRY(Transcript transcript, Transcript::Create(path));
  SZARENA_TRY_VOID(transcript.Add("session", Json::Of({{"version", kTranscriptVersion},
                                                       {"key", KeyJson(plan.key)},
                                                       {"agent", session.agent}})));
  SZARENA_TRY_VOID(transcript.Add(
      "prompt", Json::Of({{"sha256", session.prompt_sha256}, {"text", plan.prompt}})));
  return Record{std::move(transcript), {}};
}

// Everything between the session's first and last mark in the store. An Error: it could not start,
// or the transcript could not be finished.
Result<Played> Play(const SessionPlan& plan, const store::Session& session, int64_t id,
                    Agent& agent, JudgePort& judge, store::Store& store,
                    const SessionObserver& observer, std::stop_token stop) {
  const std::string stem = FileStem(plan.key);
  SZARENA_TRY_VOID(MakeFolder(fs::path(plan.out_dir) / "transcripts"));
  SZARENA_TRY(Workspace workspace, PrepareWorkspace(plan, stem));
  SZARENA_TRY(Record record, OpenTranscript(plan, session));
  Transcript& transcript = record.transcript;
  SZARENA_TRY(std::vector<store::Attempt> attempts, store.Attempts(id));

  Toolbox toolbox({.description = plan.description,
                   .workspace = std::move(workspace),
                   .judge = judge,
                   .transcript = transcript,
                   .budget = plan.budget,
                   .stop = std::move(stop),
                   .record = [&](const store::Attempt& attempt) -> Result<void> {
                     SZARENA_TRY_VOID(store.AddAttempt(id, attempt));
                     if (observer.on_attempt) observer.on_attempt(attempt);
                     return {};
                   },
                   .on_call = observer.on_call,
                   .references = plan.references},
                  std::move(attempts), record.earlier);

  const Result<AgentEnd> run = agent.Run(plan.prompt, toolbox);
  Played played;
  played.end = run ? *run : EndOfError(run.error());
  played.usage = toolbox.meter().usage();
  played.attempts = toolbox.attempts().size();
  if (!run) played.error = run.error();
  const auto recorded =
      transcript.Add("stop", Json::Of({{"reason", store::StopReasonName(played.end.reason)},
                                       {"detail", played.end.detail},
                                       {"hidden_seed", plan.hidden_seed},
                                       {"usage", UsageJson(played.usage)}}));
  if (!recorded && !played.error) return tl::unexpected(recorded.error());
  return played;
}

// The unfinished session of the same key, if it is the same in everything that counts.
Result<int64_t> Reopen(const store::Session& session, store::Store& store) {
  SZARENA_TRY(const store::Session earlier, store.ResumeSession(session.key));
  const auto changed = [&](std::string_view what) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("session '{}' cannot go on: its {} has changed", session.key.Title(), what));
  };
  if (earlier.prompt_sha256 != session.prompt_sha256) return changed("prompt");
  if (earlier.agent != session.agent) return changed("agent or its settings");
  if (earlier.hidden_seed != session.hidden_seed) return changed("hidden seed");
  return earlier.id;
}

}  // namespace

Json KeyJson(const store::SessionKey& key) {
  return Json::Of({{"campaign", key.campaign},
                   {"task", key.task},
                   {"target", key.target},
                   {"source", key.source},
                   {"tier", key.tier},
                   {"agent", key.agent},
                   {"workflow", key.workflow},
                   {"trial", key.trial}});
}

Json UsageJson(const store::Usage& usage) {
  return Json::Of({{"wall_seconds", usage.wall_seconds},
                   {"model_calls", usage.model_calls},
                   {"tokens_in", usage.tokens_in},
                   {"tokens_cached", usage.tokens_cached},
                   {"tokens_out", usage.tokens_out},
                   {"tokens_reasoning", usage.tokens_reasoning},
                   {"cost_usd", usage.cost_usd}});
}

Result<SessionOutcome> RunSession(const SessionPlan& plan, Agent& agent, JudgePort& judge,
                                  store::Store& store, const SessionObserver& observer,
                                  std::stop_token stop) {
  store::Session session;
  session.key = plan.key;
  session.agent = agent.Identity();
  session.prompt_sha256 = data::Sha256Hex(plan.prompt);
  session.transcript = "transcripts/" + FileStem(plan.key) + ".jsonl";
  session.hidden_seed = plan.hidden_seed;
  session.started_at = UtcNow();
  SZARENA_TRY(const SessionLock lock,
              SessionLock::Take(fs::path(plan.out_dir) / session.transcript, plan.key));
  int64_t id = 0;
  if (plan.resume) {
    SZARENA_TRY(id, Reopen(session, store));
  } else {
    SZARENA_TRY(id, store.BeginSession(session));
  }

  auto played = Play(plan, session, id, agent, judge, store, observer, std::move(stop));
  if (!played) played = Played{EndOfError(played.error()), {}, 0, played.error()};
  SZARENA_TRY_VOID(store.EndSession(id, played->end.reason, played->end.detail, played->usage));
  if (played->error) return tl::unexpected(*played->error);
  return SessionOutcome{id, played->end.reason, played->attempts, played->usage};
}

}  // namespace szarena::agent
