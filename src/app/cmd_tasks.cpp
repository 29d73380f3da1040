// SPDX-License-Identifier: Apache-2.0
// szarena tasks, new-task, new-candidate: tasks, their prompts, and new ones from templates.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "app/commands.h"
#include "task/listing.h"
#include "task/prompt.h"
#include "task/scaffold.h"
#include "task/task.h"

namespace szarena::app {
namespace {

struct TasksOptions {
  std::string task;
  std::string target;
  std::string tier;
  std::string source = "none";
  std::string workflow;
  bool json = false;
};

// The words that a workflow adds to every prompt.
Result<ExitCode> PrintWorkflow(const std::string& root, const TasksOptions& options) {
  SZARENA_TRY(const auto words, task::LoadWorkflowWords(root, options.workflow));
  data::Json json = data::Json::MakeObject();
  for (const auto& [name, text] : words) {
    json.Set(name, text);
    if (!options.json) fmt::print("### {}\n\n{}\n", name, text);
  }
  if (options.json) fmt::print("{}\n", json.Dump(2));
  return ExitCode::kDone;
}

Result<ExitCode> PrintAll(const std::string& root, bool json) {
  SZARENA_TRY(const std::vector<std::string> names, task::ListTasks(root));
  data::Json list = data::Json::MakeArray();
  for (const std::string& name : names) {
    SZARENA_TRY(const task::Task one, task::LoadTask(root, name));
    if (json) {
      list.Append(task::TaskJson(one));
    } else {
      fmt::print("{:14} {}\n", name, one.summary);
    }
  }
  if (json) fmt::print("{}\n", data::Json::Of({{"tasks", list}}).Dump(2));
  return ExitCode::kDone;
}

Result<ExitCode> PrintTasks(const TasksOptions& options) {
  SZARENA_TRY(const std::string root, task::FindRoot());
  if (!options.workflow.empty()) return PrintWorkflow(root, options);
  if (options.task.empty()) {
    if (!options.target.empty() || !options.tier.empty()) {
      return Fail(ErrorCode::kInvalidArgument,
                  "a prompt needs a task: expected szarena tasks TASK");
    }
    return PrintAll(root, options.json);
  }
  SZARENA_TRY(const task::Task one, task::LoadTask(root, options.task));
  if (options.target.empty() && options.tier.empty()) {
    fmt::print("{}\n", options.json ? task::TaskJson(one).Dump(2) : task::TaskText(one));
    return ExitCode::kDone;
  }
  if (options.target.empty() || options.tier.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "a prompt needs both --target and --tier");
  }
  SZARENA_TRY(const task::Target target, task::ParseTarget(options.target));
  SZARENA_TRY(const task::Tier tier, task::ParseTier(options.tier));
  SZARENA_TRY(const task::Source source, task::ParseSource(options.source));
  SZARENA_TRY(const std::string prompt, task::ComposePrompt(root, one, target, tier, source));
  if (options.json) {
    fmt::print("{}\n", data::Json::Of({{"task", one.name},
                                       {"target", options.target},
                                       {"tier", options.tier},
                                       {"source", options.source},
                                       {"sha256", task::PromptHash(prompt)},
                                       {"prompt", prompt}})
                           .Dump(2));
  } else {
    fmt::print("{}", prompt);
  }
  return ExitCode::kDone;
}

struct CandidateOptions {
  std::string task, target, directory;
  std::string source = "none";
};

Result<ExitCode> MakeCandidate(const CandidateOptions& options) {
  SZARENA_TRY(const std::string root, task::FindRoot());
  SZARENA_TRY(const task::Task one, task::LoadTask(root, options.task));
  SZARENA_TRY(const task::Target target, task::ParseTarget(options.target));
  SZARENA_TRY(const task::Source source, task::ParseSource(options.source));
  SZARENA_TRY_VOID(task::NewCandidate(root, one, target, source, options.directory));
  fmt::print("{}\n", options.directory);
  return ExitCode::kDone;
}

Result<ExitCode> MakeTask(const std::string& name) {
  SZARENA_TRY(const std::string root, task::FindRoot());
  SZARENA_TRY(const std::string folder, task::NewTask(root, name));
  fmt::print("{}\n", folder);
  return ExitCode::kDone;
}

}  // namespace

void AddTasks(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("tasks",
                                     "Tasks, targets, tiers; with --target and --tier the "
                                     "prompt exactly as an agent gets it");
  auto options = std::make_shared<TasksOptions>();
  command->add_option("task", options->task, "Show this task");
  command->add_option("--target", options->target, "cpu, cuda or cerebras");
  command->add_option("--tier", options->tier, "user, knowledgeable or expert");
  command->add_option("--source", options->source, "What the agent starts from: none, cpu or cuda");
  command->add_option("--workflow", options->workflow,
                      "The words that this workflow adds for a model");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([&action, options] { action = [options] { return PrintTasks(*options); }; });
}

void AddNewTask(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("new-task", "Start a task from a template");
  auto name = std::make_shared<std::string>();
  command->add_option("name", *name, "Lower-case letters, digits, hyphens")->required();
  command->callback([&action, name] { action = [name] { return MakeTask(*name); }; });
}

void AddNewCandidate(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("new-candidate", "Start a candidate: a stub or the source to start from");
  auto options = std::make_shared<CandidateOptions>();
  command->add_option("directory", options->directory, "Absent or empty")->required();
  command->add_option("--task", options->task, "Task")->required();
  command->add_option("--target", options->target, "cpu, cuda or cerebras")->required();
  command->add_option("--source", options->source, "none, cpu or cuda");
  command->callback([&action, options] { action = [options] { return MakeCandidate(*options); }; });
}

}  // namespace szarena::app
