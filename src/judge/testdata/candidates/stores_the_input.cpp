// SPDX-License-Identifier: Apache-2.0
// A stream of its own: the input as it is. Round trips, and nobody else can read it.
// FAILS: decodable
// EVIDENCE: our decoder refuses
#include "honest.h"
HONEST_WORKSPACE
COMPRESS {
  if (FieldBytes(p) != 0) std::memcpy(out, in, FieldBytes(p));
  *payload = {0, FieldBytes(p)};
  return SZARENA_OK;
}
DECOMPRESS {
  if (size != 0) std::memcpy(out, in, size);
  return SZARENA_OK;
}
