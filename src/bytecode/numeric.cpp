// SPDX-License-Identifier: Apache-2.0
// Rounding is done on the integer bits of a double. Sums, products, quotients and roots of 16-bit
// floats may pass through a double without harm, since 53 >= 2 * 11 + 2 bits (Figueroa 1995); fused
// operations are rounded to odd first (Boldo, Melquiond 2008).
#include "bytecode/numeric.h"

#include <bit>
#include <cmath>
#include <limits>

namespace szarena::bytecode {
namespace {

struct Layout {
  int fraction;  // bits
  int exponent;
  int bias;
};
constexpr Layout LayoutOf(FloatFormat f) {
  switch (f) {
    case FloatFormat::kF16:
      return {10, 5, 15};
    case FloatFormat::kBf16:
      return {7, 8, 127};
    case FloatFormat::kCb16:
      return {9, 6, 42};
  }
  return {10, 5, 15};
}
constexpr uint32_t TopExponent(Layout l) { return (1u << l.exponent) - 1; }
constexpr uint16_t InfinityBits(Layout l) {
  return static_cast<uint16_t>(TopExponent(l) << l.fraction);
}
constexpr uint16_t NanBits(Layout l) {
  return static_cast<uint16_t>(InfinityBits(l) | 1u << (l.fraction - 1));
}

// `sum` plus an error term that did not fit: the same value rounded to odd, so that one more
// rounding is right.
double RoundToOdd(double sum, double error) {
  if (error == 0 || !std::isfinite(sum)) return sum;
  uint64_t bits = std::bit_cast<uint64_t>(sum);
  if ((bits & 1) == 0) bits += ((error > 0) == (sum > 0)) ? 1 : ~uint64_t{0};
  return std::bit_cast<double>(bits);
}

double AddToOdd(double a, double b) {
  const double s = a + b;
  if (!std::isfinite(s)) return s;
  const double bb = s - a;
  return RoundToOdd(s, (a - (s - bb)) + (b - bb));
}

// An integer as a double with its lost bits kept sticky: right for one more rounding to at most 51
// bits.
double StickyFromU64(uint64_t v) {
  if (v >> 53 != 0) {
    const int shift = 64 - std::countl_zero(v) - 53;
    const uint64_t lost = v & ((uint64_t{1} << shift) - 1);
    v = v >> shift << shift;
    if (lost != 0) v |= uint64_t{1} << shift;
  }
  return static_cast<double>(v);
}

uint32_t Canonical(float v) { return v != v ? 0x7fc00000u : std::bit_cast<uint32_t>(v); }
float AsFloat(uint32_t bits) { return std::bit_cast<float>(bits); }

}  // namespace

std::string_view FloatFormatName(FloatFormat f) {
  return f == FloatFormat::kF16 ? "f16" : f == FloatFormat::kBf16 ? "bf16" : "cb16";
}

uint16_t F16FromDouble(FloatFormat format, double v) {
  const Layout l = LayoutOf(format);
  const uint64_t bits = std::bit_cast<uint64_t>(v);
  const auto sign = static_cast<uint16_t>(bits >> 63 << 15);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  if (exponent == 0x7ff)
    return fraction != 0 ? NanBits(l) : static_cast<uint16_t>(sign | InfinityBits(l));
  if (exponent == 0)
    return sign;  // zero, or far below half of the smallest subnormal of every format
  fraction |= uint64_t{1} << 52;
  int biased = exponent - 1023 + l.bias;
  int shift = 52 - l.fraction;
  if (biased <= 0) {  // subnormal: the hidden bit moves into the fraction
    shift += 1 - biased;
    biased = 0;
    if (shift > 54) return sign;
  }
  const uint64_t half = uint64_t{1} << (shift - 1);
  const uint64_t rest = fraction & (2 * half - 1);
  uint64_t kept = fraction >> shift;
  if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  // A carry runs from the fraction into the exponent by itself, also from subnormal to normal.
  const uint64_t out =
      biased == 0 ? kept : (static_cast<uint64_t>(biased - 1) << l.fraction) + kept;
  if (out >= InfinityBits(l)) return static_cast<uint16_t>(sign | InfinityBits(l));
  return static_cast<uint16_t>(sign | out);
}

double F16ToDouble(FloatFormat format, uint16_t bits) {
  const Layout l = LayoutOf(format);
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  const uint32_t exponent = bits >> l.fraction & TopExponent(l);
  const uint32_t fraction = bits & ((1u << l.fraction) - 1);
  if (exponent == TopExponent(l)) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0)
    return sign * std::ldexp(static_cast<double>(fraction), 1 - l.bias - l.fraction);
  const uint64_t d = static_cast<uint64_t>(static_cast<int>(exponent) - l.bias + 1023) << 52 |
                     static_cast<uint64_t>(fraction) << (52 - l.fraction);
  return sign * std::bit_cast<double>(d);
}

