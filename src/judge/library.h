// SPDX-License-Identifier: Apache-2.0
// The platform of candidates that are libraries in a driver process.
#pragma once

#include <memory>

#include "judge/evaluate.h"
#include "judge/platform.h"
#include "sandbox/sandbox.h"
#include "target/backend.h"

namespace szarena::judge {

// The arguments live longer than the platform.
std::unique_ptr<Platform> MakeLibraryPlatform(const EvaluateOptions& options,
                                              const target::Backend& backend,
                                              const sandbox::Sandbox& sandbox, int threads);

}  // namespace szarena::judge
