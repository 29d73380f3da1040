// SPDX-License-Identifier: Apache-2.0
// szarena session: one session, stored.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>

#include "app/agents.h"
#include "app/commands.h"
#include "app/numbers.h"
#include "app/run_agent.h"
#include "app/session_setup.h"
#include "app/stop_signals.h"
#include "term/printable.h"
#include "term/style.h"

namespace szarena::app {
namespace {

struct Options {
  SessionOptions session;
  AgentOptions agent;
  bool as_json = false;
};

void PrintOutcome(const Options& options, const SessionSetup& setup,
                  const agent::SessionOutcome& outcome) {
  const store::SessionKey& key = setup.plan.key;
  if (options.as_json) {
    fmt::print("{}\n", data::Json::Of({{"store", setup.results},
                                       {"campaign", key.campaign},
                                       {"session", outcome.id},
                                       {"trial", key.trial},
                                       {"stop", store::StopReasonName(outcome.stop)},
                                       {"attempts", static_cast<int64_t>(outcome.attempts)},
                                       {"usage", agent::UsageJson(outcome.usage)}})
                           .Dump(2));
  } else {
    fmt::print("{}: {} attempts, stopped: {}\n", term::Printable(key.Title()), outcome.attempts,
               store::StopReasonName(outcome.stop));
    const store::Usage& usage = outcome.usage;
    if (usage.model_calls) {
      const auto count = [](const std::optional<int64_t>& tokens) {
        return tokens ? std::to_string(*tokens) : "unknown";
      };
      fmt::print("{} model calls, {} tokens in, {} out{}\n", *usage.model_calls,
                 count(usage.tokens_in), count(usage.tokens_out),
                 usage.cost_usd ? fmt::format(", {:.4f} USD", *usage.cost_usd) : "");
    }
    fmt::print("results: {}\n", setup.results);
  }
}

Result<ExitCode> RunSessionCommand(const Options& options) {
  SZARENA_TRY(const std::string workflow, WorkflowFor(options.agent));
  SZARENA_TRY(SessionSetup setup,
              PrepareSession(options.session, KeyName(options.agent), workflow));
  SZARENA_TRY(const MadeAgent made, MakeAgent(options.agent, setup));
  if (setup.plan.resume && made.agent->resuming() == agent::Resuming::kNo) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("agent '{}' in workflow '{}' cannot go on after an interruption; run it "
                    "again without --resume",
                    setup.plan.key.agent, workflow));
  }
  agent::Budget& budget = setup.plan.budget;
  if (made.calls_model && !budget.model_calls && !budget.tokens && !budget.cost_usd &&
      !budget.wall_seconds) {
    budget.model_calls = kDefaultModelCalls;
  }
  const StopSignals signals;
  SZARENA_TRY(store::Store store, OpenResults(setup));
  term::Progress progress(stderr, term::IsTerminal(stderr));
  SZARENA_TRY(const agent::SessionOutcome outcome,
              RunAgent(setup, *made.agent, {made.steps, made.judge.get()}, store, progress,
                       signals.token()));
  progress.Wipe();
  PrintOutcome(options, setup, outcome);
  if (outcome.stop == store::StopReason::kError) {
    fmt::print(stderr, "szarena: the agent failed; why is in the session's transcript\n");
    return ExitCode::kEnvironment;
  }
  return ExitCode::kDone;
}

}  // namespace

void AddSession(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("session", "Run one session of an agent and store it");
  auto options = std::make_shared<Options>();
  AddSessionOptions(*command, options->session);
  command
      ->add_option("--agent", options->agent.agent,
                   "ladder (the task's hand-written candidates), synthetic (made up, to prove "
                   "statistics), a model as PROVIDER:MODEL, or an agent program: codex, gemini, "
                   "claude, opencode, command:\"...\"")
      ->capture_default_str();
  command->add_option("--workflow", options->agent.workflow, "How the agent is driven");
  command->add_option("--model", options->agent.model,
                      "An agent program's model: a name of its usual service, or PROVIDER:MODEL");
  agent::WorkflowSettings& settings = options->agent.settings;
  command
      ->add_option("--patience", settings.patience,
                   "So many attempts (evolve: steps) without a better one end it")
      ->check(Whole(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--islands", settings.islands, "evolve: populations side by side")
      ->check(Whole(1, 64))
      ->capture_default_str();
  command->add_option("--migrate-every", settings.migrate_every, "evolve: steps")
      ->check(Whole(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--rounds", settings.rounds, "team: of coder and critic")
      ->check(Whole(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--seed", settings.seed, "evolve: of its choices")
      ->check(Whole(0, std::numeric_limits<uint64_t>::max()))
      ->capture_default_str();
  command->add_option("--models", options->agent.models,
                      "File of services, models and prices (docs/agents.md)");
  command->add_flag("--json", options->as_json, "Print the outcome as JSON");
  command->footer(
      "Exit status 0: the session ended by itself or with its budget, whatever it reached; 3: the "
      "agent (its program or its model's service) failed.");
  command->callback(
      [&action, options] { action = [options] { return RunSessionCommand(*options); }; });
}

}  // namespace szarena::app
