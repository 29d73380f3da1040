// SPDX-License-Identifier: Apache-2.0
// szarena's arguments, exit statuses and JSON: what scripts rely on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "data/json.h"
#include "program_testing.h"
#include "store/store.h"

namespace szarena {
namespace {

using testing::HasSubstr;

using CliTest = ProgramTest;

TEST_F(CliTest, UsageAndVersion) {
  EXPECT_EQ(RunProgram({}).status.code, 2);
  EXPECT_EQ(RunProgram({"nonsense"}).status.code, 2);
  EXPECT_EQ(RunProgram({"report"}).status.code, 2);
  const auto help = RunProgram({"--help"});
  EXPECT_EQ(help.status.code, 0);
  for (const char* command : {"doctor", "demo", "tasks", "evaluate", "session", "replay",
                              "transcript", "report", "new-task", "new-candidate"}) {
    EXPECT_THAT(help.out, HasSubstr(command));
  }
  EXPECT_THAT(RunProgram({"--version"}).out, HasSubstr("szarena "));
}

TEST_F(CliTest, WrongNamesAreBadUsageAndNamed) {
  const auto task = RunProgram({"session", "--task", "nope", "--out", Path("o")});
  EXPECT_EQ(task.status.code, 2);
  EXPECT_THAT(task.err, HasSubstr("'nope'"));
  EXPECT_FALSE(std::filesystem::exists(Path("o")));
  const auto agent =
      RunProgram({"session", "--task", "szp", "--agent", "nobody", "--out", Path("o")});
  EXPECT_EQ(agent.status.code, 2);
  EXPECT_THAT(agent.err, HasSubstr("there is no agent 'nobody'"));
  const auto target = RunProgram({"evaluate", "--task", "szp", "--target", "abacus", folder_});
  EXPECT_EQ(target.status.code, 2);
  EXPECT_THAT(target.err, HasSubstr("abacus"));
  const auto candidate = RunProgram({"evaluate", "--task", "szp", "--target", "cpu", Path("none")});
  EXPECT_EQ(candidate.status.code, 2);
  EXPECT_THAT(candidate.err, HasSubstr(Path("none")));
}

TEST_F(CliTest, DoctorSaysInJsonWhatIsMissingAndWhatToDo) {
  const auto result = RunProgram({"doctor", "--json"});
  const auto json = data::ParseJson(result.out, "doctor");
  ASSERT_TRUE(json) << json.error().ToString();
  ASSERT_FALSE(json->Find("findings")->items().empty());
  for (const data::Json& finding : json->Find("findings")->items()) {
    EXPECT_EQ(*finding.Find("found")->boolean(), finding.Find("remedy")->is_null());
  }
  const bool able = *json->Find("can_run")->items().at(0).Find("able")->boolean();
  EXPECT_EQ(result.status.code, able ? 0 : 3);
}

TEST_F(CliTest, SyntheticSessionsAreLabelledInEveryFormOfTheReport) {
  for (const char* tier : {"user", "expert"}) {
    const auto run = RunProgram({"session", "--task", "szp", "--agent", "synthetic:expert=1/2",
                                 "--tier", tier, "--out", Path("o")});
    ASSERT_EQ(run.status.code, 0) << run.err;
  }
  ASSERT_EQ(RunProgram({"report", Path("o/results.sqlite"), "--out", Path("r")}).status.code, 0);
  size_t pages = 0;
  for (const auto& entry : std::filesystem::directory_iterator(Path("r"))) {
    std::ifstream file(entry.path());
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    EXPECT_THAT(text, HasSubstr("synthetic")) << entry.path();
    EXPECT_THAT(text, testing::Not(HasSubstr("Measured host"))) << entry.path();
    ++pages;
  }
  EXPECT_GE(pages, 6U);
  std::string transcript;
  for (const auto& entry : std::filesystem::directory_iterator(Path("o/transcripts"))) {
    transcript = entry.path();
    EXPECT_THAT(RunProgram({"transcript", transcript}).out,
                HasSubstr("nothing was built or measured"));
  }
  const auto replay = RunProgram({"replay", transcript, "--out", Path("o2")});
  EXPECT_EQ(replay.status.code, 2);
  EXPECT_THAT(replay.err, HasSubstr("synthetic"));
}

TEST_F(CliTest, ReportNamesWhatIsWrongWithAStore) {
  const auto missing = RunProgram({"report", Path("none.sqlite"), "--out", Path("r")});
  EXPECT_EQ(missing.status.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("none.sqlite"));
  std::ofstream(Path("text.sqlite")) << std::string(2000, 'x');
  EXPECT_EQ(RunProgram({"report", Path("text.sqlite"), "--out", Path("r")}).status.code, 2);
  {
    ASSERT_TRUE(store::Store::Open(Path("empty.sqlite")));
  }
  const auto empty = RunProgram({"report", Path("empty.sqlite"), "--out", Path("r")});
  EXPECT_EQ(empty.status.code, 2);
  EXPECT_THAT(empty.err, HasSubstr("holds no campaign"));
  EXPECT_FALSE(std::filesystem::exists(Path("r")));
}

}  // namespace
}  // namespace szarena
