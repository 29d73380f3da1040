// SPDX-License-Identifier: Apache-2.0
// "did you mean" for misspelt names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "csl/sema/type.h"

namespace szarena::csl {

// ", did you mean 'x'?" for the nearest candidate, or an empty text where none is near.
std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates);

// How to make a value of type `to` of one of type `from`; empty where no conversion exists.
std::string RemedyForType(const TypeTable& types, TypeId to, TypeId from);
// The same for two operands or branches that must have one type.
std::string RemedyForTypes(const TypeTable& types, TypeId a, TypeId b);

// What to write in CSL for a builtin, or for a name, of another language or of a library that is
// not imported; empty where it is none that is known.
std::string_view RemedyForBuiltin(std::string_view name);
std::string_view RemedyForName(std::string_view name);

}  // namespace szarena::csl
