// SPDX-License-Identifier: Apache-2.0
// Synthetic fields. The same spec gives the same bits on every machine and with any thread count:
// counter-based random numbers, no libm, strict arithmetic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "field/field.h"

namespace szarena::field {

enum class GeneratorKind : uint8_t {
  kSmooth,      // sines of several scales, 1/f amplitudes
  kTurbulence,  // lattice noise whose spectrum falls like k^(-5/3)
  kParticles,   // coordinates of clustered particles, unordered inside a cluster
  kFronts,      // zero but for thin smooth ridges
  kSteps,       // long runs of one value
  kConstant,    // 1
  kZero,        // +0
  kRamp,        // index / element count
  kNoise,       // uniform in [-1, 1)
  kNormal,      // about standard normal
  kNonfinite,   // smooth, with NaN (several payloads) and +-Inf sprinkled at `rate`
  kDenormal,    // subnormal values and zeros of both signs
  kHuge,        // any exponent of the type, either sign, finite
  kOffset,      // small variations on a large offset: differences near the last bits
  kEdges,       // a cycle of the type's special finite values (limits, powers of two, half-ways)
};

struct GeneratorSpec {
  GeneratorKind kind = GeneratorKind::kSmooth;
  uint64_t seed = 0;
  DType dtype = DType::kF32;
  Dims dims = {1};
  // value * scale + offset, applied in f64 before rounding to the type.
  double scale = 1;
  double offset = 0;
  double rate = 0.001;  // kNonfinite: share of elements that are not finite

  // "gen:smooth:seed=1:dims=64x64…", with every option that is not at its default.
  std::string ToString() const;
};

std::string_view GeneratorName(GeneratorKind kind);
Result<GeneratorKind> ParseGeneratorKind(std::string_view name);
std::span<const GeneratorKind> AllGenerators();
// One line of what a generator makes.
std::string_view GeneratorDescription(GeneratorKind kind);

// `threads` 0: as many as the machine has.
Result<Field> Generate(const GeneratorSpec& spec, unsigned threads = 0);

}  // namespace szarena::field
