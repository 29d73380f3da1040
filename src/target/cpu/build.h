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
// The same code with tables that lead from addresses to lines.
Result<BuildResult> BuildWithLines(const sandbox::Sandbox& sandbox, const Candidate& candidate);

// Where the code at an offset in such a library comes from.
struct CodePlace {
  std::string function;   // the one that is called, whatever was inlined into it
  std::string innermost;  // the function whose line it is
  std::string
      location;  // "candidate.cpp:88"; of a header outside the candidate its name alone; "" unknown
};
// One for each offset, found by addr2line in the sandbox.
Result<std::vector<CodePlace>> FindCode(const sandbox::Sandbox& sandbox, const std::string& library,
                                        const std::vector<uint64_t>& offsets);

const Backend& CpuBackend();

}  // namespace szarena::target::cpu
