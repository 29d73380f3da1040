// SPDX-License-Identifier: Apache-2.0
// FAILS: output-produced
// EVIDENCE: outside its output buffer: 5 bytes past its end
#include "honest.h"
HONEST_WORKSPACE
HONEST_COMPRESS
DECOMPRESS {
  const int code = DECOMPRESS_HONESTLY;
  static_cast<volatile char*>(out)[FieldBytes(p) + 5] ^= 1;
  return code;
}
