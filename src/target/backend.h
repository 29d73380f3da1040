// SPDX-License-Identifier: Apache-2.0
// Backend: what differs between targets whose candidates are libraries in a driver process.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "sandbox/sandbox.h"
#include "target/candidate.h"

namespace szarena::target {

struct BuildResult {
  bool ok = false;
  std::string library;  // bytes of the shared library, where ok
  std::string log;      // what the compiler said, cut to the useful part
  std::string reason;   // one line, where not ok
  double seconds = 0;
};

struct Backend {
  std::string_view name;  // "cpu"
  // Builds the candidate inside the sandbox. An Error means that the environment lacks something (no compiler) or our own
  // fault; sources that do not compile are a result.
  Result<BuildResult> (*build)(const sandbox::Sandbox& sandbox, const Candidate& candidate);
  // Bytes of the driver program (protocol.h).
  std::string_view (*driver)();
};

}  // namespace szarena::target
