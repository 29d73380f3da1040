// SPDX-License-Identifier: Apache-2.0
// FAILS: measured
// EVIDENCE: differs from our decoder
#include "honest.h"
HONEST_WORKSPACE
HONEST_COMPRESS
DECOMPRESS {
  static int calls = 0;
  if (p->n == 65536 && ++calls % 2 == 0) return SZARENA_OK;
  return DECOMPRESS_HONESTLY;
}
