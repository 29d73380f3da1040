// SPDX-License-Identifier: Apache-2.0
// Takes a value just below the bound as quantised to twice the bound: the difference is the bound
// only as it is rounded.
// FAILS: bound-held
// EVIDENCE: hidden: values beside the bound
#include <cmath>
#include "honest.h"
HONEST_WORKSPACE
HONEST_COMPRESS
// What such a program gives back.
template <typename T>
static void Round(void* values, uint64_t n, double bound) {
  const T e = static_cast<T>(bound);
  for (uint64_t i = 0; i < n; ++i) {
    T& x = static_cast<T*>(values)[i];
    if (std::isnormal(x) && x == std::nextafter(e, T(0))) x = 2 * e;
  }
}
DECOMPRESS {
  const int code = DECOMPRESS_HONESTLY;
  if (p->dtype == SZARENA_F32) Round<float>(out, p->n, p->abs_bound);
  if (p->dtype == SZARENA_F64) Round<double>(out, p->n, p->abs_bound);
  return code;
}
