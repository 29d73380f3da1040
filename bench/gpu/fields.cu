// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/fields.h"

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace szarena::bench::gpu {
namespace {

constexpr unsigned int kGrid = 2048;
constexpr unsigned int kThreads = 256;

__host__ __device__ uint64_t Mix(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  x ^= x >> 33;
  return x;
}

__device__ uint64_t First() { return blockIdx.x * static_cast<uint64_t>(blockDim.x) + threadIdx.x; }
__device__ uint64_t Step() { return static_cast<uint64_t>(gridDim.x) * blockDim.x; }

template <class T>
__global__ void Fill(T* values, uint64_t count, int kind, uint64_t seed) {
  for (uint64_t i = First(); i < count; i += Step()) {
    const float x = static_cast<float>(i % 512), y = static_cast<float>(i / 512 % 512),
                z = static_cast<float>(i / 262144 % 512);
    const float s = static_cast<float>(seed);
    const float noise = static_cast<float>(Mix(i + seed * 1000000007ull) >> 40) * 5.9604645e-8f;
    float v = 0;
    if (kind == 0) v = sinf(0.02f * x + s) * cosf(0.015f * y) + 0.3f * sinf(0.05f * z + 0.07f * x);
    if (kind == 1) {
      const float r = fmodf(x + 3 * y + 7 * z + s * 50, 900.0f) - 450;
      v = expf(-r * r * 0.001f);
      if (v < 1e-3f) v = 0;
    }
    if (kind == 2) v = noise * 2 - 1;
    if (kind == 3) v = sinf(0.02f * x + s) * cosf(0.015f * y) + 0.002f * noise;
    values[i] = static_cast<T>(v);
  }
}

template <class T>
__global__ void RepeatKernel(T* values, uint64_t period, uint64_t count) {
  for (uint64_t i = period + First(); i < count; i += Step()) values[i] = values[i % period];
}

__global__ void Patterns(float* values, uint64_t count, uint64_t first) {
  for (uint64_t i = First(); i < count; i += Step())
    values[i] = __uint_as_float(static_cast<unsigned int>(first + i));
}

// |x - y| <= eb exactly: the part that the rounding of the difference lost decides where it is
// needed.
__device__ bool Within(double x, double y, double eb) {
  const double d = x - y;
  if (fabs(d) != eb) return fabs(d) < eb;
  const double b = d - x;
  const double a = d - b;
  const double lost = (x - a) + (-y - b);
  return d > 0 ? lost <= 0 : d < 0 ? lost >= 0 : lost == 0;
}

__device__ bool SameBits(float a, float b) { return __float_as_uint(a) == __float_as_uint(b); }
__device__ bool SameBits(double a, double b) {
  return __double_as_longlong(a) == __double_as_longlong(b);
}

template <class T>
__global__ void Violations(const T* original, const T* restored, uint64_t count, double eb,
                           unsigned long long* found) {
  unsigned long long mine = 0;
  for (uint64_t i = First(); i < count; i += Step()) {
    const T x = original[i], y = restored[i];
    if (isfinite(x)) {
      mine += !Within(x, y, eb);
    } else {
      mine += !SameBits(x, y);
    }
  }
  if (mine != 0) atomicAdd(found, mine);
}

__global__ void Different(const unsigned int* a, const unsigned int* b, uint64_t count,
                          unsigned long long* found) {
  unsigned long long mine = 0;
  for (uint64_t i = First(); i < count; i += Step()) mine += a[i] != b[i];
  if (mine != 0) atomicAdd(found, mine);
}

__host__ __device__ uint64_t HashStep(uint64_t word, uint64_t index) {
  return (word + 0x9e3779b97f4a7c15ull) * (2 * Mix(index) + 1);
}

__global__ void HashKernel(const unsigned char* bytes, uint64_t size, unsigned long long* sum) {
  unsigned long long mine = 0;
  for (uint64_t w = First(); w < size / 8; w += Step()) {
    uint64_t word = 0;
    for (int b = 7; b >= 0; --b) word = word << 8 | bytes[8 * w + b];
    mine += HashStep(word, w);
  }
  if (First() == 0) {
    for (uint64_t i = size / 8 * 8; i < size; ++i) mine += HashStep(bytes[i], ~i);
  }
  atomicAdd(sum, mine);
}

// Runs a counting kernel and fetches what it has counted.
template <class Launch>
uint64_t Counted(Launch&& launch) {
  unsigned long long* counter = nullptr;
  Check(cudaMalloc(&counter, sizeof *counter), "cudaMalloc");
  Check(cudaMemset(counter, 0, sizeof *counter), "cudaMemset");
  launch(counter);
  Check(cudaGetLastError(), "counting kernel");
  unsigned long long value = 0;
  Check(cudaMemcpy(&value, counter, sizeof value, cudaMemcpyDeviceToHost), "counting");
  cudaFree(counter);
  return value;
}

}  // namespace

void Check(int cuda_error, const char* what) {
  if (cuda_error == cudaSuccess) return;
  std::fprintf(stderr, "bench_gpu: %s: %s\n", what,
               cudaGetErrorString(static_cast<cudaError_t>(cuda_error)));
  std::exit(4);
}

template <class T>
void FillField(int kind, T* values, uint64_t count, uint64_t seed) {
  Fill<<<kGrid, kThreads>>>(values, count, kind, seed);
  Check(cudaDeviceSynchronize(), "making a field");
}
template void FillField<float>(int, float*, uint64_t, uint64_t);
template void FillField<double>(int, double*, uint64_t, uint64_t);

template <class T>
void Repeat(T* values, uint64_t period, uint64_t count) {
  RepeatKernel<<<kGrid, kThreads>>>(values, period, count);
  Check(cudaDeviceSynchronize(), "repeating a field");
}
template void Repeat<float>(float*, uint64_t, uint64_t);
template void Repeat<double>(double*, uint64_t, uint64_t);

void FillPatterns(float* values, uint64_t count, uint64_t first) {
  Patterns<<<kGrid, kThreads>>>(values, count, first);
  Check(cudaDeviceSynchronize(), "making patterns");
}

template <class T>
uint64_t CountViolations(const T* original, const T* restored, uint64_t count, double eb) {
  return Counted([&](unsigned long long* counter) {
    Violations<<<kGrid, kThreads>>>(original, restored, count, eb, counter);
  });
}
template uint64_t CountViolations<float>(const float*, const float*, uint64_t, double);
template uint64_t CountViolations<double>(const double*, const double*, uint64_t, double);

uint64_t CountDifferent(const void* a, const void* b, uint64_t words) {
  return Counted([&](unsigned long long* counter) {
    Different<<<kGrid, kThreads>>>(static_cast<const unsigned int*>(a),
                                   static_cast<const unsigned int*>(b), words, counter);
  });
}

uint64_t HashOnDevice(const void* bytes, uint64_t size) {
  return Counted([&](unsigned long long* sum) {
    HashKernel<<<kGrid, kThreads>>>(static_cast<const unsigned char*>(bytes), size, sum);
  });
}

uint64_t HashOnHost(const void* bytes, uint64_t size) {
  const auto* from = static_cast<const unsigned char*>(bytes);
  uint64_t sum = 0;
  for (uint64_t w = 0; w < size / 8; ++w) {
    uint64_t word = 0;
    std::memcpy(&word, from + 8 * w, 8);
    sum += HashStep(word, w);
  }
  for (uint64_t i = size / 8 * 8; i < size; ++i) sum += HashStep(from[i], ~i);
  return sum;
}

}  // namespace szarena::bench::gpu
