// SPDX-License-Identifier: Apache-2.0
// One answer: ask, fold the stream, ask again where that may help.
#include "model/http_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "net/sse.h"

namespace szarena::model {
namespace {

using data::Json;

// Folds the bytes of a stream as they come.
class StreamReader {
 public:
  explicit StreamReader(const Wire& wire)
      : fold_(wire.NewFold()), sse_([this](const net::SseEvent& event) { OnEvent(event); }) {}

  void Feed(std::string_view bytes) { sse_.Feed(bytes); }
  const std::optional<ServiceError>& failure() const { return failure_; }
  bool complete() const { return fold_->complete(); }
  bool readable() const { return readable_; }
  Json Take() { return fold_->Take(); }

 private:
  void OnEvent(const net::SseEvent& event) {
    if (failure_ || event.data == "[DONE]") return;
    const auto json = data::ParseJson(event.data, "event");
    if (!json) {
      readable_ = false;
      return;
    }
    failure_ = fold_->Add(*json);
  }

  std::unique_ptr<Fold> fold_;
  net::SseReader sse_;
  std::optional<ServiceError> failure_;
  bool readable_ = true;
};

constexpr std::chrono::milliseconds kShortestWait{10};

std::chrono::milliseconds TimeLeft(const CallHooks& hooks) {
  if (!hooks.deadline) return std::chrono::hours(24);
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      *hooks.deadline - std::chrono::steady_clock::now());
  return std::max(left, kShortestWait);
}

// A reply that is none.
Reply NoAnswer(Finish finish, std::string why) {
  Reply reply;
  reply.finish = finish;
  reply.message.role = Role::kAssistant;
  reply.message.text = std::move(why);
  return reply;
}

}  // namespace

std::optional<double> CostUsd(const Price& price, const Usage& usage) {
  if (!usage.in || !usage.out) return std::nullopt;
  auto cached = static_cast<double>(usage.cached.value_or(0));
  auto written = static_cast<double>(usage.written.value_or(0));
  // Parts that are more than the whole tell nothing: all of it at the plain price.
  if (cached + written > static_cast<double>(*usage.in)) cached = written = 0;
  const double plain = static_cast<double>(*usage.in) - cached - written;
  return (plain * price.in + cached * price.cached.value_or(price.in) +
          written * price.written.value_or(price.in) +
          static_cast<double>(*usage.out) * price.out) /
         1e6;
}

// A reply, or why there is none.
struct HttpModel::Outcome {
  std::optional<Reply> reply = std::nullopt;
  Fault fault = {};
};

HttpModel::HttpModel(HttpModelConfig config, std::unique_ptr<net::HttpClient> client,
                     std::unique_ptr<Waiter> waiter)
    : config_(std::move(config)),
      wire_(*FindWire(config_.protocol)),
      client_(client ? std::move(client) : std::make_unique<net::CurlClient>()),
      waiter_(waiter ? std::move(waiter) : std::make_unique<Waiter>()),
      random_(std::random_device{}()) {}

Json HttpModel::Identity() const {
  const Sampling& sampling = config_.wire.sampling;
  Json settings = Json::Of({{"temperature", sampling.temperature},
                            {"top_p", sampling.top_p},
                            {"max_output_tokens", sampling.max_output_tokens},
                            {"effort", sampling.effort.empty() ? Json() : Json(sampling.effort)},
                            {"thinking_tokens", sampling.thinking_tokens},
                            {"stream", config_.wire.stream}});
  Json price;
  if (config_.price) {
    price = Json::Of({{"input", config_.price->in},
                      {"output", config_.price->out},
                      {"cached_input", config_.price->cached},
                      {"cache_write", config_.price->written}});
  }
  return Json::Of({{"kind", "model"},
                   {"name", config_.wire.model},
                   {"provider", config_.provider},
                   {"protocol", config_.protocol},
                   {"base_url", config_.wire.base_url},
                   {"settings", std::move(settings)},
                   {"price_usd_per_million_tokens", std::move(price)}});
}

std::string HttpModel::Redact(std::string text) const {
  text = config_.key.Redact(std::move(text));
  for (const auto& [name, value] : config_.secret_headers) text = value.Redact(std::move(text));
  return text;
}

Json HttpModel::Redact(const Json& json) const {
  if (json.is_string()) return Redact(*json.string());
  if (json.is_array()) {
    Json out = Json::MakeArray();
    for (const Json& item : json.items()) out.Append(Redact(item));
    return out;
  }
  if (!json.is_object()) return json;
  Json out = Json::MakeObject();
  for (const data::JsonMember& member : json.members()) {
    out.Set(Redact(member.key), Redact(member.value));
  }
  return out;
}

