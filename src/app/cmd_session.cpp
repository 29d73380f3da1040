// SPDX-License-Identifier: Apache-2.0
// szarena session: one session, stored.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "app/commands.h"
#include "app/environment.h"
#include "app/judging.h"
#include "app/ladder_session.h"
#include "app/stop_signals.h"
#include "base/utc.h"
#include "task/prompt.h"
#include "term/style.h"

namespace szarena::app {
namespace {

struct Options {
  std::string task;
  std::string target = "cpu";
  std::string tier = "user";
  std::string source = "none";
  std::string agent = "ladder";
  std::string workflow;
  std::string out = "out";
  std::string campaign = "sessions";
  int64_t attempts = 0;
  int64_t trial = 0;
  int timed_runs = 10;
  bool as_json = false;
};

Result<void> RefuseUnknownAgent(const Options& options) {
  if (options.agent != "ladder") {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("there is no agent '{}'; expected 'ladder'", options.agent));
  }
  if (!options.workflow.empty() && options.workflow != "scripted") {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("agent 'ladder' has workflow 'scripted' only, not '{}'", options.workflow));
  }
  return {};
}

Result<void> NeedCampaign(store::Store& store, const std::string& name) {
  SZARENA_TRY(const auto campaigns, store.Campaigns());
  for (const store::Campaign& campaign : campaigns) {
    if (campaign.name == name) return {};
  }
  // Single sessions have no plan of which some could be missing.
  return store.AddCampaign({name, UtcNow(), true, DescribeEnvironment()});
}

// One more than the highest trial of the same cell.
Result<int64_t> NextTrial(store::Store& store, store::SessionKey key) {
  SZARENA_TRY(const auto sessions, store.Sessions(key.campaign));
  int64_t next = 1;
  for (const store::Session& session : sessions) {
    key.trial = session.key.trial;
    if (session.key == key) next = std::max(next, session.key.trial + 1);
  }
  return next;
}

void PrintOutcome(const Options& options, const LadderSession& session,
                  const agent::SessionOutcome& outcome, const std::string& results) {
  if (options.as_json) {
    fmt::print("{}\n", data::Json::Of({{"store", results},
                                       {"campaign", session.key.campaign},
                                       {"session", outcome.id},
                                       {"trial", session.key.trial},
                                       {"stop", store::StopReasonName(outcome.stop)},
                                       {"attempts", static_cast<int64_t>(outcome.attempts)}})
                           .Dump(2));
  } else {
    fmt::print("{}: {} attempts, stopped: {}\nresults: {}\n", session.key.Title(), outcome.attempts,
               store::StopReasonName(outcome.stop), results);
  }
}

Result<ExitCode> RunSessionCommand(const Options& options) {
  SZARENA_TRY_VOID(RefuseUnknownAgent(options));
  SZARENA_TRY(const std::string root, task::FindRoot());
  SZARENA_TRY(const task::Task task, task::LoadTask(root, options.task));
  SZARENA_TRY(const task::Target target, task::ParseTarget(options.target));
  SZARENA_TRY(const task::Tier tier, task::ParseTier(options.tier));
  SZARENA_TRY(const task::Source source, task::ParseSource(options.source));

  LadderSession session;
  session.task = task;
  SZARENA_TRY(session.options, OptionsFor(task, target));
  session.options.trials = options.timed_runs;
  SZARENA_TRY(session.prompt, task::ComposePrompt(root, task, target, tier, source));
  session.out_dir = options.out;
  if (options.attempts > 0) session.budget.attempts = options.attempts;
  session.key = {.campaign = options.campaign,
                 .task = task.name,
                 .target = options.target,
                 .source = options.source,
                 .tier = options.tier,
                 .agent = options.agent,
                 .workflow = "scripted",
                 .trial = options.trial};
  SZARENA_TRY(const auto steps, LoadLadder(task, target));

  std::error_code fault;
  std::filesystem::create_directories(options.out, fault);
  if (fault) {
    return Fail(ErrorCode::kIo,
                fmt::format("cannot make folder '{}': {}", options.out, fault.message()));
  }
  const std::string results = (std::filesystem::path(options.out) / "results.sqlite").string();
  const StopSignals signals;
  SZARENA_TRY(store::Store store, store::Store::Open(results));
  SZARENA_TRY_VOID(NeedCampaign(store, options.campaign));
  if (session.key.trial == 0) {
    SZARENA_TRY(session.key.trial, NextTrial(store, session.key));
  }
  term::Progress progress(stderr, term::IsTerminal(stderr));
  SZARENA_TRY(const agent::SessionOutcome outcome,
              RunLadder(session, steps, store, progress, signals.token()));
  progress.Wipe();
  PrintOutcome(options, session, outcome, results);
  return ExitCode::kDone;
}

}  // namespace

void AddSession(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("session", "Run one session of an agent and store it");
  auto options = std::make_shared<Options>();
  command->add_option("--task", options->task, "Task (szarena tasks lists them)")->required();
  command->add_option("--target", options->target, "cpu, cuda or cerebras")->capture_default_str();
  command->add_option("--tier", options->tier, "user, knowledgeable or expert")
      ->capture_default_str();
  command->add_option("--source", options->source, "What the agent starts from: none, cpu or cuda")
      ->capture_default_str();
  command
      ->add_option("--agent", options->agent,
                   "ladder: the task's hand-written candidates, scripted")
      ->capture_default_str();
  command->add_option("--workflow", options->workflow, "How the agent is driven");
  command->add_option("--attempts", options->attempts, "At most so many submissions")
      ->check(CLI::PositiveNumber);
  command->add_option("--trial", options->trial, "Number of the trial (default: the next)")
      ->check(CLI::PositiveNumber);
  command->add_option("--runs", options->timed_runs, "Timed runs of an attempt, at least 10")
      ->capture_default_str();
  command->add_option("--campaign", options->campaign, "Name under which it is stored")
      ->capture_default_str();
  command->add_option("--out", options->out, "Folder of results.sqlite, transcripts, workspaces")
      ->capture_default_str();
  command->add_flag("--json", options->as_json, "Print the outcome as JSON");
  command->callback(
      [&action, options] { action = [options] { return RunSessionCommand(*options); }; });
}

}  // namespace szarena::app
