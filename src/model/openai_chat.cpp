// SPDX-License-Identifier: Apache-2.0
// OpenAI Chat Completions: POST /chat/completions (platform.openai.com/docs/api-reference/chat),
// also spoken by llama.cpp, vLLM, Ollama and most gateways.
#include <fmt/format.h>

#include <map>

#include "model/wire.h"

namespace szarena::model {
namespace {

using data::Json;

Json CallJson(const ToolCall& call) {
  const std::string arguments = call.fault.empty() ? call.arguments.Dump() : "{}";
  return Json::Of({{"id", call.id},
                   {"type", "function"},
                   {"function", Json::Of({{"name", call.name}, {"arguments", arguments}})}});
}

// Services that reason between tool calls want "reasoning_content" back; others refuse it.
Json Messages(const Request& request, bool echo_reasoning) {
  Json messages = Json::MakeArray();
  if (!request.system.empty()) {
    messages.Append(Json::Of({{"role", "system"}, {"content", request.system}}));
  }
  for (const Message& message : request.messages) {
    Json item = Json::Of({{"role", RoleName(message.role)}, {"content", message.text}});
    if (message.role == Role::kTool) item.Set("tool_call_id", message.call_id);
    if (echo_reasoning && message.raw.Find("reasoning_content")) {
      item.Set("reasoning_content", *message.raw.Find("reasoning_content"));
    }
    if (!message.calls.empty()) {
      Json calls = Json::MakeArray();
      for (const ToolCall& call : message.calls) calls.Append(CallJson(call));
      item.Set("tool_calls", std::move(calls));
    }
    messages.Append(std::move(item));
  }
  return messages;
}

class ChatFold : public Fold {
 public:
  std::optional<ServiceError> Add(const Json& event) override {
    if (const Json* error = event.Find("error")) {
      return ServiceError{0, TextOf(*error, "code"), TextOf(*error, "message")};
    }
    for (const char* key : {"id", "model"}) {
      if (const Json* value = event.Find(key)) head_.Set(key, *value);
    }
    if (const Json* usage = event.Find("usage"); usage && !usage->is_null()) usage_ = *usage;
    const Json* choices = event.Find("choices");
    if (!choices || choices->items().empty()) return std::nullopt;
    const Json& choice = choices->items().front();
    if (const std::string reason = TextOf(choice, "finish_reason"); !reason.empty()) {
      finish_ = reason;
    }
    if (const Json* delta = choice.Find("delta")) AddDelta(*delta);
    return std::nullopt;
  }
  // Some servers end without "[DONE]"; the finish reason is what counts.
  bool complete() const override { return !finish_.empty(); }

  Json Take() override {
    Json message = Json::Of({{"role", "assistant"}, {"content", text_}, {"refusal", refusal_}});
    if (!reasoning_.empty()) message.Set("reasoning_content", reasoning_);
    if (!calls_.empty()) {
      Json calls = Json::MakeArray();
      for (const auto& [index, call] : calls_) {
        calls.Append(Json::Of(
            {{"id", call.id},
             {"function", Json::Of({{"name", call.name}, {"arguments", call.arguments}})}}));
      }
      message.Set("tool_calls", std::move(calls));
    }
    Json choices = Json::MakeArray();
    choices.Append(Json::Of({{"message", std::move(message)}, {"finish_reason", finish_}}));
    return head_.Set("choices", std::move(choices)).Set("usage", usage_);
  }

 private:
  struct Call {
    std::string id, name, arguments;
  };

  void AddDelta(const Json& delta) {
    text_ += TextOf(delta, "content");
    reasoning_ += TextOf(delta, "reasoning_content");
    refusal_ += TextOf(delta, "refusal");
    const Json* calls = delta.Find("tool_calls");
    for (const Json& part : calls ? calls->items() : Json::Array{}) {
      // Servers that leave the index out send each call whole.
      const int64_t index = IntOf(part, "index").value_or(static_cast<int64_t>(calls_.size()));
      Call& call = calls_[index];
      if (const std::string id = TextOf(part, "id"); !id.empty()) call.id = id;
      if (const Json* function = part.Find("function")) {
        call.name += TextOf(*function, "name");
        call.arguments += TextOf(*function, "arguments");
      }
    }
  }

