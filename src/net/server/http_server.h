// SPDX-License-Identifier: Apache-2.0
// An HTTP server whose handlers answer at once or write a stream piece by piece. cpp-httplib reads
// and writes the protocol; connections, limits and threads are ours.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "net/server/listener.h"

namespace szarena::net {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

// A request as it came.
struct Incoming {
  std::string method;
  std::string target;  // path and query as sent
  HeaderList headers;
  std::string body;

  // The first header of that name (case does not matter), or nullptr.
  const std::string* Find(std::string_view name) const;
};

// The answer to one request. Used by the handler's thread.
class Reply {
 public:
  // The whole answer. False: a stream has begun already (StreamAfter), so write to that.
  bool Send(int status, HeaderList headers, std::string body);
  // Begins an answer of unknown length.
  void Begin(int status, HeaderList headers);
  // From now on: where no answer has begun after `delay`, one like Begin's begins by itself, so
  // that a client that leaves is noticed.
  void StreamAfter(std::chrono::milliseconds delay, HeaderList headers);
  // Adds to the stream; false: the client has left.
  bool Write(std::string_view bytes);
  // Requested when the client leaves while a stream is open, and when the server stops.
  std::stop_token gone() const;

  struct State;
  explicit Reply(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

struct HttpServerOptions {
  // One more takes the place of the connection that has waited longest without a request that the
  // gate let in; where there is none, it waits for its turn.
  size_t max_connections = 64;
  size_t max_body_bytes = 16 << 20;       // of a request
  std::chrono::seconds idle_timeout{60};  // between requests, and between the parts of a body
  // Within this from its first byte (of the first request: from the connection's begin) a request's
  // headers must be there.
  std::chrono::milliseconds head_timeout{10000};
  // Called with the headers alone, before anything of the body is read. False: it has answered, and
  // the connection ends. None: every request is let in.
  std::function<bool(const Incoming&, Reply&)> gate = nullptr;
  // Written to an open stream that has been silent for so long; empty: nothing.
  std::string heartbeat = ": keep-alive\n\n";
  std::chrono::seconds heartbeat_interval{10};
};

// Calls `handler` for every request, each in a thread of its own. The handler must come to an end
// when gone() is requested, and must have answered when it returns; else the answer is status 500.
class HttpServer {
 public:
  using Handler = std::function<void(const Incoming&, Reply&)>;
  HttpServer(Listener listener, Handler handler, HttpServerOptions options = {});
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();  // ends all connections and waits for the handlers

  int port() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace szarena::net
