// SPDX-License-Identifier: Apache-2.0
// The table of agents.
#include "app/agents.h"

#include <fmt/format.h>

#include <cstdlib>

#include "agent/ladder.h"
#include "agent/synthetic.h"
#include "agent/workflow/workflow.h"
#include "app/program_agents.h"
#include "app/run_agent.h"
#include "model/settings.h"
#include "task/prompt.h"

namespace szarena::app {
namespace {

// Nothing here changes the environment while threads run.
const char* Variable(const std::string& name) {
  return std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
}

bool IsSynthetic(const std::string& agent) {
  return agent == "synthetic" || agent.starts_with("synthetic:");
}

tl::unexpected<Error> OnlyScripted(const AgentOptions& options) {
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("agent '{}' has workflow 'scripted' only, not '{}'", options.agent,
                          options.workflow));
}

std::string Names(const auto& list) {
  std::string names;
  for (const auto& item : list) names += fmt::format("{}{}", names.empty() ? "" : ", ", item.name);
  return names;
}

// What a lone file in an answer is called; nothing where a candidate has several.
std::string DefaultFile(task::Target target) {
  switch (target) {
    case task::Target::kCpu:
      return "candidate.cpp";
    case task::Target::kCuda:
      return "candidate.cu";
    case task::Target::kCerebras:
      return "";
  }
  return "";
}

Result<MadeAgent> MakeModelAgent(const model::Settings& settings, const AgentOptions& options,
                                 const SessionSetup& setup) {
  const agent::Workflow* workflow = agent::FindWorkflow(setup.plan.key.workflow);
  SZARENA_TRY(auto words, task::LoadWorkflowWords(setup.root, workflow->name));
  SZARENA_TRY(model::HttpModelConfig config, model::ConfigFor(settings, options.agent, Variable));
  if (setup.plan.budget.cost_usd && !config.price) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("a budget in US dollars needs the price of '{}': write [prices.\"{}\"] "
                            "to '{}'",
                            config.wire.model, config.wire.model,
                            settings.path.empty() ? model::SettingsPath(Variable) : settings.path));
  }
  MadeAgent made;
  made.calls_model = true;
  made.agent = std::make_unique<agent::ModelAgent>(
      std::make_unique<model::HttpModel>(std::move(config)), *workflow, std::move(words),
      options.settings, DefaultFile(setup.target));
  return made;
}

}  // namespace

std::string KeyName(const AgentOptions& options) {
  std::string name = options.agent;
  if (NamesProgram(name)) name = name.substr(0, name.find(' '));
  return options.model.empty() ? name : name + "+" + options.model;
}

Result<std::string> WorkflowFor(const AgentOptions& options) {
  if (NamesProgram(options.agent)) return ProgramWorkflow(options);
  if (!options.model.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("--model is for agent programs ({}); a model as an agent is --agent "
                            "PROVIDER:MODEL",
                            ProgramAgentNames()));
  }
  if (options.agent == "ladder") {
    if (options.workflow.empty() || options.workflow == "scripted") return "scripted";
    return OnlyScripted(options);
  }
  if (IsSynthetic(options.agent)) {
    SZARENA_TRY_VOID(agent::SyntheticSettings::Parse(options.agent));
    if (options.workflow.empty() || options.workflow == "scripted") return "scripted";
    return OnlyScripted(options);
  }
  SZARENA_TRY(const model::Settings settings, model::ReadSettings(options.models, Variable));
  if (!model::NamesModel(settings, options.agent)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("there is no agent '{}'; expected 'ladder', 'synthetic', a model as "
                            "PROVIDER:MODEL, an agent of '{}', or an agent program ({})",
                            options.agent, model::SettingsPath(Variable), ProgramAgentNames()));
  }
  std::string workflow = options.workflow.empty() ? "iterative" : options.workflow;
  if (!agent::FindWorkflow(workflow)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("there is no workflow '{}'; expected one of: {}", workflow,
                            Names(agent::AllWorkflows())));
  }
  return workflow;
}

Result<MadeAgent> MakeAgent(const AgentOptions& options, const SessionSetup& setup) {
  if (options.agent == "ladder") {
    SZARENA_TRY(auto steps, LoadLadder(setup.task, setup.target));
    MadeAgent made;
    made.steps = steps.size();
    made.agent = std::make_unique<agent::LadderAgent>(std::move(steps));
    return made;
  }
  if (NamesProgram(options.agent)) return MakeProgramAgent(options, setup);
  if (IsSynthetic(options.agent)) {
    SZARENA_TRY(auto synthetic, agent::SyntheticSettings::Parse(options.agent));
    MadeAgent made;
    made.steps = static_cast<size_t>(synthetic.attempts);
    made.agent = std::make_unique<agent::SyntheticAgent>(std::move(synthetic));
    made.judge = std::make_unique<agent::SyntheticJudge>(setup.task.name, setup.plan.key.target);
    return made;
  }
  SZARENA_TRY(const model::Settings settings, model::ReadSettings(options.models, Variable));
  return MakeModelAgent(settings, options, setup);
}

}  // namespace szarena::app
