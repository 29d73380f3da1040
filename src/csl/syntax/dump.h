// SPDX-License-Identifier: Apache-2.0
// The tree as indented text, one node a line, without places: equal texts mean equal trees.
#pragma once

#include <string>

#include "csl/syntax/ast.h"

namespace szarena::csl {

std::string Dump(const Ast& ast, const NameTable& names);

// A string or name with its odd bytes escaped, without quotes.
std::string EscapeBytes(std::string_view bytes);

}  // namespace szarena::csl