uint16_t F16FromF32(FloatFormat f, uint32_t bits) {
  return F16FromDouble(f, static_cast<double>(AsFloat(bits)));
}
uint32_t F32FromF16(FloatFormat f, uint16_t bits) {
  return Canonical(static_cast<float>(F16ToDouble(f, bits)));
}

uint16_t F16Add(FloatFormat f, uint16_t a, uint16_t b) {
  return F16FromDouble(f, F16ToDouble(f, a) + F16ToDouble(f, b));
}
uint16_t F16Sub(FloatFormat f, uint16_t a, uint16_t b) {
  return F16FromDouble(f, F16ToDouble(f, a) - F16ToDouble(f, b));
}
uint16_t F16Mul(FloatFormat f, uint16_t a, uint16_t b) {
  return F16FromDouble(f, F16ToDouble(f, a) * F16ToDouble(f, b));
}
uint16_t F16Div(FloatFormat f, uint16_t a, uint16_t b) {
  return F16FromDouble(f, F16ToDouble(f, a) / F16ToDouble(f, b));
}
uint16_t F16Sqrt(FloatFormat f, uint16_t a) {
  return F16FromDouble(f, std::sqrt(F16ToDouble(f, a)));
}
uint16_t F16Fma(FloatFormat f, uint16_t a, uint16_t b, uint16_t c) {
  return F16FromDouble(f, AddToOdd(F16ToDouble(f, a) * F16ToDouble(f, b), F16ToDouble(f, c)));
}
bool F16IsNan(FloatFormat f, uint16_t a) { return (a & 0x7fff) > InfinityBits(LayoutOf(f)); }
bool F16Less(FloatFormat f, uint16_t a, uint16_t b) {
  return F16ToDouble(f, a) < F16ToDouble(f, b);
}
bool F16LessEqual(FloatFormat f, uint16_t a, uint16_t b) {
  return F16ToDouble(f, a) <= F16ToDouble(f, b);
}
bool F16Equal(FloatFormat f, uint16_t a, uint16_t b) {
  return F16ToDouble(f, a) == F16ToDouble(f, b);
}

uint16_t F16Max(FloatFormat f, uint16_t a, uint16_t b) {
  if (F16IsNan(f, a)) return F16IsNan(f, b) ? NanBits(LayoutOf(f)) : b;
  if (F16IsNan(f, b)) return a;
  if (F16Equal(f, a, b)) return (a & 0x8000) != 0 ? b : a;
  return F16Less(f, a, b) ? b : a;
}

uint16_t F16FromU64(FloatFormat f, uint64_t v) { return F16FromDouble(f, StickyFromU64(v)); }
uint16_t F16FromI64(FloatFormat f, int64_t v) {
  const uint64_t magnitude =
      v < 0 ? uint64_t{0} - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  const double d = StickyFromU64(magnitude);
  return F16FromDouble(f, v < 0 ? -d : d);
}

uint32_t F32Add(uint32_t a, uint32_t b) { return Canonical(AsFloat(a) + AsFloat(b)); }
uint32_t F32Sub(uint32_t a, uint32_t b) { return Canonical(AsFloat(a) - AsFloat(b)); }
uint32_t F32Mul(uint32_t a, uint32_t b) { return Canonical(AsFloat(a) * AsFloat(b)); }
uint32_t F32Div(uint32_t a, uint32_t b) { return Canonical(AsFloat(a) / AsFloat(b)); }
uint32_t F32MulAdd(uint32_t a, uint32_t b, uint32_t c) {
  const float product =
      AsFloat(a) * AsFloat(b);  // rounded: this file is compiled without contraction
  return Canonical(product + AsFloat(c));
}
uint32_t F32Max(uint32_t a, uint32_t b) {
  const float x = AsFloat(a);
  const float y = AsFloat(b);
  if (x != x) return Canonical(y);
  if (y != y) return a;
  if (x == y) return (a >> 31) != 0 ? b : a;
  return x < y ? b : a;
}
uint32_t F32FromDouble(double v) { return Canonical(static_cast<float>(v)); }
double F32ToDouble(uint32_t bits) { return static_cast<double>(AsFloat(bits)); }
uint32_t F32FromI64(int64_t v) { return Canonical(static_cast<float>(v)); }
uint32_t F32FromU64(uint64_t v) { return Canonical(static_cast<float>(v)); }

int64_t IntFromDouble(double v, int bits, bool is_signed) {
  if (v != v) return 0;
  const double limit =
      std::ldexp(1.0, is_signed ? bits - 1 : bits);  // first value that is too large
  const double t = std::trunc(v);
  if (is_signed) {
    if (t >= limit) return static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1);
    if (t < -limit) return SignExtend(uint64_t{1} << (bits - 1), bits);
    return static_cast<int64_t>(t);
  }
  if (t >= limit) return static_cast<int64_t>(ZeroExtend(~uint64_t{0}, bits));
  if (t <= 0) return 0;
  return static_cast<int64_t>(static_cast<uint64_t>(t));
}

}  // namespace szarena::bytecode
