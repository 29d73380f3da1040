// SPDX-License-Identifier: Apache-2.0
#include "net/server/http_server.h"

#include <httplib.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

#include "os/fd.h"

namespace szarena::net {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kSlice{100};  // how soon a stop or a client that left is noticed

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool SameName(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return Lower(x) == Lower(y); });
}

// A connection as cpp-httplib wants it.
class SocketStream : public httplib::Stream {
 public:
  SocketStream(int fd, milliseconds timeout, const std::atomic<bool>& stopping)
      : fd_(fd), timeout_(timeout), stopping_(stopping) {}

  // From now on nothing is waited for longer than until then.
  void SetDeadline(Clock::time_point deadline) { deadline_ = deadline; }

  // Waits for a request (or its next part).
  bool Wait(short events) const {
    const auto deadline = std::min(deadline_, Clock::now() + timeout_);
    while (!stopping_ && Clock::now() < deadline) {
      pollfd entry = {fd_, events, 0};
      const int ready = poll(&entry, 1, static_cast<int>(kSlice.count()));
      if (ready < 0 && errno != EINTR) return false;
      if (ready > 0) return (entry.revents & events) != 0;
    }
    return false;
  }
  bool is_readable() const override { return Wait(POLLIN); }
  bool is_writable() const override {
    pollfd entry = {fd_, POLLOUT | POLLRDHUP, 0};
    return poll(&entry, 1, 0) >= 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0;
  }
  ssize_t read(char* to, size_t size) override {
    if (!Wait(POLLIN)) return -1;
    return recv(fd_, to, size, 0);
  }
  ssize_t write(const char* from, size_t size) override {
    if (!Wait(POLLOUT)) return -1;
    return send(fd_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip = "local";
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    ip = "local";
    port = 0;
  }
  socket_t socket() const override { return fd_; }

 private:
  int fd_;
  milliseconds timeout_;
  Clock::time_point deadline_ = Clock::time_point::max();
  const std::atomic<bool>& stopping_;
};

// Lets the client read an answer that came before it had sent everything: a connection closed with
// bytes unread is reset.
void Drain(int fd) {
  shutdown(fd, SHUT_WR);
  const auto deadline = Clock::now() + milliseconds(500);
  char ignored[16384];
  while (Clock::now() < deadline) {
    pollfd entry = {fd, POLLIN, 0};
    if (poll(&entry, 1, 50) > 0 && recv(fd, ignored, sizeof ignored, MSG_DONTWAIT) <= 0) return;
  }
}

}  // namespace

struct Reply::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::stop_source gone;
  bool begun = false;      // status and headers are settled
  bool streaming = false;  // the body comes by Write
  bool ended = false;      // the handler has returned
  int status = 500;
  HeaderList headers;
  std::string body;  // whole, or what has been written and not yet sent
  std::optional<Clock::time_point> stream_at;
  HeaderList stream_headers;
};

bool Reply::Send(int status, HeaderList headers, std::string body) {
  const std::lock_guard lock(state_->mutex);
  if (state_->begun) return false;
  state_->begun = true;
  state_->status = status;
  state_->headers = std::move(headers);
  state_->body = std::move(body);
  state_->changed.notify_all();
  return true;
}

void Reply::Begin(int status, HeaderList headers) {
  const std::lock_guard lock(state_->mutex);
  if (state_->begun) return;
  state_->begun = state_->streaming = true;
  state_->status = status;
  state_->headers = std::move(headers);
  state_->changed.notify_all();
}

void Reply::StreamAfter(milliseconds delay, HeaderList headers) {
  const std::lock_guard lock(state_->mutex);
  state_->stream_at = Clock::now() + delay;
  state_->stream_headers = std::move(headers);
  state_->changed.notify_all();
}

bool Reply::Write(std::string_view bytes) {
  constexpr size_t kMaxWaiting = 4 << 20;  // a slow client slows the writer
  std::unique_lock lock(state_->mutex);
  while (state_->body.size() > kMaxWaiting && !state_->gone.stop_requested()) {
    state_->changed.wait_for(lock, kSlice);
  }
  if (state_->gone.stop_requested()) return false;
  state_->body.append(bytes);
  state_->changed.notify_all();
  return true;
}

std::stop_token Reply::gone() const { return state_->gone.get_token(); }

