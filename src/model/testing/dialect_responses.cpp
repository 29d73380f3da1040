// SPDX-License-Identifier: Apache-2.0
// OpenAI Responses: POST /v1/responses (platform.openai.com/docs/api-reference/responses).
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

void ReadTools(const Json& tools, const std::string& name_space, Question& question) {
  for (const Json& tool : tools.items()) {
    if (const Json* inner = tool.Find("tools")) {
      ReadTools(*inner, Text(tool, "name"), question);
    } else if (Text(tool, "type") == "function") {
      question.tools.push_back({Text(tool, "name"), name_space});
    }
  }
}

std::vector<Json> OutputItems(const Answer& answer) {
  std::vector<Json> items;
  if (!answer.reasoning.empty()) {
    Json summary = Json::MakeArray();
    summary.Append(Json::Of({{"type", "summary_text"}, {"text", answer.reasoning}}));
    items.push_back(Json::Of({{"type", "reasoning"},
                              {"id", "rs_" + answer.id},
                              {"summary", std::move(summary)},
                              {"encrypted_content", "sealed-" + answer.id}}));
  }
  const bool refused = answer.finish == "refusal";
  if (!answer.text.empty() || refused) {
    Json part = Json::Of({{"type", refused ? "refusal" : "output_text"}});
    part.Set(refused ? "refusal" : "text", answer.text);
    if (!refused) part.Set("annotations", Json::MakeArray());
    items.push_back(Json::Of({{"type", "message"},
                              {"id", "msg_" + answer.id},
                              {"status", "completed"},
                              {"role", "assistant"},
                              {"content", Json::MakeArray().Append(std::move(part))}}));
  }
  for (const AnswerCall& call : answer.calls) {
    Json item = Json::Of({{"type", "function_call"},
                          {"id", "fc_" + call.id},
                          {"call_id", call.id},
                          {"name", call.tool.name},
                          {"arguments", call.raw},
                          {"status", "completed"}});
    if (!call.tool.name_space.empty()) item.Set("namespace", call.tool.name_space);
    items.push_back(std::move(item));
  }
  return items;
}

Json Response(const Answer& answer, std::string_view status, const std::vector<Json>& items) {
  Json output = Json::MakeArray();
  for (const Json& item : items) output.Append(item);
  Json response = Json::Of({{"id", "resp_" + answer.id},
                            {"object", "response"},
                            {"created_at", static_cast<int64_t>(std::time(nullptr))},
                            {"status", status},
                            {"error", nullptr},
                            {"incomplete_details", nullptr},
                            {"model", answer.model},
                            {"output", std::move(output)},
                            {"parallel_tool_calls", true},
                            {"usage", nullptr}});
  if (status == "in_progress") return response;
  if (status == "incomplete") {
    response.Set("incomplete_details", Json::Of({{"reason", "max_output_tokens"}}));
  }
  response.Set(
      "usage",
      Json::Of(
          {{"input_tokens", answer.tokens_in},
           {"input_tokens_details", Json::Of({{"cached_tokens", answer.tokens_cached}})},
           {"output_tokens", answer.tokens_out},
           {"output_tokens_details", Json::Of({{"reasoning_tokens", answer.tokens_reasoning}})},
           {"total_tokens", answer.tokens_in + answer.tokens_out}}));
  return response;
}

std::string FinalStatus(const Answer& answer) {
  return answer.finish == "length" ? "incomplete" : "completed";
}

class Responses : public Dialect {
 public:
  bool Serves(std::string_view path) const override { return path.ends_with("/responses"); }

  Question Read(std::string_view /*path*/, const Json& body) const override {
    Question question;
    question.model = Text(body, "model");
    const Json* stream = body.Find("stream");
    question.stream = stream && stream->boolean().value_or(false);
    question.opening = Text(body, "instructions");
    if (const Json* tools = body.Find("tools")) ReadTools(*tools, "", question);
    const Json* input = body.Find("input");
    if (!input) return question;
    if (input->string()) question.opening += *input->string();
    TurnCounter counter(question);
    for (const Json& item : input->items()) {
      const std::string type = Text(item, "type");
      const std::string role = Text(item, "role");
      if (type == "function_call" || type == "custom_tool_call") {
        counter.Model(true);
      } else if (type == "reasoning" || role == "assistant") {
        counter.Model(false);
      } else {
        counter.Other();
        if (question.turns == 0) question.opening += ContentText(item.Find("content"));
      }
    }
    return question;
  }

