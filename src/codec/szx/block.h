// SPDX-License-Identifier: Apache-2.0
// One block of an SZx stream, in plain code that reads like the specification (docs/formats/szx.md,
// "Blocks").
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "codec/szx/format.h"

namespace szarena::codec::szx {

// How a block will be coded.
template <Real T>
struct BlockPlan {
  bool constant = false;  // only the median is stored
  bool exact = false;     // full length and median +-0: the bits themselves are stored
  int required_bits = 0;  // leading bits kept of every difference; 0 for a constant block
  T median = 0;
};

// Decides how `count` >= 1 values (at any alignment) are coded, so that every decoded value is
// within the bound.
template <Real T>
BlockPlan<T> PlanBlock(const std::byte* values, std::size_t count, const Bound<T>& bound);

// Writes a block that is not constant; returns its size, at most MaxBlockBytes<T>(count).
template <Real T>
std::size_t WriteBlock(const std::byte* values, std::size_t count, const BlockPlan<T>& plan,
                       std::uint8_t* out);

// Size of the coded block of `count` values at the front of `bytes`, from its codes; nothing where
// the bytes end before the block or its required length is out of range.
template <Real T>
std::optional<std::size_t> MeasureBlock(Bytes bytes, std::size_t count);

// Decodes the coded block that fills `block`; false where it is not exactly one block of `count`
// values.
template <Real T>
bool ReadBlock(Bytes block, std::size_t count, std::byte* values);

}  // namespace szarena::codec::szx
