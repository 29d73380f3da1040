// SPDX-License-Identifier: Apache-2.0
// What a session needs of the judge.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "judge/verdict.h"

namespace szarena::agent {

// How far a candidate is taken, if it gets that far.
enum class Depth : uint8_t {
  kBuild,      // built
  kTest,       // ratio-ok on the public fields: quick feedback
  kBenchmark,  // measured, on the public fields
  kSubmit,     // everything, hidden data too: what counts
};

// Judges a directory of files. An Error is the environment's or the judge's; whatever is wrong with
// the candidate is in the verdict.
class JudgePort {
 public:
  JudgePort() = default;
  JudgePort(const JudgePort&) = delete;
  JudgePort& operator=(const JudgePort&) = delete;
  virtual ~JudgePort() = default;
  virtual Result<judge::Verdict> Evaluate(const std::string& candidate_dir, Depth depth) = 0;
};

}  // namespace szarena::agent
