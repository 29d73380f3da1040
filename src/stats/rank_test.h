// SPDX-License-Identifier: Apache-2.0
// Mann-Whitney U: do two samples differ in location?
#pragma once

#include <optional>
#include <span>

namespace szarena::stats {

struct MannWhitneyResult {
  double u = 0;        // of the first sample: pairs in which it is larger, ties counted half
  double p_value = 1;  // two-sided
  bool exact =
      false;  // from the exact distribution; else normal with tie and continuity correction
};

// Exact where a sample has at most 8 values and no value occurs twice. Empty samples have no
// result.
std::optional<MannWhitneyResult> MannWhitney(std::span<const double> first,
                                             std::span<const double> second);

}  // namespace szarena::stats
