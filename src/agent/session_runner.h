// SPDX-License-Identifier: Apache-2.0
// A session from prompt to stop: workspace, transcript, store.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "agent/agent.h"
#include "agent/judge_port.h"
#include "agent/toolbox.h"
#include "base/error.h"
#include "data/json.h"
#include "store/store.h"

namespace szarena::agent {

struct SessionPlan {
  store::SessionKey key;
  std::string prompt;      // exactly as the agent gets it; its SHA-256 is stored
  data::Json description;  // what describe_task answers
  std::string out_dir;     // the results file's folder; workspaces/ and transcripts/ lie below it
  std::string start_files_dir;        // copied into the workspace first; empty: nothing
  std::vector<Reference> references;  // what there is to read
  Budget budget;
  std::optional<uint64_t>
      hidden_seed;  // of the judge's hidden data: stored, told in the last record
  std::optional<int64_t> timed_runs = std::nullopt;  // of an attempt, as the judge does them
  bool resume = false;  // go on with the unfinished session of the same key
};

// Told what happens; for progress.
struct SessionObserver {
  std::function<void(std::string_view tool)> on_call;
  std::function<void(const store::Attempt&)> on_attempt;
};

struct SessionOutcome {
  int64_t id = 0;
  store::StopReason stop = store::StopReason::kSubmitted;
  size_t attempts = 0;
  store::Usage usage = {};
};

// Runs one session and stores it. What an unfinished run with the same key left is replaced, or
// gone on with: then prompt, agent, timed runs and hidden seed must be the same (kInvalidArgument).
// On an Error the session is stored as ended ("error" or "interrupted") with what it had, and the
// error is returned.
Result<SessionOutcome> RunSession(const SessionPlan& plan, Agent& agent, JudgePort& judge,
                                  store::Store& store, const SessionObserver& observer,
                                  std::stop_token stop);

// Forms of a key and of what was used, as transcripts have them.
data::Json KeyJson(const store::SessionKey& key);
data::Json UsageJson(const store::Usage& usage);

}  // namespace szarena::agent
