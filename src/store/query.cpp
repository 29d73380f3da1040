// SPDX-License-Identifier: Apache-2.0
// Reading the results file.
#include <fmt/format.h>

#include <cstdlib>

#include "store/store.h"

namespace szarena::store {
namespace {

constexpr std::string_view kSessionColumns =
    "SELECT id, campaign, task, target, source, tier, agent, workflow, trial, agent_identity, "
    "prompt_sha256, transcript, started_at, ended_at, stop_reason, stop_detail, wall_seconds, "
    "model_calls, tokens_in, tokens_out, tokens_reasoning, cost_usd, hidden_seed, tokens_cached "
    "FROM session ";

Result<Session> ReadSession(const db::Statement& row, const std::string& path) {
  Session session;
  session.id = row.Int(0);
  session.key = {.campaign = row.Text(1),
                 .task = row.Text(2),
                 .target = row.Text(3),
                 .source = row.Text(4),
                 .tier = row.Text(5),
                 .agent = row.Text(6),
                 .workflow = row.Text(7),
                 .trial = row.Int(8)};
  SZARENA_TRY(session.agent,
              data::ParseJson(row.Text(9), fmt::format("{}: session {}", path, session.id)));
  session.prompt_sha256 = row.Text(10);
  session.transcript = row.Text(11);
  session.started_at = row.Text(12);
  session.ended_at = row.Text(13);
  if (const auto reason = row.OptionalText(14)) session.stop = ParseStopReason(*reason);
  session.stop_detail = row.Text(15);
  session.usage = {.wall_seconds = row.Real(16),
                   .model_calls = row.OptionalInt(17),
                   .tokens_in = row.OptionalInt(18),
                   .tokens_cached = row.OptionalInt(23),
                   .tokens_out = row.OptionalInt(19),
                   .tokens_reasoning = row.OptionalInt(20),
                   .cost_usd = row.OptionalReal(21)};
  if (const auto seed = row.OptionalText(22)) {
    session.hidden_seed = std::strtoull(seed->c_str(), nullptr, 10);
  }
  return session;
}

}  // namespace

Result<std::vector<Campaign>> Store::Campaigns() {
  SZARENA_TRY(db::Statement rows,
              database_.Prepare("SELECT name, created_at, complete, environment FROM campaign "
                                "ORDER BY rowid"));
  std::vector<Campaign> campaigns;
  while (true) {
    SZARENA_TRY(const bool more, rows.Step());
    if (!more) return campaigns;
    Campaign campaign{rows.Text(0), rows.Text(1), rows.Int(2) != 0, {}};
    SZARENA_TRY(
        campaign.environment,
        data::ParseJson(rows.Text(3), fmt::format("{}: campaign '{}'", path(), campaign.name)));
    campaigns.push_back(std::move(campaign));
  }
}

Result<std::vector<Session>> Store::Sessions(std::string_view campaign) {
  SZARENA_TRY(db::Statement rows,
              database_.Prepare(std::string(kSessionColumns) + "WHERE campaign = ? ORDER BY id"));
  SZARENA_TRY_VOID(rows.Bind(campaign));
  std::vector<Session> sessions;
  while (true) {
    SZARENA_TRY(const bool more, rows.Step());
    if (!more) return sessions;
    SZARENA_TRY(Session session, ReadSession(rows, path()));
    sessions.push_back(std::move(session));
  }
}

Result<std::optional<Session>> Store::FindSession(const SessionKey& key) {
  SZARENA_TRY(db::Statement row,
              database_.Prepare(std::string(kSessionColumns) +
                                "WHERE campaign = ? AND task = ? AND target = ? AND source = ? AND "
                                "tier = ? AND agent = ? AND workflow = ? AND trial = ?"));
  SZARENA_TRY_VOID(row.Bind(key.campaign, key.task, key.target, key.source, key.tier, key.agent,
                            key.workflow, key.trial));
  SZARENA_TRY(const bool found, row.Step());
  if (!found) return std::nullopt;
  SZARENA_TRY(Session session, ReadSession(row, path()));
  return std::optional(std::move(session));
}

Result<std::vector<Attempt>> Store::Attempts(int64_t session_id) {
  SZARENA_TRY(db::Statement rows,
              database_.Prepare("SELECT number, label, idea, verdict FROM attempt "
                                "WHERE session = ? ORDER BY number"));
  SZARENA_TRY_VOID(rows.Bind(session_id));
  std::vector<Attempt> attempts;
  while (true) {
    SZARENA_TRY(const bool more, rows.Step());
    if (!more) return attempts;
    Attempt attempt{rows.Int(0), rows.Text(1), rows.Text(2), {}};
    const std::string name =
        fmt::format("{}: session {} attempt {}", path(), session_id, attempt.number);
    SZARENA_TRY(const data::Json json, data::ParseJson(rows.Text(3), name));
    SZARENA_TRY(attempt.verdict, judge::VerdictFromJson(json, name));
    attempts.push_back(std::move(attempt));
  }
}

}  // namespace szarena::store
