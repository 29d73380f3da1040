// SPDX-License-Identifier: Apache-2.0
// What is stored comes back; unfinished sessions are replaced; newer files are refused; kills do no
// harm.
#include "store/store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

namespace szarena::store {
namespace {

judge::Verdict MeasuredVerdict(double gbs) {
  judge::Verdict verdict;
  verdict.task = "szp";
  verdict.target = "cpu";
  verdict.candidate_sha256 = "abc";
  for (auto& stage : verdict.stages) stage.status = judge::StageStatus::kOk;
  verdict.ratio = 8.5;
  verdict.max_error_over_bound = 0.75;
  verdict.directions[0].candidate.emplace().host = judge::Figure{gbs, gbs - 0.1, gbs + 0.1, 10};
  verdict.directions[0].baseline.emplace().host = judge::Figure{4, 3.9, 4.1, 10};
  return verdict;
}

SessionKey Key() {
  return {.campaign = "c",
          .task = "szp",
          .target = "cpu",
          .source = "none",
          .tier = "none",
          .agent = "ladder",
          .workflow = "scripted",
          .trial = 1};
}

Session NewSession() {
  Session session;
  session.key = Key();
  session.agent = data::Json::Of({{"kind", "scripted"}});
  session.prompt_sha256 = "0123";
  session.transcript = "transcripts/1.jsonl";
  session.hidden_seed = UINT64_MAX;
  session.started_at = "2026-04-22T00:00:00.000Z";
  return session;
}

Campaign NewCampaign() {
  return {.name = "c",
          .created_at = "2026-04-22T00:00:00.000Z",
          .complete = false,
          .environment = data::Json::Of({{"cpu", "test"}})};
}

class StoreTest : public testing::Test {
 protected:
  StoreTest() : folder_(testing::TempDir() + "/store_" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~StoreTest() override { std::filesystem::remove_all(folder_); }
  Store Opened() {
    auto store = Store::Open(path());
    EXPECT_TRUE(store) << store.error().ToString();
    return *std::move(store);
  }
  std::string path() const { return folder_ + "/results.sqlite"; }
  std::string folder_;
};

TEST_F(StoreTest, WhatIsStoredComesBack) {
  Store store = Opened();
  ASSERT_TRUE(store.AddCampaign(NewCampaign()));
  const auto id = store.BeginSession(NewSession());
  ASSERT_TRUE(id) << id.error().ToString();
  ASSERT_TRUE(store.AddAttempt(*id, {1, "01-naive", "plain loops", MeasuredVerdict(0.5)}));
  ASSERT_TRUE(store.AddAttempt(*id, {2, "02-blocks", "blocks", MeasuredVerdict(1.5)}));
  EXPECT_FALSE(store.AddAttempt(*id, {2, "twice", "", MeasuredVerdict(1)}));
  ASSERT_TRUE(
      store.EndSession(*id, StopReason::kSubmitted, "", {.wall_seconds = 2.5, .tokens_in = 7}));

  auto reader = Store::OpenForReading(path());
  ASSERT_TRUE(reader) << reader.error().ToString();
  const auto sessions = reader->Sessions("c");
  ASSERT_TRUE(sessions && sessions->size() == 1);
  const Session& session = sessions->front();
  EXPECT_EQ(session.key, Key());
  EXPECT_EQ(session.stop, StopReason::kSubmitted);
  EXPECT_EQ(session.hidden_seed, UINT64_MAX);
  EXPECT_EQ(session.usage.tokens_in, 7);
  EXPECT_EQ(session.usage.cost_usd, std::nullopt);
  EXPECT_EQ(session.usage.wall_seconds, 2.5);
  EXPECT_EQ(session.agent.Dump(), R"({"kind": "scripted"})");
  const auto attempts = reader->Attempts(*id);
  ASSERT_TRUE(attempts) << attempts.error().ToString();
  ASSERT_EQ(attempts->size(), 2U);
  EXPECT_EQ((*attempts)[1].label, "02-blocks");
  EXPECT_TRUE((*attempts)[1].verdict.ranked());
  EXPECT_EQ((*attempts)[1].verdict.directions[0].candidate->host->median, 1.5);
  EXPECT_FALSE(reader->AddCampaign({"d", "", false, {}}));  // read-only
}

TEST_F(StoreTest, WhatHappenedOnTheWaferCanBeQueried) {
  Store store = Opened();
  ASSERT_TRUE(store.AddCampaign(NewCampaign()));
  const auto id = store.BeginSession(NewSession());
  judge::Verdict verdict = MeasuredVerdict(0.5);
  judge::WaferRecord& wafer = verdict.wafer.emplace();
  wafer.variant = "streaming";
  wafer.directions[1] =
      judge::WaferActivity{.elements = 100, .pes_active = 7, .launch_cycles = 4242};
  ASSERT_TRUE(store.AddAttempt(*id, {1, "a", "", MeasuredVerdict(0.5)}));  // no wafer, no row
  ASSERT_TRUE(store.AddAttempt(*id, {2, "b", "", verdict}));
  EXPECT_EQ((*store.Attempts(*id))[1].verdict.wafer, verdict.wafer);
  auto database = db::Database::Open(path(), db::OpenMode::kReadOnly);
  auto row =
      database->Prepare("SELECT variant, direction, pes_active, launch_cycles FROM wafer_activity");
  ASSERT_TRUE(row && *row->Step());
  EXPECT_EQ(row->Text(0), "streaming");
  EXPECT_EQ(row->Text(1), "decompress or inverse");
  EXPECT_EQ(row->Int(2), 7);
  EXPECT_EQ(row->Int(3), 4242);
  EXPECT_FALSE(*row->Step());
}

TEST_F(StoreTest, ColumnsAndMeasurementsAgreeWithTheVerdict) {
  Store store = Opened();
  ASSERT_TRUE(store.AddCampaign(NewCampaign()));
  const auto id = store.BeginSession(NewSession());
  judge::Verdict broken = MeasuredVerdict(1);
  broken.at(judge::Stage::kBoundHeld).status = judge::StageStatus::kFailed;
  broken.directions = {};
  ASSERT_TRUE(store.AddAttempt(*id, {1, "a", "", MeasuredVerdict(0.5)}));
  ASSERT_TRUE(store.AddAttempt(*id, {2, "b", "", broken}));
  auto database = db::Database::Open(path(), db::OpenMode::kReadOnly);
  auto row = database->Prepare(
      "SELECT stage, runnable, decodable, correct, ranked FROM attempt ORDER BY number");
  ASSERT_TRUE(row && *row->Step());
  EXPECT_EQ(row->Text(0), "measured");
  EXPECT_EQ(row->Int(4), 1);
  ASSERT_TRUE(*row->Step());
  EXPECT_EQ(row->Text(0), "output-produced");
  EXPECT_EQ(row->Int(1), 1);
  EXPECT_EQ(row->Int(2) + row->Int(3) + row->Int(4), 0);
  auto figures = database->Prepare(
      "SELECT median_gbs FROM measurement WHERE program = 'baseline' AND direction = 'compress' "
      "AND "
      "level = 'host'");
  ASSERT_TRUE(figures && *figures->Step());
  EXPECT_EQ(figures->Real(0), 4);
  EXPECT_FALSE(*figures->Step());
}

TEST_F(StoreTest, UnfinishedSessionsAreReplacedAndFinishedOnesKept) {
  Store store = Opened();
  ASSERT_TRUE(store.AddCampaign(NewCampaign()));
  const auto first = store.BeginSession(NewSession());
  ASSERT_TRUE(first && store.AddAttempt(*first, {1, "a", "", MeasuredVerdict(1)}));
  const auto second = store.BeginSession(NewSession());  // the first was killed
  ASSERT_TRUE(second) << second.error().ToString();
  EXPECT_EQ(store.Sessions("c")->size(), 1U);
  EXPECT_TRUE(store.Attempts(*second)->empty());
  ASSERT_TRUE(store.EndSession(*second, StopReason::kInterrupted, "", {}));
  const auto third = store.BeginSession(NewSession());
  ASSERT_TRUE(third && store.EndSession(*third, StopReason::kBudget, "", {}));
  const auto fourth = store.BeginSession(NewSession());
  ASSERT_FALSE(fourth);
  EXPECT_EQ(fourth.error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(store.FindSession(Key())->has_value());
}

// Processes that begin at once on one new file: one campaign, a trial for each.
TEST_F(StoreTest, ProcessesShareACampaignAndGetATrialEach) {
  const std::string path = folder_ + "/shared.sqlite";
  constexpr int kProcesses = 6;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      auto store = Store::Open(path);
      if (!store || !store->NeedCampaign(NewCampaign())) _exit(1);
      Session session = NewSession();
      const auto trial = store->AllotTrial(session.key);
      if (!trial) _exit(2);
      session.key.trial = *trial;
      const auto id = store->BeginSession(session);
      _exit(id && store->EndSession(*id, StopReason::kSubmitted, "", {}) ? 0 : 3);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  Store store = *Store::Open(path);
  EXPECT_EQ(store.Campaigns()->size(), 1U);
  std::vector<int64_t> trials;
  const auto sessions = store.Sessions("c");
  ASSERT_TRUE(sessions);
  for (const Session& session : *sessions) trials.push_back(session.key.trial);
  std::ranges::sort(trials);
  EXPECT_EQ(trials, (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
}

TEST_F(StoreTest, RefusesNewerAndForeignFiles) {
  {
    Store store = Opened();
  }
  {
    auto database = db::Database::Open(path(), db::OpenMode::kReadWrite);
    ASSERT_TRUE(database->Execute("PRAGMA user_version = 99"));
  }
  for (const auto& result : {Store::Open(path()), Store::OpenForReading(path())}) {
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find("schema version 99"), std::string::npos);
  }
  const std::string other = folder_ + "/other.sqlite";
  {
    ASSERT_TRUE(db::Database::Open(other, db::OpenMode::kCreate)->Execute("CREATE TABLE x (a)"));
  }
  EXPECT_EQ(Store::OpenForReading(other).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(Store::Open(other).error().code, ErrorCode::kCorrupt);  // and gets no tables of ours
  EXPECT_EQ(Store::OpenForReading(folder_ + "/none").error().code, ErrorCode::kNotFound);
}

TEST_F(StoreTest, KilledWriterLeavesAReadableStore) {
  {
    Store store = Opened();
  }
  const pid_t child = fork();
  if (child == 0) {
    auto store = Store::Open(path());
    if (!store || !store->AddCampaign(NewCampaign())) _exit(1);
    const auto id = store->BeginSession(NewSession());
    if (!id || !store->AddAttempt(*id, {1, "a", "", MeasuredVerdict(1)})) _exit(1);
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  auto store = Store::OpenForReading(path());
  ASSERT_TRUE(store) << store.error().ToString();
  const auto sessions = store->Sessions("c");
  ASSERT_TRUE(sessions && sessions->size() == 1);
  EXPECT_FALSE(sessions->front().stop);
  EXPECT_EQ(store->Attempts(sessions->front().id)->size(), 1U);
}

}  // namespace
}  // namespace szarena::store
