// SPDX-License-Identifier: Apache-2.0
// Google generateContent: POST /models/MODEL:generateContent, :streamGenerateContent?alt=sse
// (ai.google.dev/api/generate-content). Signatures of thoughts go back unchanged, as they must.
#include <fmt/format.h>

#include <cstdlib>

#include "base/saturate.h"
#include "model/wire.h"

namespace szarena::model {
namespace {

using data::Json;

constexpr std::string_view kOwnId = "own-";  // call ids that the service did not give

Json AssistantParts(const Message& message) {
  if (message.raw.is_array()) return message.raw;
  Json parts = Json::MakeArray();
  if (!message.text.empty()) parts.Append(Json::Of({{"text", message.text}}));
  for (const ToolCall& call : message.calls) {
    const Json arguments = call.fault.empty() ? call.arguments : Json::MakeObject();
    parts.Append(
        Json::Of({{"functionCall", Json::Of({{"name", call.name}, {"args", arguments}})}}));
  }
  if (parts.items().empty()) parts.Append(Json::Of({{"text", "(no answer)"}}));
  return parts;
}

Json ResultPart(const Message& message) {
  Json response =
      Json::Of({{"name", message.tool},
                {"response", Json::Of({{message.ok ? "output" : "error", message.text}})}});
  if (!message.call_id.starts_with(kOwnId)) response.Set("id", message.call_id);
  return Json::Of({{"functionResponse", std::move(response)}});
}

// Turns alternate: all results of one turn, and what the user says then, are one content.
Json Contents(const Request& request) {
  Json contents = Json::MakeArray();
  std::string role;
  Json parts;
  const auto flush = [&] {
    if (!role.empty()) contents.Append(Json::Of({{"role", role}, {"parts", std::move(parts)}}));
    parts = Json::MakeArray();
  };
  for (const Message& message : request.messages) {
    const std::string next = message.role == Role::kAssistant ? "model" : "user";
    if (next != role) {
      flush();
      role = next;
    }
    if (message.role == Role::kAssistant) {
      const Json own = AssistantParts(message);
      for (const Json& part : own.items()) parts.Append(part);
    } else if (message.role == Role::kTool) {
      parts.Append(ResultPart(message));
    } else {
      parts.Append(Json::Of({{"text", message.text}}));
    }
  }
  flush();
  return contents;
}

// Each event is a response with the next parts; figures are sums so far.
class GoogleFold : public Fold {
 public:
  std::optional<ServiceError> Add(const Json& event) override {
    if (event.Find("error")) return GoogleWire().ReadError(event);
    for (const char* key : {"usageMetadata", "modelVersion", "responseId", "promptFeedback"}) {
      if (const Json* value = event.Find(key)) response_.Set(key, *value);
    }
    const Json* candidates = event.Find("candidates");
    if (candidates && !candidates->items().empty()) {
      const Json& candidate = candidates->items().front();
      const Json* parts = candidate.FindPath({"content", "parts"});
      for (const Json& part : parts ? parts->items() : Json::Array{}) parts_.Append(part);
      if (const std::string reason = TextOf(candidate, "finishReason"); !reason.empty()) {
        finish_ = reason;
      }
    }
    return std::nullopt;
  }
  bool complete() const override {
    return !finish_.empty() || response_.FindPath({"promptFeedback", "blockReason"}) != nullptr;
  }
  Json Take() override {
    Json candidate = Json::Of({{"content", Json::Of({{"role", "model"}, {"parts", parts_}})}});
    if (!finish_.empty()) candidate.Set("finishReason", finish_);
    response_.Set("candidates", Json::MakeArray().Append(std::move(candidate)));
    return std::move(response_);
  }

 private:
  Json response_ = Json::MakeObject();
  Json parts_ = Json::MakeArray();
  std::string finish_;
};

// "37s" or "0.5s".
std::optional<std::chrono::milliseconds> Delay(const std::string& text) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || std::string_view(end) != "s" || seconds < 0) return std::nullopt;
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

class Google : public Wire {
 public:
  std::string Url(const WireConfig& config) const override {
    return fmt::format("{}/models/{}:{}", config.base_url, config.model,
                       config.stream ? "streamGenerateContent?alt=sse" : "generateContent");
  }

  std::vector<net::Header> KeyHeaders(const std::string& key) const override {
    return {{"x-goog-api-key", key}};
  }

