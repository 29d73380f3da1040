// SPDX-License-Identifier: Apache-2.0
// szarena transcript: a session's record for people. szarena replay: its attempts judged again.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>

#include "agent/replay.h"
#include "agent/score.h"
#include "app/commands.h"
#include "app/run_agent.h"
#include "app/session_setup.h"
#include "app/stop_signals.h"
#include "base/atomic_file.h"
#include "report/transcript.h"
#include "term/printable.h"
#include "term/style.h"

namespace szarena::app {
namespace {

struct ShowOptions {
  std::string transcript;
  std::string html;
  size_t lines = 0;
};

void Tell(const std::vector<std::string>& left_out) {
  for (const std::string& line : left_out) {
    fmt::print(stderr, "szarena: {}\n", term::Printable(line));
  }
}

Result<ExitCode> Show(const ShowOptions& options) {
  SZARENA_TRY(const agent::TranscriptRecords transcript, agent::ReadTranscript(options.transcript));
  Tell(transcript.LeftOut(options.transcript));
  if (options.html.empty()) {
    const std::string text = report::TranscriptText(transcript.records, {.lines = options.lines});
    fmt::print("{}", term::Printable(text));
    return ExitCode::kDone;
  }
  SZARENA_TRY_VOID(WriteFileAtomically(options.html, report::TranscriptHtml(transcript.records)));
  fmt::print("{}\n", options.html);
  return ExitCode::kDone;
}

struct ReplayOptions {
  std::string transcript;
  std::string out = "out";
  std::string campaign = "replays";
  int timed_runs = 10;
  bool fresh_data = false;
  bool as_json = false;
};

std::string StageOf(const store::Attempt& attempt) {
  const auto reached = attempt.verdict.Reached();
  return reached ? std::string(judge::StageName(*reached)) : "none";
}

// How far a stage is up the ladder; below all for one that is unknown.
int Rung(const std::string& stage) {
  const auto parsed = judge::ParseStage(stage);
  return parsed ? static_cast<int>(*parsed) : -1;
}

// Then and now. kCandidateFailed where an attempt does not come as far as then.
ExitCode Compare(const agent::Replay& replay, const std::vector<store::Attempt>& now,
                 const SessionSetup& setup, bool as_json) {
  data::Json list = data::Json::MakeArray();
  size_t worse = 0;
  for (size_t i = 0; i < now.size() && i < replay.attempts.size(); ++i) {
    const agent::ReplayAttempt& then = replay.attempts[i];
    const std::string stage = StageOf(now[i]);
    const bool less = Rung(stage) < Rung(then.stage);
    worse += less ? 1 : 0;
    const bool same_files = now[i].verdict.candidate_sha256 == then.candidate_sha256;
    const double speed = agent::ScoreOf(now[i].verdict).speed;
    list.Append(data::Json::Of({{"attempt", then.number},
                                {"label", then.label},
                                {"stage_then", then.stage},
                                {"stage_now", stage},
                                {"same_files", same_files},
                                {"speed_now", speed > 0 ? data::Json(speed) : data::Json()}}));
    if (as_json) continue;
    fmt::print("{:>3} {:24} {:16} {:16}{}{}\n", then.number, term::Printable(then.label),
               term::Printable(then.stage), stage, less ? " LESS THAN THEN" : "",
               same_files ? "" : " (other files than recorded)");
  }
  if (as_json) {
    fmt::print("{}\n", data::Json::Of({{"transcript", replay.path},
                                       {"store", setup.results},
                                       {"trial", setup.plan.key.trial},
                                       {"attempts", std::move(list)},
                                       {"worse", worse}})
                           .Dump(2));
  } else {
    fmt::print("{} attempts judged again, {} came less far than then\nresults: {}\n", now.size(),
               worse, setup.results);
  }
  return worse > 0 ? ExitCode::kCandidateFailed : ExitCode::kDone;
}

Result<ExitCode> RunReplay(const ReplayOptions& options) {
  SZARENA_TRY(agent::Replay replay, agent::LoadReplay(options.transcript));
  Tell(replay.left_out);
  const data::Json* kind = replay.agent.Find("kind");
  if (kind && *kind == data::Json("synthetic")) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("'{}' is a synthetic session: there is nothing to judge", options.transcript));
  }
  SessionOptions session;
  session.task = replay.key.task;
  session.target = replay.key.target;
  session.tier = replay.key.tier == "none" ? "user" : replay.key.tier;
  session.source = replay.key.source;
  session.out = options.out;
  session.campaign = options.campaign;
  session.timed_runs = options.timed_runs;
  SZARENA_TRY(SessionSetup setup, PrepareSession(session, "replay", "scripted"));
  if (!options.fresh_data) setup.judging.hidden_seed = replay.hidden_seed;
  const StopSignals signals;
  SZARENA_TRY(store::Store store, OpenResults(setup));
  term::Progress progress(stderr, term::IsTerminal(stderr));
  agent::ReplayAgent agent(replay);
  SZARENA_TRY(
      const agent::SessionOutcome outcome,
      RunAgent(setup, agent, {replay.attempts.size(), nullptr}, store, progress, signals.token()));
  progress.Wipe();
  SZARENA_TRY(const auto attempts, store.Attempts(outcome.id));
  return Compare(replay, attempts, setup, options.as_json);
}

}  // namespace

void AddTranscript(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("transcript", "Show a session's transcript as text or HTML");
  auto options = std::make_shared<ShowOptions>();
  command->add_option("TRANSCRIPT", options->transcript, "transcripts/*.jsonl")->required();
  command->add_option("--html", options->html, "Write one self-contained page to this file");
  command->add_option("--lines", options->lines, "Of each text at most so many lines (text form)");
  command->callback([&action, options] { action = [options] { return Show(*options); }; });
}

void AddReplay(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "replay", "Judge the attempts of an old session again, with today's checks");
  auto options = std::make_shared<ReplayOptions>();
  command->add_option("TRANSCRIPT", options->transcript, "transcripts/*.jsonl")->required();
  command->add_option("--runs", options->timed_runs, "Timed runs of an attempt, at least 10")
      ->capture_default_str();
  command->add_flag("--fresh-data", options->fresh_data,
                    "Other hidden data than then (default: the same)");
  command->add_option("--campaign", options->campaign, "Name under which it is stored")
      ->capture_default_str();
  command->add_option("--out", options->out, "Folder of results.sqlite, transcripts, workspaces")
      ->capture_default_str();
  command->add_flag("--json", options->as_json, "Print the comparison as JSON");
  command->footer("Exit status 1: an attempt does not come as far as then.");
  command->callback([&action, options] { action = [options] { return RunReplay(*options); }; });
}

}  // namespace szarena::app
