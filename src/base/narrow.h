// SPDX-License-Identifier: Apache-2.0
// Integer conversions that cannot lose a value silently.
#pragma once

#include <concepts>
#include <optional>
#include <utility>

#include "base/check.h"

namespace szarena {

// The value as To, or nothing where To cannot hold it.
template <std::integral To, std::integral From>
constexpr std::optional<To> TryNarrow(From value) {
  if (!std::in_range<To>(value)) return std::nullopt;
  return static_cast<To>(value);
}

// The value as To; a value that does not fit is a programmer mistake.
template <std::integral To, std::integral From>
constexpr To NarrowTo(From value) {
  SZARENA_CHECK(std::in_range<To>(value), "value does not fit the narrower type");
  return static_cast<To>(value);
}

}  // namespace szarena
