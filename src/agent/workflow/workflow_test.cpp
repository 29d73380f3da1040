// SPDX-License-Identifier: Apache-2.0
// Workflows with a scripted model behind a real provider, and a judge of paper.
#include "agent/workflow/workflow.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "agent/session_runner.h"
#include "agent/testing/fake_judge.h"
#include "agent/workflow/archive.h"
#include "base/exit_code.h"
#include "model/http_model.h"
#include "model/testing/standin.h"

namespace szarena::agent {
namespace {

using data::Json;
using store::StopReason;
using testing::HasSubstr;
namespace fs = std::filesystem;
namespace standin = model::standin;

const Pieces kPieces = {
    {"single-shot", "SINGLE"},  {"iterative", "ITERATIVE"}, {"gated-structure", "STRUCT"},
    {"gated-change", "CHANGE"}, {"evolve", "EVOLVE"},       {"team-planner", "PLANNER"},
    {"team-coder", "CODER"},    {"team-critic", "CRITIC"},  {"nudge", "use the tools"}};

// A turn that writes candidate.cpp; one that hands it in.
std::string Write(const std::string& text) {
  return R"({"calls": [{"name": "write_file", "arguments": {"path": "candidate.cpp", "text": ")" +
         text + R"("}}]})";
}
std::string Submit(bool final) {
  return std::string(R"({"calls": [{"name": "submit", "arguments": {"final": )") +
         (final ? "true" : "false") + "}}]}";
}
std::string Answer(const std::string& text) {
  return R"({"text": "I change it.\n\n### candidate.cpp\n\n```cpp\n)" + text + R"(\n```\n"})";
}
std::string Chat(const std::string& match, const std::vector<std::string>& turns,
                 const std::string& advance = "calls") {
  std::string list;
  for (const std::string& turn : turns) list += (list.empty() ? "" : ", ") + turn;
  return R"({"match": ")" + match + R"(", "advance": ")" + advance + R"(", "turns": [)" + list +
         "]}";
}

class WorkflowTest : public testing::Test {
 protected:
  WorkflowTest() : folder_(testing::TempDir() + "/workflow_" + std::to_string(getpid())) {
    fs::create_directories(folder_);
    store_.emplace(*store::Store::Open(folder_ + "/results.sqlite"));
    EXPECT_TRUE(store_->AddCampaign({"c", "2026-04-22T00:00:00.000Z", false, Json::MakeObject()}));
    budget_.model_calls = 40;
  }
  ~WorkflowTest() override { fs::remove_all(folder_); }

  void Script(const std::vector<std::string>& chats) {
    std::string list;
    for (const std::string& chat : chats) list += (list.empty() ? "" : ", ") + chat;
    const auto json = data::ParseJson("{\"chats\": [" + list + "]}", "script");
    ASSERT_TRUE(json) << json.error().ToString();
    auto script = standin::ParseScript(*json, ".");
    ASSERT_TRUE(script) << script.error().ToString();
    // At the same address where a session is to go on.
    const int port = standin_ && !base_url_.empty() ? standin_->port() : 0;
    standin_.reset();
    auto started = standin::StandIn::Start(*script, port);
    ASSERT_TRUE(started) << started.error().ToString();
    standin_ = std::move(*started);
  }

