// SPDX-License-Identifier: Apache-2.0
#include "codec/core/simd.h"

#include <atomic>

namespace szarena::codec {
namespace {

std::atomic<bool> hidden_for_test{false};

}  // namespace

bool HasAvx512Gfni() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512vbmi") &&
                          __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("gfni");
  return has && !hidden_for_test.load(std::memory_order_relaxed);
#else
  return false;
#endif
}

void HideAvx512Gfni(bool hidden) { hidden_for_test.store(hidden, std::memory_order_relaxed); }

}  // namespace szarena::codec
