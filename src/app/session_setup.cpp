// SPDX-License-Identifier: Apache-2.0
#include "app/session_setup.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/environment.h"
#include "app/judging.h"
#include "app/numbers.h"
#include "base/utc.h"
#include "task/prompt.h"
#include "task/references.h"

namespace szarena::app {
namespace {

// The next trial of the cell; the latest unfinished one where it is to go on.
Result<int64_t> ChooseTrial(store::Store& store, store::SessionKey key, bool resume) {
  if (!resume) return store.AllotTrial(std::move(key));
  SZARENA_TRY(const auto sessions, store.Sessions(key.campaign));
  int64_t unfinished = 0;
  for (const store::Session& session : sessions) {
    key.trial = session.key.trial;
    if (session.key != key || session.prompt_sha256.empty()) continue;
    if (!session.stop || *session.stop == store::StopReason::kInterrupted) {
      unfinished = std::max(unfinished, key.trial);
    }
  }
  if (unfinished > 0) return unfinished;
  return Fail(ErrorCode::kNotFound,
              fmt::format("campaign '{}' has no unfinished session like this", key.campaign));
}

// Plain limits: they refuse what would overflow as nanoseconds.
constexpr uint64_t kMostCount = 1'000'000'000'000'000;
constexpr double kMostCostUsd = 1e9;
constexpr double kMostMinutes = 5'256'000;  // ten years

// Eight names make one file name of at most 255 bytes.
Result<void> CheckName(std::string_view what, const std::string& name, size_t most) {
  if (name.empty()) return Fail(ErrorCode::kInvalidArgument, fmt::format("the {} is empty", what));
  if (name.size() > most) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("the {} has {} bytes ('{}...'); at most {} fit", what, name.size(),
                            name.substr(0, 16), most));
  }
  return {};
}

}  // namespace

void AddSessionOptions(CLI::App& command, SessionOptions& options) {
  command.add_option("--task", options.task, "Task (szarena tasks lists them)")->required();
  command.add_option("--target", options.target, "cpu, cuda or cerebras")->capture_default_str();
  command.add_option("--tier", options.tier, "user, knowledgeable or expert")
      ->capture_default_str();
  command.add_option("--source", options.source, "What the agent starts from: none, cpu or cuda")
      ->capture_default_str();
  command.add_option("--attempts", options.budget.attempts, "At most so many submissions")
      ->check(Whole(1, kMostCount));
  command.add_option("--model-calls", options.budget.model_calls, "At most so many model calls")
      ->check(Whole(1, kMostCount));
  command.add_option("--tokens", options.budget.tokens, "At most so many tokens, in and out")
      ->check(Whole(1, kMostCount));
  command.add_option("--cost", options.budget.cost_usd, "At most so many US dollars")
      ->check(Within(1e-9, kMostCostUsd));
  command
      .add_option_function<double>(
          "--minutes", [&options](double minutes) { options.budget.wall_seconds = minutes * 60; },
          "At most so much time")
      ->check(Within(1e-6, kMostMinutes));
  command.add_option("--trial", options.trial, "Number of the trial (default: the next)")
      ->check(Whole(1, kMostTrials));
  command.add_flag("--resume", options.resume,
                   "Go on with the session that was interrupted (its trial, or the latest)");
  command.add_option("--runs", options.timed_runs, "Timed runs of an attempt, at least 10")
      ->check(Whole(10, 1'000'000))
      ->capture_default_str();
  command.add_option("--campaign", options.campaign, "Name under which it is stored")
      ->capture_default_str();
  command.add_option("--out", options.out, "Folder of results.sqlite, transcripts, workspaces")
      ->capture_default_str();
}

Result<void> CheckAgentName(const std::string& name) { return CheckName("agent's name", name, 96); }

Result<SessionSetup> PrepareSession(const SessionOptions& options, const std::string& agent,
                                    const std::string& workflow) {
  SZARENA_TRY_VOID(CheckName("campaign's name", options.campaign, 64));
  SZARENA_TRY_VOID(CheckAgentName(agent));
  SessionSetup setup;
  SZARENA_TRY(setup.root, task::FindRoot());
  SZARENA_TRY(setup.task, task::LoadTask(setup.root, options.task));
  SZARENA_TRY(setup.target, task::ParseTarget(options.target));
  SZARENA_TRY(setup.source, task::ParseSource(options.source));
  SZARENA_TRY(const task::Tier tier, task::ParseTier(options.tier));
  SZARENA_TRY(setup.judging, OptionsFor(setup.task, setup.target));
  setup.judging.trials = options.timed_runs;

  agent::SessionPlan& plan = setup.plan;
  plan.timed_runs = options.timed_runs;
  plan.key = {.campaign = options.campaign,
              .task = setup.task.name,
              .target = options.target,
              .source = options.source,
              .tier = options.tier,
              .agent = agent,
              .workflow = workflow,
              .trial = options.trial};
  SZARENA_TRY(plan.prompt,
              task::ComposePrompt(setup.root, setup.task, setup.target, tier, setup.source));
  plan.description = DescribeTask(setup.task, setup.target);
  SZARENA_TRY(auto references,
              task::LoadReferences(setup.root, setup.task, setup.target, setup.source));
  for (task::ReferenceText& reference : references) {
    plan.references.push_back(
        {std::move(reference.name), std::move(reference.title), std::move(reference.text)});
  }
  plan.out_dir = options.out;
  plan.budget = options.budget;
  plan.resume = options.resume;

  std::error_code fault;
  std::filesystem::create_directories(options.out, fault);
  if (fault) {
    return Fail(ErrorCode::kIo,
                fmt::format("cannot make folder '{}': {}", options.out, fault.message()));
  }
  setup.results = (std::filesystem::path(options.out) / "results.sqlite").string();
  return setup;
}

Result<store::Store> OpenResults(SessionSetup& setup) {
  SZARENA_TRY(store::Store store, store::Store::Open(setup.results));
  store::SessionKey& key = setup.plan.key;
  // Single sessions have no plan of which some could be missing.
  SZARENA_TRY_VOID(store.NeedCampaign({key.campaign, UtcNow(), true, DescribeEnvironment()}));
  if (key.trial == 0) {
    SZARENA_TRY(key.trial, ChooseTrial(store, key, setup.plan.resume));
  }
  return store;
}

data::Json DescribeTask(const task::Task& task, task::Target target) {
  data::Json fields = data::Json::MakeArray();
  for (const task::PublicField& field : task.fields) fields.Append(field.name);
  return data::Json::Of({{"task", task.name},
                         {"target", task::TargetName(target)},
                         {"summary", task.summary},
                         {"description", task.description},
                         {"public_fields", std::move(fields)}});
}

}  // namespace szarena::app
