// SPDX-License-Identifier: Apache-2.0
// Scalars of CSL and their arithmetic, written from docs/csl/language.md and decisions.md and
// sharing no code with the toolchain: floats are computed exactly in 128-bit integers and rounded
// once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace szarena::csl_fuzz {

enum class Kind : uint8_t { kBool, kInt, kFloat };
// fraction and exponent bits: f32 23+8, f16 10+5, bf16 7+8, cb16 9+6 (bias 42).
enum class Format : uint8_t { kF32, kF16, kBf16, kCb16 };

struct Type {
  Kind kind = Kind::kInt;
  bool is_signed = true;  // integers
  int bits = 16;          // 1 for bool
  Format format = Format::kF32;
  friend bool operator==(const Type&, const Type&) = default;
  std::string Name() const;
  int Bytes() const;  // in memory
};
inline constexpr Type kBool{Kind::kBool, false, 1, Format::kF32};
constexpr Type Int(int bits) { return {Kind::kInt, true, bits, Format::kF32}; }
constexpr Type Uint(int bits) { return {Kind::kInt, false, bits, Format::kF32}; }
inline constexpr Type kF32{Kind::kFloat, true, 32, Format::kF32};
constexpr Type Half(Format format) { return {Kind::kFloat, true, 16, format}; }

// A value is its bit pattern in the low `bits` bits.
using Bits = uint64_t;

enum class Op : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
  kAnd,
  kOr,
  kXor,
  kShl,
  kShr,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe
};
const char* Spelling(Op op);
bool IsComparison(Op op);

Bits Apply(Op op, Type type, Bits a,
           Bits b);  // for shifts b is an unsigned amount; comparisons give 0 or 1
Bits Negate(Type type, Bits a);
Bits Complement(Type type, Bits a);
Bits Convert(Type from, Type to, Bits a);     // @as at run time
Bits Fma(Type type, Bits a, Bits b, Bits c);  // a * b + c, one rounding
Bits Max(Type type, Bits a, Bits b);          // floats: a NaN is ignored, +0 > -0
Bits ToInt16Nearest(Type from, Bits a);       // @fh2xp16, @fs2xp16

bool IsNan(Type type, Bits a);
bool Same(Type type, Bits a, Bits b);  // equal bits, or both NaN
int64_t Signed(Type type, Bits a);     // the value of an integer of at most 63 bits, or signed
std::string Literal(
    Type type,
    Bits a);  // CSL text that gives this value in a place of the type; floats must be finite

}  // namespace szarena::csl_fuzz
