// SPDX-License-Identifier: Apache-2.0
// FAILS: output-produced
// EVIDENCE: before its beginning
#include "honest.h"
HONEST_WORKSPACE
COMPRESS {
  static_cast<volatile char*>(out)[-1] ^= 1;
  return COMPRESS_HONESTLY;
}
HONEST_DECOMPRESS
