// SPDX-License-Identifier: Apache-2.0
// Claims more bytes than it has written.
// FAILS: output-produced
// EVIDENCE: was never written
#include "honest.h"
HONEST_WORKSPACE
COMPRESS {
  const int code = COMPRESS_HONESTLY;
  payload->size += 100;
  return code;
}
HONEST_DECOMPRESS
