// SPDX-License-Identifier: Apache-2.0
// Checks a value against a JSON Schema, as far as our own schemas go.
#pragma once

#include <string>

#include "data/json.h"

namespace szarena::data {

// The path of the first fault with what was expected ("$.path: is missing"), or "" where `value` is
// valid. Understood of draft-07: $ref to #/definitions, anyOf, enum, type (one name or several),
// properties, required, additionalProperties, items, minItems, minimum, maximum, maxLength; every
// other keyword is passed over.
std::string SchemaFault(const Json& schema, const Json& value);

}  // namespace szarena::data
