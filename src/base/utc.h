// SPDX-License-Identifier: Apache-2.0
// The date and time as records write it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace szarena {

// Now in UTC, ISO 8601 with milliseconds: "2026-04-22T09:15:02.125Z".
std::string UtcNow();

// Seconds since 1970 of a time as UtcNow writes it; nothing where it is none.
std::optional<double> UtcSeconds(std::string_view text);

}  // namespace szarena
