// SPDX-License-Identifier: Apache-2.0
// Whether the CUDA toolkit of this machine can build candidates.
#pragma once

#include <string>

#include "base/error.h"

namespace szarena::target::cuda {

struct Toolkit {
  std::string nvcc;     // its path
  std::string release;  // "13.0"
};

// Where nvcc is, of whatever release: in PATH, or in the toolkit's usual place. kUnavailable with
// how to get it.
Result<std::string> FindNvcc();

// nvcc of CUDA 12.0 or newer: the contract's C++20 (cmake/cuda.cmake asks for the same).
// kUnavailable says what is there and what to install.
Result<Toolkit> FindToolkit();

}  // namespace szarena::target::cuda