  Result<SessionOutcome> Run(std::string_view workflow, bool resume = false) {
    model::HttpModelConfig config;
    config.provider = "stand-in";
    config.protocol = protocol_;
    config.wire.base_url = base_url_.empty() ? standin_->url() + "/v1" : base_url_;
    base_url_ = config.wire.base_url;
    config.wire.model = "m";
    config.max_reply_bytes = 1 << 20;
    config.retry.attempts = tries_;
    config.price = model::Price{10, 20, {}, {}};
    ModelAgent agent(std::make_unique<model::HttpModel>(std::move(config)), *FindWorkflow(workflow),
                     kPieces, settings_, "candidate.cpp");
    SessionPlan plan;
    plan.key = {.campaign = "c",
                .task = "szp",
                .target = "cpu",
                .source = "none",
                .tier = "user",
                .agent = "stand-in:m",
                .workflow = std::string(workflow),
                .trial = 1};
    plan.prompt = "write a compressor";
    plan.description = Json::Of({{"task", "szp"}});
    plan.out_dir = folder_;
    plan.budget = budget_;
    plan.timed_runs = timed_runs_;
    plan.resume = resume;
    return RunSession(plan, agent, judge_, *store_, {}, stop_.get_token());
  }
  // The outcome of a session that ends by itself.
  StopReason End(std::string_view workflow) {
    const auto outcome = Run(workflow);
    EXPECT_TRUE(outcome) << outcome.error().ToString();
    if (!outcome) return StopReason::kError;
    attempts_ = *store_->Attempts(outcome->id);
    return outcome->stop;
  }
  store::Session Stored() { return store_->Sessions("c")->back(); }
  std::string Detail() { return Stored().stop_detail; }
  std::string Transcript() {
    std::ifstream file(folder_ + "/" + Stored().transcript);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string Workspace() {
    std::ifstream file(folder_ + "/workspaces/" + fs::path(Stored().transcript).stem().string() +
                       "/candidate.cpp");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_;
  std::string base_url_;
  std::string protocol_ = "anthropic";
  int tries_ = model::RetryPolicy{}.attempts;
  FakeJudge judge_;
  std::optional<store::Store> store_;
  std::unique_ptr<standin::StandIn> standin_;
  WorkflowSettings settings_;
  Budget budget_;
  std::optional<int64_t> timed_runs_;
  std::stop_source stop_;
  std::vector<store::Attempt> attempts_;
};

// What is paid for is acted on: only the next call is refused.
TEST_F(WorkflowTest, TheAnswerThatUsesUpTheBudgetIsStillHandedIn) {
  budget_.model_calls = 1;
  Script({Chat("SINGLE", {Answer("speed=3")})});
  EXPECT_EQ(End("single-shot"), StopReason::kSubmitted);
  ASSERT_EQ(attempts_.size(), 1U);
  EXPECT_EQ(attempts_[0].verdict.candidate_sha256, "speed=3\n");
}

TEST_F(WorkflowTest, TheCallsOfTheLastAnswerAreRunThenTheBudgetEndsIt) {
  budget_.model_calls = 2;
  Script({Chat("ITERATIVE", {Write("speed=2"), Submit(false), Write("speed=3")})});
  EXPECT_EQ(End("iterative"), StopReason::kBudget);
  EXPECT_EQ(attempts_.size(), 1U);
  EXPECT_EQ(Stored().usage.model_calls, 2);
  EXPECT_THAT(Detail(), HasSubstr("model calls (2)"));
}

TEST_F(WorkflowTest, SingleShotHandsInTheOneAnswer) {
  Script({Chat("SINGLE", {Answer("speed=3")})});
  EXPECT_EQ(End("single-shot"), StopReason::kSubmitted);
  ASSERT_EQ(attempts_.size(), 1U);
  EXPECT_EQ(attempts_[0].verdict.candidate_sha256, "speed=3\n");
  EXPECT_EQ(Stored().usage.model_calls, 1);
  EXPECT_EQ(Stored().usage.tokens_in, 100);
  EXPECT_NEAR(*Stored().usage.cost_usd, (100 * 10 + 20 * 20) / 1e6, 1e-12);
}

TEST_F(WorkflowTest, SingleShotWithoutAFileHasGivenUp) {
  Script({Chat("", {R"({"text": "I would rather not."})"})});
  EXPECT_EQ(End("single-shot"), StopReason::kGaveUp);
  EXPECT_THAT(Detail(), HasSubstr("no file"));
}

TEST_F(WorkflowTest, SingleShotCannotWriteOutside) {
  Script({Chat("", {R"({"text": "### ../../evil.cpp\n\n```\nx\n```\n"})"})});
  EXPECT_EQ(End("single-shot"), StopReason::kGaveUp);
  EXPECT_THAT(Detail(), HasSubstr(".."));
}

TEST_F(WorkflowTest, IterativeWorksUntilItsLastAttempt) {
  Script({Chat("ITERATIVE", {Write("bad"), R"({"calls": [{"name": "build"}]})", Write("speed=2"),
                             Submit(false), Write("speed=5"), Submit(true)})});
  EXPECT_EQ(End("iterative"), StopReason::kSubmitted);
  ASSERT_EQ(attempts_.size(), 2U);
  EXPECT_EQ(Stored().usage.model_calls, 6);
  const std::string transcript = Transcript();
  EXPECT_THAT(transcript, HasSubstr("stand-in-1"));    // the version that the service returned
  EXPECT_THAT(transcript, HasSubstr("expected ';'"));  // what the model was told
  EXPECT_THAT(Stored().agent.Dump(), HasSubstr("words_sha256"));
}

TEST_F(WorkflowTest, EachBudgetEndsIt) {
  const std::string loop = R"({"calls": [{"name": "history", "arguments": {"from": 1}}]})";
  std::vector<std::string> turns;
  for (int i = 0; i < 60; ++i) turns.push_back(Write("speed=" + std::to_string(i + 1)));
  const std::pair<Budget, const char*> cases[] = {
      {{.model_calls = 7}, "model calls (7)"},
      {{.tokens = 500}, "tokens (600 of 500)"},
      {{.cost_usd = 0.006}, "cost (0.0070 of 0.0060 USD)"},
      {{.wall_seconds = 0.005}, "wall time"},
  };
  for (const auto& [budget, text] : cases) {
    fs::remove(folder_ + "/results.sqlite");
    store_.emplace(*store::Store::Open(folder_ + "/results.sqlite"));
    ASSERT_TRUE(store_->AddCampaign({"c", "2026-04-22T00:00:00.000Z", false, Json::MakeObject()}));
    base_url_.clear();
    Script({Chat("", turns)});
    budget_ = budget;
    EXPECT_EQ(End("iterative"), StopReason::kBudget);
    EXPECT_THAT(Detail(), HasSubstr(text));
  }
}

TEST_F(WorkflowTest, AttemptsThatBringNothingEndIt) {
  std::vector<std::string> turns = {Write("speed=2")};
  for (int i = 0; i < 20; ++i) turns.push_back(Submit(false));
  settings_.patience = 3;
  Script({Chat("", turns)});
  EXPECT_EQ(End("iterative"), StopReason::kNoProgress);
  EXPECT_EQ(attempts_.size(), 4U);
}

TEST_F(WorkflowTest, AModelThatLoopsIsStopped) {
  std::vector<std::string> turns;
  for (int i = 0; i < 30; ++i) turns.push_back(R"({"calls": [{"name": "list_files"}]})");
  Script({Chat("", turns)});
  EXPECT_EQ(End("iterative"), StopReason::kNoProgress);
  EXPECT_THAT(Detail(), HasSubstr("same call"));
  EXPECT_EQ(Stored().usage.model_calls, 6);
}

TEST_F(WorkflowTest, AModelThatNeverCallsAToolHasGivenUp) {
  Script({Chat("", {R"({"text": "Let me think."})", R"({"text": "Hm."})", R"({"text": "Well."})"},
               "turns")});
  EXPECT_EQ(End("iterative"), StopReason::kGaveUp);
  EXPECT_EQ(Stored().usage.model_calls, 3);
  EXPECT_THAT(Transcript(), HasSubstr("use the tools"));
}

TEST_F(WorkflowTest, AModelThatFloodsIsHeldBack) {
  std::string calls;
  for (int i = 0; i < 40; ++i) {
    calls += std::string(i ? "," : "") + R"({"name": "write_file", "arguments": {"path": "f)" +
             std::to_string(i) + R"(", "text": "x"}})";
  }
  Script({Chat("", {"{\"calls\": [" + calls + "]}", Write("speed=2"), Submit(true)})});
  EXPECT_EQ(End("iterative"), StopReason::kSubmitted);
  EXPECT_THAT(Transcript(), HasSubstr("16 calls at once are the most"));
  const std::string folder =
      folder_ + "/workspaces/" + fs::path(Stored().transcript).stem().string();
  EXPECT_TRUE(fs::exists(folder + "/f15"));
  EXPECT_FALSE(fs::exists(folder + "/f16"));
}

TEST_F(WorkflowTest, TenMegabytesAreNotRead) {
  const std::string huge = R"({"text": "x", "faults": [{"padding": 10000000}]})";
  Script({Chat("", {huge, huge, huge}, "requests")});
  EXPECT_EQ(End("iterative"), StopReason::kGaveUp);
  EXPECT_THAT(Detail(), HasSubstr("too long"));
  EXPECT_LT(Transcript().size(), 100'000U);
}

// What is not read tells no tokens: a budget of them cannot be kept, so the session ends.
TEST_F(WorkflowTest, TenMegabytesEndABudgetOfTokens) {
  const std::string huge = R"({"text": "x", "faults": [{"padding": 10000000}]})";
  for (const Budget& budget : {Budget{.tokens = 1'000'000}, Budget{.cost_usd = 1000}}) {
    fs::remove(folder_ + "/results.sqlite");
    store_.emplace(*store::Store::Open(folder_ + "/results.sqlite"));
    ASSERT_TRUE(store_->AddCampaign({"c", "2026-04-22T00:00:00.000Z", false, Json::MakeObject()}));
    Script({Chat("", {huge, Write("speed=2"), Submit(true)}, "requests")});
    budget_ = budget;
    EXPECT_EQ(End("iterative"), StopReason::kBudget);
    EXPECT_THAT(Detail(), HasSubstr("cannot be kept"));
    EXPECT_EQ(Stored().usage.model_calls, 1);
  }
}

TEST_F(WorkflowTest, MistakesAreToldAndCanBeRepaired) {
  Script({Chat(
      "",
      {R"({"calls": [{"name": "write_file", "raw_arguments": "{\"path\": "}]})",
       R"({"calls": [{"name": "make_coffee"}]})",
       R"({"calls": [{"name": "write_file", "arguments": {"path": "/etc/passwd", "text": "x"}}]})",
       R"({"calls": [{"name": "write_file", "arguments": {"path": "../x", "text": "x"}}]})",
       R"({"text": "cut o", "finish": "length"})", Write("speed=2"), Submit(true)},
      "turns")});
  EXPECT_EQ(End("iterative"), StopReason::kSubmitted);
  const std::string transcript = Transcript();
  EXPECT_THAT(transcript, HasSubstr("are no JSON"));
  EXPECT_THAT(transcript, HasSubstr("there is no tool 'make_coffee'"));
  EXPECT_THAT(transcript, HasSubstr("is absolute"));
  EXPECT_THAT(transcript, HasSubstr("cut off"));
}

