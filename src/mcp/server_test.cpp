// SPDX-License-Identifier: Apache-2.0
// Messages in, messages out: both eras, faults, cancellation, and the two transports.
#include "mcp/server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "mcp/http.h"
#include "mcp/stdio.h"
#include "net/http_client.h"
#include "os/fd.h"

namespace szarena::mcp {
namespace {

using data::Json;
using testing::HasSubstr;

constexpr std::string_view kMeta =
    R"("_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}})";

// Tools: "echo" gives its arguments back, "wait" works until it is told to stop.
class FakeSurface : public Surface {
 public:
  Json Info() const override { return Json::Of({{"name", "fake"}, {"version", "1"}}); }
  Json Tools(bool) const override {
    Json tools = Json::MakeArray();
    for (const char* name : {"echo", "wait"}) {
      tools.Append(Json::Of({{"name", name}, {"inputSchema", Json::Of({{"type", "object"}})}}));
    }
    return tools;
  }
  Json Resources() const override {
    return Json::MakeArray().Append(Json::Of({{"uri", "x://a"}, {"name", "a"}}));
  }
  std::optional<Reply> ReadResource(const std::string& uri, Caller&) override {
    if (uri != "x://a") return std::nullopt;
    return Reply(Json::Of({{"contents", Json::MakeArray()}}));
  }
  Json Prompts() const override {
    return *data::ParseJson(
        R"([{"name": "p", "arguments": [{"name": "needed", "required": true}]}])", "prompts");
  }
  Reply GetPrompt(const std::string&, const Json& arguments, Caller&) override {
    return Json::Of({{"messages", Json::MakeArray()}, {"got", arguments}});
  }
  Reply CallTool(const std::string& name, const Json& arguments, Caller& caller) override {
    caller.log("info", "called");
    caller.log("error", "bad");
    caller.progress(1, 2, "one");
    caller.progress(1, 2, "again");  // does not grow: not sent
    caller.progress(2, 2, "");
    if (name == "echo") {
      return Json::Of({{"structuredContent", arguments}, {"content", Json::MakeArray()}});
    }
    started.set_value();
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any never;
    never.wait_for(lock, caller.stop, std::chrono::seconds(20), [] { return false; });
    stopped.set_value(caller.stop.stop_requested());
    return Json::Of({{"content", Json::MakeArray()}});
  }
  std::optional<RpcError> Connected(const std::string& peer, const Json&) override {
    connected.push_back(peer);
    return std::nullopt;
  }
  void Disconnected(const std::string& peer) override { disconnected.push_back(peer); }

  std::promise<void> started;
  std::promise<bool> stopped;
  std::vector<std::string> connected;
  std::vector<std::string> disconnected;
};

class ServerTest : public testing::Test {
 protected:
  // The answer, or null where there is none. Notifications are kept.
  Json Ask(std::string_view text, std::string_view http_version = "") {
    const auto answer = server_.Handle(
        *data::ParseJson(text, "message"), peer_,
        [&](const Json& notification) { told_.push_back(notification); }, {}, http_version);
    status_ = answer ? answer->http_status : 0;
    return answer ? answer->message : Json();
  }
  void Initialize(std::string_view version = "2025-06-18") {
    Ask(R"({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": ")" +
        std::string(version) + R"(", "capabilities": {}, "clientInfo": {"name": "c"}}})");
  }
  static int64_t Code(const Json& answer) {
    const Json* code = answer.FindPath({"error", "code"});
    return code == nullptr ? 0 : *code->integer();
  }

  FakeSurface surface_;
  Server server_{surface_};
  Peer peer_{"me"};
  std::vector<Json> told_;
  int status_ = 0;
};

TEST_F(ServerTest, HandshakeTakesAKnownVersionAndOffersItsOwnForOthers) {
  const Json known = Ask(
      R"({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}})");
  EXPECT_EQ(*known.FindPath({"result", "protocolVersion"})->string(), "2025-06-18");
  EXPECT_EQ(known.FindPath({"result", "resultType"}), nullptr);
  EXPECT_EQ(surface_.connected, std::vector<std::string>{"me"});
  EXPECT_EQ(
      Code(Ask(
          R"({"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}})")),
      kInvalidRequest);
  Peer other("other");
  const auto answer = server_.Handle(
      *data::ParseJson(
          R"({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2031-01-01"}})",
          "m"),
      other, [](const Json&) {}, {});
  EXPECT_EQ(*answer->message.FindPath({"result", "protocolVersion"})->string(), "2025-11-25");
}

