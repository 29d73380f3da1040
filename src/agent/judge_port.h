// SPDX-License-Identifier: Apache-2.0
// What a session needs of the judge.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "base/error.h"
#include "data/json.h"
#include "judge/verdict.h"

namespace szarena::agent {

// How far a candidate is taken, if it gets that far.
enum class Depth : uint8_t {
  kBuild,      // built
  kTest,       // ratio-ok on the public fields: quick feedback
  kBenchmark,  // measured, on the public fields
  kSubmit,     // everything, hidden data too: what counts
};

// How work tells where it is, and learns that nobody waits for it any more. Called in the thread
// that does the work.
struct JudgeHooks {
  std::function<void(judge::Stage)> on_stage = nullptr;
  std::stop_token stop = {};  // looked at between stages; then the answer is kCancelled
};

// Where a candidate spends its time. `ok` false: it could not be profiled (it does not build or
// crashes), and the text says why.
struct Profile {
  bool ok = false;
  data::Json content;
  std::string text;
};

// Judges a directory of files. An Error is the environment's or the judge's; whatever is wrong with
// the candidate is in the verdict. Used by one thread at a time.
class JudgePort {
 public:
  JudgePort() = default;
  JudgePort(const JudgePort&) = delete;
  JudgePort& operator=(const JudgePort&) = delete;
  virtual ~JudgePort() = default;
  virtual Result<judge::Verdict> Evaluate(const std::string& candidate_dir, Depth depth,
                                          const JudgeHooks& hooks) = 0;
  virtual Result<agent::Profile> Profile(const std::string& candidate_dir,
                                         const JudgeHooks& hooks) = 0;
};

}  // namespace szarena::agent
