// SPDX-License-Identifier: Apache-2.0
// Claims more bytes than its stream has: others each time, and among them one that it never writes.
// FAILS: output-produced
// EVIDENCE: was never written
#include "honest.h"
HONEST_WORKSPACE
COMPRESS {
  const int code = COMPRESS_HONESTLY;
  static uint64_t state = 1;
  if (code != SZARENA_OK || p->n != 4096) return code;
  auto* bytes = static_cast<unsigned char*>(out) + payload->offset + payload->size;
  for (int i = 0; i < 2000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    if (i != 1234) bytes[i] = static_cast<unsigned char>(state >> 56);
  }
  payload->size += 2000;
  return code;
}
HONEST_DECOMPRESS
