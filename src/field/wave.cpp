// SPDX-License-Identifier: Apache-2.0
#include "field/wave.h"

#include <algorithm>
#include <cmath>

namespace szarena::field {
namespace {

void PadDims(const Dims& dims, size_t (&extent)[3]) {
  std::fill_n(extent, 3, size_t{1});
  std::copy(dims.begin(), dims.end(), extent + 3 - dims.size());
}

Place PlaceOf(size_t flat, const size_t (&extent)[3]) {
  size_t row = flat / extent[2];
  return {row / extent[1], row % extent[1], flat % extent[2]};
}

// 3t^2 - 2t^3: weight of the upper lattice node.
double Smoothstep(double t) { return t * t * (3 - 2 * t); }

}  // namespace

double SinTurns(double turns) {
  double t = turns - std::floor(turns + 0.5);  // [-0.5, 0.5]
  if (t > 0.25) t = 0.5 - t;
  if (t < -0.25) t = -0.5 - t;
  double x = t * 6.283185307179586476925;
  double s = x * x;
  // Taylor to x^13: at pi/2 the first term left out is below 7e-10 of a turn's sine.
  return x * (1 + s * (-1.0 / 6 +
                       s * (1.0 / 120 + s * (-1.0 / 5040 + s * (1.0 / 362880 +
                                                                s * (-1.0 / 39916800 +
                                                                     s * (1.0 / 6227020800.0)))))));
}

Waves::Waves(const Dims& dims, uint64_t seed) {
  PadDims(dims, extent_);
  CounterRng rng(seed, 1);
  for (size_t o = 0; o < kOctaves; ++o) {
    for (size_t d = 0; d < 3; ++d) {
      double cycles = static_cast<double>(size_t{1} << o) * (0.5 + rng.Uniform(6 * o + 2 * d));
      turns_per_element_[o][d] = cycles / static_cast<double>(std::max<size_t>(extent_[d], 1));
      phase_[o][d] = rng.Uniform(6 * o + 2 * d + 1);
    }
  }
}

void Waves::Fill(size_t begin, std::span<double> out) const {
  Place place = PlaceOf(begin, extent_);
  std::ranges::fill(out, 0.0);
  double amplitude = 1;
  for (size_t o = 0; o < kOctaves; ++o) {
    double z = SinTurns(static_cast<double>(place.z) * turns_per_element_[o][0] + phase_[o][0]);
    double y = SinTurns(static_cast<double>(place.y) * turns_per_element_[o][1] + phase_[o][1]);
    // A missing dimension must not scale the whole octave down.
    double row = amplitude * (extent_[0] > 1 ? z : 1) * (extent_[1] > 1 ? y : 1);
    for (size_t i = 0; i < out.size(); ++i) {
      double turns = static_cast<double>(place.x + i) * turns_per_element_[o][2] + phase_[o][2];
      out[i] += row * SinTurns(turns);
    }
    amplitude *= 0.5;
  }
}

LatticeNoise::LatticeNoise(const Dims& dims, uint64_t seed, size_t max_octaves) {
  PadDims(dims, extent_);
  size_t longest = std::max({extent_[0], extent_[1], extent_[2]});
  double cell = std::max(2.0, static_cast<double>(longest) / 4);
  double amplitude = 1;
  for (size_t o = 0; o < max_octaves && cell >= 2; ++o) {
    octaves_.push_back({1 / cell, amplitude, CounterRng(seed, 2 + o)});
    cell /= 2;
    amplitude *= 0.79370052598409973737;  // 2^(-1/3)
  }
}

void LatticeNoise::Fill(size_t begin, std::span<double> out) const {
  Place place = PlaceOf(begin, extent_);
  std::ranges::fill(out, 0.0);
  std::vector<double> nodes;
  for (const Octave& octave : octaves_) {
    double z = (static_cast<double>(place.z) + 0.5) * octave.cells_per_element;
    double y = (static_cast<double>(place.y) + 0.5) * octave.cells_per_element;
    double wz = Smoothstep(z - std::floor(z)), wy = Smoothstep(y - std::floor(y));
    uint64_t iz = static_cast<uint64_t>(z), iy = static_cast<uint64_t>(y);
    auto position = [&](size_t i) {
      return (static_cast<double>(place.x + i) + 0.5) * octave.cells_per_element;
    };
    uint64_t first = static_cast<uint64_t>(position(0));
    uint64_t last = static_cast<uint64_t>(position(out.size() - 1)) + 1;
    nodes.resize(last - first + 1);
    for (size_t k = 0; k < nodes.size(); ++k) {
      auto corner = [&](uint64_t dz, uint64_t dy) {
        uint64_t counter =
            first + k + (iy + dy) * 0x9E3779B97F4A7C15u + (iz + dz) * 0xC2B2AE3D27D4EB4Fu;
        return octave.lattice.Signed(counter);
      };
      double low = corner(0, 0), high = corner(1, 0);
      if (extent_[1] > 1) {
        low += wy * (corner(0, 1) - low);
        high += wy * (corner(1, 1) - high);
      }
      nodes[k] = octave.amplitude * (extent_[0] > 1 ? low + wz * (high - low) : low);
    }
    for (size_t i = 0; i < out.size(); ++i) {
      double x = position(i);
      size_t k = static_cast<size_t>(x) - first;
      double wx = Smoothstep(x - static_cast<double>(static_cast<uint64_t>(x)));
      out[i] += nodes[k] + wx * (nodes[k + 1] - nodes[k]);
    }
  }
}

}  // namespace szarena::field
