// SPDX-License-Identifier: Apache-2.0
// Signs the wrong way round, in both directions: a round trip holds, the format does not.
// FAILS: decodable
// EVIDENCE: decoded by our decoder
#include <vector>
#include "honest.h"
static std::vector<char> Negated(const szarena_problem* p, const void* in) {
  std::vector<char> copy(FieldBytes(p));
  for (uint64_t i = 0; i < p->n; ++i) {
    if (p->dtype == SZARENA_F32) {
      float x;
      std::memcpy(&x, static_cast<const char*>(in) + i * 4, 4);
      x = -x;
      std::memcpy(copy.data() + i * 4, &x, 4);
    } else {
      double x;
      std::memcpy(&x, static_cast<const char*>(in) + i * 8, 8);
      x = -x;
      std::memcpy(copy.data() + i * 8, &x, 8);
    }
  }
  return copy;
}
HONEST_WORKSPACE
COMPRESS {
  const std::vector<char> copy = Negated(p, in);
  return honest_compress(p, copy.data(), out, capacity, workspace, workspace_bytes, payload);
}
DECOMPRESS {
  const int code = DECOMPRESS_HONESTLY;
  const std::vector<char> copy = Negated(p, out);
  if (!copy.empty()) std::memcpy(out, copy.data(), copy.size());
  return code;
}
