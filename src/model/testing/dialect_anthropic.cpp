// SPDX-License-Identifier: Apache-2.0
// Anthropic Messages: POST /v1/messages (docs.anthropic.com/en/api/messages).
#include <fmt/format.h>

#include "model/testing/dialect.h"

namespace szarena::model::standin {
namespace {

using data::Json;

std::string Text(const Json& item, std::string_view key) {
  const Json* value = item.Find(key);
  return value && value->string() ? *value->string() : "";
}

class Anthropic : public Dialect {
 public:
  bool Serves(std::string_view path) const override { return path.ends_with("/messages"); }

  Question Read(std::string_view /*path*/, const Json& body) const override {
    Question question;
    question.model = Text(body, "model");
    const Json* stream = body.Find("stream");
    question.stream = stream && stream->boolean().value_or(false);
    question.opening = ContentText(body.Find("system"));
    if (const Json* tools = body.Find("tools")) {
      for (const Json& tool : tools->items()) question.tools.push_back({Text(tool, "name"), ""});
    }
    TurnCounter counter(question);
    const Json* messages = body.Find("messages");
    for (const Json& message : messages ? messages->items() : Json::Array{}) {
      const Json* content = message.Find("content");
      if (Text(message, "role") == "assistant") {
        bool has_call = false;
        for (const Json& block : content ? content->items() : Json::Array{}) {
          has_call |= Text(block, "type") == "tool_use";
        }
        counter.Model(has_call);
      } else {
        counter.Other();
        if (question.turns == 0) question.opening += ContentText(content);
      }
    }
    return question;
  }

  Json Whole(const Answer& answer) const override {
    Json content = Json::MakeArray();
    for (const Json& block : Blocks(answer)) content.Append(block);
    Json message = Head(answer);
    return message.Set("content", std::move(content))
        .Set("stop_reason", StopReason(answer))
        .Set("usage", UsageJson(answer, answer.tokens_out));
  }

  std::vector<std::string> Stream(const Answer& answer) const override {
    std::vector<std::string> events;
    const auto add = [&](std::string_view type, const Json& data) {
      Json event = Json::Of({{"type", type}});
      for (const data::JsonMember& member : data.members()) event.Set(member.key, member.value);
      events.push_back(ServerSentEvent(type, event));
    };
    Json head = Head(answer);
    head.Set("usage", UsageJson(answer, 1));
    add("message_start", Json::Of({{"message", head}}));
    add("ping", Json::MakeObject());
    int64_t index = 0;
    for (const Json& block : Blocks(answer)) StreamBlock(block, answer, index++, add);
    add("message_delta",
        Json::Of(
            {{"delta", Json::Of({{"stop_reason", StopReason(answer)}, {"stop_sequence", nullptr}})},
             {"usage", Json::Of({{"output_tokens", answer.tokens_out}})}}));
    add("message_stop", Json::MakeObject());
    return events;
  }

  Json ErrorBody(int status, const std::string& code, const std::string& message) const override {
    const std::string type = !code.empty()   ? code
                             : status == 429 ? "rate_limit_error"
                             : status == 529 ? "overloaded_error"
                             : status >= 500 ? "api_error"
                             : status == 401 ? "authentication_error"
                                             : "invalid_request_error";
    return Json::Of(
        {{"type", "error"}, {"error", Json::Of({{"type", type}, {"message", message}})}});
  }

 private:
  static Json Head(const Answer& answer) {
    return Json::Of({{"id", "msg_" + answer.id},
                     {"type", "message"},
                     {"role", "assistant"},
                     {"model", answer.model},
                     {"content", Json::MakeArray()},
                     {"stop_reason", nullptr},
                     {"stop_sequence", nullptr}});
  }

  // input_tokens leaves out what was read from the cache.
  static Json UsageJson(const Answer& answer, int64_t tokens_out) {
    return Json::Of({{"input_tokens", answer.tokens_in - answer.tokens_cached},
                     {"cache_creation_input_tokens", 0},
                     {"cache_read_input_tokens", answer.tokens_cached},
                     {"output_tokens", tokens_out}});
  }

  static std::vector<Json> Blocks(const Answer& answer) {
    std::vector<Json> blocks;
    if (!answer.reasoning.empty()) {
      blocks.push_back(Json::Of({{"type", "thinking"},
                                 {"thinking", answer.reasoning},
                                 {"signature", "sealed-" + answer.id}}));
    }
    if (!answer.text.empty()) {
      blocks.push_back(Json::Of({{"type", "text"}, {"text", answer.text}}));
    }
    for (const AnswerCall& call : answer.calls) {
      blocks.push_back(Json::Of({{"type", "tool_use"},
                                 {"id", call.id},
                                 {"name", call.tool.name},
                                 {"input", call.malformed ? Json(call.raw) : call.arguments}}));
    }
    return blocks;
  }

  template <typename Add>
  static void StreamBlock(const Json& block, const Answer& answer, int64_t index, const Add& add) {
    const std::string type = Text(block, "type");
    const auto delta = [&](Json data) {
      add("content_block_delta", Json::Of({{"index", index}, {"delta", std::move(data)}}));
    };
    Json begun = block;
    if (type == "text") begun.Set("text", "");
    if (type == "thinking") begun.Set("thinking", "").Set("signature", "");
    if (type == "tool_use") begun.Set("input", Json::MakeObject());
    add("content_block_start", Json::Of({{"index", index}, {"content_block", begun}}));
    if (type == "text") {
      for (const std::string& piece : Pieces(Text(block, "text"))) {
        delta(Json::Of({{"type", "text_delta"}, {"text", piece}}));
      }
    } else if (type == "thinking") {
      for (const std::string& piece : Pieces(Text(block, "thinking"))) {
        delta(Json::Of({{"type", "thinking_delta"}, {"thinking", piece}}));
      }
      delta(Json::Of({{"type", "signature_delta"}, {"signature", Text(block, "signature")}}));
    } else {
      for (const AnswerCall& call : answer.calls) {
        if (call.id != Text(block, "id")) continue;
        for (const std::string& piece : Pieces(call.raw)) {
          delta(Json::Of({{"type", "input_json_delta"}, {"partial_json", piece}}));
        }
      }
    }
    add("content_block_stop", Json::Of({{"index", index}}));
  }

  static std::string StopReason(const Answer& answer) {
    if (answer.finish == "length") return "max_tokens";
    if (answer.finish == "refusal") return "refusal";
    return answer.calls.empty() ? "end_turn" : "tool_use";
  }
};

}  // namespace

const Dialect& AnthropicMessages() {
  static const Anthropic kDialect;
  return kDialect;
}

}  // namespace szarena::model::standin
