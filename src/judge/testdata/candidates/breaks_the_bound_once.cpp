// SPDX-License-Identifier: Apache-2.0
// One element of one field, by one unit in the last place too many.
// FAILS: bound-held
// EVIDENCE: 1 of 4096 elements break the bound; element 1234
#include <cmath>
#include "honest.h"
HONEST_WORKSPACE
HONEST_COMPRESS
DECOMPRESS {
  const int code = DECOMPRESS_HONESTLY;
  if (p->n == 4096) static_cast<float*>(out)[1234] += static_cast<float>(2.01 * p->abs_bound);
  return code;
}
