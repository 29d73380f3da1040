// SPDX-License-Identifier: Apache-2.0
// Replayed and synthetic sessions.
#include "agent/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "agent/score.h"
#include "agent/session_runner.h"
#include "agent/synthetic.h"
#include "agent/testing/fake_judge.h"

namespace szarena::agent {
namespace {

using data::Json;
using testing::HasSubstr;
namespace fs = std::filesystem;

class ReplayTest : public testing::Test {
 protected:
  ReplayTest() : folder_(testing::TempDir() + "/replay_" + std::to_string(getpid())) {
    fs::create_directories(folder_);
    store_.emplace(*store::Store::Open(folder_ + "/results.sqlite"));
    EXPECT_TRUE(store_->AddCampaign({"c", "2026-04-22T00:00:00.000Z", false, Json::MakeObject()}));
  }
  ~ReplayTest() override { fs::remove_all(folder_); }

  Result<SessionOutcome> Run(Agent& agent, JudgePort& judge, const std::string& name,
                             const std::string& tier = "user", int64_t trial = 1) {
    SessionPlan plan;
    plan.key = {.campaign = "c",
                .task = "szp",
                .target = "cpu",
                .source = "none",
                .tier = tier,
                .agent = name,
                .workflow = "scripted",
                .trial = trial};
    plan.prompt = "write a compressor";
    plan.description = Json::MakeObject();
    plan.out_dir = folder_;
    plan.hidden_seed = 77;
    return RunSession(plan, agent, judge, *store_, {}, {});
  }
  std::string Transcript(const std::string& name) {
    return folder_ + "/transcripts/c-szp-cpu-none-user-" + name + "-scripted-1.jsonl";
  }

  std::string folder_;
  std::optional<store::Store> store_;
};

// Hands in what it is told.
class PaperAgent : public Agent {
 public:
  data::Json Identity() const override {
    return Json::Of({{"kind", "scripted"}, {"name", "paper"}});
  }
  Result<AgentEnd> Run(const std::string&, Toolbox& toolbox) override {
    for (const auto& [path, text] :
         {std::pair("candidate.cpp", "bad"), std::pair("candidate.cpp", "slow"),
          std::pair("extra.h", "x"), std::pair("candidate.cpp", "speed=5")}) {
      SZARENA_TRY_VOID(toolbox.Call("write_file", Json::Of({{"path", path}, {"text", text}})));
      SZARENA_TRY_VOID(toolbox.Call("submit", Json::Of({{"label", text}})));
    }
    return AgentEnd{store::StopReason::kSubmitted, ""};
  }
};

TEST_F(ReplayTest, AStageThatThereIsNotIsRefused) {
  FakeJudge judge;
  PaperAgent paper;
  ASSERT_TRUE(Run(paper, judge, "paper"));
  std::ifstream file(Transcript("paper"));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::string stage = "\"stage\": \"measured\"";
  ASSERT_NE(text.find(stage), std::string::npos);
  text.replace(text.find(stage), stage.size(), "\"stage\": \"zzz\"");
  std::ofstream(folder_ + "/other.jsonl") << text;
  const auto replay = LoadReplay(folder_ + "/other.jsonl");
  ASSERT_FALSE(replay);
  EXPECT_THAT(replay.error().message, HasSubstr("names no stage"));
}

TEST_F(ReplayTest, EveryAttemptIsJudgedAgain) {
  FakeJudge judge;
  PaperAgent paper;
  const auto first = Run(paper, judge, "paper");
  ASSERT_TRUE(first) << first.error().ToString();
  auto replay = LoadReplay(Transcript("paper"));
  ASSERT_TRUE(replay) << replay.error().ToString();
  EXPECT_EQ(replay->key.agent, "paper");
  EXPECT_EQ(replay->hidden_seed, 77U);
  ReplayAgent agent(*replay);
  const auto second = Run(agent, judge, "replay");
  ASSERT_TRUE(second) << second.error().ToString();
  const auto before = *store_->Attempts(first->id);
  const auto after = *store_->Attempts(second->id);
  ASSERT_EQ(after.size(), 4U);
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].label, before[i].label);
    EXPECT_EQ(after[i].verdict.candidate_sha256, before[i].verdict.candidate_sha256);
    EXPECT_EQ(ScoreOf(after[i].verdict), ScoreOf(before[i].verdict));
  }
  // The replay of a replay is the same again.
  EXPECT_EQ(LoadReplay(Transcript("replay"))->attempts.size(), 4U);
}

