// SPDX-License-Identifier: Apache-2.0
// szarena evaluate: judges one candidate directory.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "app/commands.h"
#include "judge/cerebras.h"
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
  bool full = false;
  int trials = 10;
  int threads = 0;
  std::string variant = "auto";
  std::string toolchain = "ours";
  std::string arch = "wse2";
  std::string grid = "16x16";
  std::string bytes;
};

// "64MB" to bytes.
Result<uint64_t> ParseBytes(const std::string& text) {
  double value = 0;
  char unit[3] = {};
  char rest = 0;
  // NOLINTNEXTLINE(cert-err34-c): a wrong number fails the checks
  const int got = std::sscanf(text.c_str(), "%lf%2[A-Za-z]%c", &value, unit, &rest);
  const std::string_view name = unit;
  const double factor = name.empty() || name == "B" ? 1
                        : name == "kB"              ? 1e3
                        : name == "MB"              ? 1e6
                        : name == "GB"              ? 1e9
                                                    : 0;
  if (got < 1 || got > 2 || factor == 0 || !(value * factor >= 4) || value * factor > 8e9) {
    return Fail(ErrorCode::kInvalidArgument,
                "--bytes '" + text + "': expected a size as 1MB, from 4 B to 8 GB");
  }
  return static_cast<uint64_t>(value * factor);
}

// "750x994" to columns and rows.
Result<void> ParseGrid(const std::string& text, judge::WaferOptions& wafer) {
  char rest = 0;
  // NOLINTNEXTLINE(cert-err34-c): a wrong number fails the checks
  if (std::sscanf(text.c_str(), "%4dx%4d%c", &wafer.width, &wafer.height, &rest) != 2 ||
      wafer.width < 1 || wafer.height < 1) {
    return Fail(ErrorCode::kInvalidArgument,
                "--grid '" + text + "': expected WIDTHxHEIGHT in PEs, as 16x16");
  }
  const int most_x = wafer.wse3 ? 755 : 750;
  const int most_y = wafer.wse3 ? 1170 : 994;
  if (wafer.width > most_x || wafer.height > most_y) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("--grid '{}': the machine has {}x{} PEs for programs", text, most_x, most_y));
  }
  return {};
}

Result<judge::WaferOptions> ParseWafer(const Arguments& arguments) {
  using judge::WaferOptions;
  WaferOptions wafer;
  wafer.wse3 = arguments.arch == "wse3";
  wafer.toolchain =
      arguments.toolchain == "sdk" ? WaferOptions::Toolchain::kSdk : WaferOptions::Toolchain::kOurs;
  for (const auto variant : {WaferOptions::Variant::kResident, WaferOptions::Variant::kStreaming,
                             WaferOptions::Variant::kFreeHost}) {
    if (judge::VariantName(variant) == arguments.variant) wafer.variant = variant;
  }
  SZARENA_TRY_VOID(ParseGrid(arguments.grid, wafer));
  if (!arguments.bytes.empty()) {
    SZARENA_TRY(wafer.bytes, ParseBytes(arguments.bytes));
  }
  return wafer;
}

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
  options.full = arguments.full;
  SZARENA_TRY(options.wafer, ParseWafer(arguments));
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
  if (!evaluation.verdict.not_run.empty()) return ExitCode::kEnvironment;
  return evaluation.verdict.ranked() ? ExitCode::kDone : ExitCode::kCandidateFailed;
}

}  // namespace

void AddEvaluate(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("evaluate", "Judge one candidate directory");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("--task", arguments->task, "Task (szarena tasks lists them)")->required();
  command->add_option("--target", arguments->target, "cpu, cuda or cerebras")
      ->capture_default_str();
  command->add_option("directory", arguments->directory, "The candidate's sources")->required();
  command->add_flag("--json", arguments->as_json,
                    "Print the verdict as JSON (docs/verdict.schema.json)");
  command->add_flag("--full", arguments->full,
                    "cuda: compute-sanitizer watches the candidate, too");
  command->add_option("--trials", arguments->trials, "Timed runs, at least 10")
      ->capture_default_str();
  command
      ->add_option("--format", arguments->format,
                   "strict, or free: the candidate's own stream format, labelled so")
      ->check(CLI::IsMember({"strict", "free"}))
      ->capture_default_str();
  command
      ->add_option("--threads", arguments->threads,
                   "Threads the candidate may use; 0: one per processor")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--baseline", arguments->baseline,
                      "Compare with this candidate instead of the task's baseline");
  command->add_flag("--no-baseline", arguments->no_baseline, "Measure the candidate alone");
  command
      ->add_option("--variant", arguments->variant,
                   "Cerebras: contract; auto looks at the files (docs/contracts/cerebras.md)")
      ->check(CLI::IsMember({"auto", "resident", "streaming", "free-host"}))
      ->capture_default_str();
  command->add_option("--arch", arguments->arch, "Cerebras: machine")
      ->check(CLI::IsMember({"wse2", "wse3"}))
      ->capture_default_str();
  command
      ->add_option("--grid", arguments->grid, "Cerebras: columns and rows of PEs of the timed run")
      ->capture_default_str();
  command->add_option(
      "--bytes", arguments->bytes,
      "Cerebras: size of the timed data, as 64MB (default: what the grid does in some seconds)");
  command
      ->add_option("--toolchain", arguments->toolchain,
                   "Cerebras: our compiler and simulator, or the installed SDK's")
      ->check(CLI::IsMember({"ours", "sdk"}))
      ->capture_default_str();
  command->footer(
      "Exit status 0: every stage holds and no cheat was flagged; 1: the candidate failed.");
  command->callback(
      [&action, arguments] { action = [arguments] { return Evaluate(*arguments); }; });
}

}  // namespace szarena::app
