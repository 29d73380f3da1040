// SPDX-License-Identifier: Apache-2.0
// Programmer mistakes: SZARENA_CHECK is always on, SZARENA_DCHECK only in builds without NDEBUG.
// Neither may be reachable from user input: that is what Result is for.
#pragma once

namespace szarena {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, const char* why);
}  // namespace szarena

#define SZARENA_CHECK(cond, why)                              \
  do {                                                        \
    if (!(cond)) [[unlikely]] {                               \
      ::szarena::CheckFailed(__FILE__, __LINE__, #cond, why); \
    }                                                         \
  } while (false)

#ifdef NDEBUG
#define SZARENA_DCHECK(cond, why) static_cast<void>(sizeof(!(cond)))
#else
#define SZARENA_DCHECK(cond, why) SZARENA_CHECK(cond, why)
#endif
