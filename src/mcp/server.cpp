// SPDX-License-Identifier: Apache-2.0
// Methods of the protocol, in one table.
#include "mcp/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace szarena::mcp {
namespace {

using data::Json;

constexpr std::string_view kMeta = "_meta";
constexpr std::string_view kClientInfoKey = "io.modelcontextprotocol/clientInfo";
constexpr std::string_view kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view kLogLevelKey = "io.modelcontextprotocol/logLevel";
constexpr std::string_view kServerInfoKey = "io.modelcontextprotocol/serverInfo";

constexpr std::array<std::string_view, 8> kLevels = {"debug", "info",     "notice", "warning",
                                                     "error", "critical", "alert",  "emergency"};
constexpr int kNoLogs = static_cast<int>(kLevels.size());

// Lists of the server do not change; a client may keep them for so long.
constexpr int kTtlMs = 3600 * 1000;
constexpr size_t kPageItems = 100;

int LevelOf(std::string_view name) {
  return static_cast<int>(std::ranges::find(kLevels, name) - kLevels.begin());
}

const Json* FindMeta(const Json& message, std::string_view key) {
  return message.FindPath({"params", kMeta, key});
}

std::string TextOf(const Json* value) {
  return value != nullptr && value->is_string() ? *value->string() : "";
}

bool Contains(const Json& list, std::string_view key, std::string_view wanted) {
  return std::ranges::any_of(list.items(),
                             [&](const Json& item) { return TextOf(item.Find(key)) == wanted; });
}

}  // namespace

bool IsLegacyVersion(std::string_view version) {
  return std::ranges::find(kLegacyVersions, version) != std::end(kLegacyVersions);
}

bool Peer::initialized() const {
  const std::lock_guard lock(mutex_);
  return !version_.empty();
}

std::string Peer::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

struct Server::Request {
  const Json& message;
  std::string method;
  Json params;  // an object
  Peer& peer;
  bool stateless = false;
  Caller caller = {};
};

struct Server::Method {
  enum Era : uint8_t { kBoth, kHandshake, kStateless };
  std::string_view name;
  Era era;
  bool cacheable;
  Reply (Server::*run)(Request&);
};

// Everything that we answer; what is not here (subscriptions, sampling, …) is not offered.
const Server::Method Server::kMethods[] = {
    {"initialize", Method::kHandshake, false, &Server::Initialize},
    {"ping", Method::kHandshake, false, &Server::Ping},
    {"logging/setLevel", Method::kHandshake, false, &Server::SetLevel},
    {"server/discover", Method::kStateless, true, &Server::Discover},
    {"tools/list", Method::kBoth, true, &Server::ListTools},
    {"tools/call", Method::kBoth, false, &Server::CallTool},
    {"resources/list", Method::kBoth, true, &Server::ListResources},
    {"resources/templates/list", Method::kBoth, true, &Server::ListTemplates},
    {"resources/read", Method::kBoth, true, &Server::ReadResource},
    {"prompts/list", Method::kBoth, true, &Server::ListPrompts},
    {"prompts/get", Method::kBoth, false, &Server::GetPrompt},
    {"completion/complete", Method::kBoth, false, &Server::Complete},
};

Server::Server(Surface& surface) : surface_(surface) {}

Answer Server::ParseFault(const std::string& why) {
  return {ResponseMessage(Json(), Refuse(kParseError, "this is no JSON: " + why)), 400};
}

bool Server::MayTakeLong(const Json& message) {
  return TextOf(message.Find("method")) == "tools/call" && message.Find("id") != nullptr;
}

bool Server::IsStateless(const Json& message, std::string_view http_version) {
  if (FindMeta(message, kVersionKey) != nullptr) return true;
  if (TextOf(message.Find("method")) == "server/discover") return true;
  return !http_version.empty() && !IsLegacyVersion(http_version);
}

void Server::Disconnected(const Peer& peer) {
  if (peer.initialized()) surface_.Disconnected(peer.id());
}

