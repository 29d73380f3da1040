// SPDX-License-Identifier: Apache-2.0
// A conversation with a model, as workflows see it: the same for every provider.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"

namespace szarena::model {

enum class Role : uint8_t { kUser, kAssistant, kTool };
std::string_view RoleName(Role role);  // "user", "assistant", "tool"

struct ToolCall {
  std::string id;
  std::string name;
  data::Json arguments;  // null where `fault` says why they cannot be used
  std::string fault;     // "the arguments are no JSON: ..."; to be answered, not executed
};

struct Message {
  Role role = Role::kUser;
  std::string text;
  std::vector<ToolCall> calls;  // kAssistant
  std::string call_id;          // kTool: which call this answers
  std::string tool;             // kTool: its name
  bool ok = true;               // kTool
  // kAssistant: the provider's own form, which must go back to it unchanged (it holds sealed
  // reasoning and signatures). Null: made anew from text and calls.
  data::Json raw = nullptr;
};

Message UserMessage(std::string text);
Message ToolMessage(const ToolCall& call, bool ok, std::string text);

struct ToolSpec {
  std::string name;
  std::string description;
  data::Json input_schema;
};

struct Request {
  std::string system;  // instructions; may be empty
  std::vector<Message> messages;
  std::vector<ToolSpec> tools;  // empty: an answer in text is wanted
};

// Why an answer ended.
enum class Finish : uint8_t {
  kStop,         // said what it wanted to say
  kCalls,        // wants tools called
  kLength,       // cut off at the limit on output
  kRefused,      // by the model or the service's filter; `text` says what there is to say
  kMalformed,    // the service itself could make nothing of the model's tool call
  kContextFull,  // no answer: the conversation is longer than the model takes
  kOversized,    // no answer: more bytes than we read
  kTooLate,      // no answer: the deadline passed
};
std::string_view FinishName(Finish finish);  // "stop", "context-full"
std::optional<Finish> ParseFinish(std::string_view name);

// Tokens. Absent: the service did not tell.
struct Usage {
  std::optional<int64_t> in = std::nullopt;         // all of them, cached ones included
  std::optional<int64_t> cached = std::nullopt;     // part of in, read from the service's cache
  std::optional<int64_t> written = std::nullopt;    // part of in, written to it
  std::optional<int64_t> out = std::nullopt;        // all of them, reasoning included
  std::optional<int64_t> reasoning = std::nullopt;  // part of out
};

struct Reply {
  Message message;
  Finish finish = Finish::kStop;
  Usage usage;
  std::optional<double> cost_usd = std::nullopt;  // where the model has a price
  std::string model_version;                      // as the service returned it
  std::string request_id;
};

// For transcripts: everything that the message holds.
data::Json MessageToJson(const Message& message);
// Reads what MessageToJson wrote; nothing where it is no message of user, model or tool.
std::optional<Message> MessageFromJson(const data::Json& json);

}  // namespace szarena::model
