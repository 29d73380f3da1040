// SPDX-License-Identifier: Apache-2.0
// The struct argument of @set_color_config and @set_local_color_config as a router configuration.
#pragma once

#include <optional>

#include "bytecode/program.h"
#include "csl/sema/evaluator.h"

namespace szarena::csl {

// Reads routes, switches, filter and teardown. Nothing after diagnostics.
std::optional<bytecode::ColorRoute> ReadColorConfig(Evaluator& eval, int color, const Value& config,
                                                    ExprId expr, Span span);

// A colour argument as its number 0..23, or nothing after a diagnostic.
std::optional<int> ReadColor(Evaluator& eval, const Value& value, Span span);

}  // namespace szarena::csl
