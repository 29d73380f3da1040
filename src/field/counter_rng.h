// SPDX-License-Identifier: Apache-2.0
// Random numbers as a function of (seed, stream, counter): the same bits on every machine, in any
// order, from any number of threads.
#pragma once

#include <cstdint>

namespace szarena::field {

class CounterRng {
 public:
  CounterRng(uint64_t seed, uint64_t stream) : key_(Mix(Mix(seed) + kGolden * (stream + 1))) {}

  uint64_t Bits(uint64_t counter) const { return Mix(Mix(counter * kGolden + key_) ^ key_); }
  // Multiples of 2^-53 in [0, 1).
  double Uniform(uint64_t counter) const {
    return static_cast<double>(Bits(counter) >> 11) * 0x1p-53;
  }
  // In [-1, 1).
  double Signed(uint64_t counter) const { return 2 * Uniform(counter) - 1; }
  // Close to a standard normal: the sum of twelve 16-bit uniforms (so never beyond +-6). Exact
  // sums.
  double Normal(uint64_t counter) const {
    uint64_t sum = 0;
    for (uint64_t part = 0; part < 3; ++part) {
      uint64_t bits = Bits(3 * counter + part);
      sum += (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48);
    }
    return (static_cast<double>(sum) + 6.0) * 0x1p-16 - 6.0;
  }

 private:
  static constexpr uint64_t kGolden = 0x9E3779B97F4A7C15u;

  // Finaliser of SplitMix64 (Steele, Lea, Flood 2014; constants of Stafford's variant 13).
  static constexpr uint64_t Mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }

  uint64_t key_;
};

}  // namespace szarena::field