// The whole answer, put together from its pieces, so that a key split over several is found.
Reply HttpModel::Redact(Reply reply) const {
  Message& message = reply.message;
  bool found = false;
  const auto clean = [&](std::string& text) {
    std::string out = Redact(text);
    found |= out != text;
    text = std::move(out);
  };
  clean(message.text);
  for (ToolCall& call : message.calls) {
    clean(call.id);
    clean(call.name);
    clean(call.fault);
    Json arguments = Redact(call.arguments);
    found |= arguments != call.arguments;
    call.arguments = std::move(arguments);
  }
  Json raw = Redact(message.raw);
  // Its parts hold what only together is a key: made anew from text and calls.
  if (found && raw == message.raw) raw = nullptr;
  message.raw = std::move(raw);
  reply.model_version = Redact(std::move(reply.model_version));
  reply.request_id = Redact(std::move(reply.request_id));
  return reply;
}

Error HttpModel::Redact(Error error) const {
  error.message = Redact(std::move(error.message));
  for (std::string& line : error.context) line = Redact(std::move(line));
  return error;
}

HttpModel::Outcome HttpModel::Try(const std::string& body, const CallHooks& hooks) {
  net::HttpRequest request;
  request.url = wire_.Url(config_.wire);
  request.body = body;
  request.headers = {{"Content-Type", "application/json"}, {"User-Agent", "szarena"}};
  const auto add = [&](const std::vector<net::Header>& headers) {
    request.headers.insert(request.headers.end(), headers.begin(), headers.end());
  };
  add(wire_.FixedHeaders());
  if (!config_.key.empty()) add(wire_.KeyHeaders(config_.key.Reveal()));
  add(config_.headers);
  for (const auto& [name, value] : config_.secret_headers) add({{name, value.Reveal()}});
  request.connect_timeout = config_.connect_timeout;
  request.idle_timeout = config_.idle_timeout;
  request.total_timeout = std::min(config_.total_timeout, TimeLeft(hooks));
  request.max_body_bytes = config_.max_reply_bytes;
  request.stop = hooks.stop;

  StreamReader stream(wire_);
  const auto response = client_->Send(request, [&](int status, std::string_view bytes) {
    if (config_.wire.stream && status == 200) stream.Feed(bytes);
    return true;
  });
  if (!response && response.error().code == ErrorCode::kCapacity) {
    return {NoAnswer(Finish::kOversized, response.error().message)};
  }
  if (!response) return {std::nullopt, ClassifyTransportError(response.error())};
  if (response->status != 200) {
    const auto json = data::ParseJson(response->body, "error");
    ServiceError error = json ? wire_.ReadError(*json) : ServiceError{};
    error.status = response->status;
    if (!error.retry_after) {
      error.retry_after = RetryAfter(*response, std::chrono::system_clock::now());
    }
    return {std::nullopt, ClassifyServiceError(error, config_.provider)};
  }
  const auto unreadable = [&](const std::string& why) {
    return Outcome{std::nullopt,
                   ClassifyTransportError(
                       {ErrorCode::kCorrupt, fmt::format("'{}': {}", config_.provider, why), {}})};
  };
  Json whole;
  if (config_.wire.stream) {
    if (stream.failure()) {
      return {std::nullopt, ClassifyServiceError(*stream.failure(), config_.provider)};
    }
    if (!stream.readable()) return unreadable("the stream holds an event that is no JSON");
    if (!stream.complete()) return unreadable("the stream ended before the answer did");
    whole = stream.Take();
  } else {
    auto json = data::ParseJson(response->body, "answer");
    if (!json) return unreadable("the answer is no JSON");
    whole = std::move(*json);
  }
  auto reply = wire_.Read(whole);
  if (!reply) return unreadable(reply.error().message);
  return {std::move(*reply)};
}

Result<Reply> HttpModel::Complete(const Request& request, const CallHooks& hooks) {
  const std::string body = wire_.Body(config_.wire, request).Dump();
  for (int attempt = 1;; ++attempt) {
    Outcome outcome = Try(body, hooks);
    if (outcome.reply) {
      outcome.reply = Redact(std::move(*outcome.reply));
      if (config_.price) outcome.reply->cost_usd = CostUsd(*config_.price, outcome.reply->usage);
      return std::move(*outcome.reply);
    }
    Fault& fault = outcome.fault;
    fault.error = Redact(std::move(fault.error));
    if (fault.kind == FaultClass::kContextFull) {
      return NoAnswer(Finish::kContextFull, fault.error.message);
    }
    if (fault.kind == FaultClass::kForGood) return tl::unexpected(fault.error);
    if (TimeLeft(hooks) <= kShortestWait) {
      return NoAnswer(Finish::kTooLate, fault.error.message);
    }
    const auto wait = WaitBefore(config_.retry, attempt, fault.retry_after, random_);
    if (!wait) {
      return WithContext(fault.error,
                         fmt::format("after {} of {} tries", attempt, config_.retry.attempts));
    }
    if (*wait >= TimeLeft(hooks)) return NoAnswer(Finish::kTooLate, fault.error.message);
    if (hooks.on_retry) hooks.on_retry({attempt, *wait, fault.error.message});
    if (!waiter_->Wait(*wait, hooks.stop)) {
      return Fail(ErrorCode::kCancelled, "stopped on request");
    }
  }
}

}  // namespace szarena::model
