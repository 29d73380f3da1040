// SPDX-License-Identifier: Apache-2.0
// Writes the driver's answers itself, rings the doorbell, and never returns.
// FAILS: output-produced
// EVIDENCE: never written
#include <sys/mman.h>
#include <unistd.h>
#include "honest.h"
HONEST_WORKSPACE
COMPRESS {
  char* page = static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 4, 0));
  // seven words and a gap, problem, slots[16] of 64 bytes, command_ok
  char* slot = page + 32 + sizeof(szarena_problem);
  const szarena_payload forged = {0, FieldBytes(p) / 4 + 1};
  const int32_t code = 0;
  const uint32_t called = 1;
  const uint32_t ok = 1;
  char byte = 1;
  for (;;) {
    std::memcpy(slot + 32, &forged, sizeof forged);
    std::memcpy(slot + 56, &code, 4);
    std::memcpy(slot + 60, &called, 4);
    std::memcpy(slot + 16 * 64, &ok, 4);
    if (write(3, &byte, 1) != 1) _exit(7);
    if (read(3, &byte, 1) != 1) _exit(8);
  }
}
HONEST_DECOMPRESS
