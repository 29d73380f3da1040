// SPDX-License-Identifier: Apache-2.0
// The subcommands of szarena, one AddX per cmd_x.cpp.
#pragma once

#include <functional>

#include "base/error.h"
#include "base/exit_code.h"

namespace CLI {
class App;
}

namespace szarena::app {

// What the chosen subcommand does. An Error is printed on stderr and mapped by ExitCodeFor.
using Action = std::function<Result<ExitCode>()>;

// Each adds its subcommand to `app`; when the user chooses it, it stores what to do in `action`.
void AddDemo(CLI::App& app, Action& action);
void AddDoctor(CLI::App& app, Action& action);
void AddEvaluate(CLI::App& app, Action& action);
void AddMcp(CLI::App& app, Action& action);
void AddReplay(CLI::App& app, Action& action);
void AddReport(CLI::App& app, Action& action);
void AddSession(CLI::App& app, Action& action);
void AddTranscript(CLI::App& app, Action& action);
void AddTasks(CLI::App& app, Action& action);
void AddTool(CLI::App& app, Action& action);
void AddNewTask(CLI::App& app, Action& action);
void AddNewCandidate(CLI::App& app, Action& action);

// Parses the command line, runs the chosen action, prints its error. Returns the exit status.
int RunCli(int argc, const char* const* argv);

}  // namespace szarena::app
