// SPDX-License-Identifier: Apache-2.0
// szarena session: one session, stored.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "app/commands.h"
#include "app/ladder_session.h"
#include "app/session_setup.h"
#include "app/stop_signals.h"
#include "term/style.h"

namespace szarena::app {
namespace {

struct Options {
  SessionOptions session;
  std::string agent = "ladder";
  std::string workflow;
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
  SZARENA_TRY(SessionSetup setup, PrepareSession(options.session, options.agent, "scripted"));
  SZARENA_TRY(const auto steps, LoadLadder(setup.task, setup.target));
  const StopSignals signals;
  SZARENA_TRY(store::Store store, OpenResults(setup));
  LadderSession session;
  session.task = setup.task;
  session.key = setup.plan.key;
  session.prompt = setup.plan.prompt;
  session.out_dir = setup.plan.out_dir;
  session.budget = setup.plan.budget;
  session.options = setup.judging;
  term::Progress progress(stderr, term::IsTerminal(stderr));
  SZARENA_TRY(const agent::SessionOutcome outcome,
              RunLadder(session, steps, store, progress, signals.token()));
  progress.Wipe();
  PrintOutcome(options, session, outcome, setup.results);
  return ExitCode::kDone;
}

}  // namespace

void AddSession(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("session", "Run one session of an agent and store it");
  auto options = std::make_shared<Options>();
  AddSessionOptions(*command, options->session);
  command
      ->add_option("--agent", options->agent,
                   "ladder: the task's hand-written candidates, scripted")
      ->capture_default_str();
  command->add_option("--workflow", options->workflow, "How the agent is driven");
  command->add_flag("--json", options->as_json, "Print the outcome as JSON");
  command->callback(
      [&action, options] { action = [options] { return RunSessionCommand(*options); }; });
}

}  // namespace szarena::app