std::optional<Answer> Server::Handle(const Json& message, Peer& peer, const Notify& notify,
                                     const std::stop_token& gone, std::string_view http_version) {
  const Json* id = message.Find("id");
  const auto invalid = [&](std::string why) {
    const bool usable = id != nullptr && (id->is_string() || id->is_int());
    return Answer{ResponseMessage(usable ? *id : Json(), Refuse(kInvalidRequest, std::move(why))),
                  400};
  };
  if (message.is_array()) return invalid("batches are not supported: send one message at a time");
  if (!message.is_object() || TextOf(message.Find("jsonrpc")) != "2.0") {
    return invalid("expected a JSON-RPC 2.0 message: an object with \"jsonrpc\": \"2.0\"");
  }
  const Json* method = message.Find("method");
  if (method == nullptr) {
    if (message.Find("result") != nullptr || message.Find("error") != nullptr) return std::nullopt;
    return invalid("a message needs a \"method\"");
  }
  if (!method->is_string()) return invalid("\"method\" must be a string");
  const Json* params = message.Find("params");
  if (params != nullptr && !params->is_object()) return invalid("\"params\" must be an object");
  if (id == nullptr) {
    if (*method->string() == "notifications/cancelled" && params != nullptr) {
      const Json* target = params->Find("requestId");
      const std::lock_guard lock(peer.mutex_);
      const auto found = peer.running_.find(target == nullptr ? "" : target->Dump());
      if (found != peer.running_.end()) found->second.request_stop();
    }
    return std::nullopt;
  }
  if (!id->is_string() && !id->is_int()) return invalid("\"id\" must be a string or an integer");

  Request request{message, *method->string(), params == nullptr ? Json::MakeObject() : *params,
                  peer};
  request.stateless = IsStateless(message, http_version);

  // From here on the request can be cancelled.
  const std::string key = id->Dump();
  std::stop_source stop;
  {
    const std::lock_guard lock(peer.mutex_);
    if (!peer.running_.emplace(key, stop).second) {
      return invalid(fmt::format("a request with id {} is still being served", key));
    }
  }
  const std::stop_callback when_gone(gone, [&] { stop.request_stop(); });

  std::mutex notify_mutex;
  bool answered = false;
  const auto tell = [&](std::string_view name, Json body) {
    const std::lock_guard lock(notify_mutex);
    if (!answered && !stop.stop_requested()) notify(NotificationMessage(name, std::move(body)));
  };
  const Json* token = request.params.FindPath({kMeta, "progressToken"});
  const bool wants_progress = token != nullptr && (token->is_string() || token->is_int());
  double last_progress = -1;
  request.caller.progress = [&](double progress, std::optional<double> total, std::string text) {
    if (!wants_progress || progress <= last_progress) return;
    last_progress = progress;
    Json body = Json::Of({{"progressToken", *token}, {"progress", progress}});
    if (total) body.Set("total", *total);
    if (!text.empty()) body.Set("message", std::move(text));
    tell("notifications/progress", std::move(body));
  };
  int level = kNoLogs;  // a stateless client that names no level wants nothing
  if (const Json* wanted = request.params.FindPath({kMeta, kLogLevelKey})) {
    level = LevelOf(TextOf(wanted));
  }
  if (!request.stateless) {
    const std::lock_guard lock(peer.mutex_);
    level = peer.log_level_;
    request.caller.client_info = peer.client_info_;
  } else if (const Json* info = request.params.FindPath({kMeta, kClientInfoKey})) {
    request.caller.client_info = *info;
  }
  request.caller.log = [&](std::string_view name, Json body) {
    if (LevelOf(name) < level) return;
    tell("notifications/message",
         Json::Of({{"level", name}, {"logger", "szarena"}, {"data", std::move(body)}}));
  };
  request.caller.peer = request.stateless ? "" : peer.id();
  request.caller.params = request.params;
  request.caller.stop = stop.get_token();

  const Reply reply = Dispatch(request);
  {
    const std::lock_guard lock(notify_mutex);
    answered = true;
  }
  {
    const std::lock_guard lock(peer.mutex_);
    peer.running_.erase(key);
  }
  if (stop.stop_requested()) return std::nullopt;
  int status = 200;
  if (!reply) {
    switch (reply.error().code) {
      case kMethodNotFound:
        status = 404;
        break;
      case kMissingCapability:
      case kUnsupportedVersion:
      case kHeaderMismatch:
      case kInvalidRequest:
        status = 400;
        break;
      default:
        // Metadata that is missing makes the request malformed.
        if (request.stateless && !CheckMetadata(request)) status = 400;
    }
  }
  return Answer{ResponseMessage(*id, reply), status};
}

