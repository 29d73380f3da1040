// SPDX-License-Identifier: Apache-2.0
// From the bound that the user gives to the number that decides.
#pragma once

#include <cstdint>
#include <optional>

#include "base/error.h"
#include "codec/core/array.h"

namespace szarena::codec {

// `ebq`: the largest finite value of T that is <= eb, never rounded up; 0 if eb is below the
// smallest subnormal (then everything is coded lossless). eb must be >= 0.
template <Real T>
T RoundBoundDown(double eb);

// Refuses a bound that is zero, negative, NaN or infinite; `what` names it in the message.
Result<void> CheckUserBound(double bound, const char* what);

// Smallest and largest finite value, and how many elements are not finite; elements whose bits
// equal `fill` (rounded to the element type) count as neither. min > max where no finite element
// exists.
struct ValueRange {
  double min = 1;
  double max = 0;
  uint64_t finite = 0;
  uint64_t non_finite = 0;
  uint64_t fill = 0;

  bool empty() const { return min > max; }
  // The finite values are all equal (or there is none): a relative bound is 0 then.
  bool constant() const { return min >= max; }
};
ValueRange FindRange(ConstArray values, std::optional<double> fill = std::nullopt,
                     unsigned threads = 1);

// rel * (max - min) in f64 without overflow: at most the largest finite f64, 0 for a constant
// range.
double ResolveRelativeBound(double rel, const ValueRange& range);

}  // namespace szarena::codec
