// SPDX-License-Identifier: Apache-2.0
// Files that travel inside the program: the CPU driver and the contract header.
#pragma once

#include <string_view>

namespace szarena::target::cpu {

std::string_view DriverProgram();    // an ELF executable
std::string_view CandidateHeader();  // szarena_candidate.h

}  // namespace szarena::target::cpu
