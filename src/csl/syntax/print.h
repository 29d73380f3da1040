// SPDX-License-Identifier: Apache-2.0
// The tree as CSL text that parses to an equal tree. Comments and blank lines are not kept.
#pragma once

#include <string>

#include "csl/syntax/ast.h"

namespace szarena::csl {

std::string Print(const Ast& ast, const NameTable& names);

// One expression, for messages and reports.
std::string Print(const Ast& ast, const NameTable& names, ExprId id);

}  // namespace szarena::csl
