// SPDX-License-Identifier: Apache-2.0
// FAILS: output-produced
// EVIDENCE: element 1234 was never written
#include "honest.h"
HONEST_WORKSPACE
HONEST_COMPRESS
DECOMPRESS {
  if (p->n != 4096) return DECOMPRESS_HONESTLY;
  float* values = static_cast<float*>(out);
  const float before = values[1234];
  const int code = DECOMPRESS_HONESTLY;
  values[1234] = before;
  return code;
}
