// SPDX-License-Identifier: Apache-2.0
// Timed runs: fresh data every time, the clock outside the candidate's process, every output
// verified, baseline and a plain copy measured in between.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/runner.h"

namespace szarena::judge {

struct MeasureOptions {
  int trials = 10;
  bool free_format = false;
};

// `baseline` may be null. An Error is the environment's, ours, or the baseline's fault.
Result<Measurement> Measure(const Subject& candidate, const Subject* baseline,
                            const MeasureOptions& options);

}  // namespace szarena::judge
