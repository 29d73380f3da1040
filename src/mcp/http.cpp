// SPDX-License-Identifier: Apache-2.0
#include "mcp/http.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include "base/check.h"

namespace szarena::mcp {
namespace {

using data::Json;
using net::HeaderList;
using net::Incoming;

constexpr std::string_view kSessionHeader = "Mcp-Session-Id";
constexpr std::string_view kVersionHeader = "MCP-Protocol-Version";

// After this an answer that is not ready becomes a stream, on which a client that leaves is seen.
constexpr std::chrono::milliseconds kStreamAfter{500};

const HeaderList kJson = {{"Content-Type", "application/json"}};
const HeaderList kEvents = {{"Content-Type", "text/event-stream"},
                            {"Cache-Control", "no-cache"},
                            {"X-Accel-Buffering", "no"}};

std::string Event(const Json& message) {
  return fmt::format("event: message\ndata: {}\n\n", message.Dump());
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string_view HeaderOf(const Incoming& request, std::string_view name) {
  const std::string* value = request.Find(name);
  return value == nullptr ? std::string_view() : Trimmed(*value);
}

// Bytes of a base64 text; nothing where it is none.
std::optional<std::string> DecodeBase64(std::string_view text) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) return std::nullopt;
  const size_t padding = text.size() - std::min(text.size(), text.find_last_not_of('=') + 1);
  if (padding > 2) return std::nullopt;
  std::string bytes;
  uint32_t group = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t value = i + padding < text.size() ? kAlphabet.find(text[i]) : 0;
    if (value == std::string_view::npos) return std::nullopt;
    group = group << 6 | static_cast<uint32_t>(value);
    if (i % 4 != 3) continue;
    for (const int shift : {16, 8, 0}) bytes += static_cast<char>(group >> shift & 0xFF);
    group = 0;
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

// The value that a mirrored header stands for.
std::optional<std::string> Decoded(std::string_view value) {
  constexpr std::string_view kPrefix = "=?base64?";
  if (!value.starts_with(kPrefix) || !value.ends_with("?=")) return std::string(value);
  return DecodeBase64(value.substr(kPrefix.size(), value.size() - kPrefix.size() - 2));
}

// Headers that must say what the body says (specification 2026-07-28, transports/streamable-http,
// "Server Validation"). Our tools mirror no arguments. Returns the fault, or "".
std::string HeaderFault(const Incoming& request, const Json& message) {
  const auto text = [&](std::initializer_list<std::string_view> path) -> const std::string* {
    const Json* value = message.FindPath(path);
    return value == nullptr ? nullptr : value->string();
  };
  const std::string* version = text({"params", "_meta", kVersionKey});
  if (request.Find(kVersionHeader) == nullptr) {
    return fmt::format("header {} is missing", kVersionHeader);
  }
  if (version != nullptr && HeaderOf(request, kVersionHeader) != *version) {
    return fmt::format("header {} differs from the version in the body", kVersionHeader);
  }
  if (version == nullptr && HeaderOf(request, kVersionHeader) != kModernVersion) {
    return fmt::format("header {} is '{}', a version that is not spoken here", kVersionHeader,
                       HeaderOf(request, kVersionHeader));
  }
  const std::string* method = text({"method"});
  if (method == nullptr) return "";  // refused as a message
  if (HeaderOf(request, "Mcp-Method") != *method) {
    return "header Mcp-Method is missing or differs from the body's method";
  }
  const std::string* name = nullptr;
  if (*method == "tools/call" || *method == "prompts/get") name = text({"params", "name"});
  if (*method == "resources/read") name = text({"params", "uri"});
  if (name == nullptr) return "";
  const auto given = Decoded(HeaderOf(request, "Mcp-Name"));
  if (!given || *given != *name) {
    return "header Mcp-Name is missing, malformed or differs from the body's name or uri";
  }
  return "";
}

// Equal, in a time that does not tell how much of it is.
bool SameSecret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |=
        static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  }
  return difference == 0;
}

