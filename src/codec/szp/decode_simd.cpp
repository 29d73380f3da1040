// SPDX-License-Identifier: Apache-2.0
// The fast decoder, compiled once per Highway target. Reads like reference.cpp with 32 values at a
// time.
#include "codec/szp/avx512_dispatch.h"
#include "codec/szp/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/szp/decode_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "codec/szp/planes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace szarena::codec::szp {
namespace HWY_NAMESPACE {
#if SZP_VECTOR_BITS == 0

template <Real T>
void DecodeLoop(const std::byte* rates, const std::byte* payload, const std::byte*, uint64_t blocks,
                const Quantiser<T>& quantiser, Mode mode, std::byte* values) {
  const SizeTable sizes = MakeSizeTable(kDTypeOf<T>, mode);
  for (uint64_t b = 0; b < blocks; ++b) {
    const auto rate_byte = static_cast<uint8_t>(rates[b]);
    DecodeBlock<T>(rate_byte, payload, kBlock, quantiser, mode, values + b * kBlock * sizeof(T));
    payload += sizes[rate_byte];
  }
}

#else

template <class T>
using DReal = hn::Simd<T, kVectorLanes * 4 / sizeof(T), 0>;

HWY_INLINE void StoreValues(VI q, float ebq, std::byte* values) {
  const DReal<float> d;
  const auto x = hn::Mul(hn::Mul(hn::ConvertTo(d, q), hn::Set(d, ebq)), hn::Set(d, 2.0f));
  hn::StoreU(x, d, reinterpret_cast<float*>(values));
}

HWY_INLINE void StoreValues(VI q, double ebq, std::byte* values) {
  const DReal<double> d;
  const hn::Half<DI> half;
  const auto bound = hn::Set(d, ebq);
  const auto two = hn::Set(d, 2.0);
  const auto low = hn::PromoteTo(d, hn::LowerHalf(half, q));
  const auto high = hn::PromoteTo(d, hn::UpperHalf(half, q));
  double* const out = reinterpret_cast<double*>(values);
  hn::StoreU(hn::Mul(hn::Mul(low, bound), two), d, out);
  hn::StoreU(hn::Mul(hn::Mul(high, bound), two), d, out + kVectorLanes / 2);
}

alignas(64) constexpr int32_t kDropFirst[2][16] = {
    {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
    {0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}};
constexpr uint32_t kFirstMask[4] = {0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF};

template <class T, Mode kMode>
HWY_INLINE void DecodeLoopAs(const std::byte* rates, const std::byte* payload, const std::byte* end,
                             uint64_t blocks, T ebq, std::byte* values) {
  const DI d;
  for (uint64_t b = 0; b < blocks; ++b, values += kBlock * sizeof(T)) {
    const auto rate_byte = static_cast<uint32_t>(rates[b]);
    if (rate_byte == 0) {
      std::memset(values, 0, kBlock * sizeof(T));
      continue;
    }
    if (HWY_UNLIKELY(rate_byte == kRawRate)) {
      std::memcpy(values, payload, kBlock * sizeof(T));
      payload += kBlock * sizeof(T);
      continue;
    }
    hwy::Prefetch(payload + kPrefetchBytes);
    const uint32_t rate = rate_byte & 0x1F;
    uint32_t first = 0;
    bool apart = false;
    if constexpr (kMode == Mode::kOutlier) {
      // No branch: the form changes from block to block. Four bytes are there in either form.
      apart = (rate_byte & kOutlierFlag) != 0;
      const uint32_t bytes = rate_byte >> 5 & 3;
      std::memcpy(&first, payload, sizeof first);
      first &= apart ? kFirstMask[bytes] : 0;
      payload += apart ? bytes + 1 : 0;
      if ((static_cast<uint32_t>(*payload) & 0x80) != 0) first = 0 - first;
    }
    VI q[kVectors];
    LoadDifferences(payload, rate + 1, end, q);
    payload += kSignBytes + kPlaneBytes * rate;
    if constexpr (kMode == Mode::kOutlier) {
      const VI drop = hn::Load(d, kDropFirst[apart]);
      q[0] = hn::Or(hn::And(q[0], drop), hn::AndNot(drop, hn::Set(d, static_cast<int32_t>(first))));
    }
    if constexpr (kMode != Mode::kFixed) SumDifferences(q);
    Reorder(q);
#pragma GCC unroll 8
    for (size_t k = 0; k < kVectors; ++k) {
      StoreValues(q[k], ebq, values + k * kVectorLanes * sizeof(T));
    }
  }
}

template <Real T>
void DecodeLoop(const std::byte* rates, const std::byte* payload, const std::byte* end,
                uint64_t blocks, const Quantiser<T>& quantiser, Mode mode, std::byte* values) {
  const T ebq = quantiser.ebq;
  switch (mode) {
    case Mode::kFixed:
      return DecodeLoopAs<T, Mode::kFixed>(rates, payload, end, blocks, ebq, values);
    case Mode::kPlain:
      return DecodeLoopAs<T, Mode::kPlain>(rates, payload, end, blocks, ebq, values);
    case Mode::kOutlier:
      return DecodeLoopAs<T, Mode::kOutlier>(rates, payload, end, blocks, ebq, values);
  }
}

#endif  // SZP_VECTOR_BITS

void DecodeF32(const std::byte* rates, const std::byte* payload, const std::byte* end,
               uint64_t blocks, const Quantiser<float>& quantiser, Mode mode, std::byte* values) {
  DecodeLoop<float>(rates, payload, end, blocks, quantiser, mode, values);
}

void DecodeF64(const std::byte* rates, const std::byte* payload, const std::byte* end,
               uint64_t blocks, const Quantiser<double>& quantiser, Mode mode, std::byte* values) {
  DecodeLoop<double>(rates, payload, end, blocks, quantiser, mode, values);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace szarena::codec::szp
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace szarena::codec::szp {

HWY_EXPORT(DecodeF32);
HWY_EXPORT(DecodeF64);

void DecodeBlocks(const std::byte* rates, const std::byte* payload, const std::byte* end,
                  uint64_t blocks, const Quantiser<float>& quantiser, Mode mode,
                  std::byte* values) {
#if SZARENA_SZP_AVX512
  if (UseAvx512(quantiser)) {
    return DecodeBlocksAvx512(rates, payload, blocks, quantiser.ebq, static_cast<int>(mode),
                              values);
  }
#endif
  HWY_DYNAMIC_DISPATCH(DecodeF32)(rates, payload, end, blocks, quantiser, mode, values);
}

void DecodeBlocks(const std::byte* rates, const std::byte* payload, const std::byte* end,
                  uint64_t blocks, const Quantiser<double>& quantiser, Mode mode,
                  std::byte* values) {
#if SZARENA_SZP_AVX512
  if (UseAvx512(quantiser)) {
    return DecodeBlocksAvx512(rates, payload, blocks, quantiser.ebq, static_cast<int>(mode),
                              values);
  }
#endif
  HWY_DYNAMIC_DISPATCH(DecodeF64)(rates, payload, end, blocks, quantiser, mode, values);
}

}  // namespace szarena::codec::szp
#endif  // HWY_ONCE
