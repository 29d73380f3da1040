// SPDX-License-Identifier: Apache-2.0
// JSON text as a compile-time value: numbers, booleans, strings, lists (tuples), objects (structs).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "csl/sema/value.h"

namespace szarena::csl {

// Nothing, with the reason in `why` ("line 3: …"), where the text is not valid JSON or uses null.
std::optional<Value> ValueFromJson(TypeTable& types, std::string_view text, std::string& why);

}  // namespace szarena::csl
