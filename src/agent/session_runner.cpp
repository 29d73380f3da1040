// SPDX-License-Identifier: Apache-2.0
// Wires workspace, transcript, toolbox and store around an agent.
#include "agent/session_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
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

// An empty workspace with the files to start from. Where a session is played again, its calls fill
// it again: what an interruption left there, half done or not recorded, does not count. With
// `keep`: the one that is there.
Result<Workspace> PrepareWorkspace(const SessionPlan& plan, const std::string& stem, bool keep) {
  const fs::path folder = fs::path(plan.out_dir) / "workspaces" / stem;
  if (keep) {
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
    // A process that was killed a moment ago may still be about to end.
    for (int tries = 0; tries < 20; ++tries) {
      if (flock(lock.fd_, LOCK_EX | LOCK_NB) == 0) return lock;
      if (errno != EWOULDBLOCK) return Fault(path);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
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

bool HasWholeLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) && !file.eof();
}

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

// The transcript of a new session, or of the one that goes on.
Result<Transcript> OpenTranscript(const SessionPlan& plan, const store::Session& session,
                                  size_t attempts) {
  const std::string path = (fs::path(plan.out_dir) / session.transcript).string();
  // Killed before its first line was whole: there is nothing to go on with.
  const bool old = plan.resume && HasWholeLine(path);
  if (!old && attempts > 0) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("cannot go on: transcript '{}' is missing, but the session has {} "
                            "attempts; put it back, or run the session again without --resume",
                            path, attempts));
  }
  SZARENA_TRY(Transcript transcript, old ? Transcript::Continue(path) : Transcript::Create(path));
  if (old) {
    // A transcript that does not tell them was written before they were told.
    const Json* runs = transcript.earlier().records.front().Find("timed_runs");
    if (runs && *runs != Json(plan.timed_runs)) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("session '{}' cannot go on: its timed runs have changed (--runs {}, "
                              "was {}); all attempts of a session are measured alike",
                              plan.key.Title(), Json(plan.timed_runs).Dump(), runs->Dump()));
    }
  } else {
    SZARENA_TRY_VOID(transcript.Add("session", Json::Of({{"version", kTranscriptVersion},
                                                         {"key", KeyJson(plan.key)},
                                                         {"timed_runs", plan.timed_runs},
                                                         {"agent", session.agent}})));
  }
  if (!transcript.earlier().First("prompt")) {
    SZARENA_TRY_VOID(transcript.Add(
        "prompt", Json::Of({{"sha256", session.prompt_sha256}, {"text", plan.prompt}})));
  }
  return transcript;
}

// What the interrupted session had used: its models as the last answer says, the time of all runs.
store::Usage EarlierUsage(const TranscriptRecords& earlier) {
  const Json* last = earlier.Last("usage");
  const Json* total = last ? last->Find("total") : nullptr;
  store::Usage usage = total ? UsageFromJson(*total) : store::Usage{};
  usage.wall_seconds = std::max(usage.wall_seconds, earlier.WallSeconds());
  return usage;
}

// Leaves of the stored attempts those that the transcript has too: others were lost with the end of
// a damaged transcript and are made again. That the session goes on is recorded, and the others are
// dropped from the store, once it does: where it is refused, nothing has changed.
void GoOn(Transcript& transcript, std::vector<store::Attempt>& attempts, int64_t id,
          store::Store& store) {
  const auto& records = transcript.earlier_attempts();
  const auto unknown = std::ranges::find_if(attempts, [&](const store::Attempt& attempt) {
    const auto record = records.find(attempt.number);
    const Json* hash = record == records.end() ? nullptr : record->second.Find("candidate_sha256");
    return !hash || *hash != Json(attempt.verdict.candidate_sha256);
  });
  const auto lost = static_cast<int64_t>(attempts.end() - unknown);
  const int64_t kept = lost > 0 ? unknown->number - 1 : 0;
  transcript.Announce("resume", Json::Of({{"attempts_made_again", lost}}),
                      [&store, id, lost, kept]() -> Result<void> {
                        return lost > 0 ? store.DropAttempts(id, kept) : Result<void>();
                      });
  attempts.erase(unknown, attempts.end());
}

// Shows in the transcript how long the session has been running, also where nothing else happens
// for a while: that time counts where it is killed and goes on.
class Heart {
 public:
  explicit Heart(Transcript& transcript)
      : thread_([this, &transcript](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          while (true) {
            wake_.wait_for(lock, stop, kBeat, [] { return false; });
            if (stop.stop_requested()) return;
            // A full disk is told where the session itself writes.
            [[maybe_unused]] const auto added = transcript.Beat(kBeat);
          }
        }) {}

 private:
  static constexpr std::chrono::seconds kBeat{5};
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: ends before the others do
};

// Everything between the session's first and last mark in the store. An Error: it could not start
// or go on, or the transcript could not be finished.
Result<Played> Play(const SessionPlan& plan, const store::Session& session, int64_t id,
                    Agent& agent, JudgePort& judge, store::Store& store,
                    const SessionObserver& observer, std::stop_token stop) {
  const std::string stem = FileStem(plan.key);
  const bool next = plan.resume && agent.resuming() == Resuming::kNext;
  SZARENA_TRY(std::vector<store::Attempt> attempts, store.Attempts(id));  // none of a new session
  SZARENA_TRY(Transcript transcript, OpenTranscript(plan, session, attempts.size()));
  if (next) transcript.DropSteps();
  SZARENA_TRY(Workspace workspace, PrepareWorkspace(plan, stem, next));
  if (plan.resume) GoOn(transcript, attempts, id, store);

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
                  std::move(attempts), EarlierUsage(transcript.earlier()));

  const Result<AgentEnd> run = [&] {
    const Heart heart(transcript);
    return agent.Run(plan.prompt, toolbox);
  }();
  // It did not come to where it had been: nothing new happened.
  if (!run && transcript.Replaying()) return tl::unexpected(run.error());
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
Result<int64_t> Reopen(store::Session& session, store::Store& store) {
  SZARENA_TRY(const store::Session earlier, store.ResumeSession(session.key));
  const auto changed = [&](std::string_view what) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("session '{}' cannot go on: its {} has changed", session.key.Title(), what));
  };
  if (earlier.prompt_sha256 != session.prompt_sha256) return changed("prompt");
  if (earlier.agent != session.agent) return changed("agent or its settings");
  if (earlier.hidden_seed != session.hidden_seed) return changed("hidden seed");
  session.usage = earlier.usage;
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
  if (plan.resume && agent.resuming() == Resuming::kNo) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("session '{}' cannot go on after an interruption; run it again without "
                            "--resume",
                            plan.key.Title()));
  }
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
  if (!played) {
    const Error error = played.error();
    played = Played{EndOfError(error), session.usage, 0, error};
    if (plan.resume) played->end.reason = store::StopReason::kInterrupted;  // as it was
  }
  SZARENA_TRY_VOID(store.EndSession(id, played->end.reason, played->end.detail, played->usage));
  if (played->error) return tl::unexpected(*played->error);
  return SessionOutcome{id, played->end.reason, played->attempts, played->usage};
}

}  // namespace szarena::agent
