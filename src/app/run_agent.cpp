// SPDX-License-Identifier: Apache-2.0
// Wires agent, judge and store together, and tells how it goes.
#include "app/run_agent.h"

#include <fmt/format.h>

#include <filesystem>

#include "app/judging.h"
#include "app/session_setup.h"
#include "data/sha256.h"
#include "term/printable.h"

namespace szarena::app {
namespace {

// "compress 1.23 GB/s (0.41 of baseline)" for each direction; why, where it is not ranked.
std::string AttemptLine(const store::Attempt& attempt, size_t step_count) {
  const judge::Verdict& verdict = attempt.verdict;
  const std::string number = step_count > 0 ? fmt::format("{}/{}", attempt.number, step_count)
                                            : std::to_string(attempt.number);
  std::string line = fmt::format("  {} {:24}", number, attempt.label);
  if (const auto failed = verdict.Failed()) {
    return line + fmt::format(" failed at '{}': {}", judge::StageName(*failed),
                              verdict.at(*failed).detail);
  }
  for (size_t d = 0; d < verdict.directions.size(); ++d) {
    const judge::DirectionResult& direction = verdict.directions[d];
    const judge::Figure* const figure = judge::ShownFigure(direction.candidate);
    if (figure == nullptr) continue;
    line +=
        fmt::format(" {} {}", judge::DirectionName(verdict.task, static_cast<judge::Direction>(d)),
                    judge::RateText(figure->median, direction.candidate->basis));
    if (direction.speedup) line += fmt::format(" ({:.2f} of baseline)", direction.speedup->median);
  }
  if (verdict.HasCheatFlag()) line += " flagged";
  return line;
}

}  // namespace

Result<std::vector<agent::LadderStep>> LoadLadder(const task::Task& task, task::Target target) {
  const auto info = task.targets.find(target);
  if (info == task.targets.end() || info->second.ladder.empty()) {
    return Fail(
        ErrorCode::kNotFound,
        fmt::format("task '{}' has no ladder for target '{}' (tasks/{}/ladder/{}/)", task.name,
                    task::TargetName(target), task.name, task::TargetName(target)));
  }
  std::vector<agent::LadderStep> steps;
  for (const std::string& directory : info->second.ladder) {
    SZARENA_TRY(const task::LadderStep step, task::LoadLadderStep(directory));
    steps.push_back({std::filesystem::path(directory).filename().string(), step.idea, directory});
  }
  return steps;
}

Result<std::string> LadderHash(const std::vector<agent::LadderStep>& steps) {
  std::string all;
  for (const agent::LadderStep& step : steps) {
    const agent::Workspace folder(step.directory);
    SZARENA_TRY(const auto files, folder.List());
    for (const agent::WorkspaceFile& file : files) {
      SZARENA_TRY(const std::string text, folder.Read(file.path));
      all += fmt::format("{}/{} {}\n", step.label, file.path, data::Sha256Hex(text));
    }
  }
  return data::Sha256Hex(all);
}

Result<agent::SessionOutcome> RunAgent(const SessionSetup& setup, agent::Agent& agent,
                                       const RunOptions& options, store::Store& store,
                                       term::Progress& progress, const std::stop_token& stop) {
  size_t done = 0;
  std::string doing;
  judge::EvaluateOptions judging = setup.judging;
  judging.on_stage = [&](judge::Stage stage) {
    progress.Show(fmt::format("  {} {}: {} ...", done + 1, doing, judge::StageName(stage)));
  };
  agent::SessionPlan plan = setup.plan;
  if (plan.resume) {
    SZARENA_TRY(const auto earlier, store.FindSession(plan.key));
    if (earlier) judging.hidden_seed = earlier->hidden_seed;
  }
  SessionJudge judge(std::move(judging));
  if (!options.judge) plan.hidden_seed = judge.hidden_seed();

  agent::SessionObserver observer;
  observer.on_call = [&](std::string_view tool) {
    doing = term::Printable(tool);
    progress.Show(fmt::format("  {} {} ...", done + 1, doing));
  };
  observer.on_attempt = [&](const store::Attempt& attempt) {
    progress.Line(term::Printable(AttemptLine(attempt, options.steps)));
    ++done;
  };
  progress.Line(term::Printable(plan.key.Title()));
  agent::JudgePort& port = options.judge ? *options.judge : judge;
  return agent::RunSession(plan, agent, port, store, observer, stop);
}

}  // namespace szarena::app
