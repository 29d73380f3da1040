// SPDX-License-Identifier: Apache-2.0
#include "judge/profile.h"

namespace szarena::judge {

Result<ProfileReport> ProfileCandidate(const EvaluateOptions& options) {
  return ProfileReport{false, {}, "target '" + options.target + "' has no profiler in this build"};
}

}  // namespace szarena::judge
