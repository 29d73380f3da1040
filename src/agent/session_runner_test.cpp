// SPDX-License-Identifier: Apache-2.0
// Whole sessions of the ladder agent against a fake judge and a real store.
#include "agent/session_runner.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/ladder.h"
#include "agent/testing/fake_judge.h"

namespace szarena::agent {
namespace {

namespace fs = std::filesystem;

class SessionRunnerTest : public testing::Test {
 protected:
  SessionRunnerTest() : folder_(testing::TempDir() + "/runner_" + std::to_string(getpid())) {
    for (const auto& [label, text] :
         {std::pair("01-slow", "slow"), std::pair("02-bad", "bad"), std::pair("03-fast", "fast")}) {
      fs::create_directories(folder_ + "/ladder/" + label);
      std::ofstream(folder_ + "/ladder/" + label + "/candidate.cpp") << text;
      steps_.push_back({label, std::string("idea ") + text, folder_ + "/ladder/" + label});
    }
    std::ofstream(folder_ + "/ladder/01-slow/extra.h") << "// only here";
    std::ofstream(folder_ + "/ladder/03-fast/ladder.toml") << "idea = 'x'";
    store_.emplace(*store::Store::Open(folder_ + "/results.sqlite"));
    EXPECT_TRUE(
        store_->AddCampaign({"c", "2026-04-22T00:00:00.000Z", false, data::Json::MakeObject()}));
  }
  ~SessionRunnerTest() override { fs::remove_all(folder_); }

  SessionPlan Plan() const {
    SessionPlan plan;
    plan.key = {.campaign = "c",
                .task = "szp",
                .target = "cpu",
                .source = "none",
                .tier = "none",
                .agent = "ladder",
                .workflow = "scripted",
                .trial = 1};
    plan.prompt = "write a compressor";
    plan.description = data::Json::Of({{"task", "szp"}});
    plan.out_dir = folder_;
    return plan;
  }
  Result<SessionOutcome> Run(const SessionPlan& plan) {
    LadderAgent agent(steps_);
    return RunSession(plan, agent, judge_, *store_, {}, stop_.get_token());
  }
  store::Session Stored() { return store_->Sessions("c")->back(); }

  std::string folder_;
  std::vector<LadderStep> steps_;
  FakeJudge judge_;
  std::optional<store::Store> store_;
  std::stop_source stop_;
};

TEST_F(SessionRunnerTest, TheLadderIsPlayedStoredAndRecorded) {
  const auto outcome = Run(Plan());
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_EQ(outcome->stop, store::StopReason::kSubmitted);
  EXPECT_EQ(outcome->attempts, 3U);
  const auto attempts = store_->Attempts(outcome->id);
  ASSERT_EQ(attempts->size(), 3U);
  EXPECT_EQ((*attempts)[0].verdict.candidate_sha256, "slow");
  EXPECT_FALSE((*attempts)[1].verdict.runnable());
  EXPECT_EQ((*attempts)[2].idea, "idea fast");
  const store::Session session = Stored();
  EXPECT_EQ(session.prompt_sha256.size(), 64U);
  EXPECT_EQ(*session.agent.Find("kind")->string(), "scripted");
  // The workspace holds the last step's files only.
  const std::string workspace = folder_ + "/workspaces/c-szp-cpu-none-none-ladder-scripted-1";
  EXPECT_TRUE(fs::exists(workspace + "/candidate.cpp"));
  EXPECT_FALSE(fs::exists(workspace + "/extra.h"));
  EXPECT_FALSE(fs::exists(workspace + "/ladder.toml"));
  const auto lines = data::ReadJsonLines(folder_ + "/" + session.transcript);
  ASSERT_TRUE(lines) << lines.error().ToString();
  EXPECT_EQ(*lines->values.front().Find("kind")->string(), "session");
  EXPECT_EQ(*lines->values[1].Find("text")->string(), "write a compressor");
  EXPECT_EQ(*lines->values.back().Find("kind")->string(), "stop");
}

TEST_F(SessionRunnerTest, ABudgetEndsTheSession) {
  SessionPlan plan = Plan();
  plan.budget.attempts = 2;
  const auto outcome = Run(plan);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->stop, store::StopReason::kBudget);
  EXPECT_EQ(outcome->attempts, 2U);
}

TEST_F(SessionRunnerTest, AStopLeavesAReadableSessionThatTheNextRunReplaces) {
  judge_.before_answer = [this] {
    if (judge_.depths.size() == 2) stop_.request_stop();
  };
  const auto stopped = Run(Plan());
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(Stored().stop, store::StopReason::kInterrupted);
  EXPECT_EQ(store_->Attempts(Stored().id)->size(), 1U);
  stop_ = {};
  ASSERT_TRUE(Run(Plan()));
  EXPECT_EQ(store_->Sessions("c")->size(), 1U);
  EXPECT_EQ(store_->Attempts(Stored().id)->size(), 3U);
}

TEST_F(SessionRunnerTest, ARunningSessionIsNeitherResumedNorBegunAnew) {
  std::vector<Error> refused;
  judge_.before_answer = [&] {
    if (judge_.depths.size() != 1) return;
    for (const bool resume : {true, false}) {
      SessionPlan plan = Plan();
      plan.resume = resume;
      FakeJudge judge;
      LadderAgent agent(steps_);
      auto store = store::Store::Open(folder_ + "/results.sqlite");
      const auto second = RunSession(plan, agent, judge, *store, {}, {});
      if (!second) refused.push_back(second.error());
    }
  };
  const auto outcome = Run(Plan());
  ASSERT_TRUE(outcome) << outcome.error().ToString();
  EXPECT_EQ(outcome->attempts, 3U);
  ASSERT_EQ(refused.size(), 2U);
  for (const Error& error : refused) {
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
    EXPECT_NE(error.message.find("is running in another process"), std::string::npos)
        << error.message;
  }
  EXPECT_EQ(Stored().stop, store::StopReason::kSubmitted);
}

TEST_F(SessionRunnerTest, AnEnvironmentsLackIsAnErrorAndNoAttempt) {
  judge_.error = Error{ErrorCode::kUnavailable, "no compiler 'g++'", {}};
  const auto outcome = Run(Plan());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(Stored().stop, store::StopReason::kError);
  EXPECT_TRUE(store_->Attempts(Stored().id)->empty());
}

TEST_F(SessionRunnerTest, AMissingLadderIsNamed) {
  steps_.push_back({"04-none", "", folder_ + "/ladder/04-none"});
  const auto outcome = Run(Plan());
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("04-none"), std::string::npos);
}

}  // namespace
}  // namespace szarena::agent
