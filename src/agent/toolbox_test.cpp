// SPDX-License-Identifier: Apache-2.0
// The tools: what they answer, what they refuse, what is recorded.
#include "agent/toolbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "agent/testing/fake_judge.h"

namespace szarena::agent {
namespace {

using data::Json;
using testing::HasSubstr;

class ToolboxTest : public testing::Test {
 protected:
  ToolboxTest() : folder_(testing::TempDir() + "/toolbox_" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_ + "/ws");
    transcript_.emplace(*Transcript::Create(folder_ + "/t.jsonl"));
  }
  ~ToolboxTest() override { std::filesystem::remove_all(folder_); }

  Toolbox Make(Budget budget = {}) {
    return Toolbox({.description = Json::Of({{"task", "szp"}}),
                    .workspace = Workspace(folder_ + "/ws"),
                    .judge = judge_,
                    .transcript = *transcript_,
                    .budget = budget,
                    .stop = stop_.get_token(),
                    .record = [this](const store::Attempt& attempt) -> Result<void> {
                      recorded_.push_back(attempt.label);
                      return {};
                    },
                    .on_call = nullptr});
  }
  static Json Args(std::initializer_list<data::JsonMember> members) { return Json::Of(members); }

  std::string folder_;
  FakeJudge judge_;
  std::optional<Transcript> transcript_;
  std::stop_source stop_;
  std::vector<std::string> recorded_;
};

TEST_F(ToolboxTest, EveryToolIsDescribedByASchema) {
  std::vector<std::string_view> names;
  for (const Tool& tool : AllTools()) {
    names.push_back(tool.name);
    EXPECT_FALSE(tool.description.empty());
    const auto schema = data::ParseJson(tool.input_schema, tool.name);
    ASSERT_TRUE(schema) << schema.error().ToString();
    EXPECT_EQ(*schema->Find("type")->string(), "object");
  }
  EXPECT_THAT(names, testing::ElementsAre("describe_task", "list_files", "read_file", "write_file",
                                          "delete_file", "build", "test", "benchmark", "submit",
                                          "history"));
}

TEST_F(ToolboxTest, FilesComeBackAndStayInside) {
  Toolbox toolbox = Make();
  EXPECT_TRUE(toolbox.Call("write_file", Args({{"path", "src/a.cpp"}, {"text", "int x;"}}))->ok);
  EXPECT_EQ(toolbox.Call("read_file", Args({{"path", "src/a.cpp"}}))->text, "int x;");
  EXPECT_THAT(toolbox.Call("list_files", {})->text, HasSubstr("src/a.cpp (6 bytes)"));
  std::filesystem::create_symlink("/etc", folder_ + "/ws/link");
  for (const char* path :
       {"../x", "/etc/passwd", "a/../../x", "", "a//b", "./a", "link/passwd", "a\nb"}) {
    const auto result = toolbox.Call("write_file", Args({{"path", path}, {"text", "x"}}));
    ASSERT_TRUE(result) << path;
    EXPECT_FALSE(result->ok) << path;
    EXPECT_FALSE(toolbox.Call("read_file", Args({{"path", path}}))->ok) << path;
  }
  EXPECT_FALSE(toolbox.Call("write_file", Args({{"path", "src"}, {"text", "x"}}))->ok);
  EXPECT_FALSE(
      toolbox.Call("write_file", Args({{"path", "big"}, {"text", std::string(2 << 20, 'x')}}))->ok);
  EXPECT_TRUE(toolbox.Call("delete_file", Args({{"path", "src/a.cpp"}}))->ok);
  EXPECT_FALSE(toolbox.Call("delete_file", Args({{"path", "src/a.cpp"}}))->ok);
}

TEST_F(ToolboxTest, LongFilesArePaged) {
  Toolbox toolbox = Make();
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i) + "\n";
  ASSERT_TRUE(toolbox.Call("write_file", Args({{"path", "a"}, {"text", text}}))->ok);
  std::string read;
  for (Json offset = 0; !offset.is_null();) {
    const auto part = toolbox.Call("read_file", Args({{"path", "a"}, {"offset", offset}}));
    read += part->text;
    offset = *part->content.Find("next_offset");
  }
  EXPECT_EQ(read, text);
}

