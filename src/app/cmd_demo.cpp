// SPDX-License-Identifier: Apache-2.0
// szarena demo: a whole small campaign on this machine, with no key, no GPU, no SDK, and its
// report.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "app/commands.h"
#include "app/environment.h"
#include "app/judging.h"
#include "app/run_agent.h"
#include "app/stop_signals.h"
#include "base/utc.h"
#include "report/write.h"
#include "sandbox/sandbox.h"
#include "term/style.h"

namespace szarena::app {
namespace fs = std::filesystem;
namespace {

constexpr const char* kTasks[] = {"szp", "szx"};
constexpr task::Target kTargets[] = {task::Target::kCpu, task::Target::kCerebras};

struct Ladder {
  task::Task task;
  task::Target target = task::Target::kCpu;
  std::vector<agent::LadderStep> steps;
};

Result<std::vector<Ladder>> LoadLadders() {
  SZARENA_TRY(const std::string root, task::FindRoot());
  std::vector<Ladder> ladders;
  for (const task::Target target : kTargets) {
    for (const char* name : kTasks) {
      SZARENA_TRY(task::Task task, task::LoadTask(root, name));
      const auto info = task.targets.find(target);
      if (info == task.targets.end() || info->second.ladder.empty()) continue;
      SZARENA_TRY(std::vector<agent::LadderStep> steps, LoadLadder(task, target));
      ladders.push_back({std::move(task), target, std::move(steps)});
    }
  }
  return ladders;
}

// Everything that must be equal for figures of two runs to stand in one campaign.
Result<data::Json> Environment(const std::vector<Ladder>& ladders) {
  data::Json environment = DescribeEnvironment();
  SZARENA_TRY(const sandbox::Sandbox sandbox, sandbox::Sandbox::Probe());
  environment.Set("sandbox", sandbox.description());
  for (const Ladder& ladder : ladders) {
    SZARENA_TRY(const std::string hash, LadderHash(ladder.steps));
    environment.Set(fmt::format("ladder {} {}", ladder.task.name, task::TargetName(ladder.target)),
                    fmt::format("{} steps, sha256 {:.16}", ladder.steps.size(), hash));
  }
  return environment;
}

// The unfinished campaign that an earlier demo on the same machine with the same files left, or a
// new one.
Result<store::Campaign> ResumeOrBegin(store::Store& store, const data::Json& environment,
                                      term::Progress& progress) {
  SZARENA_TRY(const auto campaigns, store.Campaigns());
  if (!campaigns.empty() && !campaigns.back().complete &&
      campaigns.back().environment == environment) {
    progress.Line(fmt::format("going on with the unfinished campaign '{}'", campaigns.back().name));
    return campaigns.back();
  }
  store::Campaign campaign;
  campaign.created_at = UtcNow();
  campaign.name = "demo " + campaign.created_at.substr(0, 19);
  campaign.environment = environment;
  SZARENA_TRY_VOID(store.AddCampaign(campaign));
  return campaign;
}

Result<void> RunSessions(const std::vector<Ladder>& ladders, const std::string& campaign,
                         const std::string& out, store::Store& store, term::Progress& progress,
                         const std::stop_token& stop) {
  for (const Ladder& ladder : ladders) {
    SessionSetup setup;
    setup.task = ladder.task;
    setup.target = ladder.target;
    SZARENA_TRY(setup.judging, OptionsFor(ladder.task, ladder.target));
    setup.plan.out_dir = out;
    setup.plan.description = DescribeTask(ladder.task, ladder.target);
    setup.plan.key = {.campaign = campaign,
                      .task = ladder.task.name,
                      .target = std::string(task::TargetName(ladder.target)),
                      .source = "none",
                      .tier = "none",
                      .agent = "ladder",
                      .workflow = "scripted",
                      .trial = 1};
    SZARENA_TRY(const auto earlier, store.FindSession(setup.plan.key));
    if (earlier && earlier->stop == store::StopReason::kSubmitted) {
      progress.Line(setup.plan.key.Title() + ": done before");
      continue;
    }
    agent::LadderAgent agent(ladder.steps);
    SZARENA_TRY_VOID(RunAgent(setup, agent, {ladder.steps.size(), nullptr}, store, progress, stop));
  }
  return store.CompleteCampaign(campaign);
}

// What the report says at its top, for the terminal.
void PrintResult(const report::Model& model, const std::string& page, bool as_json) {
  if (as_json) {
    fmt::print("{}\n",
               data::Json::Of({{"report", page},
                               {"campaign", model.campaign.name},
                               {"sessions", static_cast<int64_t>(report::SessionCount(model))},
                               {"warnings", static_cast<int64_t>(model.warnings.size())}})
                   .Dump(2));
    return;
  }
  for (const report::SessionView& view : model.sessions) {
    const auto ranked = std::count_if(view.steps.begin(), view.steps.end(),
                                      [](const report::Step& step) { return step.ranked; });
    fmt::print("{}: {} of {} steps ranked\n", view.title, ranked, view.steps.size());
  }
  if (!model.warnings.empty()) fmt::print("{} warnings in the report\n", model.warnings.size());
  fmt::print("report: {}\n", page);
}

Result<ExitCode> Demo(const std::string& out, bool as_json) {
  std::error_code fault;
  fs::create_directories(out, fault);
  if (fault)
    return Fail(ErrorCode::kIo, fmt::format("cannot make folder '{}': {}", out, fault.message()));
  const StopSignals signals;
  term::Progress progress(stderr, term::IsTerminal(stderr));
  SZARENA_TRY(const std::vector<Ladder> ladders, LoadLadders());
  SZARENA_TRY(const data::Json environment, Environment(ladders));
  SZARENA_TRY(store::Store store, store::Store::Open((fs::path(out) / "results.sqlite").string()));
  SZARENA_TRY(const store::Campaign campaign, ResumeOrBegin(store, environment, progress));
  SZARENA_TRY_VOID(RunSessions(ladders, campaign.name, out, store, progress, signals.token()));
  progress.Wipe();
  SZARENA_TRY(const report::Model model,
              report::BuildModel(store, campaign.name, ProgramVersion()));
  SZARENA_TRY(const auto paths, report::WriteReport(model, (fs::path(out) / "report").string()));
  PrintResult(model, fs::absolute(paths.front()).lexically_normal().string(), as_json);
  return ExitCode::kDone;
}

}  // namespace

void AddDemo(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "demo",
      "A whole small campaign on this machine, with no key, no GPU, no SDK, and its report");
  auto out = std::make_shared<std::string>("demo");
  auto as_json = std::make_shared<bool>(false);
  command->add_option("--out", *out, "Folder for results and report")->capture_default_str();
  command->add_flag("--json", *as_json, "Print the outcome as JSON");
  command->footer("Interrupted, it keeps what it has; the next run goes on there.");
  command->callback(
      [&action, out, as_json] { action = [out, as_json] { return Demo(*out, *as_json); }; });
}

}  // namespace szarena::app
