// SPDX-License-Identifier: Apache-2.0
// Where fill values stand (docs/formats/container.md, "Fill section"): the payload holds the other
// elements alone, closed up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "codec/core/array.h"

namespace szarena::codec::container {

// Bits of `fill` as an element: rounded to nearest, as a file of that type would hold it.
uint64_t FillBits(double fill, DType dtype);

// Largest fill section of `count` elements.
uint64_t MaxFillSectionBytes(uint64_t count);

// Writes the section for `values`, of which those with `fill_bits` are fill, into `section`
// (MaxFillSectionBytes), and the others one after another to `kept` (room for values.count elements
// less fills). Returns the section's size.
uint64_t WriteFillSection(ConstArray values, uint64_t fill_bits, std::span<std::byte> section,
                          std::byte* kept);

// Number of elements that are not fill. Refuses a section that does not describe `count` elements.
Result<uint64_t> CountKept(std::span<const std::byte> section, uint64_t count);

// `values` holds the kept elements at its front: moves them to their places and writes the fill
// values between. The section has passed CountKept.
void SpreadKept(std::span<const std::byte> section, uint64_t fill_bits, uint64_t kept,
                MutableArray values);

}  // namespace szarena::codec::container
