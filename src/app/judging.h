// SPDX-License-Identifier: Apache-2.0
// The judge as sessions want it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "agent/judge_port.h"
#include "base/error.h"
#include "judge/evaluate.h"
#include "task/task.h"

namespace szarena::app {

// What evaluating a candidate of this task needs; the candidate itself is left empty. The baseline
// is the task's, where it has one.
Result<judge::EvaluateOptions> OptionsFor(const task::Task& task, task::Target target);

// Judges with the same options every time. One secret seed for the whole session.
class SessionJudge : public agent::JudgePort {
 public:
  explicit SessionJudge(judge::EvaluateOptions options);
  uint64_t hidden_seed() const { return hidden_seed_; }
  Result<judge::Verdict> Evaluate(const std::string& candidate_dir, agent::Depth depth,
                                  const agent::JudgeHooks& hooks) override;
  Result<agent::Profile> Profile(const std::string& candidate_dir,
                                 const agent::JudgeHooks& hooks) override;

 private:
  judge::EvaluateOptions options_;
  uint64_t hidden_seed_;
};

}  // namespace szarena::app
