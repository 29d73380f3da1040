// SPDX-License-Identifier: Apache-2.0
// A session whose agent is somebody else: calls of tools come from other threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "agent/agent.h"
#include "agent/toolbox.h"
#include "base/error.h"
#include "data/json.h"

namespace szarena::mcp {

// What the server calls. May be used by several threads. Destroying it ends the session.
class ToolSession {
 public:
  ToolSession() = default;
  ToolSession(const ToolSession&) = delete;
  ToolSession& operator=(const ToolSession&) = delete;
  virtual ~ToolSession() = default;
  // As Toolbox::Call; kCancelled once the session is over.
  virtual Result<agent::ToolResult> Call(std::string_view tool, const data::Json& arguments,
                                         const agent::JudgeHooks& hooks) = 0;
};

// How long a call waits for a job where its arguments do not say: below the 60 s after which the
// most impatient client known gives a call up.
inline constexpr std::chrono::seconds kCallWait{45};

// The tools of a toolbox that lives elsewhere and longer.
class ToolboxSession : public ToolSession {
 public:
  explicit ToolboxSession(agent::Toolbox& toolbox) : toolbox_(toolbox) {
    toolbox.context().default_wait = kCallWait;
  }
  Result<agent::ToolResult> Call(std::string_view tool, const data::Json& arguments,
                                 const agent::JudgeHooks& hooks) override {
    return toolbox_.Call(tool, arguments, hooks);
  }

 private:
  agent::Toolbox& toolbox_;
};

// An agent that only waits: for calls, for their end ("final", Close), for the budget's, or until
// nothing was called for `idle_limit`.
class RemoteAgent : public agent::Agent, public ToolSession {
 public:
  RemoteAgent(data::Json identity, std::chrono::seconds idle_limit)
      : identity_(std::move(identity)), idle_limit_(idle_limit) {}

  data::Json Identity() const override { return identity_; }
  agent::Resuming resuming() const override { return agent::Resuming::kNext; }
  Result<agent::AgentEnd> Run(const std::string& prompt, agent::Toolbox& toolbox) override;

  // Waits for Run to begin.
  Result<agent::ToolResult> Call(std::string_view tool, const data::Json& arguments,
                                 const agent::JudgeHooks& hooks) override;
  // The client has left; Run returns.
  void Close();
  // Run will not be called (any more): calls are refused with `why`.
  void Ended(std::string why);

 private:
  const data::Json identity_;
  const std::chrono::seconds idle_limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  agent::Toolbox* toolbox_ = nullptr;  // while Run runs
  int calling_ = 0;
  bool closed_ = false;
  std::string ended_;  // why, once it is over
  std::chrono::steady_clock::time_point last_call_;
};

// A RemoteAgent with the thread that runs its session. `run` is called in that thread and returns
// when the agent's Run has returned and everything is stored.
class BackgroundSession : public ToolSession {
 public:
  using RunSession = std::function<Result<void>(agent::Agent& agent)>;
  BackgroundSession(data::Json identity, std::chrono::seconds idle_limit, RunSession run);
  ~BackgroundSession() override;
  Result<agent::ToolResult> Call(std::string_view tool, const data::Json& arguments,
                                 const agent::JudgeHooks& hooks) override {
    return agent_.Call(tool, arguments, hooks);
  }

 private:
  RemoteAgent agent_;
  std::thread thread_;
};

}  // namespace szarena::mcp
