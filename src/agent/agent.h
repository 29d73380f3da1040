// SPDX-License-Identifier: Apache-2.0
// What drives a session: a script, a model in a workflow, an external program.
#pragma once

#include <cstdint>
#include <string>

#include "agent/toolbox.h"
#include "base/error.h"
#include "data/json.h"
#include "store/session.h"

namespace szarena::agent {

// How an agent ended by itself. What it used is counted by the toolbox's meter.
struct AgentEnd {
  store::StopReason reason = store::StopReason::kSubmitted;
  std::string detail;
};

// How an interrupted session of an agent goes on.
enum class Resuming : uint8_t {
  kNo,      // it cannot: what the agent knows is lost
  kReplay,  // the agent is run again from its beginning; its earlier steps are told from the
            // transcript, and it must depend on nothing else
  kNext,    // the agent does the next thing, with the files as they lie there
};

class Agent {
 public:
  Agent() = default;
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  virtual ~Agent() = default;

  // Who it is: kind ("scripted", "model", "program"), name, version, settings. Stored and reported.
  virtual data::Json Identity() const = 0;
  virtual Resuming resuming() const { return Resuming::kReplay; }
  // From the prompt to the end, through the tools only. What a model says goes to the transcript.
  virtual Result<AgentEnd> Run(const std::string& prompt, Toolbox& toolbox) = 0;
};

}  // namespace szarena::agent
