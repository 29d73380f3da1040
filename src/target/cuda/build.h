// SPDX-License-Identifier: Apache-2.0
// Compiles a CUDA candidate into a shared library with nvcc, inside the sandbox.
#pragma once

#include <string>
#include <vector>

#include "target/backend.h"

namespace szarena::target::cuda {

// Where nvcc is: in PATH, or in the toolkit's usual place. kUnavailable with how to get it.
Result<std::string> FindNvcc();

// Compiles every .cu, .cpp, .cc and .cxx file of the candidate together, for the device of this
// machine, or for compute capability 9.0 where there is none.
Result<BuildResult> Build(const sandbox::Sandbox& sandbox, const Candidate& candidate);

const Backend& CudaBackend();

}  // namespace szarena::target::cuda
