// SPDX-License-Identifier: Apache-2.0
// Only hidden data show it: the evidence names the kind.
// FAILS: finished
// EVIDENCE: hidden: no element
#include <cstdlib>
#include "honest.h"
HONEST_WORKSPACE
COMPRESS {
  if (p->n == 0) abort();
  return COMPRESS_HONESTLY;
}
HONEST_DECOMPRESS
