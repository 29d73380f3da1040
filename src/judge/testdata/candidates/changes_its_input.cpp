// SPDX-License-Identifier: Apache-2.0
// FAILS: finished
// EVIDENCE: at byte 0 of the input
#include "honest.h"
HONEST_WORKSPACE
COMPRESS {
  if (p->n > 0) *static_cast<volatile char*>(const_cast<void*>(in)) = 1;
  return COMPRESS_HONESTLY;
}
HONEST_DECOMPRESS
