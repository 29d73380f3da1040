// SPDX-License-Identifier: Apache-2.0
// Between task files, sessions and the judge.
#include "app/judging.h"

#include "judge/cases.h"
#include "judge/profile.h"

namespace szarena::app {

Result<judge::EvaluateOptions> OptionsFor(const task::Task& task, task::Target target) {
  const auto info = task.targets.find(target);
  if (info == task.targets.end()) {
    return Fail(ErrorCode::kInvalidArgument, "task '" + task.name + "' has no target '" +
                                                 std::string(task::TargetName(target)) + "'");
  }
  judge::EvaluateOptions options;
  SZARENA_TRY(options.task, judge::SpecFromTask(task));
  options.target = task::TargetName(target);
  if (!info->second.baseline.empty()) options.baseline = info->second.baseline;
  return options;
}

SessionJudge::SessionJudge(judge::EvaluateOptions options)
    : options_(std::move(options)),
      hidden_seed_(options_.hidden_seed ? *options_.hidden_seed : judge::DrawSecretSeed()) {
  options_.hidden_seed = hidden_seed_;
}

Result<judge::Verdict> SessionJudge::Evaluate(const std::string& candidate_dir, agent::Depth depth,
                                              const agent::JudgeHooks& hooks) {
  judge::EvaluateOptions options = options_;
  options.candidate = candidate_dir;
  options.hidden = depth == agent::Depth::kSubmit;
  options.stop = hooks.stop;
  options.on_stage = [&](judge::Stage stage) {
    if (options_.on_stage) options_.on_stage(stage);
    if (hooks.on_stage) hooks.on_stage(stage);
  };
  switch (depth) {
    case agent::Depth::kBuild:
      options.until = judge::Stage::kBuilt;
      break;
    case agent::Depth::kTest:
      options.until = judge::Stage::kRatioOk;
      break;
    case agent::Depth::kBenchmark:
    case agent::Depth::kSubmit:
      options.until = judge::Stage::kMeasured;
      break;
  }
  SZARENA_TRY(judge::Evaluation evaluation, judge::Evaluate(options));
  return std::move(evaluation.verdict);
}

Result<agent::Profile> SessionJudge::Profile(const std::string& candidate_dir,
                                             const agent::JudgeHooks& hooks) {
  judge::EvaluateOptions options = options_;
  options.candidate = candidate_dir;
  options.stop = hooks.stop;
  options.on_stage = hooks.on_stage;
  SZARENA_TRY(judge::ProfileReport report, judge::ProfileCandidate(options));
  return agent::Profile{report.ok, std::move(report.content), std::move(report.text)};
}

}  // namespace szarena::app