const std::string* Incoming::Find(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (SameName(key, name)) return &value;
  }
  return nullptr;
}

// Every method and path goes to one handler.
class HttpServer::Impl : public httplib::Server {
 public:
  Impl(Listener listener, HttpServer::Handler handler, HttpServerOptions options)
      : listener_(std::move(listener)), handler_(std::move(handler)), options_(std::move(options)) {
    set_payload_max_length(options_.max_body_bytes);
    svr_sock_ = listener_.fd.get();  // else httplib takes the server for stopped
    const auto serve = [this](const httplib::Request& request, httplib::Response& response) {
      Serve(request, response);
    };
    Get(".*", serve).Post(".*", serve).Put(".*", serve).Delete(".*", serve).Options(".*", serve);
    Patch(".*", serve);
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      return Enter(request, response) ? HandlerResponse::Unhandled : HandlerResponse::Handled;
    });
    acceptor_ = std::thread([this] { Accept(); });
  }
  ~Impl() override {
    stopping_ = true;
    acceptor_.join();
    for (Connection& connection : connections_) connection.thread.join();
    svr_sock_ = INVALID_SOCKET;
    if (!listener_.path.empty()) unlink(listener_.path.c_str());
  }
  int port() const { return listener_.port; }

 private:
  struct Connection {
    os::UniqueFd fd;
    std::thread thread;
    std::atomic<bool> admitted = false;  // a request was let in
    std::atomic<bool> ended = false;
  };
  // What a connection's thread is doing, for the callbacks of httplib.
  struct Talk {
    Connection& connection;
    SocketStream& stream;
    bool entered = false;  // the request was let in
  };
  static inline thread_local Talk* talk_ = nullptr;

  void Accept() {
    while (!stopping_) {
      connections_.remove_if([](Connection& connection) {
        if (!connection.ended) return false;
        connection.thread.join();
        return true;
      });
      pollfd entry = {listener_.fd.get(), POLLIN, 0};
      if (poll(&entry, 1, static_cast<int>(kSlice.count())) <= 0) continue;
      if (connections_.size() >= options_.max_connections) {
        if (!EndOneThatOnlyWaits()) std::this_thread::sleep_for(kSlice);
        continue;
      }
      os::UniqueFd fd(accept4(listener_.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!fd) continue;
      Connection& connection = connections_.emplace_back();
      connection.fd = std::move(fd);
      connection.thread = std::thread([this, &connection] {
        Converse(connection);
        shutdown(connection.fd.get(), SHUT_RDWR);
        connection.ended = true;
      });
    }
  }

  // Makes room: whoever has sent nothing that was let in has no claim to a place.
  bool EndOneThatOnlyWaits() {
    const auto oldest = std::ranges::find_if(
        connections_, [](const Connection& one) { return !one.admitted && !one.ended; });
    if (oldest == connections_.end()) return false;
    shutdown(oldest->fd.get(), SHUT_RDWR);
    oldest->thread.join();
    connections_.erase(oldest);
    return true;
  }

  void Converse(Connection& connection) {
    SocketStream stream(connection.fd.get(), options_.idle_timeout, stopping_);
    stream.SetDeadline(Clock::now() + options_.head_timeout);
    Talk talk{connection, stream};
    talk_ = &talk;
    for (bool closed = false; !closed && stream.Wait(POLLIN);) {
      stream.SetDeadline(Clock::now() + options_.head_timeout);
      talk.entered = false;
      if (!process_request(stream, false, closed, nullptr)) return;
      if (!talk.entered) return Drain(connection.fd.get());  // refused, or no whole request
      stream.SetDeadline(Clock::time_point::max());
    }
  }

  static Incoming Headers(const httplib::Request& request) {
    Incoming incoming{request.method, request.target, {}, ""};
    for (const auto& [name, value] : request.headers) incoming.headers.emplace_back(name, value);
    return incoming;
  }

  static void SetHeaders(const Reply::State& state, httplib::Response& response,
                         std::string& type) {
    response.status = state.status;
    for (const auto& [name, value] : state.headers) {
      if (SameName(name, "Content-Type")) {
        type = value;
      } else {
        response.set_header(name, value);
      }
    }
  }

  // A length that is none, or told twice (400), or more than is read (413); 0: it is fine. Without
  // this the library would wait for a body that never comes.
  int LengthFault(const httplib::Request& request) const {
    const size_t count = request.get_header_value_count("Content-Length");
    if (count == 0) return 0;
    const std::string text = request.get_header_value("Content-Length");
    const bool digits =
        !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    if (count > 1 || !digits || request.has_header("Transfer-Encoding")) return 400;
    size_t length = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), length);
    return fault != std::errc() || length > options_.max_body_bytes ? 413 : 0;
  }

  // The gate; false: it has refused.
  bool Enter(const httplib::Request& request, httplib::Response& response) {
    if (options_.gate) {
      const auto state = std::make_shared<Reply::State>();
      Reply reply(state);
      if (!options_.gate(Headers(request), reply)) {
        std::string type = "text/plain";
        SetHeaders(*state, response, type);
        response.set_header("Connection", "close");
        if (!state->body.empty()) response.set_content(state->body, type);
        return false;
      }
    }
    if (const int status = LengthFault(request); status != 0) {
      response.status = status;
      response.set_header("Connection", "close");
      response.set_content("header Content-Length is no length that is taken here\n", "text/plain");
      return false;
    }
    talk_->entered = true;
    talk_->connection.admitted = true;
    talk_->stream.SetDeadline(Clock::time_point::max());
    return true;
  }

  void Serve(const httplib::Request& request, httplib::Response& response) {
    Incoming incoming = Headers(request);
    incoming.body = request.body;
    auto state = std::make_shared<Reply::State>();
    auto thread = std::make_shared<std::thread>([this, state, incoming = std::move(incoming)] {
      Reply reply(state);
      handler_(incoming, reply);
      const std::lock_guard lock(state->mutex);
      state->ended = true;
      state->changed.notify_all();
    });
    std::unique_lock lock(state->mutex);
    while (!state->begun && !state->ended) {
      if (stopping_) state->gone.request_stop();
      if (state->stream_at && Clock::now() >= *state->stream_at) {
        state->begun = state->streaming = true;
        state->status = 200;
        state->headers = state->stream_headers;
        break;
      }
      state->changed.wait_for(lock, state->stream_at ? std::min<Clock::duration>(
                                                           kSlice, *state->stream_at - Clock::now())
                                                     : Clock::duration(kSlice));
    }
    std::string type = "text/plain";
    SetHeaders(*state, response, type);
    if (!state->streaming) {
      if (!state->body.empty()) response.set_content(state->body, type);
      lock.unlock();
      thread->join();
      return;
    }
    lock.unlock();
    const auto last = std::make_shared<Clock::time_point>(Clock::now());
    response.set_chunked_content_provider(
        type,
        [this, state, last](size_t, httplib::DataSink& sink) { return Pump(*state, *last, sink); },
        [state, thread](bool) {
          state->gone.request_stop();
          thread->join();
        });
  }

  // Sends what is waiting; false: the client has left.
  bool Pump(Reply::State& state, Clock::time_point& last, httplib::DataSink& sink) {
    std::unique_lock lock(state.mutex);
    if (state.body.empty() && !state.ended) state.changed.wait_for(lock, kSlice);
    std::string bytes = std::move(state.body);
    state.body.clear();
    const bool ended = state.ended;
    state.changed.notify_all();
    lock.unlock();
    if (stopping_ || !sink.is_writable()) {
      state.gone.request_stop();
      if (bytes.empty() || stopping_) return false;
    }
    if (bytes.empty() && !ended && !options_.heartbeat.empty() &&
        Clock::now() - last >= options_.heartbeat_interval) {
      bytes = options_.heartbeat;
    }
    if (!bytes.empty()) {
      last = Clock::now();
      if (!sink.write(bytes.data(), bytes.size())) return false;
    }
    if (ended) sink.done();
    return true;
  }

  Listener listener_;
  HttpServer::Handler handler_;
  HttpServerOptions options_;
  std::atomic<bool> stopping_ = false;
  std::list<Connection> connections_;  // of the acceptor's thread
  std::thread acceptor_;
};

HttpServer::HttpServer(Listener listener, Handler handler, HttpServerOptions options)
    : impl_(std::make_unique<Impl>(std::move(listener), std::move(handler), std::move(options))) {}

HttpServer::~HttpServer() = default;

int HttpServer::port() const { return impl_->port(); }

}  // namespace szarena::net