bool SameWord(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// "TOKEN" out of "Bearer TOKEN" (RFC 9110, 11.1: the scheme's case does not matter); else "".
std::string_view BearerToken(std::string_view authorization) {
  const size_t space = authorization.find(' ');
  if (space == std::string_view::npos || !SameWord(authorization.substr(0, space), "bearer")) {
    return "";
  }
  return Trimmed(authorization.substr(space));
}

// "host" out of "host", "host:port" or "[::1]:port"; nothing where it is none of these (RFC 3986,
// 3.2, without user information).
std::optional<std::string_view> HostOf(std::string_view authority) {
  const size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  if (bracket == std::string_view::npos) return std::nullopt;
  const size_t colon = authority.find(':', bracket);
  const std::string_view host = authority.substr(0, colon);
  const bool bracketed = bracket > 0;
  if (host.empty() || (bracketed && host.size() != bracket + 1)) return std::nullopt;
  const bool plain = std::ranges::all_of(host, [&](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_' ||
           (bracketed && (c == ':' || c == '[' || c == ']'));
  });
  if (!plain) return std::nullopt;
  if (colon == std::string_view::npos) return host;
  const std::string_view port = authority.substr(colon + 1);
  unsigned number = 0;
  const auto [end, fault] = std::from_chars(port.data(), port.data() + port.size(), number);
  const bool whole = fault == std::errc() && end == port.data() + port.size();
  return whole && number >= 1 && number <= 65535 ? std::optional(host) : std::nullopt;
}

// The host of an origin: "http://localhost:3000" (RFC 6454, 6.1).
std::optional<std::string_view> OriginHost(std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme)) return HostOf(origin.substr(scheme.size()));
  }
  return std::nullopt;
}

// The header's one value; nothing where there are several or it is missing.
std::optional<std::string_view> OnlyHeader(const Incoming& request, std::string_view name) {
  const auto count = std::ranges::count_if(
      request.headers, [&](const auto& header) { return SameWord(header.first, name); });
  return count == 1 ? std::optional(HeaderOf(request, name)) : std::nullopt;
}

void SendError(net::Reply& reply, int status, int code, std::string message) {
  reply.Send(status, kJson, ResponseMessage(Json(), Refuse(code, std::move(message))).Dump());
}

}  // namespace

std::string RandomToken() {
  std::array<unsigned char, 32> bytes;
  SZARENA_CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
                "the kernel gives no random bytes");
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

HttpEndpoint::HttpEndpoint(Server& server, net::Listener listener, HttpOptions options)
    : server_(server),
      options_(std::move(options)),
      http_(std::make_unique<net::HttpServer>(
          std::move(listener),
          [this](const Incoming& request, net::Reply& reply) { Handle(request, reply); },
          net::HttpServerOptions{.gate = [this](const Incoming& request, net::Reply& reply) {
            return MayAsk(request, reply);
          }})) {}

HttpEndpoint::~HttpEndpoint() {
  closing_.request_stop();
  http_.reset();
  for (const auto& [id, peer] : peers_) server_.Disconnected(*peer);
}

bool HttpEndpoint::IsOurHost(std::string_view host) const {
  return SameWord(host, "localhost") || host == "127.0.0.1" || host == "[::1]" ||
         std::ranges::any_of(options_.hosts,
                             [&](const std::string& own) { return SameWord(own, host); });
}

// A page in a browser must not reach us through a name that it made point here.
bool HttpEndpoint::MayAsk(const Incoming& request, net::Reply& reply) const {
  const auto asked = OnlyHeader(request, "Host");
  const auto host = asked ? HostOf(*asked) : std::nullopt;
  if (!host || !IsOurHost(*host)) {
    SendError(reply, 403, kInvalidRequest, "header Host names another host");
    return false;
  }
  if (request.Find("Origin") != nullptr) {
    const auto origin = OnlyHeader(request, "Origin");
    const auto site = origin ? OriginHost(*origin) : std::nullopt;
    if (!site || !IsOurHost(*site)) {
      SendError(reply, 403, kInvalidRequest, "header Origin names another site");
      return false;
    }
  }
  if (!options_.token.empty() &&
      !SameSecret(BearerToken(HeaderOf(request, "Authorization")), options_.token)) {
    HeaderList headers = kJson;
    headers.emplace_back("WWW-Authenticate", "Bearer");
    reply.Send(401, headers,
               ResponseMessage(Json(), Refuse(kInvalidRequest,
                                              "header Authorization does not "
                                              "hold the token"))
                   .Dump());
    return false;
  }
  return true;
}

std::shared_ptr<Peer> HttpEndpoint::Find(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = peers_.find(id);
  return found == peers_.end() ? nullptr : found->second;
}

