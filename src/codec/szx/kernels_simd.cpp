// SPDX-License-Identifier: Apache-2.0
// Compiled once for every instruction set (Highway); the pack and unpack steps work on 16 bytes
// through a table.
#include "codec/szx/kernels.h"

#define HWY_WANT_AVX3_DL 1  // the variant with VBMI2, left out by default
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "codec/szx/kernels_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/bytes.h"
#include "codec/core/accept.h"
#include "codec/szx/block.h"
#include "codec/szx/pack_tables.h"

HWY_BEFORE_NAMESPACE();
namespace szarena::codec::szx::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

template <Real T>
using BitsOf = typename Type<T>::Bits;

// Blocks that are planned together: enough of them that their sums overlap, few enough that the
// next ones arrive from memory meanwhile.
constexpr std::size_t kPlanGroup = 4;

#if HWY_TARGET == HWY_SCALAR  // no vectors: the plain blocks

template <Real T>
void PlanBlocks(const std::byte* values, std::size_t count, const Bound<T>& bound,
                BlockPlan<T>* plans) {
  for (std::size_t b = 0; b < count; ++b) {
    plans[b] = PlanBlock<T>(values + b * kBlockValues * sizeof(T), kBlockValues, bound);
  }
}
template <Real T, bool>
std::size_t FastWrite(const std::byte* values, const BlockPlan<T>& plan, std::uint8_t* out) {
  return WriteBlock<T>(values, kBlockValues, plan, out);
}
template <Real T, bool>
bool FastRead(const std::uint8_t* block, std::size_t size, std::byte* values) {
  return ReadBlock<T>({block, size}, kBlockValues, values);
}
template <Real T>
void FastFill(T median, std::byte* values) {
  for (std::size_t i = 0; i < kBlockValues; ++i) Store<T>(values + i * sizeof(T), median);
}

#else

}  // namespace
}  // namespace szarena::codec::szx::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#include "codec/szx/plan-inl.h"

HWY_BEFORE_NAMESPACE();
namespace szarena::codec::szx::HWY_NAMESPACE {
namespace {

// Adds up, over the lanes of 16 bytes, code * weight, where a lane's code is the number of its
// leading bytes that are zero: the weights of the three leading bytes of every lane, at the place
// that the lane's code has in its byte.
template <Real T>
struct CodeWeights {
  alignas(64) std::uint8_t bytes[96];
  constexpr CodeWeights() : bytes() {
    for (std::size_t i = 0; i < sizeof bytes; ++i) {
      const std::size_t lane = i / sizeof(T) % 4;
      const std::size_t k = i % sizeof(T);
      bytes[i] = k >= sizeof(T) - 3 ? static_cast<std::uint8_t>(64 >> (2 * lane)) : std::uint8_t{0};
    }
  }
};
template <Real T>
constexpr CodeWeights<T> kCodeWeights{};

}  // namespace
}  // namespace szarena::codec::szx::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
#include "codec/szx/avx512-inl.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace szarena::codec::szx::HWY_NAMESPACE {
namespace {

// WriteBlock for kBlockValues values. Touches up to kEncodeSlack bytes beyond the block.
template <Real T, bool kExact>
std::size_t FastWrite(const std::byte* values, const BlockPlan<T>& plan, std::uint8_t* out) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
  return CompressingWrite<T, kExact>(values, plan, out);
#else
  using Word = BitsOf<T>;
  const hn::ScalableTag<T> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Repartition<std::uint8_t, decltype(d)> d8;
  const hn::Repartition<std::uint64_t, decltype(d)> d64;
  const hn::Full128<std::uint8_t> d16;
  const std::size_t lanes = hn::Lanes(d);
  const int kept_bytes = (plan.required_bits + 7) / 8;
  const int shift = 8 * kept_bytes - plan.required_bits;

  alignas(64) Word words[kBlockValues];
  alignas(64) std::uint64_t sums[kBlockValues * sizeof(T) / 8];
  alignas(64) Word turn[64 / sizeof(T)];
  for (std::size_t i = 0; i < lanes; ++i) turn[i] = static_cast<Word>((i + lanes - 1) % lanes);
  const auto turn_lanes = hn::SetTableIndices(du, turn);
  const auto first_lane = hn::FirstN(du, 1);
  const auto medians = hn::Set(d, plan.median);
  auto turned_before = hn::Zero(du);
  for (std::size_t i = 0; i < kBlockValues; i += lanes) {
    auto x = LoadValues<T>(values, i);
    if constexpr (!kExact) x = hn::Sub(x, medians);
    const auto word = hn::ShiftRightSame(hn::BitCast(du, x), shift);
    hn::Store(word, du, words + i);
    const auto turned = hn::TableLookupLanes(word, turn_lanes);
    const auto differs = hn::Xor(word, hn::IfThenElse(first_lane, turned_before, turned));
    turned_before = turned;
    // Byte k of `smeared` is zero iff the bytes from k up are, for the three leading ones.
    const auto smeared =
        hn::Or(differs, hn::Or(hn::ShiftRight<8>(differs), hn::ShiftRight<16>(differs)));
    const auto shared = hn::Eq(hn::BitCast(d8, smeared), hn::Zero(d8));
    const auto weights = hn::LoadU(d8, kCodeWeights<T>.bytes + i % 4 * sizeof(T));
    hn::Store(hn::SumsOf8(hn::IfThenElseZero(shared, weights)), d64, sums + i * sizeof(T) / 8);
  }

