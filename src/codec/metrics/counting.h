// SPDX-License-Identifier: Apache-2.0
// Which elements of a pair of arrays count, in one place for all metrics.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "codec/core/array.h"

namespace szarena::codec::metrics {

Result<void> CheckPair(ConstArray original, ConstArray decompressed);

// Both arrays, read as f64 (exact for f32).
template <Real T>
class Pairs {
 public:
  Pairs(ConstArray original, ConstArray decompressed, std::optional<double> fill)
      : original_(original.data), decompressed_(decompressed.data) {
    if (fill) fill_ = static_cast<T>(*fill);
  }

  struct Pair {
    double x, y;
    bool counts;  // both finite, x is no fill value
    bool broken;  // x should have been kept and was not, or a finite x became non-finite
    bool is_fill;
    bool original_non_finite;
  };

  Pair At(std::uint64_t i) const {
    const T x = Load<T>(original_ + i * sizeof(T));
    const T y = Load<T>(decompressed_ + i * sizeof(T));
    const bool is_fill = fill_ && SameBits(x, *fill_);
    const bool same = is_fill ? SameBits(x, y) : x == y || (std::isnan(x) && std::isnan(y));
    const bool finite = std::isfinite(x);
    const bool counts = finite && std::isfinite(y) && !is_fill;
    return {x, y, counts, !counts && !same, is_fill, !finite};
  }

 private:
  static bool SameBits(T a, T b) { return std::memcmp(&a, &b, sizeof a) == 0; }

  const std::byte* original_;
  const std::byte* decompressed_;
  std::optional<T> fill_;
};

}  // namespace szarena::codec::metrics
