// SPDX-License-Identifier: Apache-2.0
#include "program/model_proxy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "agent/session_runner.h"
#include "net/sse.h"

namespace szarena::program {
namespace {

using data::Json;
using net::Incoming;

// What each protocol's programs may ask for, after the version ("/v1"). Calls that give an answer
// count; the others measure a prompt.
struct Allowed {
  std::string_view protocol;
  std::string_view begin;
  std::string_view end;
  bool counts;
};
constexpr Allowed kAllowed[] = {
    {"openai-responses", "/responses", "/responses", true},
    {"openai-chat", "/chat/completions", "/chat/completions", true},
    {"google", "/models/", ":generateContent", true},
    {"google", "/models/", ":streamGenerateContent", true},
    {"google", "/models/", ":countTokens", false},
    {"anthropic", "/messages", "/messages", true},
    {"anthropic", "/messages/count_tokens", "/messages/count_tokens", false},
};

// Headers that belong to one connection, say who asks, or would hide the answer from us.
constexpr std::string_view kDropped[] = {
    "host",       "connection",          "content-length", "transfer-encoding", "accept-encoding",
    "keep-alive", "authorization",       "x-api-key",      "x-goog-api-key",    "api-key",
    "cookie",     "proxy-authorization", "expect",         "upgrade",           "te"};

std::string LowerCase(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

// A tool that the service runs itself and that would look into the web.
bool LooksIntoTheWeb(const Json& tool) {
  const Json* type = tool.Find("type");
  if (type != nullptr && type->is_string() &&
      (type->string()->starts_with("web_search") || type->string()->starts_with("web_fetch") ||
       type->string()->starts_with("browser"))) {
    return true;
  }
  return std::ranges::any_of(std::array{"googleSearch", "google_search", "googleSearchRetrieval",
                                        "google_search_retrieval", "urlContext", "url_context"},
                             [&](const char* key) { return tool.Find(key) != nullptr; });
}

// The body without such tools; `removed` says how many there were.
Json WithoutWebTools(const Json& body, int& removed) {
  const Json* tools = body.Find("tools");
  if (tools == nullptr || !tools->is_array()) return body;
  Json kept = Json::MakeArray();
  for (const Json& tool : tools->items()) {
    if (LooksIntoTheWeb(tool)) {
      ++removed;
    } else {
      kept.Append(tool);
    }
  }
  if (removed == 0) return body;
  Json out = body;
  return out.Set("tools", std::move(kept));
}

// Several answers for the price of one call.
bool AsksForSeveralAnswers(const Json& body) {
  return std::ranges::any_of(
      std::array{body.Find("n"), body.FindPath({"generationConfig", "candidateCount"}),
                 body.FindPath({"generation_config", "candidate_count"})},
      [](const Json* count) { return count && !count->is_null() && *count != Json(1); });
}

// An error in a form that every one of the programs understands.
void SendError(net::Reply& reply, int status, std::string_view type, const std::string& message) {
  const Json body =
      Json::Of({{"type", "error"},
                {"error", Json::Of({{"type", type}, {"code", status}, {"message", message}})}});
  reply.Send(status, {{"Content-Type", "application/json"}}, body.Dump());
}

}  // namespace

struct ModelProxy::Call {
  std::string url;
  std::string model;
  bool counts = false;
  bool streamed = false;
  std::string body;
};

ModelProxy::ModelProxy(net::Listener listener, model::HttpModelConfig config, agent::Meter& meter,
                       agent::Transcript& transcript)
    : config_(std::move(config)),
      wire_(*model::FindWire(config_.protocol)),
      meter_(meter),
      transcript_(transcript),
      server_(std::make_unique<net::HttpServer>(
          std::move(listener),
          [this](const Incoming& request, net::Reply& reply) { Handle(request, reply); },
          net::HttpServerOptions{.max_body_bytes = 64 << 20, .heartbeat = ""})) {}

void ModelProxy::Handle(const Incoming& request, net::Reply& reply) {
  // "/v1/messages?beta=true" → "/messages" and "beta=true"
  const size_t question = request.target.find('?');
  const std::string path = request.target.substr(0, question);
  std::string query = question == std::string::npos ? "" : request.target.substr(question + 1);
  const size_t version = path.find('/', 1);
  const std::string rest = version == std::string::npos ? "" : path.substr(version);
  const auto allowed = std::ranges::find_if(kAllowed, [&](const Allowed& one) {
    return one.protocol == config_.protocol && rest.starts_with(one.begin) &&
           rest.ends_with(one.end) && rest.find("..") == std::string::npos;
  });
  if (request.method != "POST" || allowed == std::end(kAllowed)) {
    return SendError(reply, 404, "not_found_error",
                     fmt::format("{} {} is not offered here", request.method, path));
  }
  if (const auto limit = meter_.Reached(); limit && allowed->counts) {
    return SendError(reply, 400, "invalid_request_error",
                     fmt::format("the session's budget is used up: {}", *limit));
  }
  const auto body = data::ParseJson(request.body, "request");
  if (!body || !body->is_object()) {
    return SendError(reply, 400, "invalid_request_error", "the request's body is no JSON object");
  }
  Call call;
  call.counts = allowed->counts;
  if (config_.protocol == "google") {
    call.streamed = rest.ends_with(":streamGenerateContent");
    query = call.streamed ? "alt=sse" : "";  // drops a key
  } else {
    const Json* stream = body->Find("stream");
    call.streamed = stream != nullptr && stream->boolean() == true;
  }
  // "/models/MODEL:generateContent", or the member of the body
  call.model = config_.protocol == "google"
                   ? rest.substr(allowed->begin.size(),
                                 rest.size() - allowed->begin.size() - allowed->end.size())
                   : model::TextOf(*body, "model");
  std::string fault = ModelFault(call.model);
  if (fault.empty() && AsksForSeveralAnswers(*body)) {
    fault = "one answer to a call: 'n' and 'candidateCount' must be 1";
  }
  if (!fault.empty()) {
    (void)transcript_.Add(
        "note", Json::Of({{"text", "a model call was refused: " + fault}, {"model", call.model}}));
    return SendError(reply, 400, "invalid_request_error", fault);
  }
  int removed = 0;
  Json sent = WithoutWebTools(*body, removed);
  if (removed > 0) {
    // Whether it can be written shows at the next record; a call is not refused for it.
    (void)transcript_.Add(
        "note", Json::Of({{"text", "web tools taken out of a model call"}, {"count", removed}}));
  }
  // Without this a stream of Chat Completions does not tell its tokens.
  if (config_.protocol == "openai-chat" && call.streamed) {
    Json options =
        sent.Find("stream_options") == nullptr ? Json::MakeObject() : *sent.Find("stream_options");
    sent.Set("stream_options", options.Set("include_usage", true));
  }
  call.body = sent.Dump();
  call.url = config_.wire.base_url + rest + (query.empty() ? "" : "?" + query);
  Forward(call, request, reply);
}

void ModelProxy::Forward(const Call& call, const Incoming& request, net::Reply& reply) {
  net::HttpRequest out;
  out.url = call.url;
  out.body = call.body;
  for (const auto& [name, value] : request.headers) {
    if (std::ranges::find(kDropped, LowerCase(name)) == std::end(kDropped)) {
      out.headers.push_back({name, value});
    }
  }
  for (const net::Header& header : wire_.FixedHeaders()) {
    if (request.Find(header.name) == nullptr) out.headers.push_back(header);
  }
  if (!config_.key.empty()) {
    for (const net::Header& header : wire_.KeyHeaders(config_.key.Reveal())) {
      out.headers.push_back(header);
    }
  }
  out.headers.insert(out.headers.end(), config_.headers.begin(), config_.headers.end());
  for (const auto& [name, value] : config_.secret_headers) {
    out.headers.push_back({name, value.Reveal()});
  }
  out.connect_timeout = config_.connect_timeout;
  out.idle_timeout = config_.idle_timeout;
  out.total_timeout = config_.total_timeout;
  out.max_body_bytes = config_.max_reply_bytes;
  out.stop = reply.gone();

  const auto begin = std::chrono::steady_clock::now();
  const auto fold = wire_.NewFold();
  net::SseReader events([&](const net::SseEvent& event) {
    const auto json = data::ParseJson(event.data, "event");
    if (json) (void)fold->Add(*json);
  });
  bool streaming = false;
  net::CurlClient client;
  const auto response = client.Send(out, [&](int status, std::string_view bytes) {
    if (status != 200 || !call.streamed) return true;
    events.Feed(bytes);
    if (!streaming) reply.Begin(200, {{"Content-Type", "text/event-stream"}});
    streaming = true;
    return reply.Write(bytes);
  });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const bool answered = response && response->status == 200;
  const bool oversized = !response && response.error().code == ErrorCode::kCapacity;
  if (call.counts && (answered || oversized)) {
    const auto whole = oversized       ? Result<Json>(Json())
                       : call.streamed ? Result<Json>(fold->Take())
                                       : data::ParseJson(response->body, "answer");
    const auto answer =
        whole && !oversized ? wire_.Read(*whole) : Result<model::Reply>(model::Reply{});
    if (!answer || !answer->usage.in || !answer->usage.out) {
      const std::lock_guard lock(mutex_);
      if (meter_.budget().tokens || meter_.budget().cost_usd) {
        fault_ = Error{
            ErrorCode::kUnavailable,
            fmt::format("'{}' does not tell its tokens: a budget of tokens or cost cannot be kept",
                        config_.provider),
            {}};
      }
    }
    Count(call, answer ? *answer : model::Reply{}, took.count());
  } else if (call.counts && streaming) {
    Count(call, model::Reply{}, took.count());  // cut in the middle: asked for all the same
  }
  if (!response) {
    const std::string why = config_.key.Redact(response.error().ToString());
    (void)transcript_.Add("note", Json::Of({{"text", "a model call failed: " + why}}));
    if (!streaming) SendError(reply, 502, "api_error", why);
    return;
  }
  if (streaming) return;
  net::HeaderList headers;
  for (const net::Header& header : response->headers) {
    const std::string name = LowerCase(header.name);
    if (name == "content-type" || name.starts_with("retry-after") ||
        name.find("ratelimit") != std::string::npos || name.ends_with("request-id")) {
      headers.emplace_back(header.name, header.value);
    }
  }
  reply.Send(response->status, headers, config_.key.Redact(response->body));
}

std::optional<Error> ModelProxy::fault() const {
  const std::lock_guard lock(mutex_);
  return fault_;
}

// Why this model may not be asked, or "".
std::string ModelProxy::ModelFault(const std::string& model) const {
  const std::string& own = config_.wire.model;
  if (own.empty() || model == own || config_.side_models.contains(model)) {
    if (meter_.budget().cost_usd && !PriceOf(model)) {
      return fmt::format("model '{}' has no price, so a budget of cost cannot be kept", model);
    }
    return "";
  }
  return fmt::format(
      "model '{}' is not offered here: this session's model is '{}'; others must be named in "
      "side_models of [providers.{}] in models.toml",
      model.substr(0, 200), own, config_.provider);
}

std::optional<model::Price> ModelProxy::PriceOf(const std::string& model) const {
  const auto side = config_.side_models.find(model);
  if (side != config_.side_models.end() && model != config_.wire.model) return side->second;
  return config_.wire.model.empty() || model == config_.wire.model ? config_.price : std::nullopt;
}

void ModelProxy::Count(const Call& call, const model::Reply& answer, double seconds) {
  agent::ModelCallCost cost;
  cost.tokens_in = answer.usage.in;
  cost.tokens_cached = answer.usage.cached;
  cost.tokens_out = answer.usage.out;
  cost.tokens_reasoning = answer.usage.reasoning;
  if (const auto price = PriceOf(call.model)) {
    cost.cost_usd = model::CostUsd(*price, answer.usage);
  }
  meter_.AddModelCall(cost);
  (void)transcript_.Add("usage", Json::Of({{"model", call.model},
                                           {"model_version", answer.model_version},
                                           {"finish", model::FinishName(answer.finish)},
                                           {"tokens_in", cost.tokens_in},
                                           {"tokens_cached", cost.tokens_cached},
                                           {"tokens_out", cost.tokens_out},
                                           {"tokens_reasoning", cost.tokens_reasoning},
                                           {"cost_usd", cost.cost_usd},
                                           {"seconds", seconds},
                                           {"total", agent::UsageJson(meter_.usage())}}));
}

}  // namespace szarena::program
