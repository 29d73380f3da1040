// SPDX-License-Identifier: Apache-2.0
// Requests over TCP and Unix sockets, streams, clients that leave, a server that goes.
#include "net/server/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <future>

#include "os/fd.h"
#include "os/temp_dir.h"

namespace szarena::net {
namespace {

using testing::HasSubstr;

os::UniqueFd ConnectTcp(int port) {
  os::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return fd;
}

os::UniqueFd ConnectUnix(const std::string& path) {
  os::UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return fd;
}

void Send(const os::UniqueFd& fd, const std::string& text) {
  EXPECT_EQ(send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
}

// Reads until `end` has come or the connection ends.
std::string ReadUntil(const os::UniqueFd& fd, const std::string& end) {
  std::string text;
  char buffer[4096];
  while (text.find(end) == std::string::npos) {
    const ssize_t got = recv(fd.get(), buffer, sizeof buffer, 0);
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

std::string Post(const std::string& path, const std::string& body) {
  return "POST " + path +
         " HTTP/1.1\r\nHost: x\r\nX-Name: value\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

TEST(HttpServer, AnswersOverTcpAndKeepsTheConnection) {
  HttpServer server(*ListenTcp("127.0.0.1", 0), [](const Incoming& request, Reply& reply) {
    reply.Send(request.target == "/a?b=c" ? 202 : 404, {{"Content-Type", "text/x"}},
               request.method + " " + *request.Find("x-name") + " " + request.body);
  });
  const os::UniqueFd fd = ConnectTcp(server.port());
  for (int i = 0; i < 3; ++i) {
    Send(fd, Post("/a?b=c", "hello"));
    const std::string answer = ReadUntil(fd, "POST value hello");
    EXPECT_THAT(answer, HasSubstr("HTTP/1.1 202"));
    EXPECT_THAT(answer, HasSubstr("Content-Type: text/x"));
  }
}

TEST(HttpServer, ListensOnAUnixSocketThatGoesWithIt) {
  const auto folder = os::TempDir::Create("http-");
  const std::string path = folder->path() + "/socket";
  {
    HttpServer server(*ListenUnix(path),
                      [](const Incoming&, Reply& reply) { reply.Send(200, {}, "whole"); });
    const os::UniqueFd fd = ConnectUnix(path);
    Send(fd, Post("/", ""));
    EXPECT_THAT(ReadUntil(fd, "whole"), HasSubstr("200"));
    EXPECT_FALSE(ListenUnix(path));
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

TEST(HttpServer, StreamsPieceByPiece) {
  std::promise<void> go;
  auto may_go = go.get_future().share();
  HttpServer server(*ListenTcp("127.0.0.1", 0), [&](const Incoming&, Reply& reply) {
    reply.Begin(200, {{"Content-Type", "text/event-stream"}});
    EXPECT_TRUE(reply.Write("data: one\n\n"));
    may_go.wait();
    EXPECT_TRUE(reply.Write("data: two\n\n"));
  });
  const os::UniqueFd fd = ConnectTcp(server.port());
  Send(fd, Post("/", ""));
  const std::string first = ReadUntil(fd, "one\n\n");
  EXPECT_THAT(first, HasSubstr("text/event-stream"));
  EXPECT_THAT(first, testing::Not(HasSubstr("two")));
  go.set_value();
  EXPECT_THAT(ReadUntil(fd, "0\r\n\r\n"), HasSubstr("data: two"));
}

TEST(HttpServer, NoticesAClientThatLeaves) {
  std::promise<bool> noticed;
  HttpServer server(*ListenTcp("127.0.0.1", 0), [&](const Incoming&, Reply& reply) {
    reply.StreamAfter(std::chrono::milliseconds(1), {{"Content-Type", "text/event-stream"}});
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any never;
    never.wait_for(lock, reply.gone(), std::chrono::seconds(20), [] { return false; });
    noticed.set_value(reply.gone().stop_requested());
    EXPECT_FALSE(reply.Send(200, {}, "late"));
  });
  {
    const os::UniqueFd fd = ConnectTcp(server.port());
    Send(fd, Post("/", ""));
    EXPECT_THAT(ReadUntil(fd, "\r\n\r\n"), HasSubstr("200"));
  }
  EXPECT_TRUE(noticed.get_future().get());
}

TEST(HttpServer, GoingItEndsWhatIsOpen) {
  std::promise<void> begun;
  os::UniqueFd idle;
  os::UniqueFd busy;
  {
    HttpServer server(*ListenTcp("127.0.0.1", 0), [&](const Incoming&, Reply& reply) {
      begun.set_value();
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable_any never;
      never.wait_for(lock, reply.gone(), std::chrono::seconds(20), [] { return false; });
      EXPECT_TRUE(reply.gone().stop_requested());
    });
    idle = ConnectTcp(server.port());
    busy = ConnectTcp(server.port());
    Send(busy, Post("/", ""));
    begun.get_future().wait();
  }
  EXPECT_EQ(ReadUntil(idle, "\n"), "");
}

TEST(HttpServer, RefusesWhatIsTooLong) {
  bool called = false;
  HttpServer server(*ListenTcp("127.0.0.1", 0), [&](const Incoming&, Reply&) { called = true; },
                    {.max_body_bytes = 10});
  const os::UniqueFd fd = ConnectTcp(server.port());
  Send(fd, Post("/", std::string(1000, 'x')));
  EXPECT_THAT(ReadUntil(fd, "\r\n\r\n"), HasSubstr("413"));
  EXPECT_FALSE(called);
}

// A length that is none is told at once: there is no body to wait for.
TEST(HttpServer, RefusesALengthThatIsNone) {
  bool called = false;
  HttpServer server(*ListenTcp("127.0.0.1", 0), [&](const Incoming&, Reply&) { called = true; });
  const auto begin = std::chrono::steady_clock::now();
  for (const auto& [length, status] :
       {std::pair("-1", "400"), std::pair("1e20", "400"), std::pair("+2", "400"),
        std::pair("2x", "400"), std::pair("2\r\nContent-Length: 40", "400"),
        std::pair("2\r\nTransfer-Encoding: chunked", "400"),
        std::pair("99999999999999999999", "413"), std::pair("100000000", "413")}) {
    const os::UniqueFd fd = ConnectTcp(server.port());
    Send(fd, std::string("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ") + length + "\r\n\r\n");
    EXPECT_THAT(ReadUntil(fd, "\r\n\r\n"), HasSubstr(std::string("HTTP/1.1 ") + status)) << length;
  }
  EXPECT_FALSE(called);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8));
}

// Names a secret, or is refused.
bool KnowsTheSecret(const Incoming& request, Reply& reply) {
  if (const std::string* secret = request.Find("X-Name"); secret != nullptr && *secret == "value") {
    return true;
  }
  reply.Send(401, {}, "who are you?");
  return false;
}

TEST(HttpServer, TheGateAnswersBeforeTheBodyHasCome) {
  HttpServer server(
      *ListenTcp("127.0.0.1", 0),
      [](const Incoming& request, Reply& reply) { reply.Send(200, {}, request.body); },
      {.gate = KnowsTheSecret});
  const os::UniqueFd stranger = ConnectTcp(server.port());
  Send(stranger, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
  const std::string refused = ReadUntil(stranger, "\n\n\n");  // until the connection ends
  EXPECT_THAT(refused, HasSubstr("HTTP/1.1 401"));
  EXPECT_THAT(refused, HasSubstr("who are you?"));
  const os::UniqueFd friendly = ConnectTcp(server.port());
  Send(friendly, Post("/", "let in"));
  EXPECT_THAT(ReadUntil(friendly, "let in"), HasSubstr("HTTP/1.1 200"));
}

TEST(HttpServer, WhoSendsNothingWholeTakesNobodysPlace) {
  HttpServer server(*ListenTcp("127.0.0.1", 0),
                    [](const Incoming&, Reply& reply) { reply.Send(200, {}, "served"); },
                    {.max_connections = 4, .gate = KnowsTheSecret});
  std::vector<os::UniqueFd> flood;
  for (int i = 0; i < 12; ++i) {
    flood.push_back(ConnectTcp(server.port()));
    if (i % 2 == 0) Send(flood.back(), "POST / HTTP/1.1\r\nHost: x\r\nX-Na");
  }
  const auto begin = std::chrono::steady_clock::now();
  const os::UniqueFd fd = ConnectTcp(server.port());
  Send(fd, Post("/", ""));
  EXPECT_THAT(ReadUntil(fd, "served"), HasSubstr("200"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8));
}

TEST(HttpServer, HeadersMustComeInTime) {
  HttpServer server(*ListenTcp("127.0.0.1", 0),
                    [](const Incoming&, Reply& reply) { reply.Send(200, {}, "served"); },
                    {.head_timeout = std::chrono::milliseconds(300)});
  const auto begin = std::chrono::steady_clock::now();
  const os::UniqueFd silent = ConnectTcp(server.port());
  const os::UniqueFd half = ConnectTcp(server.port());
  Send(half, "POST / HTTP/1.1\r\nHost");
  EXPECT_EQ(ReadUntil(silent, "\n"), "");  // ended
  ReadUntil(half, "\n\n\n");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8));
}

TEST(HttpServer, AHandlerWithoutAnAnswerIsAnError) {
  HttpServer server(*ListenTcp("127.0.0.1", 0), [](const Incoming&, Reply&) {});
  const os::UniqueFd fd = ConnectTcp(server.port());
  Send(fd, Post("/", ""));
  EXPECT_THAT(ReadUntil(fd, "\r\n\r\n"), HasSubstr("500"));
}

TEST(Listener, NamesWhatIsWrong) {
  EXPECT_EQ(ListenTcp("127.0.0.1", 99999).error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(ListenTcp("127.0.0.1", -1).error().message, HasSubstr("-1 is no port"));
  EXPECT_THAT(ListenTcp("nowhere", 0).error().message, HasSubstr("is no address"));
  EXPECT_THAT(ListenUnix("/tmp/" + std::string(200, 'x')).error().message, HasSubstr("longer"));
  EXPECT_FALSE(ListenUnix("/no/such/folder/socket"));
}

}  // namespace
}  // namespace szarena::net
