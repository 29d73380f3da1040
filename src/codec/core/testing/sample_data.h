// SPDX-License-Identifier: Apache-2.0
// Arrays that codecs tend to get wrong, by kind and seed, for tests and fuzzers of every codec.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "codec/core/dtype.h"

namespace szarena::codec::testing {

inline constexpr std::string_view kSampleKinds[] = {
    "smooth",      "noise",    "constant",  "zero",        "ramp",
    "sparse",      "integers", "nonfinite", "denormal",    "huge-range",
    "random-bits", "2^24",     "steps",     "tiny-normal", "signed-zero"};

// `count` values of `kind` (one of kSampleKinds); the same for the same arguments.
template <Real T>
std::vector<T> SampleData(std::string_view kind, uint64_t count, uint64_t seed) {
  std::mt19937_64 rng(seed * 7919 + std::hash<std::string_view>{}(kind));
  const auto uniform = [&] {
    return static_cast<T>(static_cast<double>(rng() >> 11) * 0x1p-53 * 2 - 1);
  };
  std::vector<T> v(count);
  const T phase = uniform();
  for (uint64_t i = 0; i < count; ++i) {
    const T at = static_cast<T>(i);
    T x = 0;
    if (kind == "smooth") {
      x = std::sin(at * T(0.01) + phase) * 40 + std::sin(at * T(0.0007)) * 100;
    } else if (kind == "noise") {
      x = uniform() * 1000;
    } else if (kind == "constant") {
      x = T(100000001.5);
    } else if (kind == "ramp") {
      x = 1 + at;
    } else if (kind == "sparse") {
      x = rng() % 97 == 0 ? uniform() * 50 : T{0};
    } else if (kind == "integers") {
      x = static_cast<T>(static_cast<int>(rng() % 41) - 20);
    } else if (kind == "nonfinite") {
      x = std::sin(at * T(0.05));
      if (rng() % 60 == 0 || i == 0 || i == 31 || i == 32 || i + 1 == count) {
        constexpr T kInf = std::numeric_limits<T>::infinity();
        const T choices[] = {std::numeric_limits<T>::quiet_NaN(), kInf, -kInf};
        x = choices[rng() % 3];
      }
    } else if (kind == "denormal") {
      x = static_cast<T>(static_cast<int>(rng() % 2001) - 1000) *
          std::numeric_limits<T>::denorm_min();
    } else if (kind == "huge-range") {
      x = std::ldexp(uniform(), static_cast<int>(rng() % 250) - 125);
      if (rng() % 50 == 0) x = std::copysign(std::numeric_limits<T>::max(), x);
    } else if (kind == "random-bits") {
      if constexpr (sizeof(T) == 4) {
        x = std::bit_cast<T>(static_cast<uint32_t>(rng()));
      } else {
        x = std::bit_cast<T>(static_cast<uint64_t>(rng()));
      }
    } else if (kind == "2^24") {
      x = T{1 << 24} + static_cast<T>(rng() % 5) * 2;
    } else if (kind == "steps") {
      x = static_cast<T>(i / 32 % 7) * T{123.25} - 300 + uniform() / 64;
    } else if (kind == "tiny-normal") {
      x = uniform() * T(1e-32);
    } else if (kind == "signed-zero") {
      x = rng() % 2 != 0 ? -T{0} : T{0};
    }
    v[i] = x;
  }
  return v;
}

}  // namespace szarena::codec::testing
