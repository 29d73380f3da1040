// SPDX-License-Identifier: Apache-2.0
// FAILS: bound-held
// EVIDENCE: break the bound
#include "honest.h"
HONEST_WORKSPACE
COMPRESS {
  *payload = {0, 0};
  return SZARENA_OK;
}
DECOMPRESS {
  if (FieldBytes(p) != 0) std::memset(out, 0, FieldBytes(p));
  return SZARENA_OK;
}
