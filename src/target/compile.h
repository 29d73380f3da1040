// SPDX-License-Identifier: Apache-2.0
// Runs a compiler in the sandbox on a candidate's files: what the backends that build libraries
// have in common.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "target/backend.h"

namespace szarena::target {

struct CompileSpec {
  // The compiler, its arguments and the sources as "/src/NAME"; the folder of the headers and the
  // output are added.
  std::vector<std::string> argv;
  std::vector<CandidateFile> headers;  // the contract's
  std::vector<sandbox::Bind> binds;    // a compiler outside the system's folders
  std::vector<std::pair<std::string, std::string>> env;
  std::chrono::seconds timeout{90};
  uint64_t address_space_bytes = 6ull << 30;
};

// The candidate's files whose names end so, as CompileSpec::argv wants them ("/src/NAME"), in the
// candidate's order.
std::vector<std::string> SourcesOf(const Candidate& candidate,
                                   std::initializer_list<std::string_view> suffixes);

// The candidate's files lie at /src, the headers at /contract. Sources that do not compile are a
// result, with the compiler's words; an Error is the environment's lack or our own fault.
Result<BuildResult> CompileLibrary(const sandbox::Sandbox& sandbox, const Candidate& candidate,
                                   const CompileSpec& spec);

}  // namespace szarena::target
