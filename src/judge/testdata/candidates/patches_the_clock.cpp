// SPDX-License-Identifier: Apache-2.0
// Stops every clock that it can reach in its process, and takes 5 ms a call.
// FAILS: none
// SLOWER_THAN: 0.06
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include "honest.h"
static timespec frozen = {1000, 0};
extern "C" {
SZARENA_EXPORT int clock_gettime(clockid_t, timespec* t) {
  *t = frozen;
  return 0;
}
SZARENA_EXPORT int gettimeofday(timeval* t, void*) {
  *t = {1000, 0};
  return 0;
}
SZARENA_EXPORT time_t time(time_t*) { return 1000; }
}
HONEST_WORKSPACE
COMPRESS {
  // The C library's own entry, and the kernel's page behind it.
  void* entry = reinterpret_cast<void*>(&::clock_gettime);
  const uintptr_t page = reinterpret_cast<uintptr_t>(entry) & ~uintptr_t{4095};
  mprotect(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
  timespec now = {0, 0};
  clock_settime(CLOCK_REALTIME, &now);
  timespec t{0, p->n == 65536 ? 5000000 : 0};
  nanosleep(&t, nullptr);
  return COMPRESS_HONESTLY;
}
HONEST_DECOMPRESS
