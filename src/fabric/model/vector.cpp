// SPDX-License-Identifier: Apache-2.0
// Element arithmetic. The hot loops are plain loops over arrays, which the compiler vectorises; the
// rest go through Compute.
#include "fabric/model/vector.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace szarena::fabric {
namespace {
using bytecode::DsdOp;
using bytecode::FloatFormat;

inline float F(uint32_t bits) { return std::bit_cast<float>(bits); }
inline uint32_t Canonical(float v) { return v != v ? 0x7fc00000u : std::bit_cast<uint32_t>(v); }

uint32_t RoundToI16(double v) {
  if (v != v) return 0;
  const double r = std::nearbyint(v);
  const int clamped = r >= 32767 ? 32767 : r <= -32768 ? -32768 : static_cast<int>(r);
  return static_cast<uint16_t>(clamped);
}
double Significand(double v) {
  if (v == 0 || !std::isfinite(v)) return v;
  int exponent = 0;
  return 2 * std::frexp(v, &exponent);
}

// f32 multiply-add over arrays, two roundings.
void MulAddRun(uint32_t n, uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c) {
  for (uint32_t i = 0; i < n; ++i) {
    const float product = F(b[i]) * F(c[i]);
    d[i] = Canonical(product + F(a[i]));
  }
}

template <typename T, typename Fn>
void Binary(uint32_t n, void* dest, const void* a, const void* b, Fn fn) {
  auto* d = static_cast<T*>(dest);
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
  for (uint32_t i = 0; i < n; ++i) d[i] = static_cast<T>(fn(x[i], y[i]));
}
template <typename T, typename Fn>
void Unary(uint32_t n, void* dest, const void* a, Fn fn) {
  auto* d = static_cast<T*>(dest);
  const auto* x = static_cast<const T*>(a);
  for (uint32_t i = 0; i < n; ++i) d[i] = static_cast<T>(fn(x[i]));
}

uint32_t Load(const void* p, uint32_t i, char letter) {
  return ElementBytes(letter) == 4 ? static_cast<const uint32_t*>(p)[i]
                                   : static_cast<const uint16_t*>(p)[i];
}

}  // namespace

uint32_t Compute(DsdOp op, FloatFormat f, uint32_t a, uint32_t b, uint32_t c, uint32_t& carry) {
  using namespace bytecode;
  const auto h = [](uint32_t v) { return static_cast<uint16_t>(v); };
  switch (op) {
    case DsdOp::kAdd16:
      return h(a + b);
    case DsdOp::kAddc16: {
      const uint32_t sum = h(a) + h(b) + carry;
      carry = sum >> 16;
      return h(sum);
    }
    case DsdOp::kSub16:
      return h(a - b);
    case DsdOp::kAnd16:
      return h(a & b);
    case DsdOp::kOr16:
      return h(a | b);
    case DsdOp::kXor16:
      return h(a ^ b);
    case DsdOp::kSll16:
      return h(b) >= 16 ? 0 : h(a << h(b));
    case DsdOp::kSlr16:
      return h(b) >= 16 ? 0 : h(a) >> h(b);
    case DsdOp::kSar16:
      return h(static_cast<uint32_t>(static_cast<int16_t>(a) >> (h(b) >= 16 ? 15 : h(b))));
    case DsdOp::kMov16:
    case DsdOp::kFmovh:
      return h(a);
    case DsdOp::kMov32:
    case DsdOp::kFmovs:
      return a;
    case DsdOp::kClz:
      return static_cast<uint32_t>(std::countl_zero(h(a)));
    case DsdOp::kCtz:
      return static_cast<uint32_t>(std::countr_zero(h(a)));
    case DsdOp::kPopcnt:
      return static_cast<uint32_t>(std::popcount(h(a)));
    case DsdOp::kFnegh:
      return h(a ^ 0x8000);
    case DsdOp::kFnegs:
      return a ^ 0x80000000u;
    case DsdOp::kFabsh:
      return a & 0x7fff;
    case DsdOp::kFabss:
      return a & 0x7fffffffu;
    case DsdOp::kFaddh:
      return F16Add(f, h(a), h(b));
    case DsdOp::kFadds:
      return F32Add(a, b);
    case DsdOp::kFaddhs:
      return F32Add(a, F32FromF16(f, h(b)));
    case DsdOp::kFsubh:
      return F16Sub(f, h(a), h(b));
    case DsdOp::kFsubs:
      return F32Sub(a, b);
    case DsdOp::kFmulh:
      return F16Mul(f, h(a), h(b));
    case DsdOp::kFmuls:
      return F32Mul(a, b);
    case DsdOp::kFmaxh:
      return F16Max(f, h(a), h(b));
    case DsdOp::kFmaxs:
      return F32Max(a, b);
    case DsdOp::kFmach:
      return F16Fma(f, h(b), h(c), h(a));
    case DsdOp::kFmacs:
      return F32MulAdd(b, c, a);
    case DsdOp::kFmachs:
      return F32MulAdd(F32FromF16(f, h(b)), F32FromF16(f, h(c)), a);
    case DsdOp::kFh2s:
      return F32FromF16(f, h(a));
    case DsdOp::kFs2h:
      return F16FromF32(f, a);
    case DsdOp::kFh2xp16:
      return RoundToI16(F16ToDouble(f, h(a)));
    case DsdOp::kFs2xp16:
      return RoundToI16(F32ToDouble(a));
    case DsdOp::kXp162fh:
      return F16FromI64(f, static_cast<int16_t>(a));
    case DsdOp::kXp162fs:
      return F32FromI64(static_cast<int16_t>(a));
    case DsdOp::kFnormh:
      return F16FromDouble(f, Significand(F16ToDouble(f, h(a))));
    case DsdOp::kFnorms:
      return F32FromDouble(Significand(F32ToDouble(a)));
    case DsdOp::kFscaleh:
      return F16FromDouble(f, std::ldexp(F16ToDouble(f, h(a)), static_cast<int16_t>(b)));
    case DsdOp::kFscales:
      return F32FromDouble(std::ldexp(F32ToDouble(a), static_cast<int16_t>(b)));
    case DsdOp::kDfilt:
    case DsdOp::kCount:
      break;
  }
  SZARENA_CHECK(false, "an operation with a result");
  return 0;
}

