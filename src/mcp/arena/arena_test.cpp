// SPDX-License-Identifier: Apache-2.0
// Sessions through the protocol: whose they are, how they begin and end, what clients see of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>

#include "agent/session_runner.h"
#include "agent/testing/fake_judge.h"
#include "data/schema.h"
#include "mcp/arena/arena_surface.h"
#include "mcp/server.h"

namespace szarena::mcp {
namespace {

using data::Json;
using testing::HasSubstr;

class ArenaTest : public testing::Test {
 protected:
  ArenaTest() : folder_(testing::TempDir() + "/arena_" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
    auto store = store::Store::Open(Results());
    EXPECT_TRUE(store);
    EXPECT_TRUE(store->AddCampaign({"c", "2026-01-01T00:00:00Z", true, Json::MakeObject()}));
  }
  ~ArenaTest() override {
    surface_.reset();
    std::filesystem::remove_all(folder_);
  }
  std::string Results() const { return folder_ + "/results.sqlite"; }

  void Serve(Sharing sharing, agent::Budget budget = {},
             std::chrono::seconds idle = std::chrono::seconds(60)) {
    ArenaOffer offer{"1",
                     Json::Of({{"task", "szp"}, {"target", "cpu"}}),
                     {{"contract/a.h", "the contract", "int f();"}},
                     {{"user", "User", "write it"}}};
    const auto open = [this, budget,
                       idle](const Json& client) -> Result<std::shared_ptr<ToolSession>> {
      const int64_t trial = ++trials_;
      const Json identity = Json::Of({{"kind", "mcp-client"}, {"client", client}});
      return std::make_shared<BackgroundSession>(
          identity, idle, [this, budget, trial](agent::Agent& agent) -> Result<void> {
            SZARENA_TRY(store::Store store, store::Store::Open(Results()));
            agent::SessionPlan plan;
            plan.key = {"c", "szp", "cpu", "none", "none", "client", "mcp", trial};
            plan.description = Json::Of({{"task", "szp"}, {"target", "cpu"}});
            plan.out_dir = folder_;
            plan.budget = budget;
            SZARENA_TRY(const auto outcome, agent::RunSession(plan, agent, judge_, store, {}, {}));
            const std::lock_guard lock(mutex_);
            ended_.push_back(outcome.stop);
            changed_.notify_all();
            return {};
          });
    };
    surface_.emplace(std::move(offer), sharing, open);
    server_.emplace(*surface_);
  }

  // A result of the handshake era; "error" where it is one.
  Json Ask(
      Peer& peer, const std::string& method, Json params,
      const Server::Notify& notify = [](const Json&) {}) {
    const Json message = Json::Of({{"jsonrpc", "2.0"},
                                   {"id", ++next_id_},
                                   {"method", method},
                                   {"params", std::move(params)}});
    const auto answer = server_->Handle(message, peer, notify, {});
    if (!answer) return {};
    const Json* result = answer->message.Find("result");
    return result == nullptr ? *answer->message.Find("error") : *result;
  }
  void Connect(Peer& peer) {
    Ask(peer, "initialize",
        Json::Of(
            {{"protocolVersion", "2025-11-25"}, {"clientInfo", Json::Of({{"name", peer.id()}})}}));
  }
  Json Call(Peer& peer, const std::string& tool, Json arguments) {
    return Ask(peer, "tools/call", Json::Of({{"name", tool}, {"arguments", std::move(arguments)}}));
  }
  Json CallStateless(const std::string& tool, Json arguments) {
    Peer nobody("");
    return Ask(nobody, "tools/call",
               Json::Of({{"name", tool},
                         {"arguments", std::move(arguments)},
                         {"_meta", *data::ParseJson(
                                       R"({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                                           "io.modelcontextprotocol/clientCapabilities": {}})",
                                       "meta")}}));
  }
  // How the sessions ended, once so many have.
  std::vector<store::StopReason> Ended(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return ended_.size() >= count; });
    return ended_;
  }
  static std::string TextOf(const Json& result) {
    const Json* content = result.Find("content");
    return content == nullptr ? result.Dump() : *content->items().at(0).Find("text")->string();
  }

  std::string folder_;
  agent::FakeJudge judge_;
  int64_t trials_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<store::StopReason> ended_;
  std::optional<ArenaSurface> surface_;
  std::optional<Server> server_;
  int64_t next_id_ = 0;
};

Json File(const char* text) { return Json::Of({{"path", "candidate.cpp"}, {"text", text}}); }

TEST_F(ArenaTest, ClientsDoNotSeeEachOther) {
  Serve(Sharing::kByClient);
  Peer one("one");
  Peer two("two");
  Connect(one);
  Connect(two);
  EXPECT_EQ(trials_, 0);  // a session begins with its first call
  Call(one, "write_file", File("slow"));
  EXPECT_THAT(TextOf(Call(one, "list_files", Json::MakeObject())), HasSubstr("candidate.cpp"));
  EXPECT_EQ(TextOf(Call(two, "list_files", Json::MakeObject())), "no files");
  Call(two, "write_file", File("fast"));
  Call(one, "submit", Json::MakeObject());
  EXPECT_EQ(TextOf(Call(two, "history", Json::MakeObject())), "no attempts yet");
  server_->Disconnected(one);
  EXPECT_EQ(Ended(1), std::vector{store::StopReason::kSubmitted});
  server_->Disconnected(two);
  EXPECT_EQ(Ended(2).back(), store::StopReason::kGaveUp);
  auto store = store::Store::OpenForReading(Results());
  const auto sessions = store->Sessions("c");
  ASSERT_EQ(sessions->size(), 2U);
  EXPECT_EQ(*sessions->at(0).agent.FindPath({"client", "name"})->string(), "one");
  EXPECT_EQ(store->Attempts(sessions->at(0).id)->size(), 1U);
}