TEST_F(WorkflowTest, ALongConversationIsShortened) {
  const std::string full =
      R"({"faults": [{"status": 400, "error_code": "context_length_exceeded"}], )";
  std::vector<std::string> turns;
  for (int i = 0; i < 10; ++i) {
    turns.push_back(R"({"calls": [{"name": "write_file", "arguments": {"path": "f)" +
                    std::to_string(i) + R"(", "text": ")" + std::string(5000, 'y') + R"("}}]})");
  }
  turns.push_back(full + Write("speed=2").substr(1));
  turns.push_back(Submit(true));
  Script({Chat("", turns, "requests")});
  EXPECT_EQ(End("iterative"), StopReason::kSubmitted);
  EXPECT_THAT(Transcript(), HasSubstr("conversation shortened"));
  const auto seen = standin_->seen();
  EXPECT_LT(seen.back().body.Dump().size(), 50'000U);
}

TEST_F(WorkflowTest, AConversationThatStaysTooLongLosesItsOlderHalfAndThenFails) {
  const std::string fault = R"({"status": 400, "error_code": "context_length_exceeded"})";
  std::vector<std::string> turns;
  for (int i = 0; i < 12; ++i) turns.push_back(Write("speed=" + std::to_string(i + 1)));
  turns.push_back("{\"faults\": [" + fault + "," + fault + "], " + Write("speed=50").substr(1));
  turns.push_back("{\"faults\": [" + fault + "," + fault + "," + fault + "," + fault + "], " +
                  Write("speed=51").substr(1));
  Script({Chat("", turns, "requests")});
  const auto outcome = Run("iterative");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kCapacity);
  const std::string transcript = Transcript();
  EXPECT_THAT(transcript, testing::ContainsRegex("\"messages_left_out\": [1-9]"));
  EXPECT_THAT(transcript, HasSubstr("speed=50"));
  // What is wanted stays, and no result is left without its call.
  const Json last = standin_->seen().back().body;
  EXPECT_THAT(last.Dump(), HasSubstr("write a compressor"));
  const auto& messages = last.Find("messages")->items();
  EXPECT_EQ(*messages.at(1).Find("role")->string(), "assistant");
  EXPECT_EQ(Stored().usage.model_calls, 13);  // answers only
}

