// SPDX-License-Identifier: Apache-2.0
// Byte shuffles that pack and unpack 16 bytes of words (four of f32, two of f64) at a time, one for
// every number of kept bytes and every combination of leading codes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "codec/szx/format.h"

namespace szarena::codec::szx {

template <Real T>
struct PackTables {
  static constexpr int kWordBytes = sizeof(T);
  static constexpr int kLanes = 16 / kWordBytes;
  static constexpr int kCodes = 1 << (2 * kLanes);  // the first lane's code in the top two bits
  static constexpr int kLeastKept = 2;              // the shortest required length takes two bytes
  static constexpr int kKepts = kWordBytes - kLeastKept + 1;

  struct Entry {
    std::uint8_t bytes[16];
  };
  struct Set {
    alignas(64) Entry pack[kCodes];    // where each stored byte comes from; 0x80 beyond
    alignas(64) Entry unpack[kCodes];  // which stored byte goes there; 0x80 = the last word of the
                                       // 16 bytes before has it
    std::uint8_t count[kCodes];        // bytes stored
  };
  Set sets[kKepts];

  constexpr PackTables() : sets() {
    for (int kept = kLeastKept; kept <= kWordBytes; ++kept) {
      for (int code = 0; code < kCodes; ++code) Fill(sets[kept - kLeastKept], kept, code);
    }
  }

  constexpr const Set& ForKept(int kept_bytes) const { return sets[kept_bytes - kLeastKept]; }

 private:
  static constexpr void Fill(Set& set, int kept, int code) {
    std::uint8_t writer[kWordBytes] = {};
    for (auto& w : writer) w = 0x80;
    for (auto& b : set.pack[code].bytes) b = 0x80;
    int stored = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      const int lane_code = code >> (2 * (kLanes - 1 - lane)) & 3;
      for (int k = kWordBytes - kept; k < kWordBytes - lane_code; ++k) {
        set.pack[code].bytes[stored] = static_cast<std::uint8_t>(lane * kWordBytes + k);
        writer[k] = static_cast<std::uint8_t>(stored++);
      }
      for (int k = 0; k < kWordBytes; ++k)
        set.unpack[code].bytes[lane * kWordBytes + k] = writer[k];
    }
    set.count[code] = static_cast<std::uint8_t>(stored);
  }
};

template <Real T>
inline constexpr PackTables<T> kPackTables{};

}  // namespace szarena::codec::szx
