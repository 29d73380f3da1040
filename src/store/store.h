// SPDX-License-Identifier: Apache-2.0
// The results file: campaigns, sessions, attempts and what was measured.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/json.h"
#include "db/database.h"
#include "judge/verdict.h"
#include "store/session.h"

namespace szarena::store {

struct Campaign {
  std::string name;
  std::string created_at;  // UTC, ISO 8601
  bool complete = false;   // every session of its plan is done
  data::Json environment;  // machine, compiler, versions: what a reader needs to judge the figures
};

struct Session {
  int64_t id = 0;
  SessionKey key;
  data::Json agent;           // identity: provider, model, version string; settings
  std::string prompt_sha256;  // of the prompt as the agent got it
  std::string transcript;     // path, relative to the results file
  std::optional<uint64_t> hidden_seed =
      std::nullopt;  // of the hidden data: for replay; a secret while it runs
  std::string started_at;
  std::string ended_at;                           // empty while it runs
  std::optional<StopReason> stop = std::nullopt;  // absent while it runs, or where it was killed
  std::string stop_detail;
  Usage usage;
};

struct Attempt {
  int64_t number = 0;  // from 1, in the order of submission
  std::string label;   // short name: "04-block-parallel"
  std::string idea;    // what this attempt changes, in the agent's words
  judge::Verdict verdict;
};

// Used by one thread; several processes may share the file.
class Store {
 public:
  // Creates the file or brings its schema up to date. A file of a newer program is refused.
  static Result<Store> Open(const std::string& path);
  // For reading; the file must exist and have the current schema.
  static Result<Store> OpenForReading(const std::string& path);

  const std::string& path() const { return database_.path(); }

  Result<void> AddCampaign(const Campaign& campaign);
  // Nothing where it is there already; safe against other processes that do the same.
  Result<void> NeedCampaign(const Campaign& campaign);
  Result<void> CompleteCampaign(std::string_view name);
  // In order of creation.
  Result<std::vector<Campaign>> Campaigns();

  // Allots the next trial of the cell that `key` names (its trial is not read): its number is kept
  // free of other processes by a session without a prompt, which BeginSession replaces.
  Result<int64_t> AllotTrial(SessionKey key);
  // Records the start of a session and returns its id. What an earlier run with the same key left
  // unfinished is removed with its attempts; a finished one is an error (kInvalidArgument).
  Result<int64_t> BeginSession(const Session& session);
  // The unfinished (or interrupted) session of that key, marked as running again.
  Result<Session> ResumeSession(const SessionKey& key);
  // Verdict, columns and measurements in one transaction.
  Result<void> AddAttempt(int64_t session_id, const Attempt& attempt);
  // Removes the attempts after that number: those of an interrupted run that its transcript lacks.
  Result<void> DropAttempts(int64_t session_id, int64_t after);
  Result<void> EndSession(int64_t session_id, StopReason reason, std::string_view detail,
                          const Usage& usage);

  // Sessions of a campaign in order of their start.
  Result<std::vector<Session>> Sessions(std::string_view campaign);
  Result<std::optional<Session>> FindSession(const SessionKey& key);
  Result<std::vector<Attempt>> Attempts(int64_t session_id);

 private:
  explicit Store(db::Database database) : database_(std::move(database)) {}
  Result<void> AddMeasurements(int64_t attempt_id, const judge::Verdict& verdict);

  db::Database database_;
};

// The number of schema versions this program knows.
int SchemaVersion();

}  // namespace szarena::store
