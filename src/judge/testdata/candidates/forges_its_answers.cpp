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
  // command, kind, compressor, need_backward, first_slot, slot_count, problem, slots[16] of 56 bytes, command_ok
  char* slot = page + 24 + sizeof(szarena_problem);
  const szarena_payload forged = {0, FieldBytes(p) / 4 + 1};
  const int32_t code = 0;
  const uint32_t called = 1;
  const uint32_t ok = 1;
  char byte = 1;
  for (;;) {
    std::memcpy(slot + 32, &forged, sizeof forged);
    std::memcpy(slot + 48, &code, 4);
    std::memcpy(slot + 52, &called, 4);
    std::memcpy(slot + 16 * 56, &ok, 4);
    if (write(3, &byte, 1) != 1) _exit(7);
    if (read(3, &byte, 1) != 1) _exit(8);
  }
}
HONEST_DECOMPRESS
