// SPDX-License-Identifier: Apache-2.0
// Device memory and times of enqueued work.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bench/gpu/fields.h"

namespace szarena::bench::gpu {

class DeviceBuffer {
 public:
  explicit DeviceBuffer(uint64_t size) { Check(cudaMalloc(&data_, size + 256), "cudaMalloc"); }
  ~DeviceBuffer() { cudaFree(data_); }
  DeviceBuffer(DeviceBuffer&& other) noexcept : data_(other.data_) { other.data_ = nullptr; }
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  template <class T = void>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

// Milliseconds.
struct Time {
  double median = 0, low = 0, high = 0;  // and quartiles
};

inline Time Summarise(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[times.size() / 4], times[times.size() * 3 / 4]};
}

// `enqueue(i)` enqueues run i on the legacy stream; three runs more come first and do not count.
template <class Enqueue>
Time TimeOnDevice(int runs, Enqueue&& enqueue) {
  cudaEvent_t start = nullptr;
  cudaEvent_t stop = nullptr;
  Check(cudaEventCreate(&start), "cudaEventCreate");
  Check(cudaEventCreate(&stop), "cudaEventCreate");
  std::vector<double> times;
  for (int i = 0; i < runs + 3; ++i) {
    Check(cudaEventRecord(start), "cudaEventRecord");
    enqueue(i);
    Check(cudaEventRecord(stop), "cudaEventRecord");
    Check(cudaEventSynchronize(stop), "timed work");
    float ms = 0;
    Check(cudaEventElapsedTime(&ms, start, stop), "cudaEventElapsedTime");
    if (i >= 3) times.push_back(ms);
  }
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  return Summarise(std::move(times));
}

}  // namespace szarena::bench::gpu
