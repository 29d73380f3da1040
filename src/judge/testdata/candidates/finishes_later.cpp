// SPDX-License-Identifier: Apache-2.0
// Returns at once; a thread does the work: too late, or into memory that is gone.
// FAILS: output-produced finished
// FLAG: any
#include <time.h>
#include <thread>
#include "honest.h"
HONEST_WORKSPACE
HONEST_COMPRESS
DECOMPRESS {
  const szarena_problem problem = *p;
  std::thread([=] {
    timespec t{2, 0};
    nanosleep(&t, nullptr);
    honest_decompress(&problem, in, size, out, workspace, workspace_bytes);
  }).detach();
  return SZARENA_OK;
}