Reply Server::CheckMetadata(const Request& request) const {
  const Json* version = request.params.FindPath({kMeta, kVersionKey});
  if (version == nullptr || !version->is_string()) {
    return Refuse(kInvalidParams, fmt::format("params._meta['{}'] is missing", kVersionKey));
  }
  if (*version->string() != kModernVersion) {
    Json supported = Json::MakeArray();
    supported.Append(kModernVersion);
    return Refuse(kUnsupportedVersion, "unsupported protocol version",
                  Json::Of({{"supported", std::move(supported)}, {"requested", *version}}));
  }
  const Json* capabilities = request.params.FindPath({kMeta, kCapabilitiesKey});
  if (capabilities == nullptr || !capabilities->is_object()) {
    return Refuse(kInvalidParams, fmt::format("params._meta['{}'] is missing", kCapabilitiesKey));
  }
  return Json();
}

Reply Server::Dispatch(Request& request) {
  const auto method = std::ranges::find(kMethods, request.method, &Method::name);
  if (request.stateless) {
    if (Reply checked = CheckMetadata(request); !checked) return checked;
  }
  const auto wrong_era = request.stateless ? Method::kHandshake : Method::kStateless;
  if (method == std::end(kMethods) || method->era == wrong_era) {
    return Refuse(kMethodNotFound, fmt::format("there is no method '{}'", request.method));
  }
  if (!request.stateless && !request.peer.initialized() && request.method != "initialize" &&
      request.method != "ping") {
    return Refuse(kInvalidRequest,
                  fmt::format("'{}' before 'initialize': begin with the handshake, or give every "
                              "request its metadata (revision {})",
                              request.method, kModernVersion));
  }
  Reply reply = (this->*method->run)(request);
  if (!reply || !request.stateless) return reply;
  if (reply->Find("resultType") == nullptr) reply->Set("resultType", "complete");
  if (method->cacheable) {
    if (reply->Find("ttlMs") == nullptr) reply->Set("ttlMs", kTtlMs);
    if (reply->Find("cacheScope") == nullptr) reply->Set("cacheScope", "private");
  }
  Json meta = reply->Find(kMeta) == nullptr ? Json::MakeObject() : *reply->Find(kMeta);
  reply->Set(kMeta, meta.Set(kServerInfoKey, surface_.Info()));
  return reply;
}

Json Server::Capabilities(bool stateless) const {
  Json capabilities = Json::Of({{"tools", Json::MakeObject()}, {"logging", Json::MakeObject()}});
  if (!surface_.Resources().items().empty()) capabilities.Set("resources", Json::MakeObject());
  if (!surface_.Prompts().items().empty()) capabilities.Set("prompts", Json::MakeObject());
  capabilities.Set("completions", Json::MakeObject());
  if (stateless) capabilities.Set("extensions", Json::MakeObject());
  return capabilities;
}

Reply Server::Initialize(Request& request) {
  const Json* wanted = request.params.Find("protocolVersion");
  if (wanted == nullptr || !wanted->is_string()) {
    return Refuse(kInvalidParams, "'protocolVersion' is missing");
  }
  const std::string version(IsLegacyVersion(*wanted->string()) ? *wanted->string()
                                                               : std::string(kLegacyVersions[0]));
  const Json* info = request.params.Find("clientInfo");
  {
    const std::lock_guard lock(request.peer.mutex_);
    if (!request.peer.version_.empty()) {
      return Refuse(kInvalidRequest, "this connection is initialized already");
    }
    if (info != nullptr) request.peer.client_info_ = *info;
  }
  if (auto refused = surface_.Connected(request.peer.id(), info == nullptr ? Json() : *info)) {
    return tl::unexpected(std::move(*refused));
  }
  {
    const std::lock_guard lock(request.peer.mutex_);
    request.peer.version_ = version;
  }
  Json result = Json::Of({{"protocolVersion", version},
                          {"capabilities", Capabilities(false)},
                          {"serverInfo", surface_.Info()}});
  if (!surface_.Instructions().empty()) result.Set("instructions", surface_.Instructions());
  return result;
}

Reply Server::Discover(Request&) {
  Json versions = Json::MakeArray();
  versions.Append(kModernVersion);
  Json result =
      Json::Of({{"supportedVersions", std::move(versions)}, {"capabilities", Capabilities(true)}});
  if (!surface_.Instructions().empty()) result.Set("instructions", surface_.Instructions());
  return result;
}

Reply Server::Ping(Request&) { return Json::MakeObject(); }

