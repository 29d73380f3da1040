// SPDX-License-Identifier: Apache-2.0
// Opening and writing the results file.
#include "store/store.h"

#include <fmt/format.h>

#include "base/utc.h"
#include "db/migrate.h"
#include "store/schema.h"

namespace szarena::store {

namespace {

tl::unexpected<Error> NotOurs(const std::string& path) {
  return Fail(ErrorCode::kCorrupt, fmt::format("'{}' is not a results file of szarena", path));
}

}  // namespace

int SchemaVersion() { return static_cast<int>(Migrations().size()); }

Result<Store> Store::Open(const std::string& path) {
  SZARENA_TRY(db::Database database, db::Database::Open(path, db::OpenMode::kCreate));
  SZARENA_TRY(const int version, database.UserVersion());
  if (version == 0) {  // new, or somebody else's
    SZARENA_TRY(db::Statement tables, database.Prepare("SELECT count(*) FROM sqlite_master"));
    SZARENA_TRY([[maybe_unused]] const bool row, tables.Step());
    if (tables.Int(0) > 0) return NotOurs(path);
  }
  SZARENA_TRY_VOID(db::Migrate(database, Migrations()));
  return Store(std::move(database));
}

Result<Store> Store::OpenForReading(const std::string& path) {
  SZARENA_TRY(db::Database database, db::Database::Open(path, db::OpenMode::kReadOnly));
  SZARENA_TRY(const int version, database.UserVersion());
  if (version == 0) return NotOurs(path);
  if (version < SchemaVersion()) {  // an older file: bring it up to date, then read
    SZARENA_TRY_VOID(Open(path).map([](const Store&) {}));
    return OpenForReading(path);
  }
  SZARENA_TRY_VOID(db::Migrate(database, Migrations()));  // refuses a newer one
  return Store(std::move(database));
}

Result<void> Store::AddCampaign(const Campaign& campaign) {
  return database_.Run("INSERT INTO campaign VALUES (?, ?, ?, ?)", campaign.name,
                       campaign.created_at, campaign.complete, campaign.environment.Dump());
}

Result<void> Store::NeedCampaign(const Campaign& campaign) {
  return database_.Run("INSERT INTO campaign VALUES (?, ?, ?, ?) ON CONFLICT (name) DO NOTHING",
                       campaign.name, campaign.created_at, campaign.complete,
                       campaign.environment.Dump());
}

Result<void> Store::CompleteCampaign(std::string_view name) {
  return database_.Run("UPDATE campaign SET complete = 1 WHERE name = ?", name);
}

Result<int64_t> Store::AllotTrial(SessionKey key) {
  SZARENA_TRY(db::Transaction transaction, db::Transaction::Begin(database_));
  SZARENA_TRY(db::Statement last,
              database_.Prepare("SELECT max(trial) FROM session WHERE campaign = ? AND task = ? "
                                "AND target = ? AND source = ? AND tier = ? AND agent = ? "
                                "AND workflow = ?"));
  SZARENA_TRY_VOID(
      last.Bind(key.campaign, key.task, key.target, key.source, key.tier, key.agent, key.workflow));
  SZARENA_TRY([[maybe_unused]] const bool row, last.Step());
  key.trial = last.OptionalInt(0).value_or(0) + 1;
  SZARENA_TRY_VOID(database_.Run(
      "INSERT INTO session (campaign, task, target, source, tier, agent, workflow, trial, "
      "agent_identity, prompt_sha256, transcript, hidden_seed, started_at) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, '{}', '', '', NULL, ?)",
      key.campaign, key.task, key.target, key.source, key.tier, key.agent, key.workflow, key.trial,
      UtcNow()));
  SZARENA_TRY_VOID(transaction.Commit());
  return key.trial;
}

Result<int64_t> Store::BeginSession(const Session& session) {
  const SessionKey& key = session.key;
  SZARENA_TRY(db::Transaction transaction, db::Transaction::Begin(database_));
  SZARENA_TRY(const std::optional<Session> earlier, FindSession(key));
  if (earlier && earlier->stop && *earlier->stop != StopReason::kInterrupted) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("session '{}' of campaign '{}' is finished already", key.Title(),
                            key.campaign));
  }
  if (earlier) {
    SZARENA_TRY_VOID(database_.Run("DELETE FROM session WHERE id = ?", earlier->id));
  }
  std::optional<std::string> seed;
  if (session.hidden_seed) seed = std::to_string(*session.hidden_seed);
  SZARENA_TRY_VOID(database_.Run(
      "INSERT INTO session (campaign, task, target, source, tier, agent, workflow, trial, "
      "agent_identity, prompt_sha256, transcript, hidden_seed, started_at) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      key.campaign, key.task, key.target, key.source, key.tier, key.agent, key.workflow, key.trial,
      session.agent.Dump(), session.prompt_sha256, session.transcript, seed, session.started_at));
  const int64_t id = database_.LastInsertId();
  SZARENA_TRY_VOID(transaction.Commit());
  return id;
}

