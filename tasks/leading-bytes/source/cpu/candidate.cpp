// SPDX-License-Identifier: Apache-2.0
// leading-bytes in plain scalar C++.
#include <cstring>

#include "szarena_candidate.h"

namespace {

template <typename Word>
void Run(const Word* words, uint64_t n, uint64_t block_size, uint8_t* codes) {
  constexpr int kBits = 8 * sizeof(Word);
  for (uint64_t i = 0; i < n; ++i) {
    Word previous = i % block_size == 0 ? 0 : words[i - 1];
    Word difference = words[i] ^ previous;
    unsigned code = 0;
    while (code < 3 && difference >> (kBits - 8 * (code + 1)) == 0) ++code;
    codes[i / 4] |= static_cast<uint8_t>(code << (6 - 2 * (i % 4)));
  }
}

}  // namespace

extern "C" uint64_t szarena_workspace_bytes(const szarena_problem*) { return 0; }

extern "C" int szarena_run(const szarena_problem* p, const void* input, void* output,
                           uint64_t capacity, void*, uint64_t, szarena_payload* payload) {
  uint64_t size = (p->n + 3) / 4;
  if (size > capacity) return SZARENA_CAPACITY;
  auto* codes = static_cast<uint8_t*>(output);
  std::memset(codes, 0, size);
  if (p->dtype == SZARENA_F32) {
    Run(static_cast<const uint32_t*>(input), p->n, p->block_size, codes);
  } else {
    Run(static_cast<const uint64_t*>(input), p->n, p->block_size, codes);
  }
  *payload = {0, size};
  return SZARENA_OK;
}
