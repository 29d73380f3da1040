// SPDX-License-Identifier: Apache-2.0
// FAILS: bound-held
// EVIDENCE: break the bound
#include <vector>
#include "honest.h"
static std::vector<char> stash;
HONEST_WORKSPACE
COMPRESS {
  stash.assign(static_cast<const char*>(in), static_cast<const char*>(in) + FieldBytes(p));
  *payload = {0, 0};
  return SZARENA_OK;
}
DECOMPRESS {
  stash.resize(FieldBytes(p));
  if (!stash.empty()) std::memcpy(out, stash.data(), stash.size());
  return SZARENA_OK;
}
