// SPDX-License-Identifier: Apache-2.0
// A conversation with the model: its answers, the tools it calls, what is wrong with an answer.
// Every message is recorded under the conversation's name. Where an interrupted session goes on,
// messages and answers are those of the transcript as long as it has some.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/workflow/workflow.h"
#include "model/message.h"

namespace szarena::agent {

// One answer of the model and what followed from it.
struct Turn {
  std::string text;
  size_t calls = 0;             // that reached a tool
  std::string fault;            // why the answer is of no use; empty: it is
  std::optional<AgentEnd> end;  // the session is over
};

class Chat {
 public:
  static constexpr size_t kCallsPerTurn = 16;    // more are refused
  static constexpr size_t kFaultsInARow = 3;     // then the model has given up
  static constexpr size_t kSameCallsInARow = 6;  // with the same result: it goes round in circles

  enum class Tools : uint8_t { kNone, kAll };  // kNone: an answer in text is wanted

  static Result<Chat> Begin(Play& play, std::string name, std::string system, Tools tools);

  // Adds what the user says.
  Result<void> Say(std::string text);

  // Asks the model, runs the tools that it calls, and tells it what was wrong with its answer. Ends
  // the session where a budget is used up, the agent handed in finally, the same call comes again
  // and again, or (with tools) too many answers in a row were of no use. An Error: the provider or
  // the judge failed.
  Result<Turn> Take();

  // May change a call before it is run.
  std::function<void(model::ToolCall&)> before_call;

 private:
  Chat(Play& play, std::string name) : play_(&play), name_(std::move(name)) {}
  struct Answer {
    model::Reply reply;
    std::string fault;  // why it is of no use
  };
  Result<void> Add(model::Message message);
  Result<Answer> Ask();
  Result<std::optional<Answer>> EarlierAnswer();
  Result<Answer> NewAnswer();
  Result<void> Record(const Answer& answer, double seconds);
  Result<void> RunCalls(const std::vector<model::ToolCall>& calls, Turn& turn);
  Result<std::string> RunCall(model::ToolCall call, Turn& turn);
  Result<void> Reproach(std::string fault, Turn& turn);
  Result<void> Shorten();

  Play* play_;
  std::string name_;
  model::Request request_;
  size_t faults_ = 0;
  std::string last_call_;
  size_t same_calls_ = 0;
};

// Records what a workflow decided: {"kind": "note", "what": ...}.
Result<void> Note(Play& play, std::string_view what, const data::Json& body);

// The end where attempts have brought no progress for as long as the settings say.
std::optional<AgentEnd> NoProgress(const Play& play);
// How a session ends that the agent leaves by itself.
AgentEnd EndOf(const Toolbox& toolbox, std::string detail);

}  // namespace szarena::agent