TEST_F(ReplayTest, WhatIsNoTranscriptIsRefusedByName) {
  const auto fault = [&](const std::string& text) {
    std::ofstream(folder_ + "/t.jsonl") << text;
    const auto replay = LoadReplay(folder_ + "/t.jsonl");
    return replay ? std::string() : replay.error().ToString();
  };
  EXPECT_THAT(fault(""), HasSubstr("t.jsonl"));
  EXPECT_THAT(fault("{\"kind\": \"stop\"}\n"), HasSubstr("no transcript"));
  EXPECT_THAT(fault("{\"kind\": \"session\", \"version\": 99}\n"), HasSubstr("version 99"));
  EXPECT_THAT(fault("{\"kind\": \"session\", \"version\": 2}\n"), HasSubstr("key"));
  EXPECT_FALSE(LoadReplay(folder_ + "/absent.jsonl"));
}

TEST_F(ReplayTest, SyntheticTrialsHaveTheKnownProperties) {
  const auto settings =
      SyntheticSettings::Parse("synthetic:seed=5,user=0.25/0.5,expert=1/2,sigma=0.1");
  ASSERT_TRUE(settings) << settings.error().ToString();
  store::SessionKey key{.campaign = "c",
                        .task = "szp",
                        .target = "cpu",
                        .source = "none",
                        .tier = "user",
                        .agent = "synthetic",
                        .workflow = "scripted",
                        .trial = 1};
  int successes = 0;
  double log_sum = 0;
  constexpr int kTrials = 4000;
  for (key.trial = 1; key.trial <= kTrials; ++key.trial) {
    const auto speed = SyntheticOutcome(*settings, key);
    if (!speed) continue;
    ++successes;
    log_sum += std::log(*speed);
  }
  EXPECT_NEAR(successes / double{kTrials}, 0.25, 4 * std::sqrt(0.25 * 0.75 / kTrials));
  EXPECT_NEAR(log_sum / successes, std::log(0.5), 4 * 0.1 / std::sqrt(successes));
  for (const char* bad : {"synthetic:user=2/1", "synthetic:user=0.5", "synthetic:beginner=0.5/1",
                          "synthetic:seed=x", "synthetic:"}) {
    EXPECT_FALSE(SyntheticSettings::Parse(bad)) << bad;
  }
}

TEST_F(ReplayTest, ASyntheticSessionIsLabelledWhereverItIsStored) {
  const SyntheticSettings settings;
  int ranked_trials = 0;
  for (int64_t trial = 1; trial <= 20; ++trial) {
    SyntheticAgent agent(settings);
    SyntheticJudge judge("szp", "cpu");
    const auto outcome = Run(agent, judge, "synthetic", "expert", trial);
    ASSERT_TRUE(outcome) << outcome.error().ToString();
    const auto attempts = *store_->Attempts(outcome->id);
    ASSERT_EQ(attempts.size(), 4U);
    const auto session = store_->Sessions("c")->back();
    EXPECT_EQ(*session.agent.Find("kind")->string(), "synthetic");
    const auto expected = SyntheticOutcome(settings, session.key);
    const Score best = ScoreOf(attempts[*BestAttempt(attempts)].verdict);
    EXPECT_EQ(best.speed > 0, expected.has_value());
    if (expected) {
      EXPECT_NEAR(best.speed, *expected, 1e-9 * *expected);
    }
    ranked_trials += expected ? 1 : 0;
    for (const store::Attempt& attempt : attempts) {
      EXPECT_EQ(attempt.verdict.flags.at(0).name, "synthetic");
      const auto& candidate = attempt.verdict.directions[0].candidate;
      if (candidate) {
        EXPECT_EQ(candidate->basis, judge::Basis::kSynthetic);
      }
    }
  }
  EXPECT_GT(ranked_trials, 10);
}

TEST_F(ReplayTest, TheSyntheticJudgeRefusesRealCandidates) {
  fs::create_directories(folder_ + "/real");
  std::ofstream(folder_ + "/real/candidate.cpp") << "int x;";
  const auto verdict = SyntheticJudge("szp", "cpu").Evaluate(folder_ + "/real", Depth::kSubmit, {});
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->Failed(), judge::Stage::kReceived);
}

}  // namespace
}  // namespace szarena::agent
