// SPDX-License-Identifier: Apache-2.0
// 16-bit floats f16 (1+5+10), bf16 (1+8+7) and cb16 (1+6+9, bias 42), and f32 helpers, right to the
// bit: round to nearest even, subnormals kept, NaN results canonical (quiet, positive, only the top
// fraction bit). Used by the compiler and by the machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace szarena::bytecode {

enum class FloatFormat : uint8_t { kF16, kBf16, kCb16 };
std::string_view FloatFormatName(FloatFormat f);  // "f16", "bf16", "cb16"

// cb16 has no bit patterns reserved for infinity or NaN in the documentation; the top exponent is
// taken as in IEEE formats.
uint16_t F16FromDouble(FloatFormat f, double v);   // one rounding
double F16ToDouble(FloatFormat f, uint16_t bits);  // exact
uint16_t F16FromF32(FloatFormat f, uint32_t f32_bits);
uint32_t F32FromF16(FloatFormat f, uint16_t bits);  // exact

uint16_t F16Add(FloatFormat f, uint16_t a, uint16_t b);
uint16_t F16Sub(FloatFormat f, uint16_t a, uint16_t b);
uint16_t F16Mul(FloatFormat f, uint16_t a, uint16_t b);
uint16_t F16Div(FloatFormat f, uint16_t a, uint16_t b);
uint16_t F16Fma(FloatFormat f, uint16_t a, uint16_t b, uint16_t c);  // a * b + c, one rounding
uint16_t F16Sqrt(FloatFormat f, uint16_t a);
uint16_t F16Max(FloatFormat f, uint16_t a, uint16_t b);  // a NaN operand is ignored; +0 > -0
bool F16Less(FloatFormat f, uint16_t a, uint16_t b);
bool F16LessEqual(FloatFormat f, uint16_t a, uint16_t b);
bool F16Equal(FloatFormat f, uint16_t a, uint16_t b);
bool F16IsNan(FloatFormat f, uint16_t a);
uint16_t F16FromI64(FloatFormat f, int64_t v);
uint16_t F16FromU64(FloatFormat f, uint64_t v);

// f32 by bit pattern; NaN results are canonical (0x7fc00000).
uint32_t F32Add(uint32_t a, uint32_t b);
uint32_t F32Sub(uint32_t a, uint32_t b);
uint32_t F32Mul(uint32_t a, uint32_t b);
uint32_t F32Div(uint32_t a, uint32_t b);
uint32_t F32MulAdd(uint32_t a, uint32_t b,
                   uint32_t c);  // a * b + c, the product rounded first (docs/csl/machine.md)
uint32_t F32Max(uint32_t a, uint32_t b);
uint32_t F32FromDouble(double v);
double F32ToDouble(uint32_t bits);
uint32_t F32FromI64(int64_t v);
uint32_t F32FromU64(uint64_t v);

// Towards zero; out of range saturates; NaN gives 0. `bits` 1..64.
int64_t IntFromDouble(double v, int bits,
                      bool is_signed);  // unsigned results as their two's complement pattern
// Wrap to a width and extend to 64 bits again.
constexpr int64_t SignExtend(uint64_t v, int bits) {
  return static_cast<int64_t>(v << (64 - bits)) >> (64 - bits);
}
constexpr uint64_t ZeroExtend(uint64_t v, int bits) {
  return bits >= 64 ? v : v & ((uint64_t{1} << bits) - 1);
}

}  // namespace szarena::bytecode
