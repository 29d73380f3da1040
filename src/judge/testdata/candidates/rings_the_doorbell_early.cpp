// SPDX-License-Identifier: Apache-2.0
// FAILS: finished
// EVIDENCE: done before every call returned
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "honest.h"
HONEST_WORKSPACE
COMPRESS {
  char* page = static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 4, 0));
  const uint32_t ok = 1;
  std::memcpy(page + 32 + sizeof(szarena_problem) + 16 * 64, &ok, 4);
  const char byte = 1;
  if (write(3, &byte, 1) != 1) return SZARENA_FAILED;
  timespec t{5, 0};
  nanosleep(&t, nullptr);
  return COMPRESS_HONESTLY;
}
HONEST_DECOMPRESS
