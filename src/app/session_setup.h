// SPDX-License-Identifier: Apache-2.0
// What the commands that run sessions share: their options, and what follows from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/session_runner.h"
#include "base/error.h"
#include "data/json.h"
#include "judge/evaluate.h"
#include "store/store.h"
#include "task/task.h"

namespace CLI {
class App;
}

namespace szarena::app {

struct SessionOptions {
  std::string task;
  std::string target = "cpu";
  std::string tier = "user";
  std::string source = "none";
  std::string out = "out";
  std::string campaign = "sessions";
  int64_t trial = 0;  // 0: the next
  int timed_runs = 10;
  bool resume = false;  // go on with the unfinished session
  agent::Budget budget;
};

// Adds --task, --target, --tier, --source, --out, --campaign, --trial, --runs and the budget
// (--resume, --attempts, --model-calls, --tokens, --cost, --minutes) to a command. `options` must
// outlive it.
void AddSessionOptions(CLI::App& command, SessionOptions& options);

struct SessionSetup {
  std::string root;  // of tasks/ and docs/
  task::Task task;
  task::Target target = task::Target::kCpu;
  task::Source source = task::Source::kNone;
  // Everything but the hidden seed; agent and workflow as given.
  agent::SessionPlan plan;
  judge::EvaluateOptions judging;
  std::string results;  // the results file's path; its folder exists
};

// Refuses (kInvalidArgument) a name that is empty or too long for the names of its files.
Result<void> CheckAgentName(const std::string& name);

Result<SessionSetup> PrepareSession(const SessionOptions& options, const std::string& agent,
                                    const std::string& workflow);

// Opens the results file, makes sure that the campaign is there, and settles the trial's number.
Result<store::Store> OpenResults(SessionSetup& setup);

// What an agent may know of the task: nothing of where our own solutions lie.
data::Json DescribeTask(const task::Task& task, task::Target target);

}  // namespace szarena::app
