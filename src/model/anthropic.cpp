// SPDX-License-Identifier: Apache-2.0
// Anthropic Messages: POST /messages (docs.anthropic.com/en/api/messages). The conversation so far
// is marked for the service's cache; signed thinking goes back unchanged.
#include <map>

#include "base/saturate.h"
#include "model/wire.h"

namespace szarena::model {
namespace {

using data::Json;

constexpr int64_t kDefaultMaxTokens = 32'000;  // the service wants a limit in every request

Json TextBlock(const std::string& text) { return Json::Of({{"type", "text"}, {"text", text}}); }

Json AssistantBlocks(const Message& message) {
  Json blocks = Json::MakeArray();
  for (const Json& block : message.raw.items()) {
    // The service sends empty texts and refuses them.
    if (TextOf(block, "type") == "text" && TextOf(block, "text").empty()) continue;
    blocks.Append(block);
  }
  if (!blocks.items().empty()) return blocks;
  if (!message.text.empty()) blocks.Append(TextBlock(message.text));
  for (const ToolCall& call : message.calls) {
    blocks.Append(Json::Of({{"type", "tool_use"},
                            {"id", call.id},
                            {"name", call.name},
                            {"input", call.fault.empty() ? call.arguments : Json::MakeObject()}}));
  }
  if (blocks.items().empty()) blocks.Append(TextBlock("(no answer)"));
  return blocks;
}

Json ResultBlock(const Message& message) {
  Json block = Json::Of(
      {{"type", "tool_result"}, {"tool_use_id", message.call_id}, {"content", message.text}});
  if (!message.ok) block.Set("is_error", true);
  return block;
}

// Marks the last block: everything up to it may be cached.
Json Cached(const Json& blocks) {
  Json marked = Json::MakeArray();
  const size_t count = blocks.items().size();
  for (size_t i = 0; i < count; ++i) {
    Json block = blocks.items()[i];
    if (i + 1 == count && block.is_object())
      block.Set("cache_control", Json::Of({{"type", "ephemeral"}}));
    marked.Append(std::move(block));
  }
  return marked;
}

// Turns alternate: all results of one turn, and what the user says then, are one message.
Json Messages(const Request& request) {
  std::vector<std::pair<std::string, Json>> turns;
  for (const Message& message : request.messages) {
    const bool assistant = message.role == Role::kAssistant;
    const std::string role = assistant ? "assistant" : "user";
    if (turns.empty() || turns.back().first != role) turns.emplace_back(role, Json::MakeArray());
    Json& blocks = turns.back().second;
    if (assistant) {
      const Json own = AssistantBlocks(message);
      for (const Json& block : own.items()) blocks.Append(block);
    } else {
      blocks.Append(message.role == Role::kTool ? ResultBlock(message) : TextBlock(message.text));
    }
  }
  Json messages = Json::MakeArray();
  for (auto& [role, blocks] : turns) {
    const bool last = &blocks == &turns.back().second;
    messages.Append(
        Json::Of({{"role", role}, {"content", last ? Cached(blocks) : std::move(blocks)}}));
  }
  return messages;
}

class AnthropicFold : public Fold {
 public:
  std::optional<ServiceError> Add(const Json& event) override {
    const std::string type = TextOf(event, "type");
    const int64_t index = IntOf(event, "index").value_or(0);
    if (type == "error") return AnthropicWire().ReadError(event);
    const auto object = [&event](std::string_view key) {
      const Json* value = event.Find(key);
      return value && value->is_object() ? value : nullptr;
    };
    if (type == "message_start" && object("message")) {
      message_ = *object("message");
    } else if (type == "content_block_start" && object("content_block")) {
      blocks_[index].block = *object("content_block");
    } else if (type == "content_block_delta" && event.Find("delta")) {
      blocks_[index].Add(*event.Find("delta"));
    } else if (type == "message_delta") {
      if (const Json* delta = event.Find("delta")) {
        for (const data::JsonMember& member : delta->members()) {
          message_.Set(member.key, member.value);
        }
      }
      if (const Json* usage = event.Find("usage")) {  // sums so far
        const Json* first = message_.Find("usage");
        Json merged = first && first->is_object() ? *first : Json::MakeObject();
        for (const data::JsonMember& member : usage->members()) {
          if (!member.value.is_null()) merged.Set(member.key, member.value);
        }
        message_.Set("usage", std::move(merged));
      }
    } else if (type == "message_stop") {
      complete_ = true;
    }
    return std::nullopt;
  }
  bool complete() const override { return complete_; }
  Json Take() override {
    Json content = Json::MakeArray();
    for (auto& [index, block] : blocks_) content.Append(block.Take());
    message_.Set("content", std::move(content));
    return std::move(message_);
  }

 private:
  struct Block {
    Json block;
    std::string text, signature, input;

