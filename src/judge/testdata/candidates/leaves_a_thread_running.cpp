// SPDX-License-Identifier: Apache-2.0
// Right results, and a thread that never ends.
// FAILS: none
// FLAG: work-left-running
#include <thread>
#include "honest.h"
HONEST_WORKSPACE
COMPRESS {
  static const bool started = [] {
    std::thread([] {
      for (;;) asm volatile("");
    }).detach();
    return true;
  }();
  (void)started;
  return COMPRESS_HONESTLY;
}
HONEST_DECOMPRESS
