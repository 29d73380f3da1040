// SPDX-License-Identifier: Apache-2.0
// Programs in their sandbox: what they reach and what not, how sessions with them end, what the
// proxy lets through. A shell stands in for the program, a scripted service for the model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/testing/fake_judge.h"
#include "model/settings.h"
#include "model/testing/standin.h"
#include "net/http_client.h"
#include "os/temp_dir.h"
#include "program/model_proxy.h"
#include "program/program_agent.h"

namespace szarena::program {
namespace {

using agent::AgentEnd;
using data::Json;
using testing::HasSubstr;
using testing::Not;

// A JSON-RPC call of our server by hand, as a program would make it.
constexpr std::string_view kCallScript = R"sh(
call() {
  exec 3<>/dev/tcp/127.0.0.1/7001
  meta='"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}'
  body='{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "'$1'", "arguments": '$2', '$meta'}}'
  printf 'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: %s\r\nAccept: application/json\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s' "$1" "${#body}" "$body" >&3
  cat <&3
  exec 3>&-
}
)sh";

class ProgramTest : public testing::Test {
 protected:
  ProgramTest() : folder_(*os::TempDir::Create("program-test-", 0700)) {
    std::filesystem::create_directories(folder_.path() + "/ws");
    transcript_.emplace(*agent::Transcript::Create(folder_.path() + "/t.jsonl"));
  }

