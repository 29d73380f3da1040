// SPDX-License-Identifier: Apache-2.0
// OpenAI Responses: POST /responses (platform.openai.com/docs/api-reference/responses). Nothing is
// stored at the service; sealed reasoning comes back and forth with the conversation.
#include <map>

#include "model/wire.h"

namespace szarena::model {
namespace {

using data::Json;

// An item of an earlier answer as it goes back. Nothing is stored at the service, so its ids mean
// nothing there, and reasoning is of use only where it came sealed.
void AppendOutputItem(const Json& item, Json& items) {
  if (TextOf(item, "type") == "reasoning" && TextOf(item, "encrypted_content").empty()) return;
  Json back = Json::MakeObject();
  for (const data::JsonMember& member : item.members()) {
    if (member.key != "id" && member.key != "status") back.Set(member.key, member.value);
  }
  items.Append(std::move(back));
}

Json InputItems(const Request& request) {
  Json items = Json::MakeArray();
  for (const Message& message : request.messages) {
    if (message.role == Role::kTool) {
      items.Append(Json::Of({{"type", "function_call_output"},
                             {"call_id", message.call_id},
                             {"output", message.text}}));
      continue;
    }
    if (message.raw.is_array()) {
      for (const Json& item : message.raw.items()) AppendOutputItem(item, items);
      continue;
    }
    const bool user = message.role == Role::kUser;
    if (user || !message.text.empty()) {
      Json content = Json::MakeArray();
      content.Append(
          Json::Of({{"type", user ? "input_text" : "output_text"}, {"text", message.text}}));
      items.Append(Json::Of({{"type", "message"},
                             {"role", RoleName(message.role)},
                             {"content", std::move(content)}}));
    }
    for (const ToolCall& call : message.calls) {
      items.Append(Json::Of(
          {{"type", "function_call"},
           {"call_id", call.id},
           {"name", call.name},
           {"arguments", call.fault.empty() ? call.arguments.Dump() : std::string("{}")}}));
    }
  }
  return items;
}

class ResponsesFold : public Fold {
 public:
  std::optional<ServiceError> Add(const Json& event) override {
    const std::string type = TextOf(event, "type");
    const Json* response = event.Find("response");
    if (response && !response->is_object()) response = nullptr;
    if (type == "response.output_item.done" && event.Find("item")) {
      items_[IntOf(event, "output_index").value_or(static_cast<int64_t>(items_.size()))] =
          *event.Find("item");
    } else if ((type == "response.completed" || type == "response.incomplete") && response) {
      response_ = *response;
      complete_ = true;
    } else if (type == "response.failed" && response) {
      const Json* error = response->Find("error");
      return ServiceError{0, error ? TextOf(*error, "code") : "",
                          error ? TextOf(*error, "message") : "the response failed"};
    } else if (type == "error") {
      const Json* inner = event.Find("error");
      const Json& error = inner ? *inner : event;
      return ServiceError{0, TextOf(error, "code"), TextOf(error, "message")};
    }
    return std::nullopt;
  }
  bool complete() const override { return complete_; }
  Json Take() override {
    const Json* output = response_.Find("output");
    if (!output || output->items().empty()) {  // some gateways leave it out of the last event
      Json items = Json::MakeArray();
      for (auto& [index, item] : items_) items.Append(std::move(item));
      response_.Set("output", std::move(items));
    }
    return std::move(response_);
  }

 private:
  std::map<int64_t, Json> items_;
  Json response_ = Json::MakeObject();
  bool complete_ = false;
};

class Responses : public Wire {
 public:
  std::string Url(const WireConfig& config) const override {
    return config.base_url + "/responses";
  }

  std::vector<net::Header> KeyHeaders(const std::string& key) const override {
    return {{"Authorization", "Bearer " + key}};
  }

  Json Body(const WireConfig& config, const Request& request) const override {
    Json body = Json::Of({{"model", config.model},
                          {"input", InputItems(request)},
                          {"store", false},
                          {"stream", config.stream}});
    if (!request.system.empty()) body.Set("instructions", request.system);
    if (!request.tools.empty()) {
      Json tools = Json::MakeArray();
      for (const ToolSpec& tool : request.tools) {
        tools.Append(Json::Of({{"type", "function"},
                               {"name", tool.name},
                               {"description", tool.description},
                               {"parameters", tool.input_schema},
                               {"strict", false}}));
      }
      body.Set("tools", std::move(tools));
    }
    const Sampling& sampling = config.sampling;
    if (!sampling.effort.empty()) {
      // Asked of a model that does not reason, this is an error of the service: only where the
      // settings name an effort.
      body.Set("reasoning", Json::Of({{"effort", sampling.effort}}));
      body.Set("include", Json::MakeArray().Append("reasoning.encrypted_content"));
    }
    SetIf(body, "temperature", sampling.temperature);
    SetIf(body, "top_p", sampling.top_p);
    SetIf(body, "max_output_tokens", sampling.max_output_tokens);
    return body;
  }

  std::unique_ptr<Fold> NewFold() const override { return std::make_unique<ResponsesFold>(); }

  Result<Reply> Read(const Json& response) const override {
    const Json* output = response.Find("output");
    if (!output || !output->is_array()) {
      return Fail(ErrorCode::kCorrupt, "the answer has no 'output'");
    }
    Reply reply;
    reply.message.role = Role::kAssistant;
    reply.model_version = TextOf(response, "model");
    reply.request_id = TextOf(response, "id");
    bool faulty = false;
    for (const Json& item : output->items()) {
      const std::string type = TextOf(item, "type");
      if (type == "function_call") {
        const std::string id = TextOf(item, "call_id");
        reply.message.calls.push_back(
            ParsedCall(id, TextOf(item, "name"), TextOf(item, "arguments")));
        faulty |= !reply.message.calls.back().fault.empty();
      } else if (type == "message") {
        const Json* content = item.Find("content");
        for (const Json& part : content ? content->items() : Json::Array{}) {
          reply.message.text += TextOf(part, "text");
          if (TextOf(part, "type") == "refusal") {
            reply.message.text += TextOf(part, "refusal");
            reply.finish = Finish::kRefused;
          }
        }
      }
    }
    if (!faulty) reply.message.raw = *output;
    if (!reply.message.calls.empty()) reply.finish = Finish::kCalls;
    if (TextOf(response, "status") == "incomplete") {
      const Json* details = response.Find("incomplete_details");
      const bool filtered = details && TextOf(*details, "reason") == "content_filter";
      reply.finish = filtered ? Finish::kRefused : Finish::kLength;
    }
    if (const Json* usage = response.Find("usage")) {
      reply.usage.in = TokensOf(*usage, "input_tokens");
      reply.usage.out = TokensOf(*usage, "output_tokens");
      if (const Json* in = usage->Find("input_tokens_details")) {
        reply.usage.cached = TokensOf(*in, "cached_tokens");
      }
      if (const Json* out = usage->Find("output_tokens_details")) {
        reply.usage.reasoning = TokensOf(*out, "reasoning_tokens");
      }
    }
    return reply;
  }

  ServiceError ReadError(const Json& body) const override {
    const Json* error = body.Find("error");
    if (!error) return {};
    if (error->string()) return {0, "", *error->string()};
    std::string code = TextOf(*error, "code");
    if (code.empty()) code = TextOf(*error, "type");
    return {0, code, TextOf(*error, "message")};
  }
};

}  // namespace

const Wire& OpenAiResponsesWire() {
  static const Responses kWire;
  return kWire;
}

}  // namespace szarena::model
