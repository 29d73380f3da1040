// SPDX-License-Identifier: Apache-2.0
#include "mcp/stdio.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "os/errno.h"

namespace szarena::mcp {
namespace {

using data::Json;

constexpr size_t kMaxLineBytes = 32 << 20;
constexpr int kSliceMs = 100;
constexpr std::chrono::seconds kLastAnswers{2};
// Ctrl-C reaches a client and its server alike, and the client's end may be seen first.
constexpr std::chrono::milliseconds kLateStop{300};

class Session {
 public:
  Session(Server& server, int output_fd) : server_(server), output_fd_(output_fd) {}
  ~Session() {
    gone_.request_stop();
    for (Call& call : calls_) call.thread.join();
    server_.Disconnected(peer_);
  }

  void Take(const std::string& line) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) return;
    const auto message = data::ParseJson(line, "message");
    if (!message) return Write(Server::ParseFault(message.error().message).message);
    if (!Server::MayTakeLong(*message)) return Serve(*message);
    calls_.remove_if([](Call& call) {
      if (!call.ended) return false;
      call.thread.join();
      return true;
    });
    Call& call = calls_.emplace_back();
    call.thread = std::thread([this, &call, message = *message] {
      Serve(message);
      call.ended = true;
    });
  }
  // The input has ended: calls that are about to be answered still are.
  void Finish() {
    const auto until = std::chrono::steady_clock::now() + kLastAnswers;
    while (std::chrono::steady_clock::now() < until &&
           std::ranges::any_of(calls_, [](const Call& call) { return !call.ended; })) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  void TakeTooLong() { Write(Server::ParseFault("the message is longer than 32 MiB").message); }
  bool broken() const { return broken_; }

 private:
  struct Call {
    std::thread thread;
    std::atomic<bool> ended = false;
  };

  void Serve(const Json& message) {
    const auto answer = server_.Handle(
        message, peer_, [this](const Json& notification) { Write(notification); },
        gone_.get_token());
    if (answer) Write(answer->message);
  }

  void Write(const Json& message) {
    const std::string line = message.Dump() + "\n";
    const std::lock_guard lock(mutex_);
    std::string_view rest = line;
    while (!rest.empty() && !broken_) {
      const ssize_t written = write(output_fd_, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        broken_ = true;
        gone_.request_stop();
        return;
      }
      rest.remove_prefix(static_cast<size_t>(written));
    }
  }

  Server& server_;
  int output_fd_;
  Peer peer_{"stdio"};
  std::stop_source gone_;
  std::mutex mutex_;
  std::atomic<bool> broken_ = false;
  std::list<Call> calls_;
};

}  // namespace

Result<void> ServeStdio(Server& server, int input_fd, int output_fd, const std::stop_token& stop) {
  Session session(server, output_fd);
  std::string waiting;
  bool too_long = false;  // the rest of the line is dropped
  char buffer[65536];
  while (!stop.stop_requested() && !session.broken()) {
    pollfd entry = {input_fd, POLLIN, 0};
    const int ready = poll(&entry, 1, kSliceMs);
    if (ready < 0 && errno != EINTR) return os::FailErrno("cannot wait for messages");
    if (ready <= 0) continue;
    const ssize_t got = read(input_fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os::FailErrno("cannot read messages");
    if (got == 0) {
      if (!waiting.empty() && !too_long) session.Take(waiting);
      session.Finish();
      const auto until = std::chrono::steady_clock::now() + kLateStop;
      while (!stop.stop_requested() && std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      break;
    }
    std::string_view bytes(buffer, static_cast<size_t>(got));
    for (size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
      waiting.append(bytes.substr(0, end));
      bytes.remove_prefix(end + 1);
      if (too_long) {
        session.TakeTooLong();
      } else {
        session.Take(waiting);
      }
      waiting.clear();
      too_long = false;
    }
    waiting.append(bytes);
    if (waiting.size() > kMaxLineBytes) {
      waiting.clear();
      too_long = true;
    }
  }
  return {};
}

}  // namespace szarena::mcp
