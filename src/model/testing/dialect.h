// SPDX-License-Identifier: Apache-2.0
// The wire formats that the stand-in speaks, written from their public documentation. They share no
// code with the providers that are tested against them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"

namespace szarena::model::standin {

struct OfferedTool {
  std::string name;
  std::string name_space;  // Responses: the tool group it was offered in; else empty
};

// What a request says, in no particular dialect.
struct Question {
  std::string model;
  bool stream = false;
  std::string opening;    // system prompt and first user message
  size_t turns = 0;       // earlier answers of the model
  size_t call_turns = 0;  // those of them that hold a tool call
  std::vector<OfferedTool> tools;
};

struct AnswerCall {
  OfferedTool tool;
  std::string id;
  data::Json arguments;
  std::string raw;  // what stands for the arguments where they are sent as text
  bool malformed = false;
};

struct Answer {
  std::string id;
  std::string model;
  std::string text;
  std::string reasoning;
  std::vector<AnswerCall> calls;
  std::string finish;
  bool with_usage = true;  // Chat Completions: sent in a stream only where asked for
  int64_t tokens_in = 0, tokens_out = 0, tokens_cached = 0, tokens_reasoning = 0;
};

class Dialect {
 public:
  Dialect() = default;
  Dialect(const Dialect&) = delete;
  Dialect& operator=(const Dialect&) = delete;
  virtual ~Dialect() = default;

  // Where its answers are asked for: "/v1/responses" and whatever stands before it.
  virtual bool Serves(std::string_view path) const = 0;
  // `path` tells model and streaming in Google's dialect.
  virtual Question Read(std::string_view path, const data::Json& body) const = 0;
  virtual data::Json Whole(const Answer& answer) const = 0;
  // Complete server-sent events.
  virtual std::vector<std::string> Stream(const Answer& answer) const = 0;
  virtual data::Json ErrorBody(int status, const std::string& code,
                               const std::string& message) const = 0;
};

const Dialect& OpenAiResponses();
const Dialect& OpenAiChat();
const Dialect& GoogleGenerate();
const Dialect& AnthropicMessages();

// For the dialects: "event: NAME\ndata: JSON\n\n", without the first line where the name is empty.
std::string ServerSentEvent(std::string_view name, const data::Json& data);
// The text in a few pieces, as a model's tokens come.
std::vector<std::string> Pieces(const std::string& text);
// The text of a message content: a string, or an array of parts with "text".
std::string ContentText(const data::Json* content);

// Counts answers of the model: consecutive items of it are one answer.
class TurnCounter {
 public:
  explicit TurnCounter(Question& question) : question_(question) {}
  void Model(bool has_call);
  void Other() { in_turn_ = false; }

 private:
  Question& question_;
  bool in_turn_ = false;
  bool counted_call_ = false;
};

}  // namespace szarena::model::standin
