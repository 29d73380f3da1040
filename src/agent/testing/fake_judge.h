// SPDX-License-Identifier: Apache-2.0
// A judge for tests: the verdict depends on what candidate.cpp says.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "agent/judge_port.h"
#include "agent/workspace.h"

namespace szarena::agent {

// "bad" does not build, "wrong" breaks the bound; "slow", "speed=S" and anything else are measured,
// at 1, S and 2 GB/s.
class FakeJudge : public JudgePort {
 public:
  Result<judge::Verdict> Evaluate(const std::string& candidate_dir, Depth depth,
                                  const JudgeHooks& hooks) override {
    depths.push_back(depth);
    if (hooks.on_stage) hooks.on_stage(judge::Stage::kBuilt);
    if (before_answer) before_answer();
    if (hooks.stop.stop_requested()) return Fail(ErrorCode::kCancelled, "stopped on request");
    if (error) return tl::unexpected(*error);
    const auto text = Workspace(candidate_dir).Read("candidate.cpp");
    judge::Verdict verdict;
    verdict.task = "szp";
    verdict.target = "cpu";
    verdict.candidate_sha256 = text ? *text : "none";
    verdict.at(judge::Stage::kReceived).status = judge::StageStatus::kOk;
    if (!text || text->starts_with("bad")) {
      verdict.at(judge::Stage::kBuilt) = {judge::StageStatus::kFailed, 0.1, "expected ';'"};
      verdict.feedback = "failed at 'built': expected ';'";
      return verdict;
    }
    const auto what = text->substr(0, text->find_last_not_of('\n') + 1);
    for (auto& stage : verdict.stages) stage.status = judge::StageStatus::kOk;
    if (what == "wrong") {
      verdict.at(judge::Stage::kBoundHeld) = {judge::StageStatus::kFailed, 0.1, "error over bound"};
      for (auto stage :
           {judge::Stage::kDecodable, judge::Stage::kRatioOk, judge::Stage::kMeasured}) {
        verdict.at(stage).status = judge::StageStatus::kNotReached;
      }
      verdict.feedback = "failed at 'bound-held': error over bound";
      return verdict;
    }
    const double gbs = what.starts_with("speed=") ? std::strtod(what.c_str() + 6, nullptr)
                       : what == "slow"           ? 1
                                                  : 2;
    verdict.ratio = 8;
    verdict.feedback = "all stages hold";
    verdict.directions[0].candidate.emplace().host = judge::Figure{gbs, gbs, gbs, 10};
    if (gbs >= 100) verdict.directions[0].floor_fraction = 0.95;  // as fast as memory allows
    verdict.directions[0].baseline.emplace().host = judge::Figure{4, 4, 4, 10};
    return verdict;
  }

  Result<agent::Profile> Profile(const std::string& candidate_dir, const JudgeHooks&) override {
    const auto text = Workspace(candidate_dir).Read("candidate.cpp");
    if (!text || text->starts_with("bad")) return agent::Profile{false, {}, "expected ';'"};
    return agent::Profile{true, data::Json::Of({{"target", "cpu"}}), "all in szarena_compress"};
  }

  std::vector<Depth> depths;
  std::function<void()> before_answer;
  std::optional<Error> error;
};

}  // namespace szarena::agent
