// SPDX-License-Identifier: Apache-2.0
// A candidate for task {{NAME}} on CPU: builds, and refuses every problem until it is written.
#include "szarena_candidate.h"

extern "C" uint64_t szarena_workspace_bytes(const szarena_problem*) { return 0; }

extern "C" int szarena_run(const szarena_problem*, const void*, void*, uint64_t, void*, uint64_t,
                           szarena_payload*) {
  return SZARENA_UNSUPPORTED;
}

extern "C" int szarena_inverse(const szarena_problem*, const void*, uint64_t, void*, void*,
                               uint64_t) {
  return SZARENA_UNSUPPORTED;
}
