// SPDX-License-Identifier: Apache-2.0
// Runs a function on a thread with a stack of 64 MiB: the evaluator recurses with the depth of the
// program.
#pragma once

#include <functional>

namespace szarena::csl {

// Returns when `work` has returned. `work` must not throw.
void WithBigStack(const std::function<void()>& work);

}  // namespace szarena::csl
