// SPDX-License-Identifier: Apache-2.0
// The first bytes decide how a generated program is damaged, the rest makes the program.
#include <algorithm>

#include "check.h"

using namespace szarena::csl_fuzz;

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  BeginFuzzing(SZARENA_FUZZ_NATIVE);
  return 0;
}

// Machine code takes a while to make: every eighth size of input is run with both back ends.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const size_t head = std::min<size_t>(size, 32);
  Choices damage{std::span<const uint8_t>(data, head)},
      choices{std::span<const uint8_t>(data + head, size - head)};
  const Program program = Mutate(Generate(choices), damage, nullptr);
  Require(program, CheckDamaged(program, size % 8 == 0));
  return 0;
}