  out[0] = static_cast<std::uint8_t>(plan.required_bits);
  StoreBe(out + 1, plan.median);
  std::uint8_t* const codes = out + kBlockHeadBytes<T>;
  std::uint8_t* next = codes + kBlockValues / 4;
  const auto& set = kPackTables<T>.ForKept(kept_bytes);
  const auto* const word_bytes = reinterpret_cast<const std::uint8_t*>(words);
  const auto pack = [&](std::size_t group, std::size_t code) HWY_ATTR {
    const auto order = hn::Load(d16, set.pack[code].bytes);
    hn::StoreU(hn::TableLookupBytes(hn::Load(d16, word_bytes + 16 * group), order), d16, next);
    next += set.count[code];
  };
  for (std::size_t byte = 0; byte < kBlockValues / 4; ++byte) {
    if constexpr (sizeof(T) == 4) {
      const std::uint64_t code = sums[2 * byte] + sums[2 * byte + 1];
      codes[byte] = static_cast<std::uint8_t>(code);
      pack(byte, code);
    } else {
      const std::uint64_t high = sums[4 * byte] + sums[4 * byte + 1];
      const std::uint64_t low = sums[4 * byte + 2] + sums[4 * byte + 3];
      codes[byte] = static_cast<std::uint8_t>(high + low);
      pack(2 * byte, high >> 4);
      pack(2 * byte + 1, low);
    }
  }
  return static_cast<std::size_t>(next - out);
#endif
}

// ReadBlock for kBlockValues values, where MaxBlockBytes + kDecodeSlack bytes can be read.
template <Real T, bool kExact>
bool FastRead(const std::uint8_t* block, std::size_t size, std::byte* values) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
  return ExpandingRead<T, kExact>(block, size, values);
#else
  using Word = BitsOf<T>;
  const hn::Full128<T> d;
  const hn::Full128<Word> du;
  const hn::Full128<std::uint8_t> d8;
  const hn::Full128<std::int8_t> di8;
  const int kept_bytes = (block[0] + 7) / 8;
  const int shift = 8 * kept_bytes - block[0];
  const auto medians = hn::Set(d, LoadBe<T>(block + 1));
  const std::uint8_t* const codes = block + kBlockHeadBytes<T>;
  const std::uint8_t* next = codes + kBlockValues / 4;
  const auto& set = kPackTables<T>.ForKept(kept_bytes);
  auto* out = reinterpret_cast<std::uint8_t*>(values);
  auto words = hn::Zero(du);
  const auto unpack = [&](std::size_t code) HWY_ATTR {
    const auto order = hn::Load(d8, set.unpack[code].bytes);
    const auto stored = hn::TableLookupBytesOr0(hn::LoadU(d8, next), order);
    const auto carried = hn::BitCast(di8, hn::Broadcast<16 / sizeof(T) - 1>(words));
    // Not IfNegativeThenElse: Highway 1.0 wants whole lanes of sign bits for it on SSSE3.
    words = hn::BitCast(du, hn::IfThenElse(hn::Lt(hn::BitCast(di8, order), hn::Zero(di8)), carried,
                                           hn::BitCast(di8, stored)));
    next += set.count[code];
    auto x = hn::BitCast(d, hn::ShiftLeftSame(words, shift));
    if constexpr (!kExact) x = hn::Add(x, medians);
    hn::StoreU(hn::BitCast(d8, x), d8, out);
    out += 16;
  };
  for (std::size_t byte = 0; byte < kBlockValues / 4; ++byte) {
    if constexpr (sizeof(T) == 4) {
      unpack(codes[byte]);
    } else {
      unpack(codes[byte] >> 4);
      unpack(codes[byte] & 15);
    }
  }
  return next == block + size;
#endif
}

// A constant block's values.
template <Real T>
void FastFill(T median, std::byte* values) {
  const hn::ScalableTag<T> d;
  const hn::Repartition<std::uint8_t, decltype(d)> d8;
  const auto medians = hn::BitCast(d8, hn::Set(d, median));
  auto* const out = reinterpret_cast<std::uint8_t*>(values);
  for (std::size_t i = 0; i < kBlockValues * sizeof(T); i += hn::Lanes(d8))
    hn::StoreU(medians, d8, out + i);
}

#endif  // HWY_SCALAR

