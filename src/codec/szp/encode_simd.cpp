// SPDX-License-Identifier: Apache-2.0
// The fast encoder, compiled once per Highway target. Reads like reference.cpp with 32 values at a
// time.
#include "codec/szp/avx512_dispatch.h"
#include "codec/szp/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/szp/encode_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <bit>

#include "codec/szp/planes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace szarena::codec::szp {
namespace HWY_NAMESPACE {
#if SZP_VECTOR_BITS == 0

template <Real T>
uint64_t EncodeLoop(const std::byte* values, uint64_t blocks, const Quantiser<T>& quantiser,
                    Mode mode, std::byte* rates, std::byte* payload) {
  std::byte* out = payload;
  for (uint64_t b = 0; b < blocks; ++b) {
    const EncodedBlock encoded =
        EncodeBlock<T>(values + b * kBlock * sizeof(T), kBlock, quantiser, mode, out);
    rates[b] = static_cast<std::byte>(encoded.rate_byte);
    out += encoded.size;
  }
  return static_cast<uint64_t>(out - payload);
}

#else

template <class T>
using DReal = hn::Simd<T, kVectorLanes * 4 / sizeof(T), 0>;

// One vector of values quantised.
template <class T>
struct Quantised {
  hn::Vec<DReal<T>> q;           // integral, q itself
  hn::Mask<DReal<T>> in_range;   // |q| below the limit
  hn::Vec<DReal<T>> difference;  // value less what the decoder will compute
};

template <class T>
HWY_INLINE Quantised<T> QuantiseVector(hn::Vec<DReal<T>> x, T scale, T ebq) {
  const DReal<T> d;
  const auto t = hn::Mul(x, hn::Set(d, scale));
  const auto rounded = hn::Trunc(hn::Add(t, hn::Set(d, T{0.5})));
  const auto below = hn::IfThenElseZero(hn::Lt(t, hn::Set(d, T{-0.5})), hn::Set(d, T{1}));
  const auto q = hn::Sub(rounded, below);
  const auto decoded = hn::Mul(hn::Mul(q, hn::Set(d, ebq)), hn::Set(d, T{2}));
  return {q, hn::Lt(hn::Abs(q), hn::Set(d, kQuantLimit<T>)), hn::Sub(x, decoded)};
}

// |x - decoded| <= ebq exactly; see WithinBound.
template <class T>
HWY_INLINE hn::Mask<DReal<T>> WithinBoundVector(hn::Vec<DReal<T>> x, const Quantised<T>& v, T ebq) {
  const DReal<T> d;
  const auto decoded = hn::Mul(hn::Mul(v.q, hn::Set(d, ebq)), hn::Set(d, T{2}));
  const auto magnitude = hn::Abs(v.difference);
  const auto bound = hn::Set(d, ebq);
  const auto b_seen = hn::Sub(v.difference, x);
  const auto a_seen = hn::Sub(v.difference, b_seen);
  const auto lost = hn::Add(hn::Sub(x, a_seen), hn::Sub(hn::Neg(decoded), b_seen));
  const auto against = hn::Xor(lost, hn::And(v.difference, hn::Set(d, T{-0.0})));
  return hn::Or(hn::Lt(magnitude, bound),
                hn::And(hn::Eq(magnitude, bound), hn::Le(against, hn::Zero(d))));
}

HWY_INLINE VI ToIntegers(const Quantised<float>* v) { return hn::ConvertTo(DI(), v[0].q); }
HWY_INLINE VI ToIntegers(const Quantised<double>* v) {
  const hn::Half<DI> half;
  return hn::Combine(DI(), hn::DemoteTo(half, v[1].q), hn::DemoteTo(half, v[0].q));
}

// Quantises a block; false where it has to be stored raw.
template <class T>
HWY_INLINE bool QuantiseBlock(const std::byte* values, T scale, T ebq, VI* q) {
  const DReal<T> d;
  constexpr size_t kLanes = kVectorLanes * 4 / sizeof(T);
  constexpr size_t kParts = 32 / kLanes;
  const auto bound = hn::Set(d, ebq);
  const T* from = reinterpret_cast<const T*>(values);
  Quantised<T> v[kParts];
  auto fine = hn::Eq(bound, bound);
#pragma GCC unroll 16
  for (size_t k = 0; k < kParts; ++k) {
    v[k] = QuantiseVector<T>(hn::LoadU(d, from + k * kLanes), scale, ebq);
    fine = hn::And(fine, hn::And(v[k].in_range, hn::Lt(hn::Abs(v[k].difference), bound)));
  }
  if (HWY_UNLIKELY(!hn::AllTrue(d, fine))) {
    fine = hn::Eq(bound, bound);
    for (size_t k = 0; k < kParts; ++k) {
      const auto x = hn::LoadU(d, from + k * kLanes);
      fine = hn::And(fine, hn::And(v[k].in_range, WithinBoundVector<T>(x, v[k], ebq)));
    }
    if (!hn::AllTrue(d, fine)) return false;
  }
#pragma GCC unroll 8
  for (size_t k = 0; k < kVectors; ++k) q[k] = ToIntegers(v + k * (kParts / kVectors));
  return true;
}

// Lane 0 of a block's first vector: all of a word, or its sign alone where its magnitude is kept
// apart.
alignas(64) constexpr int32_t kKeepFirst[2][16] = {
    {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
    {1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}};
alignas(64) constexpr int32_t kDropFirst[16] = {0,  -1, -1, -1, -1, -1, -1, -1,
                                                -1, -1, -1, -1, -1, -1, -1, -1};

HWY_INLINE uint32_t BitLength(uint32_t v) { return static_cast<uint32_t>(std::bit_width(v)); }

template <class T, Mode kMode>
HWY_INLINE uint64_t EncodeLoopAs(const std::byte* values, uint64_t blocks, T scale, T ebq,
                                 std::byte* rates, std::byte* payload) {
  const DI d;
  const hn::Simd<uint32_t, kVectorLanes, 0> du;
  std::byte* out = payload;
  for (uint64_t b = 0; b < blocks; ++b, values += kBlock * sizeof(T)) {
    VI q[kVectors];
    if (HWY_UNLIKELY(!QuantiseBlock<T>(values, scale, ebq, q))) {
      std::memcpy(out, values, kBlock * sizeof(T));
      rates[b] = std::byte{kRawRate};
      out += kBlock * sizeof(T);
      continue;
    }
    VI words[kVectors];
    VI seen = hn::Zero(d);
    VI previous = hn::Zero(d);
    uint32_t first = 0;
#pragma GCC unroll 8
    for (size_t k = 0; k < kVectors; ++k) {
      VI difference = q[k];
      if constexpr (kMode != Mode::kFixed) {
        difference = hn::Sub(q[k], ShiftUp(q[k], previous));
        previous = q[k];
      }
      const VI magnitude = hn::Abs(difference);
      const VI sign = hn::BitCast(d, hn::ShiftRight<31>(hn::BitCast(du, difference)));
      words[k] = hn::Or(hn::ShiftLeft<1>(magnitude), sign);
      if (kMode == Mode::kOutlier && k == 0) {
        first = static_cast<uint32_t>(hn::GetLane(magnitude));
        seen = hn::And(magnitude, hn::Load(d, kDropFirst));
      } else {
        seen = hn::Or(seen, magnitude);
      }
    }
    const uint32_t rest = OrAll(seen);
    if ((rest | first) == 0) {
      rates[b] = std::byte{0};
      continue;
    }
    uint32_t rate = BitLength(rest | first);
    uint32_t rate_byte = rate;
    if constexpr (kMode == Mode::kOutlier) {
      // No branch: which form is shorter changes from block to block.
      const uint32_t rate_apart = BitLength(rest);
      const uint32_t first_bytes = (BitLength(first) + 7) / 8;
      const bool apart = kPlaneBytes * rate > kPlaneBytes * rate_apart + first_bytes;
      std::memcpy(out, &first, sizeof first);
      out += apart ? first_bytes : 0;
      rate_byte = apart ? kOutlierFlag | (first_bytes - 1) << 5 | rate_apart : rate;
      rate = apart ? rate_apart : rate;
      words[0] = hn::And(words[0], hn::Load(d, kKeepFirst[apart]));
    }
    rates[b] = static_cast<std::byte>(rate_byte);
    StorePlanes(words, rate + 1, out);
    out += kSignBytes + kPlaneBytes * rate;
  }
  return static_cast<uint64_t>(out - payload);
}

template <Real T>
uint64_t EncodeLoop(const std::byte* values, uint64_t blocks, const Quantiser<T>& quantiser,
                    Mode mode, std::byte* rates, std::byte* payload) {
  const T scale = quantiser.scale;
  const T ebq = quantiser.ebq;
  switch (mode) {
    case Mode::kFixed:
      return EncodeLoopAs<T, Mode::kFixed>(values, blocks, scale, ebq, rates, payload);
    case Mode::kPlain:
      return EncodeLoopAs<T, Mode::kPlain>(values, blocks, scale, ebq, rates, payload);
    case Mode::kOutlier:
      return EncodeLoopAs<T, Mode::kOutlier>(values, blocks, scale, ebq, rates, payload);
  }
  return 0;
}

#endif  // SZP_VECTOR_BITS

uint64_t EncodeF32(const std::byte* values, uint64_t blocks, const Quantiser<float>& quantiser,
                   Mode mode, std::byte* rates, std::byte* payload) {
  return EncodeLoop<float>(values, blocks, quantiser, mode, rates, payload);
}

uint64_t EncodeF64(const std::byte* values, uint64_t blocks, const Quantiser<double>& quantiser,
                   Mode mode, std::byte* rates, std::byte* payload) {
  return EncodeLoop<double>(values, blocks, quantiser, mode, rates, payload);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace szarena::codec::szp
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace szarena::codec::szp {

HWY_EXPORT(EncodeF32);
HWY_EXPORT(EncodeF64);

uint64_t EncodeBlocks(const std::byte* values, uint64_t blocks, const Quantiser<float>& quantiser,
                      Mode mode, std::byte* rates, std::byte* payload) {
#if SZARENA_SZP_AVX512
  if (UseAvx512(quantiser)) {
    return EncodeBlocksAvx512(values, blocks, quantiser.scale, quantiser.ebq,
                              static_cast<int>(mode), rates, payload);
  }
#endif
  return HWY_DYNAMIC_DISPATCH(EncodeF32)(values, blocks, quantiser, mode, rates, payload);
}

uint64_t EncodeBlocks(const std::byte* values, uint64_t blocks, const Quantiser<double>& quantiser,
                      Mode mode, std::byte* rates, std::byte* payload) {
#if SZARENA_SZP_AVX512
  if (UseAvx512(quantiser)) {
    return EncodeBlocksAvx512(values, blocks, quantiser.scale, quantiser.ebq,
                              static_cast<int>(mode), rates, payload);
  }
#endif
  return HWY_DYNAMIC_DISPATCH(EncodeF64)(values, blocks, quantiser, mode, rates, payload);
}

}  // namespace szarena::codec::szp
#endif  // HWY_ONCE
