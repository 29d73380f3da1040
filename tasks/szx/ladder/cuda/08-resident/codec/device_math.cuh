// SPDX-License-Identifier: Apache-2.0
// The formats' arithmetic on the device: the same rounded operations as codec/core, never contracted, never flushed.
#pragma once

#include <cstdint>

namespace szarena::codec::cuda {

__device__ __forceinline__ float Mul(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double Mul(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ float Add(float a, float b) { return __fadd_rn(a, b); }
__device__ __forceinline__ double Add(double a, double b) { return __dadd_rn(a, b); }
__device__ __forceinline__ float Sub(float a, float b) { return __fsub_rn(a, b); }
__device__ __forceinline__ double Sub(double a, double b) { return __dsub_rn(a, b); }
__device__ __forceinline__ float Abs(float a) { return fabsf(a); }
__device__ __forceinline__ double Abs(double a) { return fabs(a); }
// The smaller and the larger; a NaN loses against a number.
__device__ __forceinline__ float Min(float a, float b) { return fminf(a, b); }
__device__ __forceinline__ double Min(double a, double b) { return fmin(a, b); }
__device__ __forceinline__ float Max(float a, float b) { return fmaxf(a, b); }
__device__ __forceinline__ double Max(double a, double b) { return fmax(a, b); }
__device__ __forceinline__ int32_t TruncToInt(float a) { return __float2int_rz(a); }    // saturates, NaN gives 0
__device__ __forceinline__ int32_t TruncToInt(double a) { return __double2int_rz(a); }
template <class T>
__device__ __forceinline__ T FromInt(int32_t q);
template <>
__device__ __forceinline__ float FromInt<float>(int32_t q) { return __int2float_rn(q); }
template <>
__device__ __forceinline__ double FromInt<double>(int32_t q) { return __int2double_rn(q); }

// |x - y| <= ebq exactly; see codec/core/accept.h.
template <class T>
__device__ __forceinline__ bool WithinBound(T x, T y, T ebq) {
  const T d = Sub(x, y);
  const T magnitude = Abs(d);
  if (magnitude < ebq) return true;
  if (!(magnitude == ebq) || Sub(magnitude, magnitude) != T(0)) return false;
  const T b_seen = Sub(d, x);
  const T a_seen = Sub(d, b_seen);
  const T lost = Add(Sub(x, a_seen), Sub(-y, b_seen));
  return d > T(0) ? lost <= T(0) : (d < T(0) ? lost >= T(0) : lost == T(0));
}

// The number that decides and the quantiser's scale, made from a bound that the host gives or that a
// reduction on the device has found.
struct Bound {
  double ebq;    // the bound rounded down to the element type
  double scale;  // 0.5 / ebq in the element type; infinite where that overflows
};

}  // namespace szarena::codec::cuda
