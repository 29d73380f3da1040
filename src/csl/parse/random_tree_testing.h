// SPDX-License-Identifier: Apache-2.0
// Random syntax trees for tests: every node kind, all of them such that the parser could have made
// them.
#pragma once

#include "csl/syntax/ast.h"

namespace szarena::csl::testing {

Ast RandomTree(uint32_t seed, NameTable& names);

}  // namespace szarena::csl::testing
