// SPDX-License-Identifier: Apache-2.0
// The scripted agent: hands in a series of hand-written candidates, one idea better each.
#pragma once

#include <string>
#include <vector>

#include "agent/agent.h"

namespace szarena::agent {

struct LadderStep {
  std::string label;      // "02-blocks"
  std::string idea;       // one line: what the step changes
  std::string directory;  // the candidate's files
};

// Plays the steps through the same tools that a model gets. It ignores the prompt.
class LadderAgent : public Agent {
 public:
  explicit LadderAgent(std::vector<LadderStep> steps) : steps_(std::move(steps)) {}
  data::Json Identity() const override;
  Result<AgentEnd> Run(const std::string& prompt, Toolbox& toolbox) override;

 private:
  std::vector<LadderStep> steps_;
};

}  // namespace szarena::agent
