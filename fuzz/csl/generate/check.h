// SPDX-License-Identifier: Apache-2.0
// What must hold for a generated program: it compiles, its image survives being written and read,
// it gives the expected values, and it gives the same for any number of threads. For a damaged
// program: messages with a place, or all of that but the values.
#pragma once

#include <string>
#include <vector>

#include "program.h"

namespace szarena::csl_fuzz {

struct Verdict {
  std::string fault;  // empty: everything held
  bool compiled = false;
  std::string messages;  // of the compiler
  uint64_t cycles = 0;
  bool native = false;  // both back ends ran it
};

// A program that is valid by construction. `native`: with the native back end too, where there is
// one.
Verdict CheckValid(const Program& program, bool native);
// A damaged one.
Verdict CheckDamaged(const Program& program, bool native);
// The compiled program as a file holds it; empty where it is refused.
std::vector<uint8_t> ImageOf(const Program& program);
// Is there a native back end to compare with?
bool HaveNative();

// ---- for the fuzzing programs
// Before the first input. `native`: this build has a native back end, so a run without it would
// leave something out: it ends with status 3.
void BeginFuzzing(bool native);
// Ends the process with the program and the fault where there is one. Counts programs.
void Require(const Program& program, const Verdict& verdict);

}  // namespace szarena::csl_fuzz
