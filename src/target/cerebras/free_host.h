// SPDX-License-Identifier: Apache-2.0
// Candidates with a host program of their own: the product's cslc and cs_python run in the sandbox
// (docs/contracts/cerebras.md).
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/error.h"
#include "bytecode/program.h"
#include "os/temp_dir.h"
#include "sandbox/sandbox.h"
#include "target/candidate.h"

namespace szarena::target::cerebras {

// Where cslc, cs_python and the Python modules are.
struct HostTools {
  std::string bin;     // folder with cslc and cs_python
  std::string python;  // folder of the package `cerebras`
};
// Beside this program. kUnavailable names what is missing.
Result<HostTools> FindHostTools();

struct FreeHostProgram {
  bool ok = false;
  std::string log;                    // what the compiler said
  std::string reason;                 // one line, where not ok
  std::optional<os::TempDir> folder;  // src/: the candidate, compiled/: the program
};
Result<FreeHostProgram> CompileFreeHost(const sandbox::Sandbox& sandbox, const HostTools& tools,
                                        const Candidate& candidate, bytecode::Arch arch);

struct FreeHostCall {
  bool forward = true;
  uint64_t n = 0;
  double bound = 0;
  std::string_view input;
  size_t output_limit = 0;  // bytes
};
struct FreeHostResult {
  bool finished = false;  // in time, with exit status 0
  std::string message;    // why not
  std::optional<std::string>
      output;         // the file's bytes; absent where there is none of the right kind
  std::string fault;  // why
  std::string printed;
  uint64_t cycles =
      0;  // as the simulator printed; a claim, since the candidate's Python runs in its process
  double seconds = 0;
};
// Whether cs_python runs in the sandbox and finds its modules: kUnavailable where not, which is no
// fault of a candidate.
Result<void> CheckHostTools(const sandbox::Sandbox& sandbox, const HostTools& tools);

// One run of run.py in a sandbox of its own, with nothing but its input.
Result<FreeHostResult> RunFreeHost(const sandbox::Sandbox& sandbox, const HostTools& tools,
                                   const FreeHostProgram& program, const FreeHostCall& call,
                                   std::chrono::milliseconds timeout);

}  // namespace szarena::target::cerebras