TEST_F(WorkflowTest, ASilentServiceDoesNotOutlastTheTime) {
  Script({Chat("", {R"({"text": "x", "faults": [{"delay_ms": 3000, "cut_after": 1}]})"})});
  budget_ = {.wall_seconds = 0.3};
  EXPECT_EQ(End("iterative"), StopReason::kBudget);
  EXPECT_THAT(Detail(), HasSubstr("wall time"));
  EXPECT_LT(Stored().usage.wall_seconds, 2.5);
}

TEST_F(WorkflowTest, ABudgetThatCannotBeCountedIsRefused) {
  protocol_ = "openai-chat";
  Script({Chat("", {R"({"text": "x", "tokens_in": -1})"})});
  budget_ = {.tokens = 1000};
  const auto outcome = Run("iterative");
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("tells no tokens"));
}

// Whatever the service sends, it is the service that failed, not what the user gave.
TEST_F(WorkflowTest, FailuresOfTheServiceAreItsOwn) {
  tries_ = 1;
  for (const char* fault : {R"({"garbage": true})", R"({"status": 400})", R"({"status": 404})",
                            R"({"status": 401})", R"({"status": 500})"}) {
    fs::remove(folder_ + "/results.sqlite");
    store_.emplace(*store::Store::Open(folder_ + "/results.sqlite"));
    ASSERT_TRUE(store_->AddCampaign({"c", "2026-04-22T00:00:00.000Z", false, Json::MakeObject()}));
    Script({Chat("", {fmt::format(R"({{"text": "x", "faults": [{}]}})", fault)})});
    const auto outcome = Run("iterative");
    ASSERT_FALSE(outcome) << fault;
    EXPECT_EQ(ExitCodeFor(outcome.error().code), ExitCode::kEnvironment) << fault;
    EXPECT_EQ(Stored().stop, StopReason::kError) << fault;
  }
}

