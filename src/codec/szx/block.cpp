// SPDX-License-Identifier: Apache-2.0
#include "codec/szx/block.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/bytes.h"
#include "codec/core/accept.h"
#include "codec/core/array.h"

namespace szarena::codec::szx {
namespace {

template <Real T>
using BitsOf = typename Type<T>::Bits;

template <Real T>
T Value(const std::byte* values, std::size_t i) {
  return Load<T>(values + i * sizeof(T));
}

// Unbiased exponent field.
template <Real T>
int Exponent(T value) {
  const auto field =
      std::bit_cast<BitsOf<T>>(value) >> Type<T>::kMantissaBits & (2 * Type<T>::kExponentBias + 1);
  return static_cast<int>(field) - Type<T>::kExponentBias;
}

// Every value as it is: full length, median -0 (x + -0 is x).
template <Real T>
BlockPlan<T> ExactPlan() {
  return {.exact = true, .required_bits = Type<T>::kBits, .median = -T{0}};
}

// How many bytes of a word are kept, and by how much the word moves right so that they end on a
// byte.
struct KeptBytes {
  int bytes;
  int shift;
};
KeptBytes Kept(int required_bits) {
  const int bytes = (required_bits + 7) / 8;
  return {bytes, 8 * bytes - required_bits};
}

// Number of leading bytes, up to 3, that are zero in `difference`.
template <typename Word>
int LeadingCode(Word difference) {
  return std::min(3, std::countl_zero(difference) / 8);
}

// What the decoder makes of a difference's kept bits.
template <Real T>
T Restore(BitsOf<T> kept_bits, T median) {
  return std::bit_cast<T>(kept_bits) + median;
}

}  // namespace

template <Real T>
BlockPlan<T> PlanBlock(const std::byte* values, std::size_t count, const Bound<T>& bound) {
  T min = Value<T>(values, 0);
  T max = min;
  for (std::size_t i = 0; i < count; ++i) {
    const T x = Value<T>(values, i);
    if (!std::isfinite(x)) return ExactPlan<T>();
    min = std::min(min, x);
    max = std::max(max, x);
  }
  const T range = max - min;
  if (!std::isfinite(range)) return ExactPlan<T>();
  const T radius = range / 2;
  const T median = (min + radius) + T{0};

  if (radius <= bound.value) {
    for (std::size_t i = 0; i < count; ++i) {
      const T x = Value<T>(values, i);
      // The exact mode keeps even the sign of zero.
      const bool accepted = bound.value > 0
                                ? WithinBound(x, median, bound.value)
                                : std::bit_cast<BitsOf<T>>(x) == std::bit_cast<BitsOf<T>>(median);
      if (!accepted) return ExactPlan<T>();
    }
    return {.constant = true, .median = median};
  }

  const int required_bits =
      std::max(Type<T>::kHeadBits, Type<T>::kHeadBits + (Exponent(radius) - bound.exponent) + 1);
  if (bound.value == 0 || required_bits > Type<T>::kBits ||
      (required_bits == Type<T>::kBits && median == 0)) {
    return {.exact = true, .required_bits = Type<T>::kBits, .median = 0};
  }
  const auto mask = static_cast<BitsOf<T>>(~BitsOf<T>{0} << (Type<T>::kBits - required_bits));
  for (std::size_t i = 0; i < count; ++i) {
    const T x = Value<T>(values, i);
    const T restored = Restore<T>(std::bit_cast<BitsOf<T>>(x - median) & mask, median);
    if (!WithinBound(x, restored, bound.value)) return ExactPlan<T>();
  }
  return {.required_bits = required_bits, .median = median};
}

template <Real T>
std::size_t WriteBlock(const std::byte* values, std::size_t count, const BlockPlan<T>& plan,
                       std::uint8_t* out) {
  using Word = BitsOf<T>;
  const auto [kept_bytes, shift] = Kept(plan.required_bits);
  std::uint8_t* const codes = out + kBlockHeadBytes<T>;
  std::uint8_t* next = codes + CeilDiv(count, 4);
  out[0] = static_cast<std::uint8_t>(plan.required_bits);
  StoreBe(out + 1, plan.median);
  std::fill(codes, next, std::uint8_t{0});

  Word previous = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const T x = Value<T>(values, i);
    const Word word = std::bit_cast<Word>(plan.exact ? x : x - plan.median) >> shift;
    const int code = LeadingCode<Word>(word ^ previous);
    codes[i / 4] |= static_cast<std::uint8_t>(code << (6 - 2 * (i % 4)));
    // From the least significant kept byte up to the most significant one that the neighbour does
    // not share.
    for (int k = static_cast<int>(sizeof(T)) - kept_bytes; k < static_cast<int>(sizeof(T)) - code;
         ++k) {
      *next++ = static_cast<std::uint8_t>(word >> (8 * k));
    }
    previous = word;
  }
  return static_cast<std::size_t>(next - out);
}

