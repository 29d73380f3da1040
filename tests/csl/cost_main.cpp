// SPDX-License-Identifier: Apache-2.0
// csl_cost PROGRAM.csl...: what the cost model says a program takes, for both architectures.
// Without arguments: the table of accuracy.def.
#include <fmt/format.h>

#include "cost_programs.h"
#include "fabric/model/accuracy.h"

int main(int argc, char** argv) {
  int status = 0;
  if (argc == 1) fmt::print("{}", szarena::fabric::PrintAccuracy());
  for (int i = 1; i < argc; ++i) {
    for (const char* arch : {"wse2", "wse3"}) {
      const auto cycles = szarena::CyclesOf(argv[i], arch);
      if (cycles) {
        fmt::print("{} {} {}\n", argv[i], arch, *cycles);
      } else {
        fmt::print(stderr, "{} {}: {}\n", argv[i], arch, cycles.error().ToString());
        status = 1;
      }
    }
  }
  return status;
}
