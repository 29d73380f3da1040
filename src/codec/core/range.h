// SPDX-License-Identifier: Apache-2.0
// Inner interface of bound.cpp: the range of one piece of an array.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/core/dtype.h"

namespace szarena::codec {

template <Real T>
struct PartRange {
  T min = 0;  // +Inf where nothing is finite
  T max = 0;  // -Inf likewise
  uint64_t finite = 0;
  uint64_t fill = 0;
};

// Finite values without those whose bits are `fill` (where has_fill), vectorised for the processor.
template <Real T>
PartRange<T> FindPartRange(const std::byte* data, uint64_t count, bool has_fill, uint64_t fill);

}  // namespace szarena::codec
