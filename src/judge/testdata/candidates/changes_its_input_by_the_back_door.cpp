// SPDX-License-Identifier: Apache-2.0
// Through /proc/self/mem, a second mapping and a reopened descriptor; all refused, so nothing is
// wrong with the results.
// FAILS: none
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "honest.h"
HONEST_WORKSPACE
COMPRESS {
  if (p->n > 0) {
    const int mem = open("/proc/self/mem", O_RDWR);
    const char byte = 77;
    if (mem >= 0 && pwrite(mem, &byte, 1, static_cast<off_t>(reinterpret_cast<uintptr_t>(in))) == 1)
      return SZARENA_FAILED;
    close(mem);
    if (mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 5, 0) != MAP_FAILED)
      return SZARENA_FAILED;
    const int again = open("/proc/self/fd/5", O_RDWR);
    if (again >= 0 && pwrite(again, &byte, 1, 0) == 1) return SZARENA_FAILED;
    if (again >= 0 && fallocate(again, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0)
      return SZARENA_FAILED;
    close(again);
  }
  return COMPRESS_HONESTLY;
}
HONEST_DECOMPRESS
