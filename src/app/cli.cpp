// SPDX-License-Identifier: Apache-2.0
// The list of subcommands and how the chosen one is run.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "app/commands.h"
#include "term/printable.h"

namespace szarena::app {

int RunCli(int argc, const char* const* argv) {
  CLI::App app{
      "Measures how well coding agents translate and optimise error-bounded lossy compressors, "
      "and proves what it reports."};
  app.name("szarena");
  app.set_version_flag("--version", "szarena " SZARENA_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 done, 1 the candidate failed, 2 bad usage, 3 the environment lacks "
      "something, 4 internal error.");

  Action action;
  AddDoctor(app, action);
  AddDemo(app, action);
  AddEvaluate(app, action);
  AddSession(app, action);
  AddMcp(app, action);
  AddReport(app, action);
  AddReplay(app, action);
  AddTranscript(app, action);
  AddTasks(app, action);
  AddTool(app, action);
  AddNewTask(app, action);
  AddNewCandidate(app, action);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int status = app.exit(error);  // prints help, version or the fault
    return status == 0 ? 0 : static_cast<int>(ExitCode::kBadUsage);
  }
  const Result<ExitCode> result = action();
  if (result) return static_cast<int>(*result);
  std::fprintf(stderr, "szarena: %s\n", term::Printable(result.error().ToString()).c_str());
  return static_cast<int>(ExitCodeFor(result.error().code));
}

}  // namespace szarena::app
