// SPDX-License-Identifier: Apache-2.0
// Sessions of the scripted ladder agent, for the commands that run them.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "agent/ladder.h"
#include "agent/session_runner.h"
#include "base/error.h"
#include "judge/evaluate.h"
#include "store/store.h"
#include "task/task.h"
#include "term/progress.h"

namespace szarena::app {

struct LadderSession {
  task::Task task;
  store::SessionKey key;  // agent "ladder", workflow "scripted"
  std::string prompt;     // recorded; the ladder agent does not read it
  std::string out_dir;    // the results file's folder
  agent::Budget budget;
  judge::EvaluateOptions options;  // from OptionsFor
};

// The steps of a task's ladder. kNotFound where the target has none.
Result<std::vector<agent::LadderStep>> LoadLadder(const task::Task& task, task::Target target);

// SHA-256 over names and contents of every step's files: which ladder it was.
Result<std::string> LadderHash(const std::vector<agent::LadderStep>& steps);

// Plays the steps as a session. Lines of progress say what each attempt gave.
Result<agent::SessionOutcome> RunLadder(const LadderSession& session,
                                        const std::vector<agent::LadderStep>& steps,
                                        store::Store& store, term::Progress& progress,
                                        const std::stop_token& stop);

}  // namespace szarena::app
