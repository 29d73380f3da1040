// SPDX-License-Identifier: Apache-2.0
// The tools of one session. Defined once; every kind of agent calls them through here.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "agent/budget.h"
#include "agent/judge_port.h"
#include "agent/transcript.h"
#include "agent/workspace.h"
#include "base/error.h"
#include "data/json.h"
#include "store/store.h"

namespace szarena::agent {

// What a call gives back: structured content and the same as short text. `ok` false: the caller
// made a mistake (or the budget is used up) and can read why; the session goes on.
struct ToolResult {
  bool ok = true;
  data::Json content;
  std::string text;
};

class Toolbox;

struct Tool {
  std::string_view name;
  std::string_view description;   // as a model reads it
  std::string_view input_schema;  // JSON Schema (draft-07) of the arguments
  Result<ToolResult> (*run)(Toolbox& toolbox, const data::Json& arguments);
};

// Every tool, in the order in which agents see them.
std::span<const Tool> AllTools();

// What the tools work with. References must outlive the toolbox.
struct ToolboxContext {
  data::Json description;  // result of describe_task
  Workspace workspace;
  JudgePort& judge;
  Transcript& transcript;
  Budget budget;
  std::stop_token stop;
  // Stores an attempt; called once for each submit.
  std::function<Result<void>(const store::Attempt&)> record;
  // Told before each call; for progress.
  std::function<void(std::string_view tool)> on_call;
};

// Used by one thread.
class Toolbox {
 public:
  explicit Toolbox(ToolboxContext context);

  // Runs a tool; call and result go to the transcript. An Error ends the session: the environment
  // lacks something, the disk is full, or somebody asked to stop (kCancelled).
  Result<ToolResult> Call(std::string_view name, const data::Json& arguments);

  // Once a limit is reached, builds, tests, benchmarks and submissions are refused.
  bool BudgetUsed() const { return meter_.Reached().has_value(); }
  Meter& meter() { return meter_; }
  const Meter& meter() const { return meter_; }
  // True once the agent handed in with "final": true.
  bool final_submitted() const { return final_submitted_; }
  const std::vector<store::Attempt>& attempts() const { return attempts_; }

  // For the tools themselves.
  ToolboxContext& context() { return context_; }
  Result<judge::Verdict> Judge(Depth depth);
  Result<void> AddAttempt(store::Attempt attempt);
  void MarkFinal() { final_submitted_ = true; }

 private:
  ToolboxContext context_;
  std::vector<store::Attempt> attempts_;
  Meter meter_;
  bool final_submitted_ = false;
};

// A refusal that the agent reads.
ToolResult Refused(std::string message);

}  // namespace szarena::agent
