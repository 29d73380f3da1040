// SPDX-License-Identifier: Apache-2.0
// Runs a test's body once for every instruction set that this machine has and the build holds,
// slowest included, so that fast versions are compared with the reference on all of them.
#pragma once

#include <hwy/highway.h>

#include "codec/core/simd.h"

namespace szarena::codec::testing {

template <typename Body>
void ForEachSimdTarget(Body&& body) {
  static const int64_t all = hwy::SupportedTargets() & HWY_TARGETS;  // asks the processor: slow
  const auto choose = [](int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(targets);
  };
  if (HasAvx512Gfni()) body("AVX-512 with GFNI");
  HideAvx512Gfni(true);
  for (int64_t left = all; left != 0; left &= left - 1) {
    const int64_t target = left & ~(left - 1);
    choose(target);
    body(hwy::TargetName(target));
  }
  choose(all);
  HideAvx512Gfni(false);
}

}  // namespace szarena::codec::testing
