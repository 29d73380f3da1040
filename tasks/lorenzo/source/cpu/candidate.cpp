// SPDX-License-Identifier: Apache-2.0
// lorenzo in plain scalar C++.
#include <cstring>

#include "szarena_candidate.h"

namespace {

struct Shape {
  uint64_t z, y, x;
};

// The value at (z - dz, y - dy, x - dx), 0 outside the array.
uint32_t At(const uint32_t* v, const Shape& s, uint64_t z, uint64_t y, uint64_t x, int dz, int dy,
            int dx) {
  if (z < static_cast<uint64_t>(dz) || y < static_cast<uint64_t>(dy) ||
      x < static_cast<uint64_t>(dx))
    return 0;
  return v[((z - dz) * s.y + (y - dy)) * s.x + (x - dx)];
}

// The sum over the seven visited neighbours, signed by their distance.
uint32_t Prediction(const uint32_t* v, const Shape& s, uint64_t z, uint64_t y, uint64_t x) {
  return At(v, s, z, y, x, 0, 0, 1) + At(v, s, z, y, x, 0, 1, 0) + At(v, s, z, y, x, 1, 0, 0) -
         At(v, s, z, y, x, 0, 1, 1) - At(v, s, z, y, x, 1, 0, 1) - At(v, s, z, y, x, 1, 1, 0) +
         At(v, s, z, y, x, 1, 1, 1);
}

template <typename F>
void ForEach(const Shape& s, F&& body) {
  uint64_t i = 0;
  for (uint64_t z = 0; z < s.z; ++z) {
    for (uint64_t y = 0; y < s.y; ++y) {
      for (uint64_t x = 0; x < s.x; ++x) body(i++, z, y, x);
    }
  }
}

}  // namespace

extern "C" uint64_t szarena_workspace_bytes(const szarena_problem* p) { return 4 * p->n; }

extern "C" int szarena_run(const szarena_problem* p, const void* input, void* output,
                           uint64_t capacity, void*, uint64_t, szarena_payload* payload) {
  if (4 * p->n > capacity) return SZARENA_CAPACITY;
  Shape s{p->dims[0], p->dims[1], p->dims[2]};
  const auto* v = static_cast<const uint32_t*>(input);
  auto* d = static_cast<uint32_t*>(output);
  ForEach(s, [&](uint64_t i, uint64_t z, uint64_t y, uint64_t x) {
    d[i] = v[i] - Prediction(v, s, z, y, x);
  });
  *payload = {0, 4 * p->n};
  return SZARENA_OK;
}

extern "C" int szarena_inverse(const szarena_problem* p, const void* payload, uint64_t size,
                               void* output, void* workspace, uint64_t workspace_bytes) {
  if (size != 4 * p->n) return SZARENA_CORRUPT;
  if (workspace_bytes < 4 * p->n) return SZARENA_CAPACITY;
  Shape s{p->dims[0], p->dims[1], p->dims[2]};
  auto* d = static_cast<uint32_t*>(workspace);
  if (size > 0) std::memcpy(d, payload, size);  // the payload may have any alignment
  auto* v = static_cast<uint32_t*>(output);
  ForEach(s, [&](uint64_t i, uint64_t z, uint64_t y, uint64_t x) {
    v[i] = d[i] + Prediction(v, s, z, y, x);
  });
  return SZARENA_OK;
}