TEST_F(ServerTest, BeforeTheHandshakeOnlyPingIsAnswered) {
  EXPECT_TRUE(Ask(R"({"jsonrpc": "2.0", "id": 1, "method": "ping"})").Find("result"));
  const Json refused = Ask(R"({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})");
  EXPECT_EQ(Code(refused), kInvalidRequest);
  EXPECT_THAT(refused.Dump(), HasSubstr("before 'initialize'"));
  Initialize();
  EXPECT_EQ(Ask(R"({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})")
                .FindPath({"result", "tools"})
                ->items()
                .size(),
            2U);
}

TEST_F(ServerTest, StatelessRequestsCarryTheirOwnMetadata) {
  const auto request = [](std::string_view method, std::string_view more = "") {
    return fmt::format(R"({{"jsonrpc": "2.0", "id": 7, "method": "{}", "params": {{{}{}}}}})",
                       method, kMeta, more);
  };
  const Json tools = Ask(request("tools/list"));
  EXPECT_EQ(*tools.FindPath({"result", "resultType"})->string(), "complete");
  EXPECT_EQ(*tools.FindPath({"result", "cacheScope"})->string(), "private");
  EXPECT_GE(*tools.FindPath({"result", "ttlMs"})->integer(), 0);
  EXPECT_EQ(
      *tools.FindPath({"result", "_meta", "io.modelcontextprotocol/serverInfo", "name"})->string(),
      "fake");
  EXPECT_TRUE(Ask(request("server/discover")).FindPath({"result", "supportedVersions"}));
  EXPECT_EQ(Code(Ask(request("initialize"))), kMethodNotFound);
  EXPECT_EQ(status_, 404);
  EXPECT_EQ(Code(Ask(request("ping"))), kMethodNotFound);
  const Json missing = Ask(request("resources/read", R"(, "uri": "x://b")"));
  EXPECT_EQ(Code(missing), kInvalidParams);
  EXPECT_EQ(*missing.FindPath({"error", "data", "uri"})->string(), "x://b");
  EXPECT_EQ(status_, 200);
  EXPECT_EQ(Code(Ask(R"({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}})")),
            kInvalidParams);
  EXPECT_EQ(status_, 400);
  const Json old = Ask(
      R"({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "2027-01-01"}}})");
  EXPECT_EQ(Code(old), kUnsupportedVersion);
  EXPECT_EQ(*old.FindPath({"error", "data", "requested"})->string(), "2027-01-01");
  EXPECT_TRUE(surface_.connected.empty());
}

TEST_F(ServerTest, FaultsHaveTheCodesOfJsonRpc) {
  Initialize();
  const std::pair<std::string_view, int> cases[] = {
      {R"([])", kInvalidRequest},
      {R"("text")", kInvalidRequest},
      {R"({"id": 1, "method": "ping"})", kInvalidRequest},
      {R"({"jsonrpc": "1.0", "id": 1, "method": "ping"})", kInvalidRequest},
      {R"({"jsonrpc": "2.0", "id": 1})", kInvalidRequest},
      {R"({"jsonrpc": "2.0", "id": 1, "method": 5})", kInvalidRequest},
      {R"({"jsonrpc": "2.0", "id": null, "method": "ping"})", kInvalidRequest},
      {R"({"jsonrpc": "2.0", "id": {}, "method": "ping"})", kInvalidRequest},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []})", kInvalidRequest},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "rm"})", kMethodNotFound},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "server/rm", "params": {}})", kMethodNotFound},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "rm"}})",
       kInvalidParams},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": 3}})",
       kInvalidParams},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "none"}})",
       kInvalidParams},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {}})", kInvalidParams},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "x://b"}})",
       kResourceNotFound},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {"name": "q"}})",
       kInvalidParams},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {"name": "p"}})",
       kInvalidParams},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": "loud"}})",
       kInvalidParams},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "completion/complete", "params": {}})",
       kInvalidParams},
  };
  for (const auto& [text, code] : cases) EXPECT_EQ(Code(Ask(text)), code) << text;
  // Neither notifications nor answers are answered.
  EXPECT_TRUE(Ask(R"({"jsonrpc": "2.0", "method": "notifications/unknown"})").is_null());
  EXPECT_TRUE(Ask(R"({"jsonrpc": "2.0", "id": 1, "result": {}})").is_null());
}