    void Add(const Json& delta) {
      text += TextOf(delta, "text") + TextOf(delta, "thinking");
      signature += TextOf(delta, "signature");
      input += TextOf(delta, "partial_json");
    }
    Json Take() {
      const std::string type = TextOf(block, "type");
      if (type == "text") block.Set("text", TextOf(block, "text") + text);
      if (type == "thinking") {
        block.Set("thinking", TextOf(block, "thinking") + text);
        block.Set("signature", TextOf(block, "signature") + signature);
      }
      if (type == "tool_use" && !input.empty()) {
        auto parsed = data::ParseJson(input, "input");
        block.Set("input", parsed ? std::move(*parsed) : Json(input));  // text: malformed
      }
      return std::move(block);
    }
  };

  Json message_ = Json::MakeObject();
  std::map<int64_t, Block> blocks_;
  bool complete_ = false;
};

class Anthropic : public Wire {
 public:
  std::string Url(const WireConfig& config) const override { return config.base_url + "/messages"; }

  std::vector<net::Header> KeyHeaders(const std::string& key) const override {
    return {{"x-api-key", key}};
  }
  std::vector<net::Header> FixedHeaders() const override {
    return {{"anthropic-version", "2023-06-01"}};
  }

  Json Body(const WireConfig& config, const Request& request) const override {
    const Sampling& sampling = config.sampling;
    Json body = Json::Of({{"model", config.model},
                          {"max_tokens", sampling.max_output_tokens.value_or(kDefaultMaxTokens)},
                          {"messages", Messages(request)},
                          {"stream", config.stream}});
    if (!request.system.empty()) {
      body.Set("system", Cached(Json::MakeArray().Append(TextBlock(request.system))));
    }
    if (!request.tools.empty()) {
      Json tools = Json::MakeArray();
      for (const ToolSpec& tool : request.tools) {
        tools.Append(Json::Of({{"name", tool.name},
                               {"description", tool.description},
                               {"input_schema", tool.input_schema}}));
      }
      body.Set("tools", std::move(tools));
    }
    SetIf(body, "temperature", sampling.temperature);
    SetIf(body, "top_p", sampling.top_p);
    if (sampling.thinking_tokens) {
      body.Set("thinking",
               Json::Of({{"type", "enabled"}, {"budget_tokens", *sampling.thinking_tokens}}));
    }
    if (!sampling.effort.empty())
      body.Set("output_config", Json::Of({{"effort", sampling.effort}}));
    return body;
  }

  std::unique_ptr<Fold> NewFold() const override { return std::make_unique<AnthropicFold>(); }

  Result<Reply> Read(const Json& response) const override {
    const Json* content = response.Find("content");
    if (!content || !content->is_array()) {
      return Fail(ErrorCode::kCorrupt, "the answer has no 'content'");
    }
    Reply reply;
    reply.message.role = Role::kAssistant;
    reply.model_version = TextOf(response, "model");
    reply.request_id = TextOf(response, "id");
    bool faulty = false;
    for (const Json& block : content->items()) {
      const std::string type = TextOf(block, "type");
      if (type == "text") reply.message.text += TextOf(block, "text");
      if (type != "tool_use") continue;
      const Json* input = block.Find("input");
      ToolCall call{TextOf(block, "id"), TextOf(block, "name"), nullptr, ""};
      if (input && input->is_object()) {
        call.arguments = *input;
      } else {
        call.fault = "the arguments are no JSON object";
        faulty = true;
      }
      reply.message.calls.push_back(std::move(call));
    }
    if (!faulty && !content->items().empty()) reply.message.raw = *content;
    const std::string reason = TextOf(response, "stop_reason");
    if (!reply.message.calls.empty()) reply.finish = Finish::kCalls;
    if (reason == "max_tokens") reply.finish = Finish::kLength;
    if (reason == "refusal") reply.finish = Finish::kRefused;
    if (reason == "model_context_window_exceeded") reply.finish = Finish::kContextFull;
    if (const Json* usage = response.Find("usage")) ReadUsage(*usage, reply.usage);
    return reply;
  }

  ServiceError ReadError(const Json& body) const override {
    const Json* error = body.Find("error");
    if (!error) return {};
    return {0, TextOf(*error, "type"), TextOf(*error, "message")};
  }

 private:
  static void ReadUsage(const Json& json, Usage& usage) {
    usage.in = TokensOf(json, "input_tokens");
    usage.out = TokensOf(json, "output_tokens");
    usage.cached = TokensOf(json, "cache_read_input_tokens");
    usage.written = TokensOf(json, "cache_creation_input_tokens");
    // The service counts cached tokens apart.
    if (!usage.in) return;
    usage.in = AddCounts(AddCounts(*usage.in, usage.cached.value_or(0)), usage.written.value_or(0));
  }
};

}  // namespace

const Wire& AnthropicWire() {
  static const Anthropic kWire;
  return kWire;
}

}  // namespace szarena::model
