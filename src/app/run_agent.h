// SPDX-License-Identifier: Apache-2.0
// Runs a session of any agent with the real judge, and tells on the terminal how it goes.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/ladder.h"
#include "app/session_setup.h"
#include "base/error.h"
#include "store/store.h"
#include "term/progress.h"

namespace szarena::app {

struct RunOptions {
  size_t steps = 0;                   // how many attempts there will be; 0: nobody knows
  agent::JudgePort* judge = nullptr;  // instead of the real one
};

// Lines of progress say what each attempt gave.
Result<agent::SessionOutcome> RunAgent(const SessionSetup& setup, agent::Agent& agent,
                                       const RunOptions& options, store::Store& store,
                                       term::Progress& progress, const std::stop_token& stop);

// The steps of a task's ladder. kNotFound where the target has none.
Result<std::vector<agent::LadderStep>> LoadLadder(const task::Task& task, task::Target target);

// SHA-256 over names and contents of every step's files: which ladder it was.
Result<std::string> LadderHash(const std::vector<agent::LadderStep>& steps);

}  // namespace szarena::app
