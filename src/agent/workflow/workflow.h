// SPDX-License-Identifier: Apache-2.0
// Workflows: how a model is driven through a session. One file each, which reads like its
// description.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "agent/agent.h"
#include "agent/toolbox.h"
#include "base/error.h"
#include "model/model.h"

namespace szarena::agent {

struct WorkflowSettings {
  int patience = 10;       // attempts (evolve: steps) without progress, then "no-progress"
  int islands = 3;         // evolve
  int migrate_every = 12;  // evolve: steps
  int rounds = 6;          // team: coder and critic
  uint64_t seed = 1;       // evolve: of its choices
};

// The words of a workflow by name: the files tasks/workflow/NAME.md, without ".md".
using Pieces = std::map<std::string, std::string>;

// What a workflow works with.
struct Play {
  const std::string& prompt;
  model::Model& model;
  Toolbox& toolbox;
  const Pieces& pieces;
  const WorkflowSettings& settings;
  const std::string& default_file;  // the name of a lone file without one: "candidate.cpp"

  const std::string& Piece(const std::string& name) const;
};

struct Workflow {
  std::string_view name;
  std::string_view summary;
  // Decides by the model's answers, the tools' results and its settings alone: an interrupted
  // session goes on by running it again, which takes the earlier steps from the transcript.
  Result<AgentEnd> (*run)(Play& play);
};

Result<AgentEnd> RunSingleShot(Play& play);
Result<AgentEnd> RunIterative(Play& play);
Result<AgentEnd> RunGated(Play& play);
Result<AgentEnd> RunEvolve(Play& play);
Result<AgentEnd> RunTeam(Play& play);

std::span<const Workflow> AllWorkflows();
const Workflow* FindWorkflow(std::string_view name);  // nullptr: there is none

// A model in a workflow.
class ModelAgent : public Agent {
 public:
  ModelAgent(std::unique_ptr<model::Model> model, const Workflow& workflow, Pieces pieces,
             WorkflowSettings settings, std::string default_file);
  data::Json Identity() const override;
  Result<AgentEnd> Run(const std::string& prompt, Toolbox& toolbox) override;

 private:
  std::unique_ptr<model::Model> model_;
  const Workflow& workflow_;
  Pieces pieces_;
  WorkflowSettings settings_;
  std::string default_file_;
};

}  // namespace szarena::agent
