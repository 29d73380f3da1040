// SPDX-License-Identifier: Apache-2.0
// The bytes are the decisions of the generator: its programs compile without messages and give what
// the generator expects.
#include "check.h"

using namespace szarena::csl_fuzz;

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  BeginFuzzing(SZARENA_FUZZ_NATIVE);
  return 0;
}

// Machine code takes a while to make: every eighth size of input is run with both back ends.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Choices choices{std::span<const uint8_t>(data, size)};
  const Program program = Generate(choices);
  Require(program, CheckValid(program, size % 8 == 0));
  return 0;
}
