// SPDX-License-Identifier: Apache-2.0
// Resident candidates under the vendor's SDK, through its command lines: cslc compiles, a host
// program of the judge's runs under its cs_python. What only our simulator sees (cycles, traps,
// guards, memory) is not there.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "os/temp_dir.h"
#include "target/candidate.h"
#include "target/cerebras/wafer.h"

namespace szarena::target::cerebras {

struct SdkTools {
  std::string cslc;  // paths
  std::string cs_python;
};
// In PATH, in a folder that is not this program's. kUnavailable says what is missing.
Result<SdkTools> FindSdk();

struct SdkProgram {
  bool ok = false;
  std::string log;
  std::string reason;                 // one line, where not ok
  std::optional<os::TempDir> folder;  // src/ and compiled/
};
Result<SdkProgram> CompileWithSdk(const SdkTools& tools, const Candidate& candidate,
                                  const Geometry& geometry, const Params& params);

// One launch of a resident program. The counters of the answer stay 0.
Result<LaunchResult> LaunchWithSdk(const SdkTools& tools, const SdkProgram& program,
                                   const Geometry& geometry, const Launch& launch,
                                   std::chrono::milliseconds timeout);

}  // namespace szarena::target::cerebras
