// SPDX-License-Identifier: Apache-2.0
// Files that travel inside the program: the CUDA driver program and the contract's headers.
#pragma once

#include <string_view>

namespace szarena::target::cuda {

std::string_view DriverProgram();        // an ELF executable
std::string_view CandidateHeader();      // szarena_candidate.h
std::string_view CudaCandidateHeader();  // szarena_candidate_cuda.h

}  // namespace szarena::target::cuda
