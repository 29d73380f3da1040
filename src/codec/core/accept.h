// SPDX-License-Identifier: Apache-2.0
// The exact acceptance test |x - y| <= ebq in the data's own type (docs/formats/szp.md,
// "Arithmetic").
#pragma once

#include <cmath>

#include "codec/core/dtype.h"

namespace szarena::codec {

// The part of a + b that the rounded sum `s` lost (Knuth's TwoSum): a + b = s + TwoSumError
// exactly.
template <Real T>
constexpr T TwoSumError(T a, T b, T s) {
  const T b_seen = s - a;
  const T a_seen = s - b_seen;
  return (a - a_seen) + (b - b_seen);
}

// Whether |x - y| <= ebq holds exactly. False for any NaN, for infinities and where x - y
// overflows. Rounding is monotone, so only |fl(x - y)| == ebq needs the lost part.
template <Real T>
constexpr bool WithinBound(T x, T y, T ebq) {
  const T d = x - y;
  const T magnitude = d < 0 ? -d : d;
  if (magnitude < ebq) return true;
  if (!(magnitude == ebq) || magnitude - magnitude != 0) return false;
  const T lost = TwoSumError(x, -y, d);
  return d > 0 ? lost <= 0 : (d < 0 ? lost >= 0 : lost == 0);
}

}  // namespace szarena::codec
