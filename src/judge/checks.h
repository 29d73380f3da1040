// SPDX-License-Identifier: Apache-2.0
// Poison, guards, and the exact comparison of two fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// What two runs gave, as far as it lies at the same place of their buffers: the first run over the
// pattern of `seed`, the second over the inverted one. In elements of `width` bytes.
struct PoisonedPair {
  ByteView first;
  ByteView second;
  uint64_t begin = 0;  // where both lie in the buffer and so in the pattern
  uint64_t width = 1;
  uint64_t seed = 0;
};
// The element that begins at byte `at` of the buffer is in both runs as the poison was. What a
// program writes cannot follow both: one that gives the same each time never looks so; one that
// gives the one time x and the other time the inverse of x does where the secret pattern happens to
// be x, one element of w bytes in 2^8w.
bool LooksUnwritten(const PoisonedPair& pair, uint64_t at);

// The elements that look unwritten.
struct Unwritten {
  std::optional<uint64_t> first;   // place in the buffer
  bool certain = false;            // chance gives so many of them less than once in 2^60 pairs
  std::vector<uint64_t> doubtful;  // where not certain: all of them, for further pairs to confirm
};
Unwritten FindUnwritten(const PoisonedPair& pair);

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