void HttpEndpoint::Handle(const Incoming& request, net::Reply& reply) {
  if (request.target.substr(0, request.target.find('?')) != options_.path) {
    reply.Send(404, {{"Content-Type", "text/plain"}},
               fmt::format("nothing here; the MCP endpoint is {}\n", options_.path));
  } else if (request.method == "POST") {
    Post(request, reply);
  } else if (request.method == "DELETE") {
    Delete(request, reply);
  } else {
    reply.Send(405, {{"Allow", "POST, DELETE"}, {"Content-Type", "text/plain"}},
               "POST messages; there is no other stream\n");
  }
}

void HttpEndpoint::Delete(const Incoming& request, net::Reply& reply) {
  std::shared_ptr<Peer> peer;
  {
    const std::lock_guard lock(mutex_);
    const auto found = peers_.find(std::string(HeaderOf(request, kSessionHeader)));
    if (found != peers_.end()) {
      peer = std::move(found->second);
      peers_.erase(found);
    }
  }
  if (peer == nullptr) return SendError(reply, 404, kInvalidRequest, "there is no such session");
  server_.Disconnected(*peer);
  reply.Send(204, {}, "");
}

void HttpEndpoint::Post(const Incoming& request, net::Reply& reply) {
  const std::string_view accept = HeaderOf(request, "Accept");
  const auto accepts = [&](std::string_view type) {
    return accept.empty() || accept.find(type) != std::string_view::npos ||
           accept.find("*/*") != std::string_view::npos;
  };
  const bool events = accepts("text/event-stream");
  if (!accepts("application/json") && !events) {
    return SendError(reply, 406, kInvalidRequest,
                     "header Accept must list application/json and text/event-stream");
  }
  const std::string_view type = HeaderOf(request, "Content-Type");
  if (!SameWord(Trimmed(type.substr(0, type.find(';'))), "application/json")) {
    return SendError(reply, 415, kInvalidRequest, "header Content-Type must be application/json");
  }
  const auto parsed = data::ParseJson(request.body, "body");
  if (!parsed) {
    return void(reply.Send(400, kJson, Server::ParseFault(parsed.error().message).message.Dump()));
  }
  const Json& message = *parsed;
  const std::string_view version = HeaderOf(request, kVersionHeader);
  const std::string session(HeaderOf(request, kSessionHeader));
  const bool stateless = Server::IsStateless(message, version);
  const Json* id = message.Find("id");
  const Json* method = message.Find("method");
  const bool initialize = method != nullptr && method->string() != nullptr &&
                          *method->string() == "initialize" && !stateless;

  std::shared_ptr<Peer> peer;
  if (stateless) {
    if (const std::string fault = HeaderFault(request, message); id != nullptr && !fault.empty()) {
      return void(
          reply.Send(400, kJson, ResponseMessage(*id, Refuse(kHeaderMismatch, fault)).Dump()));
    }
    peer = std::make_shared<Peer>("");
  } else if (initialize) {
    peer = std::make_shared<Peer>(RandomToken());
    const std::lock_guard lock(mutex_);
    if (peers_.size() >= options_.max_connections) {
      return SendError(reply, 503, kInternalError, "too many sessions at a time; end one first");
    }
  } else if (session.empty()) {
    return SendError(reply, 400, kInvalidRequest,
                     fmt::format("header {} is missing: send 'initialize' first, or give every "
                                 "request its metadata (revision {})",
                                 kSessionHeader, kModernVersion));
  } else {
    peer = Find(session);
    if (peer == nullptr) return SendError(reply, 404, kInvalidRequest, "there is no such session");
  }

  if (events && Server::MayTakeLong(message)) reply.StreamAfter(kStreamAfter, kEvents);
  const auto notify = [&](const Json& notification) {
    if (!events) return;
    reply.Begin(200, kEvents);
    reply.Write(Event(notification));
  };
  // A connection that breaks cancels a stateless request only: others may look for the result.
  std::stop_source stop;
  const std::stop_callback when_closing(closing_.get_token(), [&] { stop.request_stop(); });
  const std::stop_callback when_gone(reply.gone(), [&] {
    if (stateless) stop.request_stop();
  });
  const auto answer = server_.Handle(message, *peer, notify, stop.get_token(), version);
  if (!answer) return void(reply.Send(202, {}, ""));
  HeaderList headers = kJson;
  if (initialize && peer->initialized()) {
    headers.emplace_back(kSessionHeader, peer->id());
    const std::lock_guard lock(mutex_);
    peers_[peer->id()] = peer;
  }
  const int status = stateless || answer->http_status == 400 ? answer->http_status : 200;
  if (!reply.Send(status, headers, answer->message.Dump())) reply.Write(Event(answer->message));
}

}  // namespace szarena::mcp
