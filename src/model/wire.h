// SPDX-License-Identifier: Apache-2.0
// What a provider's protocol is made of: requests to JSON, JSON to replies. Pure: HTTP, keys,
// retries and time-outs are http_model.h's. A new provider is one file that implements Wire
// (docs/agents.md).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/json.h"
#include "model/message.h"
#include "net/http_client.h"
#include "net/sse.h"

namespace szarena::model {

// How a model is asked. Absent: the service's own default.
struct Sampling {
  std::optional<double> temperature = std::nullopt;
  std::optional<double> top_p = std::nullopt;
  std::optional<int64_t> max_output_tokens = std::nullopt;
  std::string effort;                                     // reasoning effort: "low", "high"
  std::optional<int64_t> thinking_tokens = std::nullopt;  // budget of reasoning, where it is one
};

struct WireConfig {
  std::string base_url;  // without a final '/'
  std::string model;
  Sampling sampling;
  bool stream = true;
  bool echo_reasoning = false;  // Chat Completions: reasoning goes back with the conversation
};

// A failure as the service tells it.
struct ServiceError {
  int status = 0;  // HTTP; 0 where it came inside a stream
  std::string code;
  std::string message;
  std::optional<std::chrono::milliseconds> retry_after = std::nullopt;
};

// Folds a stream of events into the response that the service would have sent in one piece.
class Fold {
 public:
  Fold() = default;
  Fold(const Fold&) = delete;
  Fold& operator=(const Fold&) = delete;
  virtual ~Fold() = default;
  // Takes the event's data as JSON. A failure told in the stream is returned.
  virtual std::optional<ServiceError> Add(const data::Json& event) = 0;
  // Whether the service said that the answer is complete.
  virtual bool complete() const = 0;
  virtual data::Json Take() = 0;
};

class Wire {
 public:
  Wire() = default;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  virtual ~Wire() = default;

  virtual std::string Url(const WireConfig& config) const = 0;
  virtual std::vector<net::Header> KeyHeaders(const std::string& key) const = 0;
  virtual std::vector<net::Header> FixedHeaders() const { return {}; }
  virtual data::Json Body(const WireConfig& config, const Request& request) const = 0;
  virtual std::unique_ptr<Fold> NewFold() const = 0;
  // Reads a whole response. kCorrupt where it is none.
  virtual Result<Reply> Read(const data::Json& response) const = 0;
  // Code, message and wait of an error body; `body` may be null.
  virtual ServiceError ReadError(const data::Json& body) const = 0;
};

// The protocols, by name; nullptr: there is none.
const Wire* FindWire(std::string_view protocol);
std::string WireNames();  // for error texts

const Wire& OpenAiResponsesWire();
const Wire& OpenAiChatWire();
const Wire& GoogleWire();
const Wire& AnthropicWire();

// For implementations: the member where it has that type, else "" or nothing.
std::string TextOf(const data::Json& object, std::string_view key);
std::optional<int64_t> IntOf(const data::Json& object, std::string_view key);
// A count of tokens. Anything else than a whole number from 0 to INT64_MAX tells none.
std::optional<int64_t> TokensOf(const data::Json& object, std::string_view key);
// Adds the member where the value is there.
template <typename T>
void SetIf(data::Json& object, std::string_view key, const std::optional<T>& value) {
  if (value) object.Set(key, *value);
}
// A tool call whose arguments came as text.
ToolCall ParsedCall(std::string id, std::string name, const std::string& arguments);

}  // namespace szarena::model
