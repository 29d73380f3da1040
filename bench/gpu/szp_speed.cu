// SPDX-License-Identifier: Apache-2.0
// Throughput of the CUDA codecs on device pointers: medians over fresh inputs, a copy's speed and the floor in the same run.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "codec/cuda/szp_cuda.h"

namespace {

using namespace szarena::codec;

#define CHECK_CUDA(call)                                                                     \
  do {                                                                                       \
    const cudaError_t error = (call);                                                        \
    if (error != cudaSuccess) {                                                              \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));    \
      std::exit(4);                                                                          \
    }                                                                                        \
  } while (false)

__device__ float Hash(uint64_t x) {
  x ^= x >> 33; x *= 0xff51afd7ed558ccdull; x ^= x >> 33; x *= 0xc4ceb9fe1a85ec53ull; x ^= x >> 33;
  return static_cast<float>(x >> 40) * 5.9604645e-8f;
}

__global__ void Fill(float* values, uint64_t count, int kind, uint64_t seed) {
  for (uint64_t i = blockIdx.x * static_cast<uint64_t>(blockDim.x) + threadIdx.x; i < count; i += static_cast<uint64_t>(gridDim.x) * blockDim.x) {
    const float x = static_cast<float>(i % 512), y = static_cast<float>(i / 512 % 512), z = static_cast<float>(i / 262144 % 512);
    const float s = static_cast<float>(seed);
    float v = 0;
    if (kind == 0) v = sinf(0.02f * x + s) * cosf(0.015f * y) + 0.3f * sinf(0.05f * z + 0.07f * x);
    if (kind == 1) { const float r = fmodf(x + 3 * y + 7 * z + s * 50, 900.0f) - 450; v = expf(-r * r * 0.001f); if (v < 1e-3f) v = 0; }
    if (kind == 2) v = Hash(i + seed * 1000000007ull) * 2 - 1;
    if (kind == 3) v = sinf(0.02f * x + s) * cosf(0.015f * y) + 0.002f * Hash(i + seed * 77777ull);
    values[i] = v;
  }
}

struct Timing { double median, low, high; };

template <class F>
Timing Time(int runs, F&& f) {
  std::vector<double> ms;
  cudaEvent_t start, stop;
  CHECK_CUDA(cudaEventCreate(&start));
  CHECK_CUDA(cudaEventCreate(&stop));
  for (int i = 0; i < runs + 3; ++i) {
    f(i, start, stop);
    CHECK_CUDA(cudaEventSynchronize(stop));
    float t = 0;
    CHECK_CUDA(cudaEventElapsedTime(&t, start, stop));
    if (i >= 3) ms.push_back(t);
  }
  std::sort(ms.begin(), ms.end());
  return {ms[ms.size() / 2], ms[ms.size() / 4], ms[ms.size() * 3 / 4]};
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t count = (argc > 1 ? std::stoull(argv[1]) : 512ull) << 18;  // MiB of f32
  const int runs = 15;
  const int kinds = argc > 2 ? std::stoi(argv[2]) : 4;
  const int sets = 3;
  cudaDeviceProp device;
  CHECK_CUDA(cudaGetDeviceProperties(&device, 0));
  std::printf("device %s, %llu elements\n", device.name, static_cast<unsigned long long>(count));
  std::vector<float*> inputs(sets);
  for (auto& input : inputs) CHECK_CUDA(cudaMalloc(&input, count * 4));
  float* output;
  CHECK_CUDA(cudaMalloc(&output, count * 4));
  const uint64_t capacity = szp::MaxPayloadSize(count, DType::kF32, {}).value();
  std::vector<unsigned char*> payloads(sets);
  for (auto& payload : payloads) CHECK_CUDA(cudaMalloc(&payload, capacity));
  const uint64_t workspace_bytes = cuda::SzpWorkspaceBytes(count, DType::kF32, {});
  void* workspace;
  CHECK_CUDA(cudaMalloc(&workspace, workspace_bytes));
  cuda::DeviceResult* result;
  CHECK_CUDA(cudaMalloc(&result, sizeof *result * sets));
  const double bytes = 4.0 * static_cast<double>(count);
  const Timing copy = Time(runs, [&](int i, cudaEvent_t a, cudaEvent_t b) {
    cudaEventRecord(a);
    CHECK_CUDA(cudaMemcpyAsync(output, inputs[i % sets], count * 4, cudaMemcpyDeviceToDevice));
    cudaEventRecord(b);
  });
  const double copy_rate = 2 * bytes / copy.median / 1e6;
  std::printf("copy %.0f GB/s read + write\n", copy_rate);
  const char* names[] = {"smooth", "sparse", "noise", "smooth+noise"};
  for (int kind = 0; kind < kinds; ++kind) {
    for (int s = 0; s < sets; ++s) Fill<<<4096, 256>>>(inputs[s], count, kind, s + 1);
    CHECK_CUDA(cudaDeviceSynchronize());
    for (const double rel : {1e-2, 1e-3, 1e-4}) {
      const double range = kind == 2 ? 2 : kind == 1 ? 1 : 2.6;
      for (const auto mode : {szp::Mode::kPlain, szp::Mode::kOutlier}) {
        const szp::Params params{.eb = rel * range, .mode = mode};
        const Timing compress = Time(runs, [&](int i, cudaEvent_t a, cudaEvent_t b) {
          cudaEventRecord(a);
          if (cuda::SzpCompress(inputs[i % sets], count, DType::kF32, params, 0, payloads[i % sets], capacity, result + i % sets, nullptr, workspace, workspace_bytes, nullptr) != cuda::LaunchStatus::kOk) std::exit(4);
          cudaEventRecord(b);
        });
        const Timing relative = Time(runs, [&](int i, cudaEvent_t a, cudaEvent_t b) {
          cudaEventRecord(a);
          if (cuda::SzpCompress(inputs[i % sets], count, DType::kF32, params, rel, payloads[i % sets], capacity, result + i % sets, nullptr, workspace, workspace_bytes, nullptr) != cuda::LaunchStatus::kOk) std::exit(4);
          cudaEventRecord(b);
        });
        for (int s = 0; s < sets; ++s) cuda::SzpCompress(inputs[s], count, DType::kF32, params, 0, payloads[s], capacity, result + s, nullptr, workspace, workspace_bytes, nullptr);
        CHECK_CUDA(cudaDeviceSynchronize());
        std::vector<cuda::DeviceResult> sizes(sets);
        CHECK_CUDA(cudaMemcpy(sizes.data(), result, sizeof *result * sets, cudaMemcpyDeviceToHost));
        const Timing decompress = Time(runs, [&](int i, cudaEvent_t a, cudaEvent_t b) {
          cudaEventRecord(a);
          if (cuda::SzpDecompress(payloads[i % sets], sizes[i % sets].size, count, DType::kF32, params, output, result, workspace, workspace_bytes, nullptr) != cuda::LaunchStatus::kOk) std::exit(4);
          cudaEventRecord(b);
        });
        const double ratio = bytes / static_cast<double>(sizes[0].size);
        const double floor = copy_rate / (1 + 1 / ratio);
        const double c = bytes / compress.median / 1e6, d = bytes / decompress.median / 1e6, r = bytes / relative.median / 1e6;
        std::printf("%-13s %.0e %-7s ratio %6.2f floor %5.0f | compress %5.0f (%.2f of floor) | decompress %5.0f (%.2f) | relative %5.0f\n", names[kind], rel,
                    mode == szp::Mode::kPlain ? "plain" : "outlier", ratio, floor, c, c / floor, d, d / floor, r);
        std::fflush(stdout);
      }
    }
  }
  return 0;
}