Reply Server::SetLevel(Request& request) {
  const int level = LevelOf(TextOf(request.params.Find("level")));
  if (level == kNoLogs) {
    return Refuse(kInvalidParams,
                  fmt::format("'level' must be one of {}", fmt::join(kLevels, ", ")));
  }
  const std::lock_guard lock(request.peer.mutex_);
  request.peer.log_level_ = level;
  return Json::MakeObject();
}

// A page of a list; the cursor is the index of its first item.
Reply Server::Paged(const Json& list, std::string_view key, const Json& params) {
  size_t begin = 0;
  if (const Json* cursor = params.Find("cursor")) {
    const std::string text = TextOf(cursor);
    const bool digits = !text.empty() && text.size() < 10 &&
                        text.find_first_not_of("0123456789") == std::string::npos;
    begin = digits ? std::stoul(text) : list.items().size() + 1;
    if (begin > list.items().size()) return Refuse(kInvalidParams, "'cursor' is none of ours");
  }
  const size_t end = std::min(begin + kPageItems, list.items().size());
  Json page = Json::MakeArray();
  for (size_t i = begin; i < end; ++i) page.Append(list.items()[i]);
  Json result = Json::Of({{std::string(key), std::move(page)}});
  if (end < list.items().size()) result.Set("nextCursor", std::to_string(end));
  return result;
}

Reply Server::ListTools(Request& request) {
  return Paged(surface_.Tools(request.stateless), "tools", request.params);
}

Reply Server::CallTool(Request& request) {
  const std::string name = TextOf(request.params.Find("name"));
  if (!Contains(surface_.Tools(request.stateless), "name", name)) {
    return Refuse(kInvalidParams, fmt::format("there is no tool '{}'", name));
  }
  const Json* arguments = request.params.Find("arguments");
  if (arguments != nullptr && !arguments->is_object()) {
    return Refuse(kInvalidParams, "'arguments' must be an object");
  }
  return surface_.CallTool(name, arguments == nullptr ? Json::MakeObject() : *arguments,
                           request.caller);
}

Reply Server::ListResources(Request& request) {
  return Paged(surface_.Resources(), "resources", request.params);
}

Reply Server::ListTemplates(Request& request) {
  return Paged(surface_.ResourceTemplates(), "resourceTemplates", request.params);
}

Reply Server::ReadResource(Request& request) {
  const Json* uri = request.params.Find("uri");
  if (uri == nullptr || !uri->is_string()) return Refuse(kInvalidParams, "'uri' is missing");
  if (auto contents = surface_.ReadResource(*uri->string(), request.caller)) return *contents;
  return Refuse(request.stateless ? kInvalidParams : kResourceNotFound,
                fmt::format("there is no resource '{}'", *uri->string()),
                Json::Of({{"uri", *uri}}));
}

Reply Server::ListPrompts(Request& request) {
  return Paged(surface_.Prompts(), "prompts", request.params);
}

Reply Server::GetPrompt(Request& request) {
  const std::string name = TextOf(request.params.Find("name"));
  const Json prompts = surface_.Prompts();
  const auto prompt = std::ranges::find_if(
      prompts.items(), [&](const Json& item) { return TextOf(item.Find("name")) == name; });
  if (prompt == prompts.items().end()) {
    return Refuse(kInvalidParams, fmt::format("there is no prompt '{}'", name));
  }
  const Json* given = request.params.Find("arguments");
  const Json arguments = given == nullptr ? Json::MakeObject() : *given;
  if (const Json* known = prompt->Find("arguments")) {
    for (const Json& argument : known->items()) {
      const Json* required = argument.Find("required");
      const std::string key = TextOf(argument.Find("name"));
      if (required != nullptr && required->boolean() == true && arguments.Find(key) == nullptr) {
        return Refuse(kInvalidParams, fmt::format("prompt '{}' needs argument '{}'", name, key));
      }
    }
  }
  return surface_.GetPrompt(name, arguments, request.caller);
}

Reply Server::Complete(Request& request) {
  const Json* ref = request.params.Find("ref");
  const Json* argument = request.params.Find("argument");
  if (ref == nullptr || argument == nullptr || !argument->is_object()) {
    return Refuse(kInvalidParams, "'ref' and 'argument' are needed");
  }
  const Json values = surface_.Complete(*ref, *argument);
  return Json::Of(
      {{"completion",
        Json::Of({{"values", values}, {"total", values.items().size()}, {"hasMore", false}})}});
}

}  // namespace szarena::mcp
