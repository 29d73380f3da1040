// SPDX-License-Identifier: Apache-2.0
// Calls of a CUDA candidate for cuda_races.py: every mode and type that it has, on data with
// ordinary, raw and constant blocks. Exit status 1 where a call fails or the bound is broken.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "szarena_candidate.h"

namespace {

constexpr double kBound = 1e-3;
constexpr size_t kAlignment = 256;

double ValueAt(size_t i) {
  const double wave = std::sin(static_cast<double>(i) * 0.001) * 100;
  switch (i / 3000 % 4) {
    case 0:
      return wave;
    case 1:
      return 0;
    case 2:
      return static_cast<double>(i * 2654435761u >> 7 & 1023) / 7;
    default:
      return wave * 1e3 + (i % 97 == 0 ? 3e7 : 0);  // raw here and there
  }
}

std::unique_ptr<char, decltype(&std::free)> Memory(size_t size) {
  const size_t rounded = (size + kAlignment) / kAlignment * kAlignment;
  return {static_cast<char*>(std::aligned_alloc(kAlignment, rounded)), &std::free};
}

template <class T>
bool Call(uint32_t mode, uint32_t dtype, size_t n) {
  std::vector<T> values(n);
  std::vector<T> restored(n);
  for (size_t i = 0; i < n; ++i) values[i] = static_cast<T>(ValueAt(i));
  szarena_problem problem = {};
  problem.struct_size = sizeof problem;
  problem.version = SZARENA_CONTRACT_VERSION;
  problem.n = n;
  problem.dims[0] = problem.dims[1] = 1;
  problem.dims[2] = n;
  problem.dtype = dtype;
  problem.mode = mode;
  problem.abs_bound = kBound;
  problem.threads = 1;
  problem.block_size = mode == SZARENA_MODE_RANDOM_ACCESS ? 128 : 32;
  problem.pad_blocks = mode == SZARENA_MODE_RANDOM_ACCESS ? 0 : 1024;
  const uint64_t workspace_bytes = szarena_workspace_bytes(&problem);
  const uint64_t capacity = 2 * n * sizeof(T) + 100000;
  const auto workspace = Memory(workspace_bytes);
  const auto output = Memory(capacity);
  szarena_payload payload = {};
  int code = szarena_compress(&problem, values.data(), output.get(), capacity, workspace.get(),
                              workspace_bytes, &payload);
  if (code == SZARENA_OK) {
    code = szarena_decompress(&problem, output.get() + payload.offset, payload.size,
                              restored.data(), workspace.get(), workspace_bytes);
  }
  bool held = code == SZARENA_OK;
  for (size_t i = 0; i < n && held; ++i)
    held = std::abs(static_cast<double>(values[i]) - static_cast<double>(restored[i])) <= kBound;
  std::printf("mode %u, type %u, %zu values: status %d, %llu bytes, %s\n", mode, dtype, n, code,
              static_cast<unsigned long long>(payload.size), held ? "bound held" : "WRONG");
  return held;
}

}  // namespace

int main(int argc, char** argv) {
  bool good = argc > 2;
  const size_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  for (int i = 2; i < argc; ++i) {
    const auto mode = static_cast<uint32_t>(std::atoi(argv[i]));
    good &= Call<float>(mode, SZARENA_F32, n);
    good &= Call<double>(mode, SZARENA_F64, n);
  }
  return good ? 0 : 1;
}
