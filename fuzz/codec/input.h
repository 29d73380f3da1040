// SPDX-License-Identifier: Apache-2.0
// Cuts a fuzzer's input into parameters and bytes, and fails loudly.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

namespace szarena::fuzz {

class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  // The next integer, 0 where the input is at its end.
  template <typename T>
  T Take() {
    T value{};
    const size_t n = left_ < sizeof(T) ? left_ : sizeof(T);
    if (n > 0) std::memcpy(&value, data_, n);
    data_ += n;
    left_ -= n;
    return value;
  }

  // What is left, in memory of exactly its size, so that a sanitizer sees the first byte too far.
  std::span<const std::byte> Rest() {
    rest_.reset(new std::byte[left_]);
    if (left_ > 0) std::memcpy(rest_.get(), data_, left_);
    return {rest_.get(), left_};
  }

 private:
  const uint8_t* data_;
  size_t left_;
  std::unique_ptr<std::byte[]> rest_;
};

inline void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

}  // namespace szarena::fuzz