// Counts that would run a sum backwards or over its range.
TEST_F(WorkflowTest, NegativeTokensAreNone) {
  Script({Chat("", {R"({"text": "x", "tokens_in": -100000})"})});
  budget_ = {.tokens = 1000};
  const auto outcome = Run("iterative");
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("tells no tokens"));
  EXPECT_FALSE(Stored().usage.tokens_in.has_value());
}

TEST(Meter, SumsStayInTheirRange) {
  Meter meter({.tokens = INT64_MAX});
  meter.AddModelCall({.tokens_in = INT64_MAX, .tokens_out = INT64_MAX});
  meter.AddModelCall({.tokens_in = INT64_MAX, .tokens_out = 1});
  EXPECT_EQ(meter.usage().tokens_in, INT64_MAX);
  EXPECT_EQ(meter.usage().tokens_out, INT64_MAX);
  EXPECT_TRUE(meter.Reached().has_value());
}

TEST_F(WorkflowTest, GatedEndsAtTheSpeedOfACopy) {
  Script({Chat("STRUCT", {Write("speed=200"), Submit(true)})});
  EXPECT_EQ(End("gated"), StopReason::kSubmitted);
  EXPECT_THAT(Detail(), HasSubstr("speed of a copy"));
}

TEST_F(WorkflowTest, GatedKeepsWhatIsFasterAndRollsBackWhatIsNot) {
  Script({Chat("STRUCT", {Write("wrong"), Submit(false), Write("speed=2"), Submit(true)}),
          R"({"match": "CHANGE", "advance": "requests", "turns": [)" + Write("speed=3") + "," +
              Submit(false) + "," + Write("speed=1") + "," + Submit(false) + "," + Write("bad") +
              "," + Submit(false) + "," + Write("speed=3.01") + "," + Submit(false) + "]}"});
  EXPECT_EQ(End("gated"), StopReason::kNoProgress);
  EXPECT_THAT(Detail(), HasSubstr("rolled back"));
  EXPECT_EQ(attempts_.size(), 6U);
  EXPECT_EQ(Workspace(), "speed=3");
  EXPECT_THAT(Transcript(), HasSubstr("all in szarena_compress"));  // the profile was shown
}

TEST_F(WorkflowTest, GatedEndsWhereTheAgentSeesNothingMore) {
  Script({Chat("STRUCT", {Write("speed=2"), Submit(true)}), Chat("CHANGE", {Submit(true)})});
  EXPECT_EQ(End("gated"), StopReason::kSubmitted);
}

TEST_F(WorkflowTest, EvolveImprovesAPopulation) {
  settings_.patience = 4;
  settings_.islands = 2;
  Script({R"({"match": "EVOLVE", "advance": "requests", "turns": [)" + Answer("speed=1") + "," +
          Answer("bad") + "," + Answer("speed=2") + "," + Answer("wrong") + "," +
          Answer("speed=4") + "," + Answer("speed=1") + "," + Answer("speed=1") + "," +
          Answer("speed=1") + "," + Answer("speed=1") + "," + Answer("speed=1") + "]}"});
  EXPECT_EQ(End("evolve"), StopReason::kNoProgress);
  // What does not build or is wrong is not handed in: the cascade ends early.
  ASSERT_GE(attempts_.size(), 3U);
  for (const store::Attempt& attempt : attempts_) EXPECT_TRUE(attempt.verdict.ranked());
  EXPECT_EQ(attempts_[0].label, "island 1 step 1");
  const std::string last = standin_->seen().back().body.Dump();
  EXPECT_THAT(last, HasSubstr("The program to improve"));
}

TEST_F(WorkflowTest, EvolveGoesOnWhereItWasInterrupted) {
  settings_.islands = 2;
  std::vector<std::string> turns;
  for (int i = 1; i <= 9; ++i) turns.push_back(Answer("speed=" + std::to_string(i)));
  turns.push_back(R"({"text": "no more"})");
  turns.push_back(R"({"text": "no more"})");
  turns.push_back(R"({"text": "no more"})");
  Script({Chat("EVOLVE", turns, "requests")});
  judge_.before_answer = [this] {
    if (judge_.depths.size() == 3 * 4) stop_.request_stop();  // in the fourth attempt
  };
  const auto stopped = Run("evolve");
  ASSERT_FALSE(stopped);
  EXPECT_EQ(Stored().stop, StopReason::kInterrupted);
  const auto id = Stored().id;
  const size_t before = store_->Attempts(id)->size();
  EXPECT_EQ(before, 3U);
  stop_ = {};
  judge_.before_answer = nullptr;
  const auto outcome = Run("evolve", true);
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_EQ(outcome->id, id);
  const auto attempts = *store_->Attempts(id);
  ASSERT_EQ(attempts.size(), 9U);  // the fourth, too
  EXPECT_EQ(attempts[2].label, "island 1 step 3");
  EXPECT_EQ(attempts[3].label, "island 2 step 4");
  EXPECT_EQ(Stored().usage.model_calls, 12);
  // The population is back: the first step afterwards shows a parent.
  EXPECT_THAT(standin_->seen()[4].body.Dump(), HasSubstr("The program to improve"));
}

