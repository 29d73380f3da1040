// SPDX-License-Identifier: Apache-2.0
// Smallest and largest finite value of an array, compiled once per Highway target.
#include "codec/core/range.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/core/range_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstring>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace szarena::codec {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
HWY_INLINE PartRange<T> RangeLoop(const std::byte* data, uint64_t count, bool has_fill,
                                  uint64_t fill_bits) {
  const hn::ScalableTag<T> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  using U = hn::TFromD<decltype(du)>;
  const uint64_t lanes = hn::Lanes(d);
  constexpr T kInf = std::numeric_limits<T>::infinity();
  const auto inf = hn::Set(d, kInf);
  const auto fill = hn::Set(du, static_cast<U>(fill_bits));
  auto low = inf;
  auto high = hn::Neg(inf);
  PartRange<T> part;
  const uint64_t whole = count - count % lanes;
  const T* from = reinterpret_cast<const T*>(data);
  for (uint64_t i = 0; i < whole; i += lanes) {
    const auto x = hn::LoadU(d, from + i);
    auto counts = hn::Lt(hn::Abs(x), inf);  // false for NaN
    if (has_fill) {
      const auto is_fill =
          hn::MaskFromVec(hn::BitCast(d, hn::VecFromMask(du, hn::Eq(hn::BitCast(du, x), fill))));
      part.fill += hn::CountTrue(d, is_fill);
      counts = hn::AndNot(is_fill, counts);
    }
    low = hn::Min(low, hn::IfThenElse(counts, x, inf));
    high = hn::Max(high, hn::IfThenElse(counts, x, hn::Neg(inf)));
    part.finite += hn::CountTrue(d, counts);
  }
  part.min = hn::GetLane(hn::MinOfLanes(d, low));
  part.max = hn::GetLane(hn::MaxOfLanes(d, high));
  for (uint64_t i = whole; i < count; ++i) {
    T x;
    U bits;
    std::memcpy(&x, data + i * sizeof(T), sizeof x);
    std::memcpy(&bits, &x, sizeof bits);
    const bool is_fill = has_fill && bits == static_cast<U>(fill_bits);
    const bool counts = x - x == 0 && !is_fill;  // Inf - Inf and NaN - NaN are NaN
    part.fill += is_fill;
    part.finite += counts;
    if (counts && x < part.min) part.min = x;
    if (counts && x > part.max) part.max = x;
  }
  return part;
}

PartRange<float> RangeF32(const std::byte* data, uint64_t count, bool has_fill, uint64_t fill) {
  return RangeLoop<float>(data, count, has_fill, fill);
}

PartRange<double> RangeF64(const std::byte* data, uint64_t count, bool has_fill, uint64_t fill) {
  return RangeLoop<double>(data, count, has_fill, fill);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace szarena::codec
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace szarena::codec {

HWY_EXPORT(RangeF32);
HWY_EXPORT(RangeF64);

template <>
PartRange<float> FindPartRange<float>(const std::byte* data, uint64_t count, bool has_fill,
                                      uint64_t fill) {
  return HWY_DYNAMIC_DISPATCH(RangeF32)(data, count, has_fill, fill);
}

template <>
PartRange<double> FindPartRange<double>(const std::byte* data, uint64_t count, bool has_fill,
                                        uint64_t fill) {
  return HWY_DYNAMIC_DISPATCH(RangeF64)(data, count, has_fill, fill);
}

}  // namespace szarena::codec
#endif  // HWY_ONCE