template <Real T>
RunSizes EncodeTyped(const std::byte* values, std::size_t blocks, const Bound<T>& bound,
                     EncodeTarget target) {
  std::uint8_t* const coded_begin = target.coded;
  RunSizes run;
  std::memset(target.states, 0, CeilDiv(blocks, 8));
  BlockPlan<T> plans[kPlanGroup];
  for (std::size_t b = 0; b < blocks; ++b, values += kBlockValues * sizeof(T)) {
    const std::size_t in_group = b % kPlanGroup;
    if (in_group == 0) PlanBlocks<T>(values, std::min(kPlanGroup, blocks - b), bound, plans);
    const BlockPlan<T>& plan = plans[in_group];
    // The next group comes from memory while this one is written. (Beyond the end it is harmless.)
    for (std::size_t line = 0; line < kBlockValues * sizeof(T); line += 64) {
      hwy::Prefetch(values + kPlanGroup * kBlockValues * sizeof(T) + line);
    }
    if (plan.constant) {
      StoreBe(target.medians, plan.median);
      target.medians += sizeof(T);
      continue;
    }
    const std::size_t size = plan.exact ? FastWrite<T, true>(values, plan, target.coded)
                                        : FastWrite<T, false>(values, plan, target.coded);
    target.states[b / 8] |= static_cast<std::uint8_t>(0x80 >> (b % 8));
    target.coded += size;
    StoreLe(target.sizes, static_cast<std::uint16_t>(size));
    target.sizes += 2;
    ++run.coded_blocks;
  }
  run.coded_bytes = static_cast<std::size_t>(target.coded - coded_begin);
  return run;
}

template <Real T>
bool DecodeTyped(DecodeSource source, std::size_t blocks, std::byte* values) {
  const std::uint8_t* const end = source.parts->coded.data() + source.parts->coded.size();
  for (std::size_t b = 0; b < blocks; ++b, values += kBlockValues * sizeof(T)) {
    if (!source.parts->coded_block(source.first_block + b)) {
      FastFill<T>(LoadBe<T>(source.medians), values);
      source.medians += sizeof(T);
      continue;
    }
    const std::size_t size = LoadLe<std::uint16_t>(source.sizes);
    source.sizes += 2;
    const std::uint8_t* const block = source.coded;
    source.coded += size;
    if (static_cast<std::size_t>(end - block) < MaxBlockBytes<T>(kBlockValues) + kDecodeSlack) {
      if (!ReadBlock<T>({block, size}, kBlockValues, values)) return false;
      continue;
    }
    if (block[0] < Type<T>::kHeadBits || block[0] > Type<T>::kBits) return false;
    const bool exact = block[0] == Type<T>::kBits && LoadBe<T>(block + 1) == 0;
    if (!(exact ? FastRead<T, true>(block, size, values) : FastRead<T, false>(block, size, values)))
      return false;
  }
  return true;
}

}  // namespace

RunSizes EncodeF32(const std::byte* values, std::size_t blocks, const Bound<float>& bound,
                   const EncodeTarget& target) {
  return EncodeTyped<float>(values, blocks, bound, target);
}
RunSizes EncodeF64(const std::byte* values, std::size_t blocks, const Bound<double>& bound,
                   const EncodeTarget& target) {
  return EncodeTyped<double>(values, blocks, bound, target);
}
bool DecodeF32(const DecodeSource& source, std::size_t blocks, std::byte* values) {
  return DecodeTyped<float>(source, blocks, values);
}
bool DecodeF64(const DecodeSource& source, std::size_t blocks, std::byte* values) {
  return DecodeTyped<double>(source, blocks, values);
}

}  // namespace szarena::codec::szx::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace szarena::codec::szx {

HWY_EXPORT(EncodeF32);
HWY_EXPORT(EncodeF64);
HWY_EXPORT(DecodeF32);
HWY_EXPORT(DecodeF64);

template <>
RunSizes EncodeRun<float>(const std::byte* values, std::size_t blocks, const Bound<float>& bound,
                          const EncodeTarget& target) {
  return HWY_DYNAMIC_DISPATCH(EncodeF32)(values, blocks, bound, target);
}
template <>
RunSizes EncodeRun<double>(const std::byte* values, std::size_t blocks, const Bound<double>& bound,
                           const EncodeTarget& target) {
  return HWY_DYNAMIC_DISPATCH(EncodeF64)(values, blocks, bound, target);
}
template <>
bool DecodeRun<float>(const DecodeSource& source, std::size_t blocks, std::byte* values) {
  return HWY_DYNAMIC_DISPATCH(DecodeF32)(source, blocks, values);
}
template <>
bool DecodeRun<double>(const DecodeSource& source, std::size_t blocks, std::byte* values) {
  return HWY_DYNAMIC_DISPATCH(DecodeF64)(source, blocks, values);
}

}  // namespace szarena::codec::szx
#endif  // HWY_ONCE
