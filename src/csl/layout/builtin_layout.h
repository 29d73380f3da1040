// SPDX-License-Identifier: Apache-2.0
// The builtins that this room adds to the table.
#pragma once

#include <span>

#include "csl/sema/builtin.h"

namespace szarena::csl {

std::span<const BuiltinEntry> LayoutBuiltins();  // layout block
std::span<const BuiltinEntry> ConfigBuiltins();  // comptime blocks of PE code

}  // namespace szarena::csl
