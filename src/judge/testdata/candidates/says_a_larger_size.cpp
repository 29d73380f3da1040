// SPDX-License-Identifier: Apache-2.0
// FAILS: output-produced
// EVIDENCE: lies outside the buffer
#include "honest.h"
HONEST_WORKSPACE
COMPRESS {
  const int code = COMPRESS_HONESTLY;
  *payload = {UINT64_MAX - 4, 16};
  return code;
}
HONEST_DECOMPRESS
