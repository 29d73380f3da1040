// SPDX-License-Identifier: Apache-2.0
// A valid stream in which every block is raw.
// FAILS: ratio-ok
// EVIDENCE: ratio
#include "honest.h"
HONEST_WORKSPACE
COMPRESS {
  szarena_problem tight = *p;
  tight.abs_bound = 1e-300;  // rounds to 0 in f32, and is useless in f64
  return honest_compress(&tight, in, out, capacity, workspace, workspace_bytes, payload);
}
HONEST_DECOMPRESS
