// SPDX-License-Identifier: Apache-2.0
// FAILS: finished
// EVIDENCE: signal 11
#include "honest.h"
HONEST_WORKSPACE
COMPRESS {
  *static_cast<volatile int*>(nullptr) = 1;
  return COMPRESS_HONESTLY;
}
HONEST_DECOMPRESS
