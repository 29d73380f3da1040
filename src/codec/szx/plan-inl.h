// SPDX-License-Identifier: Apache-2.0
// PlanBlock for several whole blocks. Each step is done for all of them before the next, so that no
// block waits for the end of its own sums. Included by kernels_simd.cpp, once for every instruction
// set.
HWY_BEFORE_NAMESPACE();
namespace szarena::codec::szx::HWY_NAMESPACE {
namespace {

template <Real T>
HWY_INLINE hn::Vec<hn::ScalableTag<T>> LoadValues(const std::byte* values, std::size_t i) {
  const hn::Repartition<std::uint8_t, hn::ScalableTag<T>> bytes;
  return hn::BitCast(
      hn::ScalableTag<T>(),
      hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(values + i * sizeof(T))));
}

// Smallest and largest value of a block; min > max where a value is not finite.
template <Real T>
struct Extremes {
  T min, max;
};

template <Real T>
HWY_INLINE Extremes<T> FindExtremes(const std::byte* values) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  // Two of each, so that steps need not wait for each other.
  static_assert(kBlockValues % (2 * 64 / sizeof(T)) == 0);
  const auto zero = hn::Zero(d);
  auto min_even = LoadValues<T>(values, 0);
  auto min_odd = LoadValues<T>(values, lanes);
  auto max_even = min_even;
  auto max_odd = min_odd;
  auto poison_even = hn::Mul(min_even, zero);  // NaN from the first value on that is not finite
  auto poison_odd = hn::Mul(min_odd, zero);
  for (std::size_t i = 2 * lanes; i < kBlockValues; i += 2 * lanes) {
    const auto even = LoadValues<T>(values, i);
    const auto odd = LoadValues<T>(values, i + lanes);
    min_even = hn::Min(min_even, even);
    min_odd = hn::Min(min_odd, odd);
    max_even = hn::Max(max_even, even);
    max_odd = hn::Max(max_odd, odd);
    poison_even = hn::MulAdd(even, zero, poison_even);
    poison_odd = hn::MulAdd(odd, zero, poison_odd);
  }
  if (!hn::AllTrue(d, hn::Eq(hn::Add(poison_even, poison_odd), zero))) return {1, 0};
  return {hn::GetLane(hn::MinOfLanes(d, hn::Min(min_even, min_odd))),
          hn::GetLane(hn::MaxOfLanes(d, hn::Max(max_even, max_odd)))};
}

// The plan that holds if every value of a coded block turns out to be accepted. The bound is above
// 0.
template <Real T>
HWY_INLINE BlockPlan<T> PlanFromExtremes(Extremes<T> extremes, const Bound<T>& bound) {
  constexpr BlockPlan<T> kExact = {.exact = true, .required_bits = Type<T>::kBits, .median = -T{0}};
  const auto [min, max] = extremes;
  const T range = max - min;
  if (!(range >= 0 && range <= std::numeric_limits<T>::max())) return kExact;
  const T radius = range / 2;
  const T median = (min + radius) + T{0};
  if (radius <= bound.value) {
    // The distance to the median is largest at an end.
    if (!WithinBound(min, median, bound.value) || !WithinBound(max, median, bound.value)) {
      return kExact;
    }
    return {.constant = true, .median = median};
  }
  const int exponent =
      static_cast<int>(std::bit_cast<BitsOf<T>>(radius) >> Type<T>::kMantissaBits) -
      Type<T>::kExponentBias;
  const int required_bits =
      std::max(Type<T>::kHeadBits, Type<T>::kHeadBits + (exponent - bound.exponent) + 1);
  if (required_bits > Type<T>::kBits || (required_bits == Type<T>::kBits && median == 0)) {
    return {.exact = true, .required_bits = Type<T>::kBits, .median = 0};
  }
  return {.required_bits = required_bits, .median = median};
}

// The largest rounded |x - x'| of a block coded as planned.
template <Real T>
HWY_INLINE T LargestError(const std::byte* values, const BlockPlan<T>& plan) {
  const hn::ScalableTag<T> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const std::size_t lanes = hn::Lanes(d);
  const auto mask = hn::BitCast(
      d,
      hn::Set(du, static_cast<BitsOf<T>>(~BitsOf<T>{0} << (Type<T>::kBits - plan.required_bits))));
  const auto medians = hn::Set(d, plan.median);
  const auto error = [&](std::size_t i) HWY_ATTR {
    const auto x = LoadValues<T>(values, i);
    const auto restored = hn::Add(hn::And(hn::Sub(x, medians), mask), medians);
    return hn::Abs(hn::Sub(x, restored));
  };
  auto worst_even = error(0);
  auto worst_odd = error(lanes);
  for (std::size_t i = 2 * lanes; i < kBlockValues; i += 2 * lanes) {
    worst_even = hn::Max(worst_even, error(i));
    worst_odd = hn::Max(worst_odd, error(i + lanes));
  }
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(worst_even, worst_odd)));
}

// Plans `count` <= kPlanGroup blocks.
template <Real T>
void PlanBlocks(const std::byte* values, std::size_t count, const Bound<T>& bound,
                BlockPlan<T>* plans) {
  constexpr std::size_t kBlockBytes = kBlockValues * sizeof(T);
  if (!(bound.value > 0)) {
    for (std::size_t b = 0; b < count; ++b) {
      plans[b] = PlanBlock<T>(values + b * kBlockBytes, kBlockValues, bound);
    }
    return;
  }
  Extremes<T> extremes[kPlanGroup];
  for (std::size_t b = 0; b < count; ++b) extremes[b] = FindExtremes<T>(values + b * kBlockBytes);
  for (std::size_t b = 0; b < count; ++b) plans[b] = PlanFromExtremes<T>(extremes[b], bound);
  for (std::size_t b = 0; b < count; ++b) {
    if (plans[b].constant || plans[b].exact) continue;
    // Rounding is monotone: below the bound is within it, above is outside; only equality needs the
    // exact test.
    const T error = LargestError<T>(values + b * kBlockBytes, plans[b]);
    if (error < bound.value) continue;
    if (error == bound.value) {
      plans[b] = PlanBlock<T>(values + b * kBlockBytes, kBlockValues, bound);
    } else {
      plans[b] = {.exact = true, .required_bits = Type<T>::kBits, .median = -T{0}};
    }
  }
}

}  // namespace
}  // namespace szarena::codec::szx::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
