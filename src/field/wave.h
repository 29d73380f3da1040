// SPDX-License-Identifier: Apache-2.0
// The two smooth random functions that generators are made of. Basic IEEE operations only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "field/counter_rng.h"
#include "field/field.h"

namespace szarena::field {

// sin(2 pi turns), error below 1e-10, by a polynomial: the same bits everywhere.
double SinTurns(double turns);

// A position in a shape padded to three dimensions.
struct Place {
  size_t z, y, x;
};

// Sum of products of sines, octave after octave with half the amplitude; within [-2, 2].
class Waves {
 public:
  Waves(const Dims& dims, uint64_t seed);
  // Flat indices `begin` onwards, which must lie in one row.
  void Fill(size_t begin, std::span<double> out) const;

 private:
  static constexpr size_t kOctaves = 8;
  size_t extent_[3];
  double turns_per_element_[kOctaves][3];
  double phase_[kOctaves][3];
};

// Value noise on lattices whose cells halve, with amplitudes like cell^(1/3) (Kolmogorov's law for
// velocity differences, hence a k^(-5/3) spectrum). About [-2, 2].
class LatticeNoise {
 public:
  LatticeNoise(const Dims& dims, uint64_t seed, size_t max_octaves);
  void Fill(size_t begin, std::span<double> out) const;

 private:
  struct Octave {
    double cells_per_element;
    double amplitude;
    CounterRng lattice;
  };
  size_t extent_[3];
  std::vector<Octave> octaves_;
};

}  // namespace szarena::field
