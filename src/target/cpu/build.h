// SPDX-License-Identifier: Apache-2.0
// Compiles a CPU candidate into a shared library, inside the sandbox.
#pragma once

#include <string>
#include <vector>

#include "target/backend.h"

namespace szarena::target::cpu {

// The compiler and its arguments but for files, as documented in docs/contracts/cpu.md.
std::vector<std::string> CompileLine();

// Compiles every .c, .cc, .cpp and .cxx file of the candidate together.
Result<BuildResult> Build(const sandbox::Sandbox& sandbox, const Candidate& candidate);

const Backend& CpuBackend();

}  // namespace szarena::target::cpu
