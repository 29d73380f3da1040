// SPDX-License-Identifier: Apache-2.0
// Whether the CUDA toolkit of this machine can build candidates.
#pragma once

#include <string>

#include "base/error.h"

namespace szarena::judge {

struct Toolkit {
  std::string nvcc;     // its path
  std::string release;  // "13.0"
};

// nvcc of CUDA 12.0 or newer: the contract's C++20 (cmake/cuda.cmake asks for the same).
// kUnavailable says what is there and what to install.
Result<Toolkit> FindCudaToolkit();

}  // namespace szarena::judge
