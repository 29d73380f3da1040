// SPDX-License-Identifier: Apache-2.0
// MCP over streamable HTTP: one endpoint, POST answered with JSON or a stream of events.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "base/error.h"
#include "mcp/server.h"
#include "net/server/http_server.h"

namespace szarena::mcp {

struct HttpOptions {
  std::string path = "/mcp";
  std::string token;                    // "Authorization: Bearer TOKEN" is asked for; empty: not
  std::vector<std::string> hosts = {};  // names besides localhost that Host and Origin may have
  size_t max_connections = 64;          // of the handshake era, at a time
};

// Serves from its creation to its destruction, which cancels what is running.
class HttpEndpoint {
 public:
  // `server` must outlive the endpoint.
  HttpEndpoint(Server& server, net::Listener listener, HttpOptions options);
  HttpEndpoint(const HttpEndpoint&) = delete;
  HttpEndpoint& operator=(const HttpEndpoint&) = delete;
  ~HttpEndpoint();
  int port() const { return http_->port(); }

 private:
  void Handle(const net::Incoming& request, net::Reply& reply);
  void Post(const net::Incoming& request, net::Reply& reply);
  void Delete(const net::Incoming& request, net::Reply& reply);
  bool MayAsk(const net::Incoming& request, net::Reply& reply) const;
  bool IsOurHost(std::string_view host) const;
  std::shared_ptr<Peer> Find(const std::string& id);

  Server& server_;
  const HttpOptions options_;
  std::stop_source closing_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Peer>> peers_;  // by session id
  std::unique_ptr<net::HttpServer> http_;
};

// 32 random bytes as hexadecimal: session ids and tokens.
std::string RandomToken();

}  // namespace szarena::mcp