TEST_F(ServerTest, ProgressAndMessagesGoWhereTheyAreWanted) {
  Initialize();
  Ask(R"({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo"}})");
  ASSERT_EQ(told_.size(), 2U);  // no progress without a token; two messages
  told_.clear();
  Ask(R"({"jsonrpc": "2.0", "id": 2, "method": "logging/setLevel", "params": {"level": "error"}})");
  const Json answer = Ask(
      R"({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "echo", "arguments": {"a": 1}, "_meta": {"progressToken": "t"}}})");
  EXPECT_EQ(answer.FindPath({"result", "structuredContent", "a"})->integer(), 1);
  ASSERT_EQ(told_.size(), 3U);
  EXPECT_EQ(*told_[0].FindPath({"params", "level"})->string(), "error");
  EXPECT_EQ(told_[1].FindPath({"params", "progress"})->number(), 1);
  EXPECT_EQ(*told_[1].FindPath({"params", "progressToken"})->string(), "t");
  EXPECT_EQ(told_[2].FindPath({"params", "progress"})->number(), 2);
  told_.clear();  // a stateless client that names no level wants no messages
  Ask(fmt::format(
      R"({{"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {{"name": "echo", {}}}}})",
      kMeta));
  EXPECT_TRUE(told_.empty());
}

TEST_F(ServerTest, ACancelledRequestIsNotAnswered) {
  Initialize();
  std::thread caller([&] {
    EXPECT_TRUE(
        Ask(R"({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "wait"}})")
            .is_null());
  });
  surface_.started.get_future().wait();
  const auto told = server_.Handle(
      *data::ParseJson(
          R"({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}})",
          "m"),
      peer_, [](const Json&) {}, {});
  EXPECT_FALSE(told);
  EXPECT_TRUE(surface_.stopped.get_future().get());
  caller.join();
}

// A pipe with its two ends.
struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    read = os::UniqueFd(ends[0]);
    write = os::UniqueFd(ends[1]);
  }
  os::UniqueFd read;
  os::UniqueFd write;
};

