// SPDX-License-Identifier: Apache-2.0
// The date and time as records write it.
#pragma once

#include <string>

namespace szarena {

// Now in UTC, ISO 8601 with milliseconds: "2026-04-22T09:15:02.125Z".
std::string UtcNow();

}  // namespace szarena
