// SPDX-License-Identifier: Apache-2.0
// The protocol between messages and a surface, without a transport. Speaks both eras: the handshake
// of 2025-06-18 and 2025-11-25, and the stateless 2026-07-28 with metadata in every request.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "data/json.h"
#include "mcp/surface.h"

namespace szarena::mcp {

inline constexpr std::string_view kModernVersion = "2026-07-28";
inline constexpr std::string_view kLegacyVersions[] = {"2025-11-25", "2025-06-18"};
bool IsLegacyVersion(std::string_view version);
// Where a stateless request says which revision it speaks.
inline constexpr std::string_view kVersionKey = "io.modelcontextprotocol/protocolVersion";

// One end of a connection: the stdio process, or a session over HTTP. A stateless request has a
// peer of its own without an id.
class Peer {
 public:
  explicit Peer(std::string id) : id_(std::move(id)) {}
  const std::string& id() const { return id_; }
  bool initialized() const;
  std::string version() const;  // agreed in the handshake

 private:
  friend class Server;
  const std::string id_;
  mutable std::mutex mutex_;
  std::string version_;  // empty: no handshake yet
  data::Json client_info_;
  int log_level_ = 1;                                // "info"
  std::map<std::string, std::stop_source> running_;  // by request id as JSON text
};

// An answer, and how HTTP reports it.
struct Answer {
  data::Json message;
  int http_status = 200;
};

class Server {
 public:
  // `surface` must outlive the server.
  explicit Server(Surface& surface);

  // Sends a notification that belongs to a request; called from any thread until it is answered.
  using Notify = std::function<void(const data::Json& message)>;

  // Handles one message. Nothing: it was a notification or an answer, or the request was cancelled.
  // `http_version`: the MCP-Protocol-Version header where there is one. `gone`: the peer has left.
  std::optional<Answer> Handle(const data::Json& message, Peer& peer, const Notify& notify,
                               const std::stop_token& gone, std::string_view http_version = "");
  // The answer to something that is no JSON.
  static Answer ParseFault(const std::string& why);

  // True where the message is a request that may take long.
  static bool MayTakeLong(const data::Json& message);
  // The message belongs to no connection: it carries its own metadata, or says by the header that
  // it should.
  static bool IsStateless(const data::Json& message, std::string_view http_version);
  void Disconnected(const Peer& peer);

  Surface& surface() { return surface_; }

 private:
  struct Request;
  struct Method;
  static const Method kMethods[];
  Reply Dispatch(Request& request);
  Reply CheckMetadata(const Request& request) const;
  Reply Initialize(Request& request);
  Reply Discover(Request& request);
  Reply Ping(Request& request);
  Reply SetLevel(Request& request);
  Reply ListTools(Request& request);
  Reply CallTool(Request& request);
  Reply ListResources(Request& request);
  Reply ListTemplates(Request& request);
  Reply ReadResource(Request& request);
  Reply ListPrompts(Request& request);
  Reply GetPrompt(Request& request);
  Reply Complete(Request& request);
  data::Json Capabilities(bool stateless) const;
  static Reply Paged(const data::Json& list, std::string_view key, const data::Json& params);

  Surface& surface_;
};

}  // namespace szarena::mcp
