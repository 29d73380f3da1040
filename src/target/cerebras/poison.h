// SPDX-License-Identifier: Apache-2.0
// What lies where a program has nothing to read or has not yet written: words that nobody outside
// can foresee, or their inverse.
#pragma once

#include <cstdint>

namespace szarena::target::cerebras {

struct Poison {
  uint64_t seed = 0;
  bool inverted = false;
  uint32_t Word(uint64_t index) const {
    uint64_t x = seed + index * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    const auto word = static_cast<uint32_t>(x >> 32);
    return inverted ? ~word : word;
  }
  // More than any count.
  uint32_t Count(uint64_t pe) const { return Word(pe << 32) | 0x80000000u; }
};

}  // namespace szarena::target::cerebras
