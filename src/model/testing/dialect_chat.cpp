// SPDX-License-Identifier: Apache-2.0
// OpenAI Chat Completions: POST /v1/chat/completions, also spoken by llama.cpp, vLLM and Ollama.
#include <fmt/format.h>

#include <ctime>

#include "model/testing/dialect.h"

namespace szarena::model::standin {
namespace {

using data::Json;

std::string Text(const Json& item, std::string_view key) {
  const Json* value = item.Find(key);
  return value && value->string() ? *value->string() : "";
}

std::string FinishReason(const Answer& answer) {
  if (answer.finish == "length") return "length";
  return answer.calls.empty() ? "stop" : "tool_calls";
}

Json UsageJson(const Answer& answer) {
  return Json::Of(
      {{"prompt_tokens", answer.tokens_in},
       {"completion_tokens", answer.tokens_out},
       {"total_tokens", answer.tokens_in + answer.tokens_out},
       {"prompt_tokens_details", Json::Of({{"cached_tokens", answer.tokens_cached}})},
       {"completion_tokens_details", Json::Of({{"reasoning_tokens", answer.tokens_reasoning}})}});
}

class Chat : public Dialect {
 public:
  bool Serves(std::string_view path) const override { return path.ends_with("/chat/completions"); }

  Question Read(std::string_view /*path*/, const Json& body) const override {
    Question question;
    question.model = Text(body, "model");
    const Json* stream = body.Find("stream");
    question.stream = stream && stream->boolean().value_or(false);
    if (const Json* tools = body.Find("tools")) {
      for (const Json& tool : tools->items()) {
        if (const Json* function = tool.Find("function")) {
          question.tools.push_back({Text(*function, "name"), ""});
        }
      }
    }
    TurnCounter counter(question);
    const Json* messages = body.Find("messages");
    for (const Json& message : messages ? messages->items() : Json::Array{}) {
      if (Text(message, "role") == "assistant") {
        const Json* calls = message.Find("tool_calls");
        counter.Model(calls && !calls->items().empty());
      } else {
        counter.Other();
        if (question.turns == 0) question.opening += ContentText(message.Find("content"));
      }
    }
    return question;
  }

  Json Whole(const Answer& answer) const override {
    const bool refused = answer.finish == "refusal";
    Json message =
        Json::Of({{"role", "assistant"},
                  {"content", answer.text.empty() || refused ? Json() : Json(answer.text)},
                  {"refusal", refused ? Json(answer.text) : Json()}});
    if (!answer.calls.empty()) {
      Json calls = Json::MakeArray();
      for (const AnswerCall& call : answer.calls) calls.Append(CallJson(call, call.raw));
      message.Set("tool_calls", std::move(calls));
    }
    Json body = Head(answer, "chat.completion");
    body.Set("choices",
             Json::MakeArray().Append(Json::Of({{"index", 0},
                                                {"message", std::move(message)},
                                                {"finish_reason", FinishReason(answer)}})));
    return body.Set("usage", UsageJson(answer));
  }

  std::vector<std::string> Stream(const Answer& answer) const override {
    std::vector<std::string> events;
    const auto add = [&](Json delta, Json finish) {
      Json chunk = Head(answer, "chat.completion.chunk");
      chunk.Set(
          "choices",
          Json::MakeArray().Append(Json::Of(
              {{"index", 0}, {"delta", std::move(delta)}, {"finish_reason", std::move(finish)}})));
      events.push_back(ServerSentEvent("", chunk));
    };
    add(Json::Of({{"role", "assistant"}, {"content", ""}}), nullptr);
    const std::string field = answer.finish == "refusal" ? "refusal" : "content";
    for (const std::string& piece : Pieces(answer.reasoning)) {
      add(Json::Of({{"reasoning_content", piece}}), nullptr);
    }
    for (const std::string& piece : Pieces(answer.text)) add(Json::Of({{field, piece}}), nullptr);
    int64_t index = 0;
    for (const AnswerCall& call : answer.calls) {
      Json head = CallJson(call, "");
      add(Json::Of({{"tool_calls", Json::MakeArray().Append(head.Set("index", index))}}), nullptr);
      for (const std::string& piece : Pieces(call.raw)) {
        const Json delta =
            Json::Of({{"index", index}, {"function", Json::Of({{"arguments", piece}})}});
        add(Json::Of({{"tool_calls", Json::MakeArray().Append(delta)}}), nullptr);
      }
      ++index;
    }
    add(Json::MakeObject(), FinishReason(answer));
    if (answer.with_usage && answer.tokens_in >= 0) {
      Json chunk = Head(answer, "chat.completion.chunk");
      chunk.Set("choices", Json::MakeArray()).Set("usage", UsageJson(answer));
      events.push_back(ServerSentEvent("", chunk));
    }
    events.emplace_back("data: [DONE]\n\n");
    return events;
  }

  Json ErrorBody(int status, const std::string& code, const std::string& message) const override {
    return OpenAiResponses().ErrorBody(status, code, message);
  }

 private:
  static Json Head(const Answer& answer, std::string_view object) {
    return Json::Of({{"id", "chatcmpl-" + answer.id},
                     {"object", object},
                     {"created", static_cast<int64_t>(std::time(nullptr))},
                     {"model", answer.model}});
  }
  static Json CallJson(const AnswerCall& call, const std::string& arguments) {
    return Json::Of({{"id", call.id},
                     {"type", "function"},
                     {"function", Json::Of({{"name", call.tool.name}, {"arguments", arguments}})}});
  }
};

}  // namespace

const Dialect& OpenAiChat() {
  static const Chat kDialect;
  return kDialect;
}

}  // namespace szarena::model::standin
