// SPDX-License-Identifier: Apache-2.0
// A candidate for task {{NAME}} on NVIDIA GPUs: builds, and refuses every problem until it is written.
#include "szarena_candidate_cuda.h"

extern "C" uint64_t szarena_cuda_workspace_bytes(const szarena_problem*) { return 0; }

extern "C" int szarena_cuda_run(const szarena_problem*, const void*, void*, uint64_t, void*, uint64_t, szarena_payload*,
                                szarena_stream) {
  return SZARENA_UNSUPPORTED;
}

extern "C" int szarena_cuda_inverse(const szarena_problem*, const void*, uint64_t, void*, void*, uint64_t,
                                    szarena_stream) {
  return SZARENA_UNSUPPORTED;
}