TEST_F(WorkflowTest, IterativeGoesOnInTheSameConversation) {
  Script({Chat("ITERATIVE", {Write("speed=2"), Submit(false), Write("speed=4"), Submit(true)})});
  judge_.before_answer = [this] { stop_.request_stop(); };
  ASSERT_FALSE(Run("iterative"));
  stop_ = {};
  judge_.before_answer = nullptr;
  const auto outcome = Run("iterative", true);
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_EQ(outcome->stop, StopReason::kSubmitted);
  EXPECT_EQ(Stored().usage.model_calls, 4);
  const auto attempts = *store_->Attempts(outcome->id);
  ASSERT_EQ(attempts.size(), 2U);  // the interrupted one was judged, and the model told
  EXPECT_EQ(attempts[0].verdict.candidate_sha256, "speed=2");
  EXPECT_THAT(standin_->seen()[2].body.Dump(), HasSubstr("attempt 1: reached stage 'measured'"));
}

// A killed program leaves a transcript that ends anywhere, also within a line. resume_test.cpp has
// every such place; this is the way over HTTP.
TEST_F(WorkflowTest, WhereverItsTranscriptEndsASessionGoesOn) {
  std::vector<std::string> turns;
  for (int i = 1; i <= 6; ++i) {
    turns.push_back(Write("speed=" + std::to_string(i)));
    turns.push_back(Submit(i == 6));
  }
  std::vector<std::string> answers;
  for (int i = 1; i <= 40; ++i) answers.push_back(Answer("speed=" + std::to_string(i)));
  settings_.islands = 2;
  budget_ = {.attempts = 6, .model_calls = 60};
  std::mt19937 random(11);
  for (const char* workflow : {"iterative", "evolve"}) {
    SCOPED_TRACE(workflow);
    base_url_.clear();
    Script({Chat("ITERATIVE", turns), Chat("EVOLVE", answers, "requests")});
    judge_.depths.clear();
    judge_.before_answer = [this] {
      if (judge_.depths.back() == Depth::kSubmit &&
          std::ranges::count(judge_.depths, Depth::kSubmit) == 4) {
        stop_.request_stop();
      }
    };
    ASSERT_FALSE(Run(workflow));
    stop_ = {};
    judge_.before_answer = nullptr;
    const std::string path = folder_ + "/" + Stored().transcript;
    const std::string whole = Transcript();
    store_.reset();
    fs::copy_file(folder_ + "/results.sqlite", folder_ + "/interrupted.sqlite",
                  fs::copy_options::overwrite_existing);
    const size_t begin = whole.find('\n', whole.find('\n') + 1) + 1;
    for (int i = 0; i < 12; ++i) {
      const size_t end = begin + random() % (whole.size() - begin);
      SCOPED_TRACE(end);
      fs::copy_file(folder_ + "/interrupted.sqlite", folder_ + "/results.sqlite",
                    fs::copy_options::overwrite_existing);
      std::ofstream(path, std::ios::trunc) << whole.substr(0, end);
      Script({Chat("ITERATIVE", turns), Chat("EVOLVE", answers, "requests")});
      store_.emplace(*store::Store::Open(folder_ + "/results.sqlite"));
      const auto outcome = Run(workflow, true);
      ASSERT_TRUE(outcome) << outcome.error().ToString();
      EXPECT_EQ(store_->Attempts(outcome->id)->size(), 6U);
      const auto transcript = ReadTranscript(path);
      ASSERT_TRUE(transcript) << transcript.error().ToString();
      for (size_t r = 0; r < transcript->records.size(); ++r) {
        ASSERT_EQ(transcript->records[r].Find("seq")->integer(), static_cast<int64_t>(r));
      }
      EXPECT_EQ(*transcript->records.back().Find("kind")->string(), "stop");
      store_.reset();
    }
    fs::remove(folder_ + "/results.sqlite");
    store_.emplace(*store::Store::Open(folder_ + "/results.sqlite"));
    ASSERT_TRUE(store_->AddCampaign({"c", "2026-04-22T00:00:00.000Z", false, Json::MakeObject()}));
  }
}

