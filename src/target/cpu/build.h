// SPDX-License-Identifier: Apache-2.0
// Compiles a CPU candidate into a shared library, inside the sandbox.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/error.h"
#include "sandbox/sandbox.h"
#include "target/candidate.h"

namespace szarena::target::cpu {

struct BuildResult {
  bool ok = false;
  std::string library;  // bytes of the shared library, where ok
  std::string log;      // what the compiler said, cut to the useful part
  std::string reason;   // one line, where not ok
  double seconds = 0;
};

// The compiler and its arguments but for files, as documented in docs/contracts/cpu.md.
std::vector<std::string> CompileLine();

// Compiles every .c, .cc, .cpp and .cxx file of the candidate together. An Error means that the environment lacks something
// (no compiler) or our own fault; sources that do not compile are a result.
Result<BuildResult> Build(const sandbox::Sandbox& sandbox, const Candidate& candidate,
                          std::chrono::milliseconds timeout = std::chrono::seconds(90));

}  // namespace szarena::target::cpu
