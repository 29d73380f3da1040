// SPDX-License-Identifier: Apache-2.0
// The rest of the payload lies in the buffer, but only what was claimed is handed on.
// FAILS: output-produced
// EVIDENCE: returned 3
#include "honest.h"
HONEST_WORKSPACE
COMPRESS {
  const int code = COMPRESS_HONESTLY;
  payload->size /= 2;
  return code;
}
HONEST_DECOMPRESS
