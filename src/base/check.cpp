// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace szarena {

void CheckFailed(const char* file, int line, const char* condition, const char* why) {
  std::fprintf(stderr, "internal error: %s:%d: %s: %s\n", file, line, condition, why);
  std::abort();
}

}  // namespace szarena