  Json Body(const WireConfig& config, const Request& request) const override {
    Json body = Json::Of({{"contents", Contents(request)}});
    if (!request.system.empty()) {
      Json parts = Json::MakeArray();
      parts.Append(Json::Of({{"text", request.system}}));
      body.Set("systemInstruction", Json::Of({{"parts", std::move(parts)}}));
    }
    if (!request.tools.empty()) {
      Json declarations = Json::MakeArray();
      for (const ToolSpec& tool : request.tools) {
        declarations.Append(Json::Of({{"name", tool.name},
                                      {"description", tool.description},
                                      {"parametersJsonSchema", tool.input_schema}}));
      }
      Json tools = Json::MakeArray();
      tools.Append(Json::Of({{"functionDeclarations", std::move(declarations)}}));
      body.Set("tools", std::move(tools));
    }
    Json generation = Json::MakeObject();
    const Sampling& sampling = config.sampling;
    SetIf(generation, "temperature", sampling.temperature);
    SetIf(generation, "topP", sampling.top_p);
    SetIf(generation, "maxOutputTokens", sampling.max_output_tokens);
    Json thinking = Json::MakeObject();
    SetIf(thinking, "thinkingBudget", sampling.thinking_tokens);
    if (!sampling.effort.empty()) thinking.Set("thinkingLevel", sampling.effort);
    if (!thinking.members().empty()) generation.Set("thinkingConfig", std::move(thinking));
    if (!generation.members().empty()) body.Set("generationConfig", std::move(generation));
    return body;
  }

  std::unique_ptr<Fold> NewFold() const override { return std::make_unique<GoogleFold>(); }

  Result<Reply> Read(const Json& response) const override {
    Reply reply;
    reply.message.role = Role::kAssistant;
    reply.model_version = TextOf(response, "modelVersion");
    reply.request_id = TextOf(response, "responseId");
    ReadUsage(response, reply.usage);
    if (const Json* blocked = response.FindPath({"promptFeedback", "blockReason"})) {
      reply.finish = Finish::kRefused;
      reply.message.text = fmt::format("the prompt was blocked: {}", blocked->Dump());
      return reply;
    }
    const Json* candidates = response.Find("candidates");
    if (!candidates || candidates->items().empty()) {
      return Fail(ErrorCode::kCorrupt, "the answer has no 'candidates'");
    }
    const Json& candidate = candidates->items().front();
    const Json* parts = candidate.FindPath({"content", "parts"});
    for (const Json& part : parts ? parts->items() : Json::Array{}) ReadPart(part, reply.message);
    if (parts && !parts->items().empty()) reply.message.raw = *parts;
    reply.finish = ReadFinish(TextOf(candidate, "finishReason"), reply.message);
    return reply;
  }

  ServiceError ReadError(const Json& body) const override {
    const Json* error = body.is_array() && !body.items().empty()  // streams may send a list
                            ? body.items().front().Find("error")
                            : body.Find("error");
    if (!error) return {};
    ServiceError result{0, TextOf(*error, "status"), TextOf(*error, "message")};
    const Json* details = error->Find("details");
    for (const Json& detail : details ? details->items() : Json::Array{}) {
      if (const auto delay = Delay(TextOf(detail, "retryDelay"))) result.retry_after = delay;
    }
    return result;
  }

 private:
  static void ReadPart(const Json& part, Message& message) {
    if (const Json* thought = part.Find("thought"); thought && thought->boolean() == true) return;
    message.text += TextOf(part, "text");
    const Json* call = part.Find("functionCall");
    if (!call) return;
    const Json* args = call->Find("args");
    std::string id = TextOf(*call, "id");
    if (id.empty()) id = fmt::format("{}{}", kOwnId, message.calls.size());
    ToolCall& added = message.calls.emplace_back();
    added = {std::move(id), TextOf(*call, "name"), args ? *args : Json::MakeObject(), ""};
    if (!added.arguments.is_object()) {
      added.arguments = nullptr;
      added.fault = "the arguments are no JSON object";
    }
  }

  static Finish ReadFinish(const std::string& reason, const Message& message) {
    if (reason == "MAX_TOKENS") return Finish::kLength;
    if (reason == "MALFORMED_FUNCTION_CALL" || reason == "UNEXPECTED_TOOL_CALL") {
      return Finish::kMalformed;
    }
    if (!message.calls.empty()) return Finish::kCalls;
    return reason.empty() || reason == "STOP" ? Finish::kStop : Finish::kRefused;
  }

  static void ReadUsage(const Json& response, Usage& usage) {
    const Json* metadata = response.Find("usageMetadata");
    if (!metadata) return;
    usage.in = TokensOf(*metadata, "promptTokenCount");
    usage.cached = TokensOf(*metadata, "cachedContentTokenCount");
    usage.reasoning = TokensOf(*metadata, "thoughtsTokenCount");
    usage.out = TokensOf(*metadata, "candidatesTokenCount");
    // Thoughts are counted apart and billed as output.
    // No member is no visible text; one that is no count leaves the sum unknown.
    if (usage.reasoning && (usage.out || !metadata->Find("candidatesTokenCount"))) {
      usage.out = AddCounts(usage.out.value_or(0), *usage.reasoning);
    }
  }
};

}  // namespace

const Wire& GoogleWire() {
  static const Google kWire;
  return kWire;
}

}  // namespace szarena::model
