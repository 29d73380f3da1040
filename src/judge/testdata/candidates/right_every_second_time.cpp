// SPDX-License-Identifier: Apache-2.0
// Every second call on small data gives another payload, of the same size and wrong.
// FAILS: decodable
// EVIDENCE: our decoder
// FLAG: nondeterministic-output
#include <cstring>

#include "honest.h"
static int calls = 0;
HONEST_WORKSPACE
COMPRESS {
  const int code = COMPRESS_HONESTLY;
  if (p->n < 65536 && calls++ % 2 != 0 && payload->size > 8) {
    char* bytes = static_cast<char*>(out) + payload->offset;
    const char last = bytes[payload->size - 1];
    std::memmove(bytes + 1, bytes, payload->size - 1);
    bytes[0] = last;
  }
  return code;
}
HONEST_DECOMPRESS
