// SPDX-License-Identifier: Apache-2.0
// Compiles a CUDA candidate into a shared library with nvcc, inside the sandbox.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "target/backend.h"

namespace szarena::target::cuda {

// Compiles every .cu, .cpp, .cc and .cxx file of the candidate together, for the device of this
// machine, or for compute capability 9.0 where there is none.
Result<BuildResult> Build(const sandbox::Sandbox& sandbox, const Candidate& candidate);

// The same; the log says what each kernel uses (ptxas -v), names readable.
Result<BuildResult> BuildWithUsage(const sandbox::Sandbox& sandbox, const Candidate& candidate);

// What one kernel needs of the machine, read from such a log.
struct KernelUsage {
  std::string name;
  int64_t registers = 0;  // of a thread
  int64_t stack_bytes = 0;
  int64_t spill_store_bytes = 0;
  int64_t spill_load_bytes = 0;
  int64_t shared_bytes = 0;  // of a block, static
};
std::vector<KernelUsage> ReadUsage(const std::string& log);

const Backend& CudaBackend();

}  // namespace szarena::target::cuda
