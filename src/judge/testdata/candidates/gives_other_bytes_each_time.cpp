// SPDX-License-Identifier: Apache-2.0
// Valid streams, but a bit that belongs to no value differs from call to call.
// FAILS: none
// FLAG: nondeterministic-output
#include "honest.h"
HONEST_WORKSPACE
COMPRESS {
  const int code = COMPRESS_HONESTLY;
  static unsigned char counter = 0;
  const uint64_t last = p->n / 32;
  auto* bytes = static_cast<unsigned char*>(out);
  if (code == SZARENA_OK && p->n % 32 != 0 && bytes[last] >= 1 && bytes[last] <= 31) {
    // The sign of the block's 32nd value, which does not exist.
    bytes[payload->size - 4 * bytes[last] - 1] ^= ++counter & 1;
  }
  return code;
}
HONEST_DECOMPRESS
