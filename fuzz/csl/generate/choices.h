// SPDX-License-Identifier: Apache-2.0
// The decisions of a generator: bytes of a fuzzer's input, or an endless sequence from a seed.
// Where the bytes end every answer is 0, and 0 means "the simplest": a generator that asks for more
// always ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace szarena::csl_fuzz {

class Choices {
 public:
  explicit Choices(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  explicit Choices(uint64_t seed) : seed_(seed), endless_(true) {}

  // 0 <= result < n.
  uint32_t Below(uint32_t n) {
    if (n <= 1) return 0;
    uint32_t v = Byte();
    if (n > 256) v = v << 8 | Byte();
    if (n > 65536) v = v << 16 | Byte() << 8 | Byte();
    return v % n;
  }
  int Between(int low, int high) {
    return low + static_cast<int>(Below(static_cast<uint32_t>(high - low + 1)));
  }
  bool Chance(uint32_t percent) { return Below(100) >= 100 - percent; }
  template <typename T>
  const T& Pick(const std::vector<T>& from) {
    return from[Below(static_cast<uint32_t>(from.size()))];
  }
  uint64_t Bits() {
    uint64_t v = 0;
    for (int i = 0; i < 8; ++i) v = v << 8 | Byte();
    return v;
  }
  bool IsOver() const { return !endless_ && at_ >= bytes_.size(); }

 private:
  uint32_t Byte() {
    if (!endless_) return at_ < bytes_.size() ? bytes_[at_++] : 0;
    if (left_ == 0) {
      // splitmix64
      uint64_t z = seed_ += 0x9e3779b97f4a7c15u;
      z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
      z = (z ^ z >> 27) * 0x94d049bb133111ebu;
      word_ = z ^ z >> 31;
      left_ = 8;
    }
    const auto byte = static_cast<uint32_t>(word_ & 0xff);
    word_ >>= 8;
    --left_;
    return byte;
  }

  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  uint64_t seed_ = 0;
  bool endless_ = false;
  uint64_t word_ = 0;
  int left_ = 0;
};

}  // namespace szarena::csl_fuzz
