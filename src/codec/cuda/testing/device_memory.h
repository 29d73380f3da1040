// SPDX-License-Identifier: Apache-2.0
// Device memory for tests: poisoned, with guard zones on both sides that must stay as they were.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace szarena::codec::cuda {

inline void MustSucceed(cudaError_t error) {
  ASSERT_EQ(error, cudaSuccess) << cudaGetErrorString(error);
}

class GuardedBuffer {
 public:
  static constexpr size_t kGuard = 4096;
  static constexpr unsigned char kGuardByte = 0xA5;
  static constexpr unsigned char kPoison = 0xCD;

  // `size` usable bytes that start `misalignment` bytes behind a 256-byte boundary.
  explicit GuardedBuffer(size_t size, size_t misalignment = 0)
      : size_(size), start_(kGuard + misalignment) {
    MustSucceed(cudaMalloc(&base_, start_ + size + kGuard));
    MustSucceed(cudaMemset(base_, kGuardByte, start_ + size + kGuard));
    MustSucceed(cudaMemset(base_ + start_, kPoison, size));
  }
  ~GuardedBuffer() { cudaFree(base_); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  unsigned char* data() const { return base_ + start_; }
  size_t size() const { return size_; }

  void Upload(const void* from, size_t size) {
    MustSucceed(cudaMemcpy(data(), from, size, cudaMemcpyHostToDevice));
  }
  std::vector<std::byte> Download(size_t size) const {
    std::vector<std::byte> bytes(size);
    if (size > 0) MustSucceed(cudaMemcpy(bytes.data(), data(), size, cudaMemcpyDeviceToHost));
    return bytes;
  }
  bool GuardsIntact() const {
    std::vector<unsigned char> all(start_ + size_ + kGuard);
    MustSucceed(cudaMemcpy(all.data(), base_, all.size(), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < all.size(); ++i) {
      if ((i < start_ || i >= start_ + size_) && all[i] != kGuardByte) return false;
    }
    return true;
  }

 private:
  size_t size_;
  size_t start_;
  unsigned char* base_ = nullptr;
};

inline bool HaveDevice() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

}  // namespace szarena::codec::cuda
