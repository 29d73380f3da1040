// SPDX-License-Identifier: Apache-2.0
// The bytes are the decisions of the generator: its programs compile without messages and give what
// the generator expects.
#include <cstdio>
#include <cstdlib>

#include "check.h"

// Machine code takes a while to make: every eighth size of input is run with both back ends.
using namespace szarena::csl_fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Choices choices{std::span<const uint8_t>(data, size)};
  const Program program = Generate(choices);
  const Verdict verdict = CheckValid(program, size % 8 == 0);
  if (verdict.fault.empty()) return 0;
  std::fprintf(stderr, "%s\n%s\n%s\n", program.ToText().c_str(), verdict.messages.c_str(),
               verdict.fault.c_str());
  std::abort();
}