TEST_F(ServerTest, StdioIsOneMessageALine) {
  Pipe in;
  Pipe out;
  const std::string text =
      "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}\r\n\nno json\n"
      "{\"jsonrpc\": \"2.0\", \"id\": 2, \"method\": \"initialize\", \"params\": "
      "{\"protocolVersion\": \"2025-11-25\"}}\n"
      "{\"jsonrpc\": \"2.0\", \"id\": 3, \"method\": \"tools/call\", \"params\": {\"name\": "
      "\"echo\", \"arguments\": {\"text\": \"a\\nb\"}}}\n"
      "{\"jsonrpc\": \"2.0\", \"id\": 4, \"method\": \"ping\"}";  // the last line needs no end
  ASSERT_EQ(write(in.write.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  in.write.Reset();
  ASSERT_TRUE(ServeStdio(server_, in.read.get(), out.write.get(), {}));
  out.write.Reset();
  std::string got;
  char buffer[4096];
  for (ssize_t size = 0; (size = read(out.read.get(), buffer, sizeof buffer)) > 0;) {
    got.append(buffer, static_cast<size_t>(size));
  }
  std::map<std::string, Json> answers;  // by id
  size_t lines = 0;
  for (size_t begin = 0; begin < got.size(); ++lines) {
    const size_t end = got.find('\n', begin);
    const auto message = data::ParseJson(got.substr(begin, end - begin), "line");
    ASSERT_TRUE(message) << got;
    if (message->Find("id")) answers[message->Find("id")->Dump()] = *message;
    begin = end + 1;
  }
  EXPECT_EQ(Code(answers["null"]), kParseError);
  EXPECT_EQ(*answers["3"].FindPath({"result", "structuredContent", "text"})->string(), "a\nb");
  EXPECT_TRUE(answers["4"].Find("result"));
  EXPECT_EQ(surface_.disconnected, std::vector<std::string>{"stdio"});
}

TEST_F(ServerTest, StdioEndsWhatRunsWhenItsInputEnds) {
  Pipe in;
  Pipe out;
  std::thread serving(
      [&] { EXPECT_TRUE(ServeStdio(server_, in.read.get(), out.write.get(), {})); });
  const std::string text =
      "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"initialize\", \"params\": "
      "{\"protocolVersion\": \"2025-11-25\"}}\n{\"jsonrpc\": \"2.0\", \"id\": 2, \"method\": "
      "\"tools/call\", \"params\": {\"name\": \"wait\"}}\n";
  ASSERT_EQ(write(in.write.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  surface_.started.get_future().wait();
  in.write.Reset();
  EXPECT_TRUE(surface_.stopped.get_future().get());
  serving.join();
}

// A signal that comes just after the client has gone is seen before the session is closed.
TEST_F(ServerTest, StdioSeesAStopThatComesWithTheEndOfItsInput) {
  Pipe in;
  Pipe out;
  std::stop_source stop;
  in.write.Reset();
  std::thread signal([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    stop.request_stop();
  });
  EXPECT_TRUE(ServeStdio(server_, in.read.get(), out.write.get(), stop.get_token()));
  EXPECT_TRUE(stop.stop_requested());
  signal.join();
}

class HttpTest : public ServerTest {
 protected:
  HttpTest()
      : endpoint_(server_, *net::ListenTcp("127.0.0.1", 0), {.token = "0123456789abcdef"}),
        url_(fmt::format("http://127.0.0.1:{}/mcp", endpoint_.port())) {}

  net::HttpResponse Send(std::string body, std::vector<net::Header> more = {},
                         std::string method = "POST") {
    net::HttpRequest request;
    request.method = std::move(method);
    request.url = url_;
    request.headers = {{"Authorization", "Bearer 0123456789abcdef"},
                       {"Content-Type", "application/json"},
                       {"Accept", "application/json, text/event-stream"}};
    for (const net::Header& header : more) {
      std::erase_if(request.headers,
                    [&](const net::Header& one) { return one.name == header.name; });
      request.headers.push_back(header);
    }
    request.body = std::move(body);
    net::CurlClient client;
    const auto response = client.Send(request, [](int, std::string_view) { return true; });
    EXPECT_TRUE(response) << response.error().ToString();
    return response ? *response : net::HttpResponse{};
  }

  HttpEndpoint endpoint_;
  std::string url_;
};

constexpr const char* kInitialize =
    R"({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}})";
constexpr const char* kList = R"({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})";

TEST_F(HttpTest, SessionsBeginAndEnd) {
  const auto first = Send(kInitialize);
  EXPECT_EQ(first.status, 200);
  const std::string* id = first.Find("Mcp-Session-Id");
  ASSERT_NE(id, nullptr);
  const auto second = Send(kInitialize);
  EXPECT_NE(*second.Find("Mcp-Session-Id"), *id);  // another client, another session
  EXPECT_THAT(Send(kList, {{"Mcp-Session-Id", *id}}).body, HasSubstr("echo"));
  EXPECT_EQ(Send(kList).status, 400);
  EXPECT_EQ(Send(kList, {{"Mcp-Session-Id", "none"}}).status, 404);
  EXPECT_EQ(Send(R"({"jsonrpc": "2.0", "method": "notifications/initialized"})",
                 {{"Mcp-Session-Id", *id}})
                .status,
            202);
  EXPECT_EQ(Send("", {}, "GET").status, 405);
  EXPECT_EQ(Send("", {{"Mcp-Session-Id", *id}}, "DELETE").status, 204);
  EXPECT_EQ(surface_.disconnected, std::vector<std::string>{*id});
  EXPECT_EQ(Send(kList, {{"Mcp-Session-Id", *id}}).status, 404);
}

TEST_F(HttpTest, OnlyFriendsMayAsk) {
  EXPECT_EQ(Send(kInitialize, {{"Authorization", "Bearer 0123456789abcdeX"}}).status, 401);
  EXPECT_EQ(Send(kInitialize, {{"Authorization", ""}}).status, 401);
  EXPECT_EQ(Send(kInitialize, {{"Origin", "http://evil.example"}}).status, 403);
  EXPECT_EQ(Send(kInitialize, {{"Origin", "null"}}).status, 403);
  EXPECT_EQ(Send(kInitialize, {{"Host", "evil.example:80"}}).status, 403);
  EXPECT_EQ(Send(kInitialize, {{"Origin", "http://localhost:3000"}}).status, 200);
  for (const char* origin :
       {"http://localhost:evil.example", "http://localhost:80@evil.example", "http://localhost/x",
        "http://localhost:", "http://localhost:0", "http://localhost:70000", "ftp://localhost",
        "file://localhost", "http://[::1", "http://[::1]evil.example", "http://", "localhost",
        "http://localhost:80:80", "http://localhost .evil.example"}) {
    EXPECT_EQ(Send(kInitialize, {{"Origin", origin}}).status, 403) << origin;
  }
  for (const char* host : {"localhost:evil.example", "localhost:80@evil.example",
                           "127.0.0.1:", "127.0.0.1:99999", "[::1", "localhost,evil.example"}) {
    EXPECT_EQ(Send(kInitialize, {{"Host", host}}).status, 403) << host;
  }
  for (const char* host : {"LocalHost", "localhost:8080", "[::1]:9", "127.0.0.1"}) {
    EXPECT_EQ(Send(kInitialize, {{"Host", host}}).status, 200) << host;
  }
  EXPECT_EQ(Send(kInitialize, {{"Accept", "text/html"}}).status, 406);
  EXPECT_EQ(Send(kInitialize, {{"Authorization", "Basic 0123456789abcdef"}}).status, 401);
  EXPECT_EQ(Send(kInitialize,
                 {{"Authorization", "bearer 0123456789abcdef"}, {"Content-Type", "text/plain"}})
                .status,
            415);
  EXPECT_EQ(Send("{", {{"Content-Type", "Application/JSON; charset=utf-8"}}).status, 400);
  EXPECT_EQ(Send("{").status, 400);
  url_ += "/other";
  EXPECT_EQ(Send(kInitialize).status, 404);
  EXPECT_EQ(surface_.connected.size(), 5U);
}

TEST_F(HttpTest, HeadersMustSayWhatTheBodySays) {
  const std::string call = fmt::format(
      R"({{"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {{"name": "echo", {}}}}})",
      kMeta);
  const std::vector<net::Header> right = {{"MCP-Protocol-Version", "2026-07-28"},
                                          {"Mcp-Method", "tools/call"},
                                          {"Mcp-Name", "=?base64?ZWNobw==?="}};
  EXPECT_EQ(Send(call, right).status, 200);
  const std::pair<size_t, const char*> wrong[] = {
      {0, "2025-11-25"}, {1, "tools/list"}, {2, "wait"}, {2, "=?base64?ZWNob?="}};
  for (const auto& [at, value] : wrong) {
    auto headers = right;
    headers[at].value = value;
    const auto response = Send(call, headers);
    EXPECT_EQ(response.status, 400) << value;
    EXPECT_THAT(response.body, HasSubstr("-32020")) << value;
  }
  const auto unknown = Send(kList, {{"MCP-Protocol-Version", "1999-01-01"}});
  EXPECT_EQ(unknown.status, 400);
  EXPECT_THAT(unknown.body, HasSubstr("MCP-Protocol-Version is '1999-01-01'"));
  for (size_t missing = 0; missing < right.size(); ++missing) {
    auto headers = right;
    headers.erase(headers.begin() + static_cast<std::ptrdiff_t>(missing));
    EXPECT_EQ(Send(call, headers).status, 400) << missing;
  }
}

TEST_F(HttpTest, ProgressMakesAStreamAndLeavingCancels) {
  const auto named = [](const char* name) {
    Json meta = *data::ParseJson("{" + std::string(kMeta) + "}", "meta");
    meta = Json(*meta.Find("_meta")).Set("progressToken", 1);
    return Json::Of({{"jsonrpc", "2.0"},
                     {"id", 4},
                     {"method", "tools/call"},
                     {"params", Json::Of({{"name", name}, {"_meta", meta}})}})
        .Dump();
  };
  const auto headers = [](const char* name) {
    return std::vector<net::Header>{
        {"MCP-Protocol-Version", "2026-07-28"}, {"Mcp-Method", "tools/call"}, {"Mcp-Name", name}};
  };
  const auto whole = Send(named("echo"), headers("echo"));
  EXPECT_THAT(*whole.Find("Content-Type"), HasSubstr("text/event-stream"));
  EXPECT_THAT(whole.body, HasSubstr("notifications/progress"));
  EXPECT_THAT(whole.body, HasSubstr("\"resultType\":"));

  net::HttpRequest request;
  request.url = url_;
  request.headers = headers("wait");
  request.headers.push_back({"Authorization", "Bearer 0123456789abcdef"});
  request.headers.push_back({"Content-Type", "application/json"});
  request.body = named("wait");
  net::CurlClient client;
  const auto left = client.Send(request, [](int, std::string_view) { return false; });
  EXPECT_FALSE(left);
  EXPECT_TRUE(surface_.stopped.get_future().get());
}

}  // namespace
}  // namespace szarena::mcp
