// SPDX-License-Identifier: Apache-2.0
// Arrays for tests of the device's codecs, by kind and seed.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace szarena::codec::cuda {

enum class Kind {
  kSmooth,
  kNoise,
  kSparse,
  kZero,
  kConstant,
  kSteps,
  kHuge,
  kDenormal,
  kNonFinite,
  kBits,
  kIntegers
};
constexpr Kind kKinds[] = {Kind::kSmooth,    Kind::kNoise, Kind::kSparse,  Kind::kZero,
                           Kind::kConstant,  Kind::kSteps, Kind::kHuge,    Kind::kDenormal,
                           Kind::kNonFinite, Kind::kBits,  Kind::kIntegers};

template <class T>
std::vector<T> Make(Kind kind, size_t count, uint32_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) {
    const double at = static_cast<double>(i);
    double x = 0;
    switch (kind) {
      case Kind::kSmooth:
        x = std::sin(at * 0.01) + 0.3 * std::cos(at * 0.0007);
        break;
      case Kind::kNoise:
        x = unit(random);
        break;
      case Kind::kSparse:
        x = i / 500 % 3 == 0 ? std::exp(-std::fabs(std::fmod(at, 500) - 250)) : 0;
        break;
      case Kind::kZero:
        x = 0;
        break;
      case Kind::kConstant:
        x = 3.7;
        break;
      case Kind::kSteps:
        x = i / 7 % 2 == 0 ? 100 : -100;
        break;
      case Kind::kHuge:
        x = unit(random) * (sizeof(T) == 4 ? 3e38 : 1e308);
        break;
      case Kind::kDenormal:
        x = unit(random) * (sizeof(T) == 4 ? 1e-40 : 1e-310);
        break;
      case Kind::kNonFinite:
        x = random() % 50 == 0   ? std::numeric_limits<double>::quiet_NaN()
            : random() % 50 == 0 ? -std::numeric_limits<double>::infinity()
                                 : unit(random);
        break;
      case Kind::kBits:
        break;
      case Kind::kIntegers:
        x = static_cast<double>(static_cast<int>(random() % 2001) - 1000) * 0.5;
        break;
    }
    values[i] = static_cast<T>(x);
    if (kind == Kind::kBits) {
      const uint64_t bits = random();
      std::memcpy(&values[i], &bits, sizeof(T));
    }
  }
  return values;
}

}  // namespace szarena::codec::cuda