Result<Session> Store::ResumeSession(const SessionKey& key) {
  SZARENA_TRY(std::optional<Session> session, FindSession(key));
  if (!session) {
    return Fail(ErrorCode::kNotFound, fmt::format("there is no session '{}' in campaign '{}'",
                                                  key.Title(), key.campaign));
  }
  if (session->stop && *session->stop != StopReason::kInterrupted) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("session '{}' of campaign '{}' is finished already", key.Title(),
                            key.campaign));
  }
  SZARENA_TRY_VOID(database_.Run(
      "UPDATE session SET ended_at = NULL, stop_reason = NULL, stop_detail = '' WHERE id = ?",
      session->id));
  return std::move(*session);
}

Result<void> Store::AddAttempt(int64_t session_id, const Attempt& attempt) {
  const judge::Verdict& verdict = attempt.verdict;
  std::optional<std::string> stage;
  if (const auto reached = verdict.Reached()) stage = std::string(judge::StageName(*reached));
  SZARENA_TRY(db::Transaction transaction, db::Transaction::Begin(database_));
  SZARENA_TRY_VOID(database_.Run(
      "INSERT INTO attempt (session, number, label, idea, candidate_sha256, stage, runnable, "
      "decodable, correct, ranked, ratio, max_error_over_bound, verdict) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      session_id, attempt.number, attempt.label, attempt.idea, verdict.candidate_sha256, stage,
      verdict.runnable(), verdict.decodable(), verdict.correct(), verdict.ranked(), verdict.ratio,
      verdict.max_error_over_bound, judge::VerdictToJson(verdict).Dump()));
  SZARENA_TRY_VOID(AddMeasurements(database_.LastInsertId(), verdict));
  return transaction.Commit();
}

Result<void> Store::DropAttempts(int64_t session_id, int64_t after) {
  return database_.Run("DELETE FROM attempt WHERE session = ? AND number > ?", session_id, after);
}

Result<void> Store::AddMeasurements(int64_t attempt_id, const judge::Verdict& verdict) {
  for (int i = 0; i < judge::kDirectionCount; ++i) {
    const auto& direction = verdict.directions.at(static_cast<size_t>(i));
    const auto name = judge::DirectionName(verdict.task, static_cast<judge::Direction>(i));
    const auto add = [&](std::string_view program, std::string_view level, judge::Basis basis,
                         const std::optional<judge::Figure>& figure) -> Result<void> {
      if (!figure) return {};
      return database_.Run("INSERT INTO measurement VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", attempt_id,
                           program, name, level, judge::BasisName(basis), figure->median,
                           figure->q1, figure->q3, figure->samples);
    };
    const auto add_levels =
        [&](std::string_view program,
            const std::optional<judge::Throughput>& throughput) -> Result<void> {
      if (!throughput) return {};
      SZARENA_TRY_VOID(add(program, "kernel", throughput->basis, throughput->kernel));
      SZARENA_TRY_VOID(add(program, "device", throughput->basis, throughput->device));
      return add(program, "host", throughput->basis, throughput->host);
    };
    SZARENA_TRY_VOID(add_levels("candidate", direction.candidate));
    SZARENA_TRY_VOID(add_levels("baseline", direction.baseline));
  }
  return {};
}

Result<void> Store::EndSession(int64_t session_id, StopReason reason, std::string_view detail,
                               const Usage& usage) {
  return database_.Run(
      "UPDATE session SET ended_at = ?, stop_reason = ?, stop_detail = ?, wall_seconds = ?, "
      "model_calls = ?, tokens_in = ?, tokens_cached = ?, tokens_out = ?, tokens_reasoning = ?, "
      "cost_usd = ? "
      "WHERE id = ?",
      UtcNow(), StopReasonName(reason), detail, usage.wall_seconds, usage.model_calls,
      usage.tokens_in, usage.tokens_cached, usage.tokens_out, usage.tokens_reasoning,
      usage.cost_usd, session_id);
}

}  // namespace szarena::store
