// SPDX-License-Identifier: Apache-2.0
// Agents by the names that the command line and campaigns give them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "agent/agent.h"
#include "agent/judge_port.h"
#include "agent/workflow/workflow.h"
#include "app/session_setup.h"
#include "base/error.h"

namespace szarena::app {

struct AgentOptions {
  std::string agent = "ladder";
  std::string workflow;  // empty: the agent's usual one
  agent::WorkflowSettings settings;
  std::string models;  // path of models.toml; empty: the usual one
  std::string model;   // of an agent program: "gpt-x" of its usual service, or "PROVIDER:MODEL"
};

struct MadeAgent {
  std::unique_ptr<agent::Agent> agent;
  std::unique_ptr<agent::JudgePort> judge;  // instead of the real one; usually none
  size_t steps = 0;                         // how many attempts it will make; 0: nobody knows
  bool calls_model = false;                 // it goes on until a budget ends it
};

// What a session gets that calls a model and was given no limit on calls, tokens, cost or time: the
// seed paper's.
inline constexpr int64_t kDefaultModelCalls = 100;

// The workflow's name as it stands in the session's key: known before anything is loaded.
// kInvalidArgument: no such agent or workflow.
Result<std::string> WorkflowFor(const AgentOptions& options);

// The agent's name as it stands in the session's key: with the model of a program, and a command
// without its arguments.
std::string KeyName(const AgentOptions& options);

// The agent for this session. kUnavailable: something it needs (a key, a program) is missing.
Result<MadeAgent> MakeAgent(const AgentOptions& options, const SessionSetup& setup);

}  // namespace szarena::app
