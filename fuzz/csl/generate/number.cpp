// SPDX-License-Identifier: Apache-2.0
#include "number.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

namespace szarena::csl_fuzz {
namespace {

__extension__ typedef unsigned __int128 U128;
__extension__ typedef __int128 I128;

Bits Mask(int bits, Bits v) { return bits >= 64 ? v : v & ((Bits{1} << bits) - 1); }
I128 Value(Type t, Bits a) {
  if (!t.is_signed) return static_cast<I128>(Mask(t.bits, a));
  I128 v = static_cast<I128>(Mask(t.bits, a));
  if (v >> (t.bits - 1) & 1) v -= static_cast<I128>(1) << t.bits;
  return v;
}

struct Shape {
  int fraction, exponent, bias;
};
Shape ShapeOf(Format f) {
  switch (f) {
    case Format::kF32:
      return {23, 8, 127};
    case Format::kF16:
      return {10, 5, 15};
    case Format::kBf16:
      return {7, 8, 127};
    case Format::kCb16:
      return {9, 6, 42};
  }
  return {};
}

// A float taken apart: mag * 2^exp, plus something below the last bit of mag where `sticky`.
struct Real {
  enum class Class : uint8_t { kFinite, kInf, kNan } kind = Class::kFinite;
  bool negative = false;
  U128 mag = 0;
  int exp = 0;
  bool sticky = false;
};
using Class = Real::Class;

Real Take(Type t, Bits a) {
  const Shape s = ShapeOf(t.format);
  const Bits fraction = Mask(s.fraction, a);
  const auto exponent = static_cast<int>(Mask(s.exponent, a >> s.fraction));
  Real r;
  r.negative = (a >> (t.bits - 1) & 1) != 0;
  if (exponent == (1 << s.exponent) - 1) {
    r.kind = fraction != 0 ? Class::kNan : Class::kInf;
    return r;
  }
  r.mag = exponent == 0 ? fraction : fraction | Bits{1} << s.fraction;
  r.exp = (exponent == 0 ? 1 : exponent) - s.bias - s.fraction;
  return r;
}

int TopBit(U128 v) {
  int n = -1;
  for (; v != 0; v >>= 1) ++n;
  return n;
}

Bits Round(Type t, const Real& r) {
  const Shape s = ShapeOf(t.format);
  const Bits inf = ((Bits{1} << s.exponent) - 1) << s.fraction;
  const Bits sign = r.negative ? Bits{1} << (t.bits - 1) : 0;
  if (r.kind == Class::kNan) return inf | Bits{1} << (s.fraction - 1);
  if (r.kind == Class::kInf) return sign | inf;
  if (r.mag == 0) return sign;
  const int lowest = 1 - s.bias;
  const int e = TopBit(r.mag) + r.exp;
  const int quantum = (e < lowest ? lowest : e) - s.fraction;
  const int shift = quantum - r.exp;
  U128 kept = 0;
  if (shift <= 0) {
    kept = r.mag << -shift;
  } else if (shift < 127) {
    kept = r.mag >> shift;
    const U128 rest = r.mag - (kept << shift), half = static_cast<U128>(1) << (shift - 1);
    if (rest > half || (rest == half && (r.sticky || (kept & 1) != 0))) ++kept;
  }
  Bits bits = static_cast<Bits>(kept);
  if (e >= lowest) {
    if (e - lowest + 1 >= (1 << s.exponent) - 1) return sign | inf;
    bits += static_cast<Bits>(e - lowest) << s.fraction;
  }
  return sign | (bits > inf ? inf : bits);
}

Real Sum(Real a, Real b) {
  if (a.kind == Class::kNan || b.kind == Class::kNan) return {Class::kNan};
  if (a.kind == Class::kInf && b.kind == Class::kInf && a.negative != b.negative)
    return {Class::kNan};
  if (a.kind == Class::kInf) return a;
  if (b.kind == Class::kInf) return b;
  if (a.mag == 0 && b.mag == 0) return {Class::kFinite, a.negative && b.negative};
  if (a.mag == 0) return b;
  if (b.mag == 0) return a;
  if (a.exp < b.exp) std::swap(a, b);
  const int apart = a.exp - b.exp, left = apart < 70 ? apart : 70, right = apart - left;
  a.mag <<= left;
  a.exp -= left;
  bool sticky = false;
  if (right > 0) {
    const U128 kept = right > 127 ? 0 : b.mag >> right;
    sticky = right > 127 || (kept << right) != b.mag;
    b.mag = kept;
  }
  Real r;
  r.exp = a.exp;
  r.sticky = sticky;
  if (a.negative == b.negative) {
    r.negative = a.negative;
    r.mag = a.mag + b.mag;
    return r;
  }
  if (sticky) ++b.mag;  // rounded up: the true difference is a little above a - b
  if (a.mag == b.mag && !sticky) return r;
  r.negative = a.mag > b.mag ? a.negative : b.negative;
  r.mag = a.mag > b.mag ? a.mag - b.mag : b.mag - a.mag;
  return r;
}

Real Product(const Real& a, const Real& b) {
  const bool negative = a.negative != b.negative;
  if (a.kind == Class::kNan || b.kind == Class::kNan) return {Class::kNan};
  if (a.kind == Class::kInf || b.kind == Class::kInf) {
    const bool zero =
        (a.kind == Class::kFinite && a.mag == 0) || (b.kind == Class::kFinite && b.mag == 0);
    return {zero ? Class::kNan : Class::kInf, negative};
  }
  return {Class::kFinite, negative, a.mag * b.mag, a.exp + b.exp};
}

Real Quotient(const Real& a, const Real& b) {
  const bool negative = a.negative != b.negative;
  if (a.kind == Class::kNan || b.kind == Class::kNan) return {Class::kNan};
  if (a.kind == Class::kInf) return {b.kind == Class::kInf ? Class::kNan : Class::kInf, negative};
  if (b.kind == Class::kInf) return {Class::kFinite, negative};
  if (b.mag == 0) return {a.mag == 0 ? Class::kNan : Class::kInf, negative};
  const U128 numerator = a.mag << 80;
  return {Class::kFinite, negative, numerator / b.mag, a.exp - 80 - b.exp, numerator % b.mag != 0};
}

// -1, 0, 1; 2 where unordered.
int Order(const Real& a, const Real& b) {
  if (a.kind == Class::kNan || b.kind == Class::kNan) return 2;
  const auto rank = [](const Real& r) { return r.kind == Class::kInf ? (r.negative ? -1 : 1) : 0; };
  if (rank(a) != rank(b)) return rank(a) < rank(b) ? -1 : 1;
  if (rank(a) != 0) return 0;
  Real minus = b;
  minus.negative = !minus.negative;
  const Real d = Sum(a, minus);
  return d.mag == 0 ? 0 : d.negative ? -1 : 1;
}

bool Holds(Op op, int order) {
  switch (op) {
    case Op::kEq:
      return order == 0;
    case Op::kNe:
      return order != 0;
    case Op::kLt:
      return order == -1;
    case Op::kLe:
      return order == -1 || order == 0;
    case Op::kGt:
      return order == 1;
    case Op::kGe:
      return order == 1 || order == 0;
    default:
      return false;
  }
}

// To an integer; `nearest` rounds half to even, otherwise towards zero. Saturates, NaN gives 0.
Bits ToInt(Type to, const Real& r, bool nearest) {
  if (r.kind == Class::kNan) return 0;
  const I128 top = (static_cast<I128>(1) << (to.is_signed ? to.bits - 1 : to.bits)) - 1;
  const I128 bottom = to.is_signed ? -top - 1 : 0;
  if (r.kind == Class::kInf || (r.mag != 0 && TopBit(r.mag) + r.exp > 66))
    return Mask(to.bits, static_cast<Bits>(r.negative ? bottom : top));
  U128 whole = 0;
  if (r.exp >= 0) {
    whole = r.mag << r.exp;
  } else if (-r.exp < 127) {
    whole = r.mag >> -r.exp;
    const U128 rest = r.mag - (whole << -r.exp), half = static_cast<U128>(1) << (-r.exp - 1);
    if (nearest && (rest > half || (rest == half && (whole & 1) != 0))) ++whole;
  }
  I128 v = r.negative ? -static_cast<I128>(whole) : static_cast<I128>(whole);
  v = v > top ? top : v < bottom ? bottom : v;
  return Mask(to.bits, static_cast<Bits>(v));
}

}  // namespace

std::string Type::Name() const {
  if (kind == Kind::kBool) return "bool";
  if (kind == Kind::kInt) return fmt::format("{}{}", is_signed ? 'i' : 'u', bits);
  switch (format) {
    case Format::kF32:
      return "f32";
    case Format::kF16:
      return "f16";
    case Format::kBf16:
      return "bf16";
    case Format::kCb16:
      return "cb16";
  }
  return {};
}

int Type::Bytes() const {
  for (const int bytes : {1, 2, 4}) {
    if (bits <= 8 * bytes) return bytes;
  }
  return 8;
}

const char* Spelling(Op op) {
  static const char* const kNames[] = {"+",  "-",  "*",  "/",  "%", "&",  "|", "^",
                                       "<<", ">>", "==", "!=", "<", "<=", ">", ">="};
  return kNames[static_cast<size_t>(op)];
}
bool IsComparison(Op op) { return op >= Op::kEq; }

Bits Apply(Op op, Type t, Bits a, Bits b) {
  if (t.kind == Kind::kFloat) {
    const Real x = Take(t, a), y = Take(t, b);
    Real minus = y;
    minus.negative = !minus.negative;
    switch (op) {
      case Op::kAdd:
        return Round(t, Sum(x, y));
      case Op::kSub:
        return Round(t, Sum(x, minus));
      case Op::kMul:
        return Round(t, Product(x, y));
      case Op::kDiv:
        return Round(t, Quotient(x, y));
      default:
        return Holds(op, Order(x, y)) ? 1 : 0;
    }
  }
  const I128 x = Value(t, a), y = Value(t, b);
  I128 r = 0;
  switch (op) {
    case Op::kAdd:
      r = x + y;
      break;
    case Op::kSub:
      r = x - y;
      break;
    case Op::kMul:
      return Mask(t.bits, a * b);
    case Op::kDiv:
      r = x / y;
      break;
    case Op::kMod:
      r = x % y;
      break;
    case Op::kAnd:
      r = x & y;
      break;
    case Op::kOr:
      r = x | y;
      break;
    case Op::kXor:
      r = x ^ y;
      break;
    case Op::kShl:
      r = b >= static_cast<Bits>(t.bits) ? 0 : static_cast<I128>(static_cast<U128>(x) << b);
      break;
    case Op::kShr:
      r = x >> (b >= 64 ? 64 : b);
      break;
    default:
      return Holds(op, x < y ? -1 : x > y ? 1 : 0) ? 1 : 0;
  }
  return Mask(t.bits, static_cast<Bits>(r));
}

Bits Negate(Type t, Bits a) {
  return t.kind == Kind::kFloat ? a ^ Bits { 1 } << (t.bits - 1) : Mask(t.bits, 0 - a);
}
Bits Complement(Type t, Bits a) { return t.kind == Kind::kBool ? a ^ 1 : Mask(t.bits, ~a); }

Bits Convert(Type from, Type to, Bits a) {
  if (from == to) return a;
  if (from.kind == Kind::kFloat) {
    const Real r = Take(from, a);
    if (to.kind == Kind::kBool) return r.kind != Class::kFinite || r.mag != 0 ? 1 : 0;
    return to.kind == Kind::kFloat ? Round(to, r) : ToInt(to, r, false);
  }
  const I128 v = Value(from, a);
  if (to.kind == Kind::kBool) return v != 0 ? 1 : 0;
  if (to.kind == Kind::kInt) return Mask(to.bits, static_cast<Bits>(v));
  return Round(to, {Class::kFinite, v < 0, static_cast<U128>(v < 0 ? -v : v), 0});
}

Bits Fma(Type t, Bits a, Bits b, Bits c) {
  return Round(t, Sum(Product(Take(t, a), Take(t, b)), Take(t, c)));
}

Bits Max(Type t, Bits a, Bits b) {
  if (t.kind != Kind::kFloat) return Value(t, a) > Value(t, b) ? a : b;
  if (IsNan(t, a)) return b;
  if (IsNan(t, b)) return a;
  const int order = Order(Take(t, a), Take(t, b));
  if (order == 0) return Take(t, a).negative ? b : a;
  return order > 0 ? a : b;
}

Bits ToInt16Nearest(Type from, Bits a) { return ToInt(Int(16), Take(from, a), true); }

bool IsNan(Type t, Bits a) { return t.kind == Kind::kFloat && Take(t, a).kind == Class::kNan; }
bool Same(Type t, Bits a, Bits b) { return a == b || (IsNan(t, a) && IsNan(t, b)); }
int64_t Signed(Type t, Bits a) { return static_cast<int64_t>(Value(t, a)); }

std::string Literal(Type t, Bits a) {
  if (t.kind == Kind::kBool) return a != 0 ? "true" : "false";
  if (t.kind == Kind::kInt)
    return t.is_signed ? fmt::format("{}", Signed(t, a)) : fmt::format("{}", a);
  // Every finite value of these formats is a double.
  const Real r = Take(t, a);
  double v = static_cast<double>(static_cast<uint64_t>(r.mag));
  for (int e = r.exp; e < 0; ++e) v /= 2;
  for (int e = r.exp; e > 0; --e) v *= 2;
  std::string text = fmt::format("{}", v);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return (r.negative ? "-" : "") + text;
}

}  // namespace szarena::csl_fuzz
