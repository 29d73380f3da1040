// SPDX-License-Identifier: Apache-2.0
// Random numbers for hidden data and poison: SplitMix64 (Steele, Lea, Flood 2014). Secrecy comes
// from the seed.
#pragma once

#include <cstdint>

namespace szarena::judge {

inline uint64_t Mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() { return Mix64(state_ += 0x9e3779b97f4a7c15ull); }
  // Below `bound` (> 0); the bias of the multiplication is at most bound / 2^64.
  uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(Next()) * bound >> 64);
  }
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }  // [0, 1)

 private:
  uint64_t state_;
};

}  // namespace szarena::judge
