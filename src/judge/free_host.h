// SPDX-License-Identifier: Apache-2.0
// The platform of Cerebras candidates that bring their own host program: judged like a library,
// labelled, compared with nothing.
#pragma once

#include <memory>

#include "judge/evaluate.h"
#include "judge/platform.h"
#include "sandbox/sandbox.h"

namespace szarena::judge {

// The arguments live longer than the platform. kUnavailable where cslc or cs_python are not beside
// this program.
Result<std::unique_ptr<Platform>> MakeFreeHostPlatform(const EvaluateOptions& options,
                                                       const sandbox::Sandbox& sandbox,
                                                       int threads);

}  // namespace szarena::judge