TEST_F(ToolboxTest, WrongCallsAreRefusedAndTheSessionGoesOn) {
  Toolbox toolbox = Make();
  EXPECT_THAT(toolbox.Call("rm", {})->text,
              HasSubstr("there is no tool 'rm'; tools: describe_task"));
  EXPECT_FALSE(toolbox.Call("write_file", Json("text"))->ok);
  EXPECT_THAT(toolbox.Call("write_file", Args({{"path", "a"}}))->text,
              HasSubstr("'text' is missing"));
  EXPECT_FALSE(toolbox.Call("read_file", Args({{"path", 7}}))->ok);
  EXPECT_FALSE(toolbox.Call("read_file", Args({{"path", "a"}, {"offset", -1}}))->ok);
  EXPECT_FALSE(toolbox.Call("submit", Args({{"final", "yes"}}))->ok);
  EXPECT_TRUE(recorded_.empty());
}

TEST_F(ToolboxTest, SubmissionsAreAttemptsAndTestsAreNot) {
  Toolbox toolbox = Make({.attempts = 2, .wall_seconds = std::nullopt});
  ASSERT_TRUE(toolbox.Call("write_file", Args({{"path", "candidate.cpp"}, {"text", "bad"}}))->ok);
  EXPECT_THAT(toolbox.Call("build", {})->text, HasSubstr("failed at 'built': expected ';'"));
  EXPECT_TRUE(recorded_.empty());
  ASSERT_TRUE(toolbox.Call("submit", Args({{"label", "one"}}))->ok);
  ASSERT_TRUE(toolbox.Call("write_file", Args({{"path", "candidate.cpp"}, {"text", "fast"}}))->ok);
  const auto second = toolbox.Call("submit", Args({{"label", "two"}, {"idea", "faster"}}));
  EXPECT_EQ(second->content.Find("ranked")->boolean(), true);
  EXPECT_THAT(second->text, HasSubstr("attempt 2: reached stage 'measured'\nall stages hold"));
  EXPECT_EQ(second->content.FindPath({"throughput_gbs", "compress", "candidate", "host", "median"})
                ->number(),
            2);
  EXPECT_THAT(recorded_, testing::ElementsAre("one", "two"));
  EXPECT_TRUE(toolbox.BudgetUsed());
  EXPECT_FALSE(toolbox.Call("submit", {})->ok);
  EXPECT_FALSE(toolbox.Call("test", {})->ok);
  EXPECT_EQ(toolbox.Call("history", {})->content.Find("attempts")->items().size(), 2U);
  EXPECT_EQ(judge_.depths, (std::vector{Depth::kBuild, Depth::kSubmit, Depth::kSubmit}));
}

TEST_F(ToolboxTest, AVerdictMadeDuringAStopIsDiscarded) {
  Toolbox toolbox = Make();
  judge_.before_answer = [this] { stop_.request_stop(); };
  const auto result = toolbox.Call("submit", {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(recorded_.empty());
  EXPECT_FALSE(toolbox.Call("list_files", {}));
}

TEST_F(ToolboxTest, TheTranscriptHasEveryCallAndResult) {
  Toolbox toolbox = Make();
  ASSERT_TRUE(toolbox.Call("write_file", Args({{"path", "candidate.cpp"}, {"text", "\xFF\n"}})));
  ASSERT_TRUE(toolbox.Call("nonsense", {}));
  ASSERT_TRUE(toolbox.Call("submit", {}));
  const auto lines = data::ReadJsonLines(transcript_->path());
  ASSERT_TRUE(lines) << lines.error().ToString();
  EXPECT_FALSE(lines->torn_tail);
  ASSERT_EQ(lines->values.size(), 6U);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(lines->values[i].Find("seq")->integer(), static_cast<int64_t>(i));
    EXPECT_EQ(*lines->values[i].Find("kind")->string(), i % 2 == 0 ? "tool-call" : "tool-result");
  }
  EXPECT_EQ(lines->values[3].Find("ok")->boolean(), false);
}

}  // namespace
}  // namespace szarena::agent
