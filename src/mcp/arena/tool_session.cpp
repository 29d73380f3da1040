// SPDX-License-Identifier: Apache-2.0
#include "mcp/arena/tool_session.h"

#include <fmt/format.h>

namespace szarena::mcp {

using std::chrono::steady_clock;

Result<agent::AgentEnd> RemoteAgent::Run(const std::string& /*prompt*/, agent::Toolbox& toolbox) {
  constexpr std::chrono::milliseconds kSlice{100};
  toolbox.context().default_wait = kCallWait;
  std::unique_lock lock(mutex_);
  toolbox_ = &toolbox;
  last_call_ = steady_clock::now();
  changed_.notify_all();
  agent::AgentEnd end;
  for (;;) {
    const bool any = !toolbox.attempts().empty();
    const auto silence = steady_clock::now() - last_call_;
    if (toolbox.context().stop.stop_requested()) {
      ended_ = "the server was stopped";
      break;
    }
    if (toolbox.final_submitted()) {
      end = {store::StopReason::kSubmitted, "a final attempt was handed in"};
    } else if (closed_) {
      end = {any ? store::StopReason::kSubmitted : store::StopReason::kGaveUp, "the client left"};
    } else if (const auto limit = toolbox.meter().Reached()) {
      end = {store::StopReason::kBudget, *limit};
    } else if (calling_ == 0 && silence > idle_limit_) {
      end = {any ? store::StopReason::kSubmitted : store::StopReason::kGaveUp,
             fmt::format("nothing was called for {} s", idle_limit_.count())};
    }
    // A client that has used its budget up may still read what it got, until it leaves.
    const bool lingers = end.reason == store::StopReason::kBudget && silence < kCallWait;
    if (!end.detail.empty() && calling_ == 0 && !lingers) {
      ended_ = end.detail;
      break;
    }
    changed_.wait_for(lock, kSlice);
  }
  changed_.wait(lock, [&] { return calling_ == 0; });
  toolbox_ = nullptr;
  if (end.detail.empty()) return Fail(ErrorCode::kCancelled, "stopped on request");
  return end;
}

Result<agent::ToolResult> RemoteAgent::Call(std::string_view tool, const data::Json& arguments,
                                            const agent::JudgeHooks& hooks) {
  agent::Toolbox* toolbox = nullptr;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return toolbox_ != nullptr || !ended_.empty(); });
    if (!ended_.empty()) return Fail(ErrorCode::kCancelled, "the session is over: " + ended_);
    toolbox = toolbox_;
    ++calling_;
  }
  auto result = toolbox->Call(tool, arguments, hooks);
  const std::lock_guard lock(mutex_);
  --calling_;
  last_call_ = steady_clock::now();
  changed_.notify_all();
  return result;
}

void RemoteAgent::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void RemoteAgent::Ended(std::string why) {
  const std::lock_guard lock(mutex_);
  if (ended_.empty()) ended_ = std::move(why);
  changed_.notify_all();
}

BackgroundSession::BackgroundSession(data::Json identity, std::chrono::seconds idle_limit,
                                     RunSession run)
    : agent_(std::move(identity), idle_limit) {
  thread_ = std::thread([this, run = std::move(run)] {
    const Result<void> result = run(agent_);
    agent_.Ended(result ? "it has ended" : result.error().ToString());
  });
}

BackgroundSession::~BackgroundSession() {
  agent_.Close();
  thread_.join();
}

}  // namespace szarena::mcp
