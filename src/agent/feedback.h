// SPDX-License-Identifier: Apache-2.0
// What an agent is told about a verdict: enough to go on, nothing about hidden data.
#pragma once

#include <string>

#include "data/json.h"
#include "judge/verdict.h"
#include "store/store.h"

namespace szarena::agent {

// stage, runnable, decodable, correct, ranked, failed {stage, detail}, ratio, figures with the
// baseline's beside them, floor fraction, flags, message.
data::Json FeedbackJson(const judge::Verdict& verdict);

// The stage and the judge's own words.
std::string FeedbackText(const judge::Verdict& verdict);

// An attempt in short, for lists: attempt, label, idea, stage, correct, ranked, ratio, failed (one
// line), speedup_over_baseline {direction: median}.
data::Json SummaryJson(const store::Attempt& attempt);
std::string SummaryText(const store::Attempt& attempt);

}  // namespace szarena::agent
