// SPDX-License-Identifier: Apache-2.0
// One run of the compiler, from options to files. The process (arguments, streams, environment)
// stays with the caller.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/exit_code.h"
#include "bytecode/program.h"
#include "csl/driver/options.h"

namespace szarena::csl {

struct Outcome {
  ExitCode exit = ExitCode::kDone;
  std::optional<bytecode::Program> program;  // where the compilation had no errors
  std::string messages;                      // diagnostics, rendered; empty without any
  std::string printed;  // what --emit=ast|source|bytecode and --out-routes ask for
};

// Compiles `options.input`. `import_dirs` is CSL_IMPORT_PATH. Writes no files.
Outcome Compile(const Options& options, const std::vector<std::string>& import_dirs);

// The directories of a colon separated list.
std::vector<std::string> SplitPathList(const std::string& list);

}  // namespace szarena::csl