  Json Whole(const Answer& answer) const override {
    return Response(answer, FinalStatus(answer), OutputItems(answer));
  }

  std::vector<std::string> Stream(const Answer& answer) const override {
    std::vector<std::string> events;
    int64_t sequence = 0;
    const auto add = [&](std::string_view type, const Json& data) {
      Json event = Json::Of({{"type", type}, {"sequence_number", sequence++}});
      for (const data::JsonMember& member : data.members()) event.Set(member.key, member.value);
      events.push_back(ServerSentEvent(type, event));
    };
    add("response.created", Json::Of({{"response", Response(answer, "in_progress", {})}}));
    add("response.in_progress", Json::Of({{"response", Response(answer, "in_progress", {})}}));
    const std::vector<Json> items = OutputItems(answer);
    for (size_t i = 0; i < items.size(); ++i) {
      StreamItem(items[i], static_cast<int64_t>(i), add);
    }
    add("response." + FinalStatus(answer),
        Json::Of({{"response", Response(answer, FinalStatus(answer), items)}}));
    return events;
  }

  Json ErrorBody(int status, const std::string& code, const std::string& message) const override {
    const bool limited = status == 429;
    return Json::Of({{"error", Json::Of({{"message", message},
                                         {"type", limited ? "requests" : "invalid_request_error"},
                                         {"param", nullptr},
                                         {"code", !code.empty() ? Json(code)
                                                  : limited     ? Json("rate_limit_exceeded")
                                                                : Json()}})}});
  }

 private:
  template <typename Add>
  static void StreamItem(const Json& item, int64_t index, const Add& add) {
    const std::string id = Text(item, "id");
    const std::string type = Text(item, "type");
    Json begun = item;
    if (type == "message") begun.Set("content", Json::MakeArray()).Set("status", "in_progress");
    if (type == "function_call") begun.Set("arguments", "").Set("status", "in_progress");
    if (type == "reasoning") begun.Set("summary", Json::MakeArray());
    add("response.output_item.added", Json::Of({{"output_index", index}, {"item", begun}}));
    if (type == "message") {
      const Json& part = item.Find("content")->items().front();
      const bool refused = Text(part, "type") == "refusal";
      const std::string field = refused ? "refusal" : "text";
      const std::string name = refused ? "response.refusal" : "response.output_text";
      Json empty = part;
      empty.Set(field, "");
      add("response.content_part.added",
          Json::Of(
              {{"item_id", id}, {"output_index", index}, {"content_index", 0}, {"part", empty}}));
      for (const std::string& piece : Pieces(Text(part, field))) {
        add(name + ".delta", Json::Of({{"item_id", id},
                                       {"output_index", index},
                                       {"content_index", 0},
                                       {"delta", piece}}));
      }
      add(name + ".done", Json::Of({{"item_id", id},
                                    {"output_index", index},
                                    {"content_index", 0},
                                    {field, Text(part, field)}}));
      add("response.content_part.done",
          Json::Of(
              {{"item_id", id}, {"output_index", index}, {"content_index", 0}, {"part", part}}));
    } else if (type == "function_call") {
      for (const std::string& piece : Pieces(Text(item, "arguments"))) {
        add("response.function_call_arguments.delta",
            Json::Of({{"item_id", id}, {"output_index", index}, {"delta", piece}}));
      }
      add("response.function_call_arguments.done",
          Json::Of(
              {{"item_id", id}, {"output_index", index}, {"arguments", Text(item, "arguments")}}));
    }
    add("response.output_item.done", Json::Of({{"output_index", index}, {"item", item}}));
  }
};

}  // namespace

const Dialect& OpenAiResponses() {
  static const Responses kDialect;
  return kDialect;
}

}  // namespace szarena::model::standin