TEST_F(ArenaTest, StatelessClientsNameTheirSession) {
  Serve(Sharing::kByClient);
  const Json tools = surface_->Tools(/*stateless=*/true);
  for (const Json& tool : tools.items()) {
    if (*tool.Find("name")->string() == "open_session") continue;
    EXPECT_THAT(tool.FindPath({"inputSchema", "required"})->Dump(), HasSubstr("session"));
  }
  EXPECT_THAT(TextOf(CallStateless("list_files", Json::MakeObject())), HasSubstr("open_session"));
  const Json first =
      *CallStateless("open_session", Json::MakeObject()).FindPath({"structuredContent", "session"});
  const Json second =
      *CallStateless("open_session", Json::MakeObject()).FindPath({"structuredContent", "session"});
  EXPECT_NE(first, second);
  CallStateless("write_file", File("slow").Set("session", first));
  EXPECT_EQ(TextOf(CallStateless("list_files", Json::Of({{"session", second}}))), "no files");
  EXPECT_THAT(TextOf(CallStateless("list_files", Json::Of({{"session", first}}))),
              HasSubstr("candidate"));
  EXPECT_EQ(TextOf(CallStateless("close_session", Json::Of({{"session", first}}))), "closed");
  EXPECT_THAT(TextOf(CallStateless("list_files", Json::Of({{"session", first}}))),
              HasSubstr("no such session"));
  EXPECT_THAT(TextOf(CallStateless("list_files", Json::Of({{"session", "guess"}}))),
              HasSubstr("no such session"));
}

TEST_F(ArenaTest, AnswersHaveTextAndWhatTheirSchemaPromises) {
  Serve(Sharing::kOne);
  Peer peer("stdio");
  Connect(peer);
  Call(peer, "write_file", File("fast"));
  std::vector<std::string> stages;
  const Json result = Ask(peer, "tools/call",
                          Json::Of({{"name", "submit"},
                                    {"arguments", Json::Of({{"final", true}})},
                                    {"_meta", Json::Of({{"progressToken", "t"}})}}),
                          [&](const Json& told) { stages.push_back(told.Dump()); });
  EXPECT_EQ(result.Find("isError")->boolean(), false);
  const Json tools = surface_->Tools(false);
  for (const Json& tool : tools.items()) {
    if (*tool.Find("name")->string() != "submit") continue;
    EXPECT_EQ(data::SchemaFault(*tool.Find("outputSchema"), *result.Find("structuredContent")), "");
  }
  EXPECT_THAT(stages, testing::Contains(HasSubstr("notifications/progress")));
  const Json mistake = Call(peer, "read_file", Json::MakeObject());
  EXPECT_EQ(mistake.Find("isError")->boolean(), true);
  EXPECT_EQ(mistake.Find("structuredContent"), nullptr);
  EXPECT_EQ(Ended(1), std::vector{store::StopReason::kSubmitted});
  EXPECT_THAT(TextOf(Call(peer, "list_files", Json::MakeObject())),
              HasSubstr("the session is over"));
}

TEST_F(ArenaTest, ResourcesAndPrompts) {
  Serve(Sharing::kOne);
  Peer peer("stdio");
  Connect(peer);
  EXPECT_EQ(Ask(peer, "resources/list", Json::MakeObject()).Find("resources")->items().size(), 2U);
  const Json read =
      Ask(peer, "resources/read", Json::Of({{"uri", "szarena://reference/contract/a.h"}}));
  EXPECT_EQ(*read.Find("contents")->items().at(0).Find("text")->string(), "int f();");
  EXPECT_THAT(Ask(peer, "resources/read", Json::Of({{"uri", "szarena://reference/x"}})).Dump(),
              HasSubstr("there is no resource"));
  EXPECT_THAT(Ask(peer, "prompts/get", Json::Of({{"name", "user"}})).Dump(), HasSubstr("write it"));
  EXPECT_EQ(trials_, 0);
}

TEST_F(ArenaTest, ABudgetEndsTheSessionOnceItsClientHasReadTheResult) {
  Serve(Sharing::kByClient, {.attempts = 1});
  Peer peer("one");
  Connect(peer);
  Call(peer, "write_file", File("fast"));
  Call(peer, "submit", Json::MakeObject());
  EXPECT_THAT(TextOf(Call(peer, "submit", Json::MakeObject())),
              HasSubstr("budget is used up: attempts (1)"));
  EXPECT_THAT(TextOf(Call(peer, "history", Json::MakeObject())), HasSubstr("attempt 1"));
  server_->Disconnected(peer);
  EXPECT_EQ(Ended(1).size(), 1U);
}

TEST_F(ArenaTest, SilenceEndsASession) {
  Serve(Sharing::kOne, {}, std::chrono::seconds(1));
  Peer peer("stdio");
  Connect(peer);
  Call(peer, "list_files", Json::MakeObject());
  EXPECT_EQ(Ended(1), std::vector{store::StopReason::kGaveUp});
}

}  // namespace
}  // namespace szarena::mcp
