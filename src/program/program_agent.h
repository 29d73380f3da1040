// SPDX-License-Identifier: Apache-2.0
// An agent program in its sandbox: an empty workspace, our tools, a way to its model, nothing else.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "agent/agent.h"
#include "model/http_model.h"
#include "program/install.h"
#include "program/program.h"
#include "sandbox/sandbox.h"

namespace szarena::program {

struct ProgramSpec {
  const Program* program = nullptr;  // one of ours; nullptr: `command`
  std::string command;               // else this, by a shell
  std::string model;                 // the model's name for the program; empty: its own choice
  // The service that its model calls are sent on to. Nothing: it gets none.
  std::optional<model::HttpModelConfig> service;
  std::string hidden_root;  // the product's own folder, not to be seen
  // How long the program may go on by itself once the session is over.
  std::chrono::seconds grace{20};
};

class ProgramAgent : public agent::Agent {
 public:
  // kUnavailable: the program is not installed, or no sandbox can be made; says what to do.
  static Result<std::unique_ptr<ProgramAgent>> Make(ProgramSpec spec);
  data::Json Identity() const override;
  agent::Resuming resuming() const override { return agent::Resuming::kNo; }
  Result<agent::AgentEnd> Run(const std::string& prompt, agent::Toolbox& toolbox) override;

 private:
  ProgramAgent(ProgramSpec spec, Installed installed, sandbox::Sandbox sandbox)
      : spec_(std::move(spec)), installed_(std::move(installed)), sandbox_(std::move(sandbox)) {}
  sandbox::Command BaseCommand() const;
  Result<std::string> AskVersion() const;

  ProgramSpec spec_;
  Installed installed_;
  sandbox::Sandbox sandbox_;
  std::string version_;
};

// What a program is told besides the task's prompt.
std::string Briefing(const std::string& prompt);

}  // namespace szarena::program
