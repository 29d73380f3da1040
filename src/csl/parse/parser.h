// SPDX-License-Identifier: Apache-2.0
// Text to syntax tree. Any text gives a tree; faults are reported and leave ErrorExpr nodes.
#pragma once

#include "csl/diag/diag.h"
#include "csl/source/names.h"
#include "csl/source/source_map.h"
#include "csl/syntax/ast.h"

namespace szarena::csl {

// No path from the root of a tree to a leaf is longer, so that consumers may recurse.
inline constexpr int kMaxTreeDepth = 1000;
// Nesting of brackets, blocks and prefix operators in the text.
inline constexpr int kMaxNesting = 250;

Ast Parse(const SourceMap& sources, SourceId source, NameTable& names, DiagSink& diags);

}  // namespace szarena::csl
