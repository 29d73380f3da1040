// SPDX-License-Identifier: Apache-2.0
// Poison, guards, and the exact comparison of two fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "judge/primitives.h"

namespace szarena::judge {

// A pattern that nobody outside can foresee, or the same with every bit inverted.
struct PoisonKey {
  uint64_t seed = 0;
  bool inverted = false;
};
// `first`: where the bytes begin in the pattern, a multiple of 8.
void Poison(std::span<std::byte> bytes, PoisonKey key, uint64_t first = 0);
std::byte PoisonByte(PoisonKey key, uint64_t index);
// Index of the first byte that differs from the pattern.
std::optional<uint64_t> FirstTouched(ByteView bytes, PoisonKey key);

// The first element of `width` bytes that two runs left as the poison was: the first run over the
// pattern, the second over the inverted one. What a program writes cannot follow both.
// `first_index`: where the bytes begin in the pattern.
std::optional<uint64_t> FirstUnwritten(ByteView first, ByteView second, uint64_t first_index,
                                       uint64_t width, uint64_t seed);

// How well `got` holds |x - got| <= bound for every element, in exact arithmetic; what is not
// finite must come back bit for bit, the payload of a NaN too (docs/formats/).
struct FieldError {
  uint64_t violations = 0;
  uint64_t first_violation = 0;     // index, where violations > 0
  uint64_t worst = 0;               // index of the largest error
  double max_error_over_bound = 0;  // over finite elements
  double psnr = 0;                  // infinite where nothing differs, NaN where the range is 0
  double nrmse = 0;
};
FieldError CompareFields(uint32_t dtype, ByteView original, ByteView got, double bound);

// Text of a candidate for people to read: without control characters, in one line or as it is, cut
// behind `limit` bytes.
enum class Lines : uint8_t { kOne, kAny };
std::string Printable(std::string_view text, size_t limit, Lines lines);

// "element 17: 1.5 became 1.75, error 0.25, bound 0.1"
std::string DescribeElement(uint32_t dtype, ByteView original, ByteView got, uint64_t index,
                            double bound);

}  // namespace szarena::judge