TEST_F(WorkflowTest, TheTimeBeforeAnInterruptionCounts) {
  Script({Chat("ITERATIVE", {Write("speed=2"), Submit(false), Write("speed=4"), Submit(true)})});
  budget_ = {.wall_seconds = 100};
  judge_.before_answer = [this] { stop_.request_stop(); };
  ASSERT_FALSE(Run("iterative"));
  stop_ = {};
  judge_.before_answer = nullptr;
  // As if it had been judging for 99 s when it was killed, a day ago.
  const std::string path = folder_ + "/" + Stored().transcript;
  Json::Array records = ReadTranscript(path)->records;
  std::ofstream file(path, std::ios::trunc);
  for (Json& record : records) {
    if (*record.Find("kind") == Json("stop")) break;
    record.Set("at", "2026-01-01T00:00:00.000Z");
    file << record.Dump() << "\n";
  }
  file << Json::Of(
              {{"seq", records.size() - 1}, {"at", "2026-01-01T00:01:39.000Z"}, {"kind", "alive"}})
              .Dump()
       << "\n";
  file.close();
  const auto outcome = Run("iterative", true);
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_GE(Stored().usage.wall_seconds, 99);
  EXPECT_LT(Stored().usage.wall_seconds, 110);
}

TEST_F(WorkflowTest, AttemptsAreNotDroppedBecauseTheTranscriptIsMissing) {
  Script({Chat("ITERATIVE", {Write("speed=2"), Submit(false), Write("speed=3"), Submit(true)})});
  judge_.before_answer = [this] {
    if (judge_.depths.size() == 2) stop_.request_stop();
  };
  ASSERT_FALSE(Run("iterative"));
  stop_ = {};
  const std::string path = folder_ + "/" + Stored().transcript;
  fs::rename(path, path + ".away");
  const auto outcome = Run("iterative", true);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("is missing, but the session has 1 attempts"));
  EXPECT_EQ(store_->Attempts(Stored().id)->size(), 1U);
  fs::rename(path + ".away", path);
  judge_.before_answer = nullptr;
  const auto again = Run("iterative", true);
  ASSERT_TRUE(again) << again.error().ToString();
  EXPECT_EQ(store_->Attempts(again->id)->size(), 2U);
}

// A damaged transcript is refused and left as it is; the session stays interrupted.
TEST_F(WorkflowTest, ADamagedTranscriptDoesNotGoOn) {
  Script({Chat("ITERATIVE", {Write("speed=2"), Submit(true)})});
  judge_.before_answer = [this] { stop_.request_stop(); };
  ASSERT_FALSE(Run("iterative"));
  stop_ = {};
  judge_.before_answer = nullptr;
  std::string text = Transcript();
  text.insert(text.find('\n') + 1, "garbage\n");
  std::ofstream(folder_ + "/" + Stored().transcript, std::ios::trunc) << text;
  const auto outcome = Run("iterative", true);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(outcome.error().message, HasSubstr(".jsonl:2'"));
  EXPECT_EQ(Transcript(), text);
  EXPECT_EQ(Stored().stop, StopReason::kInterrupted);
}

TEST_F(WorkflowTest, AChangedSessionDoesNotGoOn) {
  Script({Chat("", {Submit(false)})});
  judge_.before_answer = [this] { stop_.request_stop(); };
  ASSERT_FALSE(Run("iterative"));
  stop_ = {};
  settings_.patience = 99;
  const auto outcome = Run("iterative", true);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("has changed"));
}

// What is refused is left as it is: file, results and state.
TEST_F(WorkflowTest, ARefusedSessionHasNotChanged) {
  timed_runs_ = 10;
  Script({Chat("ITERATIVE", {Write("speed=2"), Submit(true)})});
  judge_.before_answer = [this] { stop_.request_stop(); };
  ASSERT_FALSE(Run("iterative"));
  stop_ = {};
  const std::string whole = Transcript();
  timed_runs_ = 20;
  auto outcome = Run("iterative", true);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(outcome.error().message, HasSubstr("--runs 20, was 10"));
  EXPECT_EQ(Transcript(), whole);
  timed_runs_ = 10;
  // A step that the agent does not take, known only once it has come there.
  std::string other = whole;
  const std::string kind = "\"kind\": \"tool-call\"";
  ASSERT_NE(other.find(kind), std::string::npos);
  other.replace(other.find(kind), kind.size(), "\"kind\": \"note\"");
  std::ofstream(folder_ + "/" + Stored().transcript, std::ios::trunc) << other;
  outcome = Run("iterative", true);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("cannot go on with transcript"));
  EXPECT_EQ(Transcript(), other);
  EXPECT_EQ(Stored().stop, StopReason::kInterrupted);
  std::ofstream(folder_ + "/" + Stored().transcript, std::ios::trunc) << whole;
  judge_.before_answer = nullptr;
  outcome = Run("iterative", true);
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_THAT(Transcript(), HasSubstr("\"kind\": \"resume\""));
}