void ComputeRun(DsdOp op, FloatFormat f, uint32_t n, void* dest, const void* a, const void* b,
                const void* c, uint32_t& carry) {
  switch (op) {
    case DsdOp::kAdd16:
      return Binary<uint16_t>(n, dest, a, b, [](uint32_t x, uint32_t y) { return x + y; });
    case DsdOp::kSub16:
      return Binary<uint16_t>(n, dest, a, b, [](uint32_t x, uint32_t y) { return x - y; });
    case DsdOp::kAnd16:
      return Binary<uint16_t>(n, dest, a, b, [](uint32_t x, uint32_t y) { return x & y; });
    case DsdOp::kOr16:
      return Binary<uint16_t>(n, dest, a, b, [](uint32_t x, uint32_t y) { return x | y; });
    case DsdOp::kXor16:
      return Binary<uint16_t>(n, dest, a, b, [](uint32_t x, uint32_t y) { return x ^ y; });
    case DsdOp::kMov16:
    case DsdOp::kFmovh:
      std::memmove(dest, a, 2 * size_t{n});
      return;
    case DsdOp::kMov32:
    case DsdOp::kFmovs:
      std::memmove(dest, a, 4 * size_t{n});
      return;
    case DsdOp::kFnegs:
      return Unary<uint32_t>(n, dest, a, [](uint32_t x) { return x ^ 0x80000000u; });
    case DsdOp::kFabss:
      return Unary<uint32_t>(n, dest, a, [](uint32_t x) { return x & 0x7fffffffu; });
    case DsdOp::kFnegh:
      return Unary<uint16_t>(n, dest, a, [](uint32_t x) { return x ^ 0x8000u; });
    case DsdOp::kFabsh:
      return Unary<uint16_t>(n, dest, a, [](uint32_t x) { return x & 0x7fffu; });
    case DsdOp::kFadds:
      return Binary<uint32_t>(n, dest, a, b,
                              [](uint32_t x, uint32_t y) { return Canonical(F(x) + F(y)); });
    case DsdOp::kFsubs:
      return Binary<uint32_t>(n, dest, a, b,
                              [](uint32_t x, uint32_t y) { return Canonical(F(x) - F(y)); });
    case DsdOp::kFmuls:
      return Binary<uint32_t>(n, dest, a, b,
                              [](uint32_t x, uint32_t y) { return Canonical(F(x) * F(y)); });
    case DsdOp::kFmacs:
      return MulAddRun(n, static_cast<uint32_t*>(dest), static_cast<const uint32_t*>(a),
                       static_cast<const uint32_t*>(b), static_cast<const uint32_t*>(c));
    default:
      break;
  }
  const bytecode::DsdOpFacts& facts = bytecode::FactsOf(op);
  const size_t sources = std::strlen(facts.sources);
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t x = Load(a, i, facts.sources[0]);
    const uint32_t y = sources > 1 ? Load(b, i, facts.sources[1]) : 0;
    const uint32_t z = sources > 2 ? Load(c, i, facts.sources[2]) : 0;
    const uint32_t v = Compute(op, f, x, y, z, carry);
    if (ElementBytes(facts.dest) == 4)
      static_cast<uint32_t*>(dest)[i] = v;
    else
      static_cast<uint16_t*>(dest)[i] = static_cast<uint16_t>(v);
  }
}

}  // namespace szarena::fabric
