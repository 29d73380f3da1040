// SPDX-License-Identifier: Apache-2.0
#include "codec/core/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "codec/core/parallel.h"
#include "codec/core/range.h"

namespace szarena::codec {
namespace {

template <Real T>
using BitsOf = std::conditional_t<std::same_as<T, float>, uint32_t, uint64_t>;

template <Real T>
ValueRange RangeOf(const std::byte* data, uint64_t count, std::optional<double> fill) {
  const auto fill_bits = std::bit_cast<BitsOf<T>>(static_cast<T>(fill.value_or(0)));
  const PartRange<T> part = FindPartRange<T>(data, count, fill.has_value(), fill_bits);
  ValueRange range{
      .finite = part.finite, .non_finite = count - part.finite - part.fill, .fill = part.fill};
  if (part.finite > 0) {
    range.min = part.min;
    range.max = part.max;
  }
  return range;
}

}  // namespace

template <Real T>
T RoundBoundDown(double eb) {
  constexpr T kMax = std::numeric_limits<T>::max();
  if (!(eb > 0)) return 0;
  if (eb >= static_cast<double>(kMax)) return kMax;
  T rounded = static_cast<T>(eb);
  if (static_cast<double>(rounded) > eb) rounded = std::nextafter(rounded, T{0});
  return rounded;
}
template float RoundBoundDown<float>(double);
template double RoundBoundDown<double>(double);

Result<void> CheckUserBound(double bound, const char* what) {
  if (bound > 0 && bound <= std::numeric_limits<double>::max()) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{} '{}' has no meaning, expected a finite number above 0", what, bound));
}

ValueRange FindRange(ConstArray values, std::optional<double> fill, unsigned threads) {
  constexpr uint64_t kChunk = 1 << 18;
  const uint64_t chunks = values.count / kChunk + 1;
  std::vector<ValueRange> parts(chunks);
  ForEachChunk(threads, chunks, [&](uint64_t c) {
    const uint64_t first = c * kChunk;
    const uint64_t count = std::min(kChunk, values.count - first);
    const std::byte* data = values.data + first * SizeOf(values.dtype);
    parts[c] = values.dtype == DType::kF32 ? RangeOf<float>(data, count, fill)
                                           : RangeOf<double>(data, count, fill);
  });
  ValueRange all;
  for (const ValueRange& part : parts) {
    if (!part.empty()) {
      all.min = all.empty() ? part.min : std::min(all.min, part.min);
      all.max = all.finite == 0 ? part.max : std::max(all.max, part.max);
    }
    all.finite += part.finite;
    all.non_finite += part.non_finite;
    all.fill += part.fill;
  }
  return all;
}

double ResolveRelativeBound(double rel, const ValueRange& range) {
  if (range.constant()) return 0;
  constexpr double kMax = std::numeric_limits<double>::max();
  const double width = range.max - range.min;
  const double eb = width <= kMax ? rel * width : (range.max / 2 - range.min / 2) * rel * 2;
  return eb <= kMax ? eb : kMax;
}

}  // namespace szarena::codec