TEST_F(WorkflowTest, TheTeamPlansCodesAndCriticises) {
  Script(
      {Chat("PLANNER", {R"({"text": "THE PLAN: be quick"})"}, "requests"),
       Chat("CODER", {Write("speed=1"), Submit(true), Write("speed=3"), Submit(true)}),
       Chat("CRITIC", {R"({"text": "Use wider loads."})", R"({"text": "ACCEPT"})"}, "requests")});
  EXPECT_EQ(End("team"), StopReason::kSubmitted);
  EXPECT_THAT(Detail(), HasSubstr("critic accepted"));
  EXPECT_EQ(attempts_.size(), 2U);
  EXPECT_EQ(Stored().usage.model_calls, 7);
  bool plan_seen = false;
  bool criticism_seen = false;
  for (const standin::Seen& seen : standin_->seen()) {
    if (seen.chat != "CODER") continue;
    plan_seen |= seen.body.Dump().find("THE PLAN") != std::string::npos;
    criticism_seen |= seen.body.Dump().find("wider loads") != std::string::npos;
  }
  EXPECT_TRUE(plan_seen && criticism_seen);
}

TEST_F(WorkflowTest, AProviderThatFailsEndsTheSessionWithItsReason) {
  Script({Chat("", {R"({"text": "x", "faults": [{"status": 403, "error_code": "blocked"}]})"})});
  const auto outcome = Run("iterative");
  ASSERT_FALSE(outcome);
  EXPECT_EQ(Stored().stop, StopReason::kError);
  EXPECT_THAT(Detail(), HasSubstr("blocked"));
}

// Each provider in each workflow, to an attempt that is ranked.
class EveryProviderTest : public WorkflowTest,
                          public testing::WithParamInterface<std::tuple<const char*, const char*>> {
};

TEST_P(EveryProviderTest, InEveryWorkflow) {
  const auto [protocol, workflow] = GetParam();
  protocol_ = protocol;
  settings_.patience = 2;
  settings_.islands = 1;
  Script(
      {Chat("SINGLE", {Answer("speed=3")}), Chat("ITERATIVE", {Write("speed=2"), Submit(true)}),
       Chat("STRUCT", {Write("speed=2"), Submit(true)}), Chat("CHANGE", {Submit(true)}),
       Chat("EVOLVE", {Answer("speed=1"), Answer("speed=2"), Answer("speed=1"), Answer("speed=1")},
            "requests"),
       Chat("PLANNER", {R"({"text": "THE PLAN"})"}, "requests"),
       Chat("CODER", {Write("speed=3"), Submit(true)}),
       Chat("CRITIC", {R"({"text": "ACCEPT"})"}, "requests")});
  const StopReason end = End(workflow);
  EXPECT_EQ(end,
            workflow == std::string("evolve") ? StopReason::kNoProgress : StopReason::kSubmitted)
      << Detail();
  ASSERT_FALSE(attempts_.empty());
  EXPECT_TRUE(attempts_.back().verdict.ranked());
  EXPECT_GT(*Stored().usage.tokens_out, 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryProviderTest,
    testing::Combine(testing::Values("openai-responses", "openai-chat", "google", "anthropic"),
                     testing::Values("single-shot", "iterative", "gated", "evolve", "team")),
    [](const auto& each) {
      std::string name = std::string(std::get<0>(each.param)) + "_" + std::get<1>(each.param);
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST(ArchiveTest, CellsHoldTheFastestAndIslandsExchangeTheirBest) {
  Archive archive(2);
  const auto elite = [](double speed, double ratio, int64_t attempt) {
    return Elite{{}, Score{8, speed}, ratio, attempt, ""};
  };
  EXPECT_FALSE(archive.Insert(0, elite(0, 5, 1)));  // not ranked
  EXPECT_TRUE(archive.Insert(0, elite(1.0, 5, 2)));
  EXPECT_FALSE(archive.Insert(0, elite(1.0, 5, 3)));  // the same cell, not faster
  EXPECT_TRUE(archive.Insert(0, elite(1.05, 5, 4)));  // the same cell, faster
  EXPECT_EQ(archive.size(0), 1U);
  EXPECT_TRUE(archive.Insert(0, elite(0.3, 9, 5)));  // slower, but another ratio
  EXPECT_EQ(archive.size(0), 2U);
  EXPECT_TRUE(archive.empty(1));
  archive.Migrate();
  EXPECT_EQ(archive.BestOf(1).attempt, 4);
  EXPECT_EQ(archive.Best()->attempt, 4);
}

}  // namespace
}  // namespace szarena::agent
