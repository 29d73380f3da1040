// SPDX-License-Identifier: Apache-2.0
// Runs a test's body once for every instruction set that this machine has and the build holds, slowest
// included, so that fast versions are compared with the reference on all of them.
#pragma once

#include <hwy/highway.h>

namespace szarena::codec::testing {

template <typename Body>
void ForEachSimdTarget(Body&& body) {
  const auto choose = [](int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  };
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    choose(target);
    body(hwy::TargetName(target));
  }
  choose(0);  // back to the best
}

}  // namespace szarena::codec::testing
