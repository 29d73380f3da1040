// SPDX-License-Identifier: Apache-2.0
// JSON text as a compile-time value of a given type. Lists become arrays (of any rank) or tuples,
// objects structs; a label `name:type` of an object ("n:u16", "taps:[8]i16") gives a field its name
// and type.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "csl/sema/value.h"

namespace szarena::csl {

class Evaluator;

// The text as it stands: numbers, booleans, strings, lists (tuples), objects (structs whose fields
// are called by the whole labels). Nothing, with the reason in `why` ("line 3: …"), where it is not
// valid JSON or uses null.
std::optional<Value> ReadJson(TypeTable& types, std::string_view text, std::string& why);

// Nothing, with the reason in `why`, where the text is not valid JSON, uses null or
// holds another value than one of `type`.
std::optional<Value> ValueFromJson(Evaluator& eval, std::string_view text, TypeId type,
                                   std::string& why);

}  // namespace szarena::csl
