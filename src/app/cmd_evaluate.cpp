// SPDX-License-Identifier: Apache-2.0
// szarena evaluate: judges one candidate directory.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "app/commands.h"
#include "judge/evaluate.h"
#include "task/task.h"
#include "term/progress.h"
#include "term/style.h"
#include "term/table.h"

namespace szarena::app {
namespace {

struct Arguments {
  std::string task;
  std::string target = "cpu";
  std::string directory;
  std::string format = "strict";
  std::string baseline;
  bool no_baseline = false;
  bool as_json = false;
  int trials = 10;
  int threads = 0;
};

void PrintText(const judge::Verdict& verdict) {
  const bool colour = term::WantsColour(stdout);
  term::Table stages({{"stage"}, {"state"}, {"seconds"}, {"evidence"}});
  for (int i = 0; i < judge::kStageCount; ++i) {
    const judge::StageResult& result = verdict.stages[static_cast<size_t>(i)];
    const std::string_view name = judge::StageStatusName(result.status);
    const bool good = result.status == judge::StageStatus::kOk;
    const bool bad = result.status == judge::StageStatus::kFailed;
    stages.AddRow({std::string(judge::StageName(static_cast<judge::Stage>(i))),
                   good  ? term::Paint(name, term::Style::kGood, colour)
                   : bad ? term::Paint(name, term::Style::kWarning, colour)
                         : std::string(name),
                   result.seconds > 0 ? fmt::format("{:.2f}", result.seconds) : "", result.detail});
  }
  fmt::print("{}\n{}", stages.Text(), verdict.feedback);
  if (!verdict.measured_field.empty()) fmt::print("measured on {}\n", verdict.measured_field);
}

Result<ExitCode> Evaluate(const Arguments& arguments) {
  SZARENA_TRY(const std::string root, task::FindRoot());
  SZARENA_TRY(const task::Task task, task::LoadTask(root, arguments.task));
  SZARENA_TRY(const task::Target target, task::ParseTarget(arguments.target));
  judge::EvaluateOptions options;
  SZARENA_TRY(options.task, judge::SpecFromTask(task));
  options.target = arguments.target;
  options.candidate = arguments.directory;
  options.trials = arguments.trials;
  options.threads = arguments.threads;
  options.free_format = arguments.format == "free";
  if (!arguments.no_baseline) {
    const auto info = task.targets.find(target);
    if (!arguments.baseline.empty()) {
      options.baseline = arguments.baseline;
    } else if (info != task.targets.end() && !info->second.baseline.empty()) {
      options.baseline = info->second.baseline;
    }
  }
  term::Progress progress(stderr, term::IsTerminal(stderr));
  options.on_stage = [&](judge::Stage stage) {
    progress.Show(fmt::format("{} ...", judge::StageName(stage)));
  };
  SZARENA_TRY(const judge::Evaluation evaluation, judge::Evaluate(options));
  progress.Wipe();
  if (arguments.as_json) {
    fmt::print("{}\n", judge::VerdictToJson(evaluation.verdict).Dump(2));
  } else {
    PrintText(evaluation.verdict);
  }
  return evaluation.verdict.ranked() ? ExitCode::kDone : ExitCode::kCandidateFailed;
}

}  // namespace

void AddEvaluate(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("evaluate", "Judge one candidate directory");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("--task", arguments->task, "Task (szarena tasks lists them)")->required();
  command->add_option("--target", arguments->target, "cpu, cuda or cerebras")->capture_default_str();
  command->add_option("directory", arguments->directory, "The candidate's sources")->required();
  command->add_flag("--json", arguments->as_json, "Print the verdict as JSON (docs/verdict.schema.json)");
  command->add_option("--trials", arguments->trials, "Timed runs, at least 10")->capture_default_str();
  command->add_option("--format", arguments->format, "strict, or free: the candidate's own stream format, labelled so")
      ->check(CLI::IsMember({"strict", "free"}))
      ->capture_default_str();
  command->add_option("--threads", arguments->threads, "Threads the candidate may use; 0: one per processor")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--baseline", arguments->baseline, "Compare with this candidate instead of the task's baseline");
  command->add_flag("--no-baseline", arguments->no_baseline, "Measure the candidate alone");
  command->footer("Exit status 0: every stage holds and no cheat was flagged; 1: the candidate failed.");
  command->callback([&action, arguments] { action = [arguments] { return Evaluate(*arguments); }; });
}

}  // namespace szarena::app
