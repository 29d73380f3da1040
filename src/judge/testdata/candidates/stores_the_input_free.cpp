// SPDX-License-Identifier: Apache-2.0
// The same with a stream format of its own allowed: no compression took place.
// FORMAT: free
// FAILS: ratio-ok
// EVIDENCE: ratio 1
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
