// SPDX-License-Identifier: Apache-2.0
// Another process could not be stopped with this one: there is none.
// FAILS: output-produced
// EVIDENCE: returned 4
#include <unistd.h>
#include "honest.h"
HONEST_WORKSPACE
COMPRESS {
  const pid_t child = fork();
  if (child < 0) return SZARENA_FAILED;
  if (child == 0)
    for (;;) asm volatile("");
  return COMPRESS_HONESTLY;
}
HONEST_DECOMPRESS