  // A session of a shell script.
  Result<AgentEnd> Run(const std::string& script, agent::Budget budget = {}) {
    std::ofstream(folder_.path() + "/script.sh") << kCallScript << script;
    ProgramSpec spec;
    spec.command = "bash /workspace/.script.sh";
    std::filesystem::copy(folder_.path() + "/script.sh", folder_.path() + "/ws/.script.sh",
                          std::filesystem::copy_options::overwrite_existing);
    spec.service = service_;
    spec.grace = std::chrono::seconds(1);
    auto made = ProgramAgent::Make(std::move(spec));
    if (!made) return tl::unexpected(made.error());
    agent::Toolbox toolbox({.description = Json::Of({{"task", "szp"}, {"target", "cpu"}}),
                            .workspace = agent::Workspace(folder_.path() + "/ws"),
                            .judge = judge_,
                            .transcript = *transcript_,
                            .budget = budget,
                            .stop = stop_.get_token(),
                            .record = [](const store::Attempt&) { return Result<void>(); },
                            .on_call = nullptr});
    const auto end = (*made)->Run("the prompt", toolbox);
    attempts_ = toolbox.attempts().size();
    usage_ = toolbox.meter().usage();
    return end;
  }
  std::string TranscriptText() const {
    std::ifstream file(folder_.path() + "/t.jsonl");
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  // What the program printed.
  std::string Printed() const {
    const auto lines = data::ReadJsonLines(folder_.path() + "/t.jsonl");
    std::string text;
    for (const Json& line : lines->values) {
      if (*line.Find("kind")->string() != "program") continue;
      text += line.Find("text") ? *line.Find("text")->string() : line.Find("event")->Dump();
      text += "\n";
    }
    return text;
  }
  void UseService(const std::string& url) {
    model::HttpModelConfig config;
    config.provider = "anthropic";
    config.protocol = "anthropic";
    config.wire.base_url = url + "/v1";
    config.wire.model = "m";
    config.key = model::Secret("the-real-key");
    service_ = std::move(config);
  }

  os::TempDir folder_;
  agent::FakeJudge judge_;
  std::optional<agent::Transcript> transcript_;
  std::optional<model::HttpModelConfig> service_;
  std::stop_source stop_;
  size_t attempts_ = 0;
  store::Usage usage_;
};

TEST_F(ProgramTest, SeesAWorkspaceAndTwoPortsAndNothingElse) {
  setenv("OPENAI_API_KEY", "a-secret-of-the-host", 1);
  const auto end = Run(R"sh(
    cat; pwd; ls -a / /tmp /home/agent; id -u; cat /proc/*/environ; echo
    for path in /root /work /etc/shadow ~/.ssh; do cat $path 2>&1; done
    (exec 3<>/dev/tcp/127.0.0.1/22) 2>&1 || echo no ssh
    (exec 3<>/dev/tcp/127.0.0.1/7002) 2>&1 || echo no model
    touch /usr/x /x /etc/x 2>&1; unshare -r true 2>&1
    echo text > made.cpp && mkdir sub && echo more > sub/b.h
  )sh");
  unsetenv("OPENAI_API_KEY");
  ASSERT_TRUE(end) << end.error().ToString();
  EXPECT_EQ(end->reason, store::StopReason::kGaveUp);
  const std::string out = Printed();
  EXPECT_THAT(out, HasSubstr("the prompt"));
  EXPECT_THAT(out, HasSubstr("\n/workspace\n"));
  EXPECT_THAT(out, HasSubstr("no ssh"));
  EXPECT_THAT(out, HasSubstr("no model"));
  EXPECT_THAT(out, Not(HasSubstr("a-secret-of-the-host")));
  EXPECT_THAT(out, HasSubstr("touch: cannot touch '/usr/x'"));
  EXPECT_THAT(out, HasSubstr("unshare: "));
  const auto files = agent::Workspace(folder_.path() + "/ws").List();
  ASSERT_TRUE(files);
  ASSERT_EQ(files->size(), 2U);  // ours again, and whole
  EXPECT_EQ(files->at(1).path, "sub/b.h");
}

TEST_F(ProgramTest, FilesThatItWritesItselfAreHandedIn) {
  const auto end = Run(R"sh(
    echo -n fast > candidate.cpp
    call submit '{"label": "own file"}'
  )sh");
  ASSERT_TRUE(end) << end.error().ToString();
  EXPECT_EQ(end->reason, store::StopReason::kSubmitted) << end->detail;
  EXPECT_EQ(attempts_, 1U);
  EXPECT_THAT(Printed(), HasSubstr("attempt 1: reached stage 'measured'"));
  EXPECT_THAT(TranscriptText(), HasSubstr("\"text\": \"fast\""));
}

TEST_F(ProgramTest, LinksOutOfItsWorkspaceLeadNowhere) {
  std::ofstream(folder_.path() + "/secret") << "host secret";
  const auto end = Run("ln -s " + folder_.path() + R"sh(/secret candidate.cpp
    ln -s /etc evil
    call read_file '{"path": "candidate.cpp"}'
    call write_file '{"path": "evil/x", "text": "y"}'
    call build '{}'
  )sh");
  ASSERT_TRUE(end) << end.error().ToString();
  EXPECT_THAT(Printed(), Not(HasSubstr("host secret")));
  EXPECT_THAT(Printed(), HasSubstr("leads through a symbolic link"));
  EXPECT_FALSE(std::filesystem::exists("/etc/x"));
}

TEST_F(ProgramTest, AFinalAttemptEndsAProgramThatGoesOn) {
  const auto begin = std::chrono::steady_clock::now();
  const auto end = Run(R"sh(
    echo -n fast > candidate.cpp
    call submit '{"final": true}' > /dev/null
    trap '' TERM; while :; do read -t 100 <> <(:); done
  )sh",
                       {.wall_seconds = 100});
  ASSERT_TRUE(end) << end.error().ToString();
  EXPECT_EQ(end->reason, store::StopReason::kSubmitted);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST_F(ProgramTest, AStopEndsItAtOnce) {
  judge_.before_answer = [&] { stop_.request_stop(); };
  const auto end = Run("call build '{}'; sleep 1000");
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::kCancelled);
}

TEST_F(ProgramTest, AnErrorOfTheJudgeEndsTheSession) {
  judge_.error = Error{ErrorCode::kUnavailable, "no compiler", {}};
  const auto end = Run("call build '{}'; sleep 1000");
  ASSERT_FALSE(end);
  EXPECT_THAT(end.error().message, HasSubstr("no compiler"));
}

TEST_F(ProgramTest, AFailingProgramIsAnErrorWithItsLastWords) {
  const auto end = Run("echo working; echo 'something broke' >&2; exit 7");
  ASSERT_TRUE(end) << end.error().ToString();
  EXPECT_EQ(end->reason, store::StopReason::kError);
  EXPECT_THAT(end->detail, HasSubstr("exit status 7: something broke"));
}

TEST_F(ProgramTest, AFloodIsCutAndTheSessionGoesOn) {
  const auto end =
      Run("head -c 10000000 /dev/zero | tr '\\0' x; echo; yes | head -c 5000000; echo end");
  ASSERT_TRUE(end) << end.error().ToString();
  EXPECT_EQ(end->reason, store::StopReason::kGaveUp);
  EXPECT_THAT(Printed(), HasSubstr("end"));
  EXPECT_LT(TranscriptText().size(), 80U << 20);
}

TEST_F(ProgramTest, EventsStayWholeAndTextIsKept) {
  const auto end =
      Run(R"sh(echo plain; echo '{"type": "x", "n": 1}'; echo '{broken'; echo last)sh");
  ASSERT_TRUE(end) << end.error().ToString();
  EXPECT_EQ(Printed(), "plain\n\n{\"type\": \"x\", \"n\": 1}\n{broken\nlast\n\n");
}

TEST_F(ProgramTest, AMissingProgramSaysHowToInstallIt) {
  ProgramSpec spec;
  spec.command = "no-such-program-here --help";
  const auto made = ProgramAgent::Make(spec);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kUnavailable);
  const auto named = FindInstalled("no-such-codex", "install it with: npm install -g x");
  EXPECT_THAT(named.error().message, HasSubstr("npm install -g x"));
}

// The proxy, asked directly.
class ProxyTest : public ProgramTest {
 protected:
  ProxyTest() {
    model::standin::Script script;
    model::standin::Chat chat;
    chat.repeat = true;
    chat.advance = model::standin::Advance::kRequests;
    chat.turns.emplace_back().text = "hello";
    script.chats.push_back(chat);
    script.key = "the-real-key";
    standin_ = *model::standin::StandIn::Start(std::move(script));
    UseService(standin_->url());
  }
  void Start(agent::Budget budget = {}) {
    meter_.emplace(budget);
    net::Listener listener = *net::ListenTcp("127.0.0.1", 0);
    url_ = "http://127.0.0.1:" + std::to_string(listener.port);
    proxy_.emplace(std::move(listener), *service_, *meter_, *transcript_);
  }
  net::HttpResponse Post(const std::string& path, const std::string& body,
                         std::string method = "POST") {
    net::HttpRequest request;
    request.method = std::move(method);
    request.url = url_ + path;
    request.headers = {{"x-api-key", "worthless"},
                       {"Content-Type", "application/json"},
                       {"anthropic-version", "2023-06-01"}};
    request.body = body;
    net::CurlClient client;
    const auto response = client.Send(request, [](int, std::string_view) { return true; });
    EXPECT_TRUE(response) << response.error().ToString();
    return response ? *response : net::HttpResponse{};
  }
  static constexpr const char* kBody =
      R"({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]})";

  std::unique_ptr<model::standin::StandIn> standin_;
  std::optional<agent::Meter> meter_;
  std::string url_;
  std::optional<ModelProxy> proxy_;
};

TEST_F(ProxyTest, PutsTheKeyInAndCounts) {
  Start();
  const auto whole = Post("/v1/messages?beta=true", kBody);
  EXPECT_EQ(whole.status, 200);
  EXPECT_THAT(whole.body, HasSubstr("hello"));
  std::string streamed = kBody;
  streamed.insert(1, R"("stream": true, )");
  const auto stream = Post("/v1/messages", streamed);
  EXPECT_THAT(*stream.Find("Content-Type"), HasSubstr("text/event-stream"));
  EXPECT_THAT(stream.body, HasSubstr("message_stop"));
  EXPECT_EQ(meter_->usage().model_calls, 2);
  EXPECT_EQ(meter_->usage().tokens_in, 200);
  EXPECT_EQ(meter_->usage().tokens_out, 40);
  for (const auto& seen : standin_->seen()) {
    for (const auto& [name, value] : seen.headers)
      EXPECT_THAT(value, Not(HasSubstr("worthless"))) << name;
  }
  EXPECT_THAT(TranscriptText(), Not(HasSubstr("the-real-key")));
}

TEST_F(ProxyTest, LetsNothingElseThrough) {
  Start();
  for (const char* path :
       {"/v1/files", "/v1/messages/../files", "/", "/v1/responses", "/v1/messages/batches"}) {
    EXPECT_EQ(Post(path, kBody).status, 404) << path;
  }
  EXPECT_EQ(Post("/v1/messages", kBody, "GET").status, 404);
  EXPECT_EQ(Post("/v1/messages", "no json").status, 400);
  EXPECT_TRUE(standin_->seen().empty());
  EXPECT_EQ(meter_->usage().model_calls.value_or(0), 0);
}

TEST_F(ProxyTest, TakesWebToolsOut) {
  Start();
  Post("/v1/messages",
       R"({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}],
    "tools": [{"type": "web_search_20250305", "name": "web_search"}, {"name": "mine", "input_schema": {"type": "object"}}]})");
  const auto seen = standin_->seen();
  ASSERT_EQ(seen.size(), 1U);
  const std::string tools = seen[0].body.Find("tools")->Dump();
  EXPECT_THAT(tools, HasSubstr("mine"));
  EXPECT_THAT(tools, Not(HasSubstr("web_search")));
  EXPECT_THAT(TranscriptText(), HasSubstr("web tools taken out"));
}

TEST_F(ProxyTest, AUsedUpBudgetIsARefusal) {
  Start({.model_calls = 1});
  EXPECT_EQ(Post("/v1/messages", kBody).status, 200);
  const auto refused = Post("/v1/messages", kBody);
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("budget is used up: model calls (1)"));
  EXPECT_EQ(standin_->seen().size(), 1U);
}

// An answer that is too long is a call of the model, and one whose tokens nobody knows.
TEST_F(ProxyTest, AnOversizedAnswerCounts) {
  service_->max_reply_bytes = 1 << 16;
  model::standin::Script script;
  model::standin::Chat chat;
  chat.repeat = true;
  chat.advance = model::standin::Advance::kRequests;
  chat.turns.emplace_back().text = std::string(1 << 18, 'x');
  script.chats.push_back(chat);
  standin_ = *model::standin::StandIn::Start(std::move(script));
  service_->wire.base_url = standin_->url() + "/v1";
  for (const bool stream : {false, true}) {
    std::string body = kBody;
    if (stream) body.insert(1, R"("stream": true, )");
    Start({.model_calls = 10});
    net::HttpRequest request;
    request.method = "POST";
    request.url = url_ + "/v1/messages";
    request.body = body;
    net::CurlClient client;
    (void)client.Send(request, [](int, std::string_view) { return true; });
    EXPECT_EQ(meter_->usage().model_calls, 1) << stream;
    EXPECT_FALSE(proxy_->fault().has_value());
    proxy_.reset();
    Start({.tokens = 1'000'000});
    request.url = url_ + "/v1/messages";
    (void)client.Send(request, [](int, std::string_view) { return true; });
    EXPECT_EQ(meter_->usage().model_calls, 1) << stream;
    ASSERT_TRUE(proxy_->fault().has_value()) << stream;
    EXPECT_THAT(proxy_->fault()->message, HasSubstr("cannot be kept"));
    proxy_.reset();
  }
}

// A program may ask the session's model and those that the user names, nothing else at its price.
TEST_F(ProxyTest, OnlyTheNamedModelsAreOffered) {
  service_->price = model::Price{.in = 1, .out = 1};
  service_->side_models = {{"side", model::Price{.in = 100, .out = 0}}, {"unpriced", std::nullopt}};
  const auto body = [](const std::string& model) {
    std::string text = kBody;
    return text.replace(text.find("\"m\""), 3, model);
  };
  Start();
  for (const char* other : {"\"big\"", "\"M\"", "\"\"", "null", "[\"m\"]"}) {
    const auto refused = Post("/v1/messages", body(other));
    EXPECT_EQ(refused.status, 400) << other;
    EXPECT_THAT(refused.body, HasSubstr("this session's model is 'm'"));
    EXPECT_EQ(Post("/v1/messages/count_tokens", body(other)).status, 400) << other;
  }
  EXPECT_TRUE(standin_->seen().empty());
  EXPECT_EQ(Post("/v1/messages", body("\"m\"")).status, 200);
  EXPECT_DOUBLE_EQ(*meter_->usage().cost_usd, 120 / 1e6);
  EXPECT_EQ(Post("/v1/messages", body("\"side\"")).status, 200);
  EXPECT_DOUBLE_EQ(*meter_->usage().cost_usd, (120 + 100 * 100) / 1e6);
  EXPECT_EQ(Post("/v1/messages", body("\"unpriced\"")).status, 200);
  EXPECT_DOUBLE_EQ(*meter_->usage().cost_usd, (120 + 100 * 100) / 1e6);
  EXPECT_THAT(TranscriptText(), HasSubstr("\"model\": \"side\""));
  EXPECT_THAT(TranscriptText(), HasSubstr("a model call was refused"));
  proxy_.reset();
  Start({.cost_usd = 10});
  EXPECT_THAT(Post("/v1/messages", body("\"unpriced\"")).body, HasSubstr("has no price"));
}

TEST_F(ProxyTest, OneAnswerToACall) {
  for (const auto& [protocol, path, text] :
       {std::tuple("openai-chat", "/v1/chat/completions",
                   R"({"model": "m", "n": 2, "messages": [{"role": "user", "content": "hi"}]})"),
        std::tuple("google", "/v1beta/models/m:generateContent",
                   R"({"contents": [], "generationConfig": {"candidateCount": 8}})")}) {
    service_->protocol = protocol;
    Start();
    const auto refused = Post(path, text);
    EXPECT_EQ(refused.status, 400) << protocol;
    EXPECT_THAT(refused.body, HasSubstr("one answer to a call"));
    proxy_.reset();
  }
  service_->protocol = "google";
  Start();
  EXPECT_THAT(Post("/v1beta/models/other:generateContent", "{}").body, HasSubstr("not offered"));
  EXPECT_TRUE(standin_->seen().empty());
}

// A count that is none must not run the budget backwards.
TEST_F(ProxyTest, NegativeTokensAreNotTold) {
  model::standin::Script script;
  model::standin::Chat chat;
  chat.repeat = true;
  chat.advance = model::standin::Advance::kRequests;
  model::standin::Turn& turn = chat.turns.emplace_back();
  turn.text = "hello";
  turn.tokens_out = -1'000'000;
  script.chats.push_back(chat);
  standin_ = *model::standin::StandIn::Start(std::move(script));
  service_->wire.base_url = standin_->url() + "/v1";
  Start({.tokens = 1000});
  EXPECT_EQ(Post("/v1/messages", kBody).status, 200);
  EXPECT_EQ(meter_->usage().tokens_in, 100);
  EXPECT_FALSE(meter_->usage().tokens_out.has_value());
  ASSERT_TRUE(proxy_->fault().has_value());
  EXPECT_THAT(proxy_->fault()->message, HasSubstr("does not tell its tokens"));
}

TEST_F(ProxyTest, ErrorsOfTheServiceComeThroughWithoutTheKey) {
  service_->key = model::Secret("a-wrong-key");
  Start();
  const auto refused = Post("/v1/messages", kBody);
  EXPECT_EQ(refused.status, 401);
  EXPECT_THAT(refused.body, Not(HasSubstr("a-wrong-key")));
  standin_.reset();
  const auto gone = Post("/v1/messages", kBody);
  EXPECT_EQ(gone.status, 502);
  EXPECT_EQ(meter_->usage().model_calls.value_or(0), 0);
}

}  // namespace
}  // namespace szarena::program
