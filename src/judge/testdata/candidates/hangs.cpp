// SPDX-License-Identifier: Apache-2.0
// FAILS: finished
// EVIDENCE: no answer within
#include "honest.h"
HONEST_WORKSPACE
HONEST_COMPRESS
DECOMPRESS {
  for (;;) asm volatile("");
  return DECOMPRESS_HONESTLY;
}
