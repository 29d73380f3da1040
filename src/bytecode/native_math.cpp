// SPDX-License-Identifier: Apache-2.0
#include "bytecode/native_math.h"

#include <cmath>

namespace szarena::bytecode {
namespace {

double MathOf(Native n, double x, double y) {
  switch (n) {
    case Native::k_sqrt_f32:
    case Native::k_sqrt_f16:
      return std::sqrt(x);
    case Native::k_invsqrt_f32:
    case Native::k_invsqrt_f16:
      return 1.0 / std::sqrt(x);
    case Native::k_inv_f32:
    case Native::k_inv_f16:
      return 1.0 / x;
    case Native::k_exp_f32:
    case Native::k_exp_f16:
      return std::exp(x);
    case Native::k_log_f32:
    case Native::k_log_f16:
      return std::log(x);
    case Native::k_sin_f32:
    case Native::k_sin_f16:
      return std::sin(x);
    case Native::k_cos_f32:
    case Native::k_cos_f16:
      return std::cos(x);
    case Native::k_tanh_f32:
    case Native::k_tanh_f16:
      return std::tanh(x);
    case Native::k_sig_f32:
    case Native::k_sig_f16:
      return 1.0 / (1.0 + std::exp(-x));
    case Native::k_pow_f32:
    case Native::k_pow_f16:
      return std::pow(x, y);
    case Native::k_floor_f32:
    case Native::k_floor_f16:
      return std::floor(x);
    case Native::k_ceil_f32:
    case Native::k_ceil_f16:
      return std::ceil(x);
    default:
      return 0;
  }
}

}  // namespace

bool IsMath(Native native) { return native <= Native::k_fscale_f16; }

uint64_t EvalMath(Native native, FloatFormat fp16, uint64_t x, uint64_t y) {
  const bool is_f32 = native <= Native::k_fscale_f32;
  const auto number = [&](uint64_t bits) {
    return is_f32 ? F32ToDouble(static_cast<uint32_t>(bits))
                  : F16ToDouble(fp16, static_cast<uint16_t>(bits));
  };
  const bool is_scale = native == Native::k_fscale_f32 || native == Native::k_fscale_f16;
  const double result = is_scale ? std::ldexp(number(x), static_cast<int16_t>(y))
                                 : MathOf(native, number(x), number(y));
  return is_f32 ? uint64_t{F32FromDouble(result)} : uint64_t{F16FromDouble(fp16, result)};
}

}  // namespace szarena::bytecode