template <Real T>
std::optional<std::size_t> MeasureBlock(Bytes bytes, std::size_t count) {
  std::size_t size = kBlockHeadBytes<T> + CeilDiv(count, 4);
  if (bytes.size() < size) return std::nullopt;
  const int required_bits = bytes[0];
  if (required_bits < Type<T>::kHeadBits || required_bits > Type<T>::kBits) return std::nullopt;
  const int kept_bytes = Kept(required_bits).bytes;
  for (std::size_t i = 0; i < count; ++i) {
    const int code = bytes[kBlockHeadBytes<T> + i / 4] >> (6 - 2 * (i % 4)) & 3;
    size += static_cast<std::size_t>(std::max(0, kept_bytes - code));
  }
  if (bytes.size() < size) return std::nullopt;
  return size;
}

template <Real T>
bool ReadBlock(Bytes block, std::size_t count, std::byte* values) {
  using Word = BitsOf<T>;
  if (MeasureBlock<T>(block, count) != block.size()) return false;
  const auto [kept_bytes, shift] = Kept(block[0]);
  const T median = LoadBe<T>(block.data() + 1);
  const bool exact = block[0] == Type<T>::kBits && median == 0;
  const std::uint8_t* const codes = block.data() + kBlockHeadBytes<T>;
  const std::uint8_t* next = codes + CeilDiv(count, 4);

  Word word = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const int code = codes[i / 4] >> (6 - 2 * (i % 4)) & 3;
    for (int k = static_cast<int>(sizeof(T)) - kept_bytes; k < static_cast<int>(sizeof(T)) - code;
         ++k) {
      word &= ~(Word{0xff} << (8 * k));
      word |= Word{*next++} << (8 * k);
    }
    const auto kept_bits = static_cast<Word>(word << shift);
    Store<T>(values + i * sizeof(T),
             exact ? std::bit_cast<T>(kept_bits) : Restore<T>(kept_bits, median));
  }
  return true;
}

template BlockPlan<float> PlanBlock<float>(const std::byte*, std::size_t, const Bound<float>&);
template BlockPlan<double> PlanBlock<double>(const std::byte*, std::size_t, const Bound<double>&);
template std::size_t WriteBlock<float>(const std::byte*, std::size_t, const BlockPlan<float>&,
                                       std::uint8_t*);
template std::size_t WriteBlock<double>(const std::byte*, std::size_t, const BlockPlan<double>&,
                                        std::uint8_t*);
template std::optional<std::size_t> MeasureBlock<float>(Bytes, std::size_t);
template std::optional<std::size_t> MeasureBlock<double>(Bytes, std::size_t);
template bool ReadBlock<float>(Bytes, std::size_t, std::byte*);
template bool ReadBlock<double>(Bytes, std::size_t, std::byte*);

}  // namespace szarena::codec::szx
