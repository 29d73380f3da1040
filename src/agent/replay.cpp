// SPDX-License-Identifier: Apache-2.0
// Reads the attempts of a transcript and plays them.
#include "agent/replay.h"

#include <fmt/format.h>

#include "data/json_reader.h"
#include "judge/verdict.h"

namespace szarena::agent {
namespace {

using data::Json;
using data::JsonReader;

Result<store::SessionKey> ReadKey(const JsonReader& session) {
  SZARENA_TRY(const JsonReader reader, session.GetObject("key"));
  store::SessionKey key;
  for (auto [name, into] : {std::pair("campaign", &key.campaign), std::pair("task", &key.task),
                            std::pair("target", &key.target), std::pair("source", &key.source),
                            std::pair("tier", &key.tier), std::pair("agent", &key.agent),
                            std::pair("workflow", &key.workflow)}) {
    SZARENA_TRY(*into, reader.GetString(name));
  }
  SZARENA_TRY(key.trial, reader.GetInt("trial"));
  return key;
}

Result<ReplayAttempt> ReadAttempt(const JsonReader& reader) {
  ReplayAttempt attempt;
  SZARENA_TRY(attempt.number, reader.GetInt("number"));
  SZARENA_TRY(attempt.label, reader.GetString("label"));
  SZARENA_TRY(const auto idea, reader.OptionalString("idea"));
  SZARENA_TRY(const auto stage, reader.OptionalString("stage"));
  SZARENA_TRY(attempt.candidate_sha256, reader.GetString("candidate_sha256"));
  attempt.idea = idea.value_or("");
  attempt.stage = stage.value_or("none");
  if (attempt.stage != "none" && !judge::ParseStage(attempt.stage)) {
    return tl::unexpected(reader.Fault("stage", "names no stage"));
  }
  const Json* files = reader.json().Find("files");
  if (!files || !files->is_array()) return tl::unexpected(reader.Fault("files", "is missing"));
  attempt.files = FilesFromJson(*files);
  return attempt;
}

}  // namespace

Result<Replay> LoadReplay(const std::string& path) {
  SZARENA_TRY(const TranscriptRecords transcript, ReadTranscript(path));
  Replay replay;
  replay.path = path;
  replay.left_out = transcript.LeftOut(path);
  const JsonReader session(transcript.records.front(), path + ": line 1");
  SZARENA_TRY(replay.key, ReadKey(session));
  if (const Json* agent = session.json().Find("agent")) replay.agent = *agent;
  for (size_t i = 0; i < transcript.records.size(); ++i) {
    const Json& record = transcript.records[i];
    const Json* kind = record.Find("kind");
    if (!kind || *kind != Json("attempt")) continue;
    const JsonReader reader(record, fmt::format("{}: record {}", path, i));
    SZARENA_TRY(ReplayAttempt attempt, ReadAttempt(reader));
    // An attempt that an interruption lost before it was stored comes again under its number.
    std::erase_if(replay.attempts,
                  [&](const ReplayAttempt& earlier) { return earlier.number == attempt.number; });
    replay.attempts.push_back(std::move(attempt));
  }
  if (replay.attempts.empty()) {
    return Fail(ErrorCode::kCorrupt, fmt::format("transcript '{}' holds no attempt", path));
  }
  if (const Json* stop = transcript.Last("stop")) {
    if (const Json* seed = stop->Find("hidden_seed")) replay.hidden_seed = seed->unsigned_integer();
  }
  return replay;
}

Json ReplayAgent::Identity() const {
  const size_t slash = replay_.path.rfind('/');
  return Json::Of({{"kind", "scripted"},
                   {"name", "replay"},
                   {"note", "the attempts of an earlier session, judged again"},
                   {"transcript", replay_.path.substr(slash == std::string::npos ? 0 : slash + 1)},
                   {"of", replay_.agent},
                   {"of_workflow", replay_.key.workflow}});
}

Result<AgentEnd> ReplayAgent::Run(const std::string& /*prompt*/, Toolbox& toolbox) {
  for (const ReplayAttempt& attempt : replay_.attempts) {
    SZARENA_TRY(const ToolResult placed, PlaceFiles(attempt.files, toolbox));
    if (!placed.ok) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("'{}', attempt {}: {}", replay_.path, attempt.number, placed.text));
    }
    const bool last = &attempt == &replay_.attempts.back();
    SZARENA_TRY(const ToolResult result,
                toolbox.Call(
                    "submit",
                    Json::Of({{"label", attempt.label}, {"idea", attempt.idea}, {"final", last}})));
    if (!result.ok) return AgentEnd{store::StopReason::kBudget, result.text};
  }
  return AgentEnd{store::StopReason::kSubmitted, "every attempt was judged again"};
}

}  // namespace szarena::agent
