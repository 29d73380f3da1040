// SPDX-License-Identifier: Apache-2.0
// Sessions with the real judge: stored and reported, interrupted, killed, run again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "data/json.h"
#include "program_testing.h"
#include "store/store.h"

namespace szarena {
namespace {

using SessionTest = ProgramTest;

std::vector<std::string> SessionArguments(const std::string& out) {
  return {"session", "--task", "szp", "--trial", "1", "--attempts", "2", "--out", out, "--json"};
}

// The session as stored, once it has `attempts` attempts; waits for a program that is running.
std::optional<store::Session> WaitForAttempts(const std::string& results, size_t attempts) {
  for (int i = 0; i < 1200; ++i) {
    auto store = store::Store::OpenForReading(results);
    if (store) {
      const auto sessions = store->Sessions("sessions");
      if (sessions && !sessions->empty()) {
        const auto found = store->Attempts(sessions->front().id);
        if (found && found->size() >= attempts) return sessions->front();
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // another program's progress
  }
  return std::nullopt;
}

TEST_F(SessionTest, IsStoredRecordedAndReported) {
  const auto run = RunProgram(SessionArguments(Path("o")));
  ASSERT_EQ(run.status.code, 0) << run.err;
  const auto json = data::ParseJson(run.out, "session");
  ASSERT_TRUE(json) << run.out;
  EXPECT_EQ(json->Find("attempts")->integer(), 2);
  EXPECT_EQ(*json->Find("stop")->string(), "budget");

  const auto report =
      RunProgram({"report", Path("o/results.sqlite"), "--out", Path("r"), "--json"});
  ASSERT_EQ(report.status.code, 0) << report.err;
  const auto model = data::ParseJson(report.out, "report");
  const data::Json& session = model->Find("sessions")->items().at(0);
  ASSERT_EQ(session.Find("steps")->items().size(), 2U);
  for (const data::Json& step : session.Find("steps")->items()) {
    EXPECT_EQ(step.Find("ranked")->boolean(), true) << step.Dump(2);
    EXPECT_GT(*step.FindPath({"throughput", "compress", "gbs", "median"})->number(), 0);
    EXPECT_GT(*step.Find("ratio")->number(), 1);
  }
  EXPECT_TRUE(std::filesystem::exists(Path("r/report.html")));
  const auto transcript = data::ReadJsonLines(Path("o/" + *session.Find("transcript")->string()));
  ASSERT_TRUE(transcript) << transcript.error().ToString();
  EXPECT_EQ(*transcript->values.back().Find("kind")->string(), "stop");

  // Its attempts, judged again on the same data, come as far.
  const auto replay =
      RunProgram({"replay", Path("o/" + *session.Find("transcript")->string()), "--out",
                  Path("replayed"), "--json"});
  ASSERT_EQ(replay.status.code, 0) << replay.err;
  const auto compared = data::ParseJson(replay.out, "replay");
  ASSERT_EQ(compared->Find("attempts")->items().size(), 2U);
  for (const data::Json& attempt : compared->Find("attempts")->items()) {
    EXPECT_EQ(attempt.Find("same_files")->boolean(), true) << attempt.Dump(2);
    EXPECT_EQ(*attempt.Find("stage_now")->string(), "measured");
  }

  const auto again = RunProgram(SessionArguments(Path("o")));  // the same trial is finished
  EXPECT_EQ(again.status.code, 2);
  EXPECT_THAT(again.err, testing::HasSubstr("is finished already"));
}

TEST_F(SessionTest, InterruptedItEndsCleanlyAndRunsAgain) {
  auto process = os::Process::Start(ProgramSpec(SessionArguments(Path("o"))));
  ASSERT_TRUE(process) << process.error().ToString();
  ASSERT_TRUE(WaitForAttempts(Path("o/results.sqlite"), 1));
  kill(process->pid(), SIGINT);
  const auto ended = process->Wait(os::After(std::chrono::seconds(120)));
  ASSERT_TRUE(ended && *ended);
  EXPECT_EQ(process->result().status.code, 130) << process->result().err;
  const auto session = WaitForAttempts(Path("o/results.sqlite"), 1);
  ASSERT_TRUE(session);
  EXPECT_EQ(session->stop, store::StopReason::kInterrupted);
  ASSERT_EQ(RunProgram(SessionArguments(Path("o"))).status.code, 0);
  EXPECT_EQ(WaitForAttempts(Path("o/results.sqlite"), 2)->stop, store::StopReason::kBudget);
}

TEST_F(SessionTest, KilledItLeavesAReadableStoreAndRunsAgain) {
  auto process = os::Process::Start(ProgramSpec(SessionArguments(Path("o"))));
  ASSERT_TRUE(process) << process.error().ToString();
  ASSERT_TRUE(WaitForAttempts(Path("o/results.sqlite"), 1));
  kill(process->pid(), SIGKILL);
  const auto ended = process->Wait(os::After(std::chrono::seconds(60)));
  ASSERT_TRUE(ended && *ended);
  const auto report = RunProgram({"report", Path("o/results.sqlite"), "--out", Path("r")});
  EXPECT_EQ(report.status.code, 0) << report.err;
  const auto session = WaitForAttempts(Path("o/results.sqlite"), 1);
  ASSERT_TRUE(session);
  EXPECT_FALSE(session->stop);
  ASSERT_EQ(RunProgram(SessionArguments(Path("o"))).status.code, 0);
  EXPECT_EQ(WaitForAttempts(Path("o/results.sqlite"), 2)->stop, store::StopReason::kBudget);
}

}  // namespace
}  // namespace szarena
