// SPDX-License-Identifier: Apache-2.0
// Where a candidate spends its time, on public data: feedback for whoever writes it, never part of a verdict.
#pragma once

#include <string>

#include "base/error.h"
#include "data/json.h"
#include "judge/evaluate.h"

namespace szarena::judge {

// `ok` false: the candidate could not be profiled, `text` says why. Else `content` has "target" and per direction what
// decides the next step there; on CPU: samples, seconds_per_call, functions [{function, share}], lines [{location, function,
// share}], outside (share of samples in libraries).
struct ProfileReport {
  bool ok = false;
  data::Json content;
  std::string text;
};

// Builds the candidate with line tables and samples its calls on the largest public case.
Result<ProfileReport> ProfileCandidate(const EvaluateOptions& options);

}  // namespace szarena::judge
