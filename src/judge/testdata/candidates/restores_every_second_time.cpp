// SPDX-License-Identifier: Apache-2.0
// Every second call on small data restores something else.
// FAILS: bound-held
// EVIDENCE: break the bound
// FLAG: nondeterministic-output
#include <cstring>

#include "honest.h"
static int calls = 0;
HONEST_WORKSPACE
HONEST_COMPRESS
DECOMPRESS {
  const int code = DECOMPRESS_HONESTLY;
  if (p->n < 65536 && calls++ % 2 != 0) std::memset(out, 0x55, FieldBytes(p));
  return code;
}
