// SPDX-License-Identifier: Apache-2.0
#include "app/program_agents.h"

#include <fmt/format.h>

#include <cstdlib>

#include "model/settings.h"
#include "program/program_agent.h"

namespace szarena::app {
namespace {

constexpr std::string_view kCommandPrefix = "command:";

const char* Variable(const std::string& name) { return std::getenv(name.c_str()); }

}  // namespace

bool NamesProgram(const std::string& agent) {
  return program::FindProgram(agent) != nullptr || agent.starts_with(kCommandPrefix);
}

std::string ProgramAgentNames() { return program::ProgramNames() + ", command:\"...\""; }

Result<std::string> ProgramWorkflow(const AgentOptions& options) {
  if (options.workflow.empty() || options.workflow == "program") return "program";
  return Fail(
      ErrorCode::kInvalidArgument,
      fmt::format("an agent program has workflow 'program' only, not '{}'", options.workflow));
}

Result<MadeAgent> MakeProgramAgent(const AgentOptions& options, const SessionSetup& setup) {
  program::ProgramSpec spec;
  spec.program = program::FindProgram(options.agent);
  if (spec.program == nullptr) spec.command = options.agent.substr(kCommandPrefix.size());
  if (spec.program == nullptr && spec.command.find_first_not_of(" \t\n") == std::string::npos) {
    return Fail(ErrorCode::kInvalidArgument,
                "--agent command: names no command; expected command:\"PROGRAM ARGUMENT...\"");
  }
  spec.hidden_root = setup.root;
  SZARENA_TRY(const model::Settings settings, model::ReadSettings(options.models, Variable));
  // "gpt-x" is a model of the program's usual service; "PROVIDER:MODEL" says whose.
  std::string service = options.model;
  if (!model::NamesModel(settings, service)) {
    if (spec.program == nullptr && !service.empty()) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("--model '{}': expected PROVIDER:MODEL", service));
    }
    spec.model = service;
    if (spec.program != nullptr) {
      service =
          fmt::format("{}:{}", spec.program->provider, spec.model.empty() ? "default" : spec.model);
    }
  }
  if (!service.empty()) {
    SZARENA_TRY(spec.service, model::ConfigFor(settings, service, Variable));
    // Without a name the program chooses: any model, at no known price.
    if (options.model.empty()) {
      spec.service->wire.model.clear();
      spec.service->price.reset();
    }
    if (service == options.model) spec.model = spec.service->wire.model;
  }
  if (setup.plan.budget.cost_usd && !(spec.service && spec.service->price)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("a budget in US dollars needs the model's price: name it with --model, "
                            "and write [prices.\"MODEL\"] to '{}'",
                            settings.path.empty() ? model::SettingsPath(Variable) : settings.path));
  }
  MadeAgent made;
  made.calls_model = spec.service.has_value();
  SZARENA_TRY(made.agent, program::ProgramAgent::Make(std::move(spec)));
  return made;
}

}  // namespace szarena::app
