// SPDX-License-Identifier: Apache-2.0
// The table of workflows; the agent around them.
#include "agent/workflow/workflow.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "data/sha256.h"

namespace szarena::agent {
namespace {

using data::Json;

constexpr std::array<Workflow, 5> kWorkflows = {{
    {"single-shot", "one answer, no tools, handed in as it is", RunSingleShot},
    {"iterative", "one agent with tools: write, build, test, measure, again", RunIterative},
    {"gated", "first the structure; then single changes behind a profile, rolled back where slower",
     RunGated},
    {"evolve", "a population on islands; each step changes one candidate", RunEvolve},
    {"team", "planner, coder and critic with their own prompts", RunTeam},
}};

}  // namespace

std::span<const Workflow> AllWorkflows() { return kWorkflows; }

const Workflow* FindWorkflow(std::string_view name) {
  const auto* found = std::ranges::find(kWorkflows, name, &Workflow::name);
  return found == kWorkflows.end() ? nullptr : found;
}

const std::string& Play::Piece(const std::string& name) const {
  const auto found = pieces.find(name);
  SZARENA_CHECK(found != pieces.end(), "the workflow's words were loaded");
  return found->second;
}

ModelAgent::ModelAgent(std::unique_ptr<model::Model> model, const Workflow& workflow, Pieces pieces,
                       WorkflowSettings settings, std::string default_file)
    : model_(std::move(model)),
      workflow_(workflow),
      pieces_(std::move(pieces)),
      settings_(settings),
      default_file_(std::move(default_file)) {}

Json ModelAgent::Identity() const {
  std::string words;
  for (const auto& [name, text] : pieces_) words += fmt::format("{}\n{}\n", name, text);
  Json identity = model_->Identity();
  identity.Set("workflow", Json::Of({{"name", workflow_.name},
                                     {"words_sha256", data::Sha256Hex(words)},
                                     {"patience", settings_.patience},
                                     {"islands", settings_.islands},
                                     {"migrate_every", settings_.migrate_every},
                                     {"rounds", settings_.rounds},
                                     {"seed", settings_.seed}}));
  return identity;
}

Result<AgentEnd> ModelAgent::Run(const std::string& prompt, Toolbox& toolbox) {
  Play play{prompt, *model_, toolbox, pieces_, settings_, default_file_};
  return workflow_.run(play);
}

}  // namespace szarena::agent
