// SPDX-License-Identifier: Apache-2.0
// What the scripted stand-in of a model service says and how it misbehaves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/json.h"

namespace szarena::model::standin {

struct ScriptedCall {
  std::string name;  // bare: "write_file"; the request's own spelling of it is looked up
  data::Json arguments;
  std::string raw_arguments;  // where not empty: sent instead, need not be JSON
};

// One misbehaviour of one answer. Members at their defaults do nothing.
struct Fault {
  int status = 0;                         // this status with an error body instead of the answer
  std::string error_code;                 // in that body: "context_length_exceeded"
  std::string retry_after;                // header Retry-After
  std::optional<int64_t> cut_after = {};  // the connection ends after so many bytes of the body
  int delay_ms = 0;                       // before each piece of the body
  int64_t padding = 0;                    // so many bytes of text more
  bool garbage = false;                   // bytes that are no answer of any service
};

struct Turn {
  std::string text;
  std::string reasoning;
  std::vector<ScriptedCall> calls;
  std::string finish;  // "" by content, "length", "refusal"
  // tokens_in below 0: no figures at all (Chat Completions in a stream).
  int64_t tokens_in = 100, tokens_out = 20, tokens_cached = 40, tokens_reasoning = 8;
  std::vector<Fault> faults;  // of the first, second, ... request for this turn; then none
};

// How the turn that answers a request is found: by what the request's history holds, so that
// auxiliary requests of an agent program do not upset the order, or by counting requests.
enum class Advance : uint8_t {
  kCalls,     // so many earlier answers of the model that hold a tool call
  kTurns,     // so many earlier answers of the model
  kRequests,  // so many earlier requests for this chat
};

struct Chat {
  std::string match;  // text in the system prompt or the first user message; empty: any
  Advance advance = Advance::kCalls;
  std::vector<Turn> turns;
  bool repeat = false;  // after the last turn the first again; else "Done." for ever
};

struct Script {
  std::vector<Chat> chats;  // the first that matches answers
  std::string key;          // where not empty: requests with another key get 401
  std::string model_version = "stand-in-1";
};

// The script's JSON form, documented in README.md. {"$file": "PATH"} anywhere in a call's arguments
// or as a turn's text stands for that file's text, relative to `folder`.
Result<Script> ParseScript(const data::Json& json, const std::string& folder);
Result<Script> ReadScript(const std::string& path);

}  // namespace szarena::model::standin
