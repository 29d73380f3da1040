// SPDX-License-Identifier: Apache-2.0
// Agent programs by the names that the command line and campaigns give them.
#pragma once

#include <string>

#include "app/agents.h"
#include "app/session_setup.h"
#include "base/error.h"

namespace szarena::app {

// "codex", "gemini", "claude", "opencode", or "command:…".
bool NamesProgram(const std::string& agent);
std::string ProgramAgentNames();  // for error texts

// Its one workflow, which may also be named.
Result<std::string> ProgramWorkflow(const AgentOptions& options);

// kUnavailable: the program is not installed (says how to), or its service's key is missing.
Result<MadeAgent> MakeProgramAgent(const AgentOptions& options, const SessionSetup& setup);

}  // namespace szarena::app
