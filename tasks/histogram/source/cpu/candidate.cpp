// SPDX-License-Identifier: Apache-2.0
// histogram in plain scalar C++.
#include <cstring>

#include "szarena_candidate.h"

extern "C" uint64_t szarena_workspace_bytes(const szarena_problem*) { return 0; }

extern "C" int szarena_run(const szarena_problem* p, const void* input, void* output,
                           uint64_t capacity, void*, uint64_t, szarena_payload* payload) {
  uint64_t size = 4 * (uint64_t{p->bins} + 1);
  if (size > capacity) return SZARENA_CAPACITY;
  const auto* values = static_cast<const int32_t*>(input);
  auto* counts = static_cast<uint32_t*>(output);
  std::memset(counts, 0, size);
  for (uint64_t i = 0; i < p->n; ++i) {
    int64_t v = values[i];
    counts[v >= 0 && v < p->bins ? v : p->bins] += 1;
  }
  *payload = {0, size};
  return SZARENA_OK;
}
