// SPDX-License-Identifier: Apache-2.0
// compute-sanitizer on a candidate: the driver program makes calls under it, each with device
// memory of exactly the contract's sizes. What it says comes from a process that runs the
// candidate's code: evidence about an honest candidate, no proof against one that forges it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "target/backend.h"

namespace szarena::target::cuda {

// In PATH, in $CUDA_HOME or beside nvcc; empty: nowhere.
std::string FindComputeSanitizer();

// Runs memcheck, racecheck and initcheck, a report each. Never kClean unless the tool itself has
// summed up 0 and every call has returned SZARENA_OK.
Result<std::vector<ToolReport>> RunSanitizers(const sandbox::Sandbox& sandbox,
                                              const DeviceAccess& device,
                                              const std::string& library, bool compressor,
                                              std::span<const ToolCall> calls);

// One tool's report from what its run printed; `calls`: how many were to be made.
ToolReport ReadSanitizer(const std::string& tool, const os::ProcessResult& run, uint64_t calls);

}  // namespace szarena::target::cuda
