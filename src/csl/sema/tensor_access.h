// SPDX-License-Identifier: Apache-2.0
// `|i, j|{M, N} -> array[f(i, j), …]`: which elements, in which order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "csl/sema/evaluator.h"

namespace szarena::csl {

struct TensorAccess {
  Operand place;  // of the array
  TypeId element;
  int64_t offset = 0;            // of the first element, in elements
  std::vector<int64_t> extents;  // outermost first
  std::vector<int64_t> strides;  // in elements
};

// Evaluates the extents and finds the affine form of the indices. Reports what is not affine, has
// more than `max_rank` variables, or leaves the array (a warning).
std::optional<TensorAccess> EvalTensorAccess(Evaluator& eval, ExprId expr, size_t max_rank);

}  // namespace szarena::csl
