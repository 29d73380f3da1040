// SPDX-License-Identifier: Apache-2.0
// A decoder that leaves out the planes that our encoder never writes: valid streams of others have
// them.
// FAILS: decodable
// EVIDENCE: on another encoder's payload
#include "honest.h"
HONEST_WORKSPACE
HONEST_COMPRESS
DECOMPRESS {
  const int code = DECOMPRESS_HONESTLY;
  const auto* rates = static_cast<const unsigned char*>(in);
  for (uint64_t block = 0; block < (p->n + 31) / 32; ++block) {
    const unsigned rate = rates[block] & (rates[block] >= 0x80 ? 0x1f : 0xff);
    if (rate < 26 || rate > 31) continue;
    for (uint64_t i = block * 32; i < p->n && i < block * 32 + 32; ++i) {
      if (p->dtype == SZARENA_F32) static_cast<float*>(out)[i] = 0;
      if (p->dtype == SZARENA_F64) static_cast<double*>(out)[i] = 0;
    }
  }
  return code;
}
