// SPDX-License-Identifier: Apache-2.0
// The table of agents.
#include "app/agents.h"

#include <fmt/format.h>

#include "agent/ladder.h"
#include "app/run_agent.h"

namespace szarena::app {

Result<std::string> WorkflowFor(const AgentOptions& options) {
  if (options.agent != "ladder") {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("there is no agent '{}'; expected 'ladder'", options.agent));
  }
  if (!options.workflow.empty() && options.workflow != "scripted") {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("agent '{}' has workflow 'scripted' only, not '{}'", options.agent,
                            options.workflow));
  }
  return "scripted";
}

Result<MadeAgent> MakeAgent(const AgentOptions& /*options*/, const SessionSetup& setup) {
  SZARENA_TRY(auto steps, LoadLadder(setup.task, setup.target));
  const size_t count = steps.size();
  return MadeAgent{std::make_unique<agent::LadderAgent>(std::move(steps)), nullptr, count};
}

}  // namespace szarena::app
