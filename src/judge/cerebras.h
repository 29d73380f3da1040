// SPDX-License-Identifier: Apache-2.0
// The platform of candidates in CSL: the judge is their host (docs/contracts/cerebras.md).
#pragma once

#include <memory>

#include "judge/evaluate.h"
#include "judge/platform.h"
#include "sandbox/sandbox.h"
#include "target/candidate.h"

namespace szarena::judge {

std::string_view VariantName(WaferOptions::Variant variant);  // "resident"
// What `asked` means for this candidate: kAuto is decided by its files.
WaferOptions::Variant VariantOf(WaferOptions::Variant asked, const target::Candidate& candidate);

// The arguments live longer than the platform. kUnavailable where a toolchain is asked for that is
// not installed.
Result<std::unique_ptr<Platform>> MakeCerebrasPlatform(const EvaluateOptions& options,
                                                       const sandbox::Sandbox& sandbox,
                                                       const target::Candidate& candidate,
                                                       int threads);

}  // namespace szarena::judge