  Json head_ = Json::MakeObject();
  std::string text_, reasoning_, refusal_, finish_;
  std::map<int64_t, Call> calls_;
  Json usage_;
};

class Chat : public Wire {
 public:
  std::string Url(const WireConfig& config) const override {
    return config.base_url + "/chat/completions";
  }

  std::vector<net::Header> KeyHeaders(const std::string& key) const override {
    return {{"Authorization", "Bearer " + key}};
  }

  Json Body(const WireConfig& config, const Request& request) const override {
    Json body = Json::Of({{"model", config.model},
                          {"messages", Messages(request, config.echo_reasoning)},
                          {"stream", config.stream}});
    if (config.stream) body.Set("stream_options", Json::Of({{"include_usage", true}}));
    if (!request.tools.empty()) {
      Json tools = Json::MakeArray();
      for (const ToolSpec& tool : request.tools) {
        tools.Append(Json::Of({{"type", "function"},
                               {"function", Json::Of({{"name", tool.name},
                                                      {"description", tool.description},
                                                      {"parameters", tool.input_schema}})}}));
      }
      body.Set("tools", std::move(tools));
    }
    const Sampling& sampling = config.sampling;
    // OpenAI renamed the limit; other servers know the old name.
    const bool openai = net::UrlHost(config.base_url) == "api.openai.com";
    SetIf(body, openai ? "max_completion_tokens" : "max_tokens", sampling.max_output_tokens);
    SetIf(body, "temperature", sampling.temperature);
    SetIf(body, "top_p", sampling.top_p);
    if (!sampling.effort.empty()) body.Set("reasoning_effort", sampling.effort);
    return body;
  }

  std::unique_ptr<Fold> NewFold() const override { return std::make_unique<ChatFold>(); }

  Result<Reply> Read(const Json& response) const override {
    const Json* choices = response.Find("choices");
    const Json* message =
        choices && !choices->items().empty() ? choices->items().front().Find("message") : nullptr;
    if (!message) return Fail(ErrorCode::kCorrupt, "the answer has no 'choices[0].message'");
    Reply reply;
    reply.message.role = Role::kAssistant;
    reply.message.text = TextOf(*message, "content");
    if (const std::string reasoning = TextOf(*message, "reasoning_content"); !reasoning.empty()) {
      reply.message.raw = Json::Of({{"reasoning_content", reasoning}});
    }
    reply.model_version = TextOf(response, "model");
    reply.request_id = TextOf(response, "id");
    if (const Json* calls = message->Find("tool_calls")) {
      for (const Json& call : calls->items()) {
        const Json* function = call.Find("function");
        std::string id = TextOf(call, "id");
        if (id.empty()) id = fmt::format("call_{}", reply.message.calls.size());
        reply.message.calls.push_back(ParsedCall(std::move(id),
                                                 function ? TextOf(*function, "name") : "",
                                                 function ? TextOf(*function, "arguments") : ""));
      }
    }
    const std::string reason = TextOf(choices->items().front(), "finish_reason");
    const std::string refusal = TextOf(*message, "refusal");
    if (!reply.message.calls.empty()) reply.finish = Finish::kCalls;
    if (reason == "length") reply.finish = Finish::kLength;
    if (reason == "content_filter" || !refusal.empty()) {
      reply.finish = Finish::kRefused;
      reply.message.text += refusal;
    }
    if (const Json* usage = response.Find("usage")) {
      reply.usage.in = TokensOf(*usage, "prompt_tokens");
      reply.usage.out = TokensOf(*usage, "completion_tokens");
      if (const Json* in = usage->Find("prompt_tokens_details")) {
        reply.usage.cached = TokensOf(*in, "cached_tokens");
      }
      if (const Json* out = usage->Find("completion_tokens_details")) {
        reply.usage.reasoning = TokensOf(*out, "reasoning_tokens");
      }
    }
    return reply;
  }

  ServiceError ReadError(const Json& body) const override {
    return OpenAiResponsesWire().ReadError(body);
  }
};

}  // namespace

const Wire& OpenAiChatWire() {
  static const Chat kWire;
  return kWire;
}

}  // namespace szarena::model
