// SPDX-License-Identifier: Apache-2.0
// The tools: what they answer, what they refuse, what is recorded.
#include "agent/toolbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "agent/testing/fake_judge.h"
#include "data/schema.h"

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
    return Toolbox({.description = Json::Of({{"task", "szp"}, {"target", "cpu"}}),
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
    const auto output = data::ParseJson(tool.output_schema, tool.name);
    ASSERT_TRUE(output) << output.error().ToString();
    EXPECT_EQ(*output->Find("type")->string(), "object");
  }
  EXPECT_THAT(
      names, testing::ElementsAre("describe_task", "list_references", "read_reference",
                                  "search_references", "list_files", "read_file", "write_file",
                                  "edit_file", "delete_file", "build", "test", "benchmark",
                                  "profile", "submit", "history", "poll", "cancel", "read_output"));
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
              HasSubstr("$.text: is missing"));
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
  std::vector<std::string> kinds;
  for (size_t i = 0; i < lines->values.size(); ++i) {
    EXPECT_EQ(lines->values[i].Find("seq")->integer(), static_cast<int64_t>(i));
    kinds.push_back(*lines->values[i].Find("kind")->string());
  }
  EXPECT_THAT(kinds, testing::ElementsAre("tool-call", "tool-result", "tool-call", "tool-result",
                                          "tool-call", "attempt", "tool-result"));
  const Json& file = lines->values[5].Find("files")->items().at(0);
  EXPECT_EQ(*file.Find("path")->string(), "candidate.cpp");
  EXPECT_EQ(lines->values[3].Find("ok")->boolean(), false);
}

TEST_F(ToolboxTest, EveryAnswerHasTheFormThatItsSchemaPromises) {
  Toolbox toolbox = Make();
  toolbox.context().references = {{"contract", "the contract", "int f();\n"}};
  const std::vector<std::pair<std::string, Json>> calls = {
      {"describe_task", {}},
      {"list_references", {}},
      {"read_reference", Args({{"name", "contract"}})},
      {"search_references", Args({{"text", "INT"}})},
      {"write_file", Args({{"path", "candidate.cpp"}, {"text", "slow slow"}})},
      {"edit_file", Args({{"path", "candidate.cpp"}, {"old_text", "slow "}, {"new_text", ""}})},
      {"list_files", {}},
      {"read_file", Args({{"path", "candidate.cpp"}})},
      {"build", {}},
      {"test", {}},
      {"benchmark", Args({{"wait_seconds", 60}})},
      {"profile", {}},
      {"submit", Args({{"label", "one"}})},
      {"history", {}},
      {"poll", Args({{"job", "JOB"}})},
      {"cancel", Args({{"job", "JOB"}})},
      {"delete_file", Args({{"path", "candidate.cpp"}})}};
  std::string job;
  for (auto [name, arguments] : calls) {
    if (arguments.Find("job") != nullptr) arguments.Set("job", job);
    const auto result = toolbox.Call(name, arguments);
    ASSERT_TRUE(result) << name;
    EXPECT_TRUE(result->ok) << name << ": " << result->text;
    const Json schema = *data::ParseJson(FindTool(name)->output_schema, name);
    EXPECT_EQ(data::SchemaFault(schema, result->content), "") << name << result->content.Dump(2);
    if (const Json* id = result->content.Find("job")) job = *id->string();
  }
}

TEST_F(ToolboxTest, AnEditNeedsOneOccurrence) {
  Toolbox toolbox = Make();
  const auto edit = [&](const char* from, const char* to, bool all = false) {
    return toolbox
        .Call("edit_file",
              Args({{"path", "a"}, {"old_text", from}, {"new_text", to}, {"replace_all", all}}))
        ->text;
  };
  ASSERT_TRUE(toolbox.Call("write_file", Args({{"path", "a"}, {"text", "aaab"}}))->ok);
  EXPECT_THAT(edit("c", "d"), HasSubstr("does not hold"));
  EXPECT_THAT(edit("a", "d"), HasSubstr("3 times"));
  EXPECT_THAT(edit("", "d"), HasSubstr("is empty"));
  edit("ab", "c");
  edit("a", "aa", true);
  EXPECT_EQ(toolbox.Call("read_file", Args({{"path", "a"}}))->text, "aaaac");
}

// 500 kB times 100 kB would be 50 GB: refused by its size, before anything of it is made.
TEST_F(ToolboxTest, AnEditThatGrowsTooLargeIsRefusedBeforeItIsMade) {
  Toolbox toolbox = Make();
  ASSERT_TRUE(
      toolbox.Call("write_file", Args({{"path", "a"}, {"text", std::string(500000, 'a')}}))->ok);
  const auto edit = [&](size_t size) {
    return *toolbox.Call("edit_file", Args({{"path", "a"},
                                            {"old_text", "a"},
                                            {"new_text", std::string(size, 'b')},
                                            {"replace_all", true}}));
  };
  const ToolResult refused = edit(100000);
  EXPECT_FALSE(refused.ok);
  EXPECT_THAT(refused.text, HasSubstr("would have 50000000000 bytes; at most 1048576"));
  EXPECT_FALSE(edit(3).ok);
  EXPECT_TRUE(edit(2).ok);
  EXPECT_EQ(toolbox.context().workspace.Read("a")->size(), 1000000U);
}

TEST_F(ToolboxTest, LongWorkIsPolledAndOthersWaitTheirTurn) {
  Toolbox toolbox = Make();
  std::promise<void> release;
  auto released = release.get_future().share();
  judge_.before_answer = [&] { released.wait(); };
  const auto started = toolbox.Call("benchmark", Args({{"wait_seconds", 0.01}}));
  EXPECT_EQ(*started->content.Find("status")->string(), "running");
  EXPECT_EQ(data::SchemaFault(*data::ParseJson(FindTool("benchmark")->output_schema, "schema"),
                              started->content),
            "");
  EXPECT_TRUE(toolbox.Call("list_files", {})->ok);
  EXPECT_THAT(toolbox.Call("build", {})->text, HasSubstr("is still running"));
  const Json job = Args({{"job", *started->content.Find("job")}, {"wait_seconds", 0}});
  EXPECT_EQ(*toolbox.Call("poll", job)->content.Find("status")->string(), "running");
  release.set_value();
  const auto done = toolbox.Call("poll", Args({{"job", *started->content.Find("job")}}));
  EXPECT_EQ(*done->content.Find("status")->string(), "done");
  EXPECT_EQ(toolbox.Call("poll", job)->content.Find("stage")->Dump(),
            done->content.Find("stage")->Dump());
  EXPECT_FALSE(toolbox.Call("poll", Args({{"job", "job-none"}}))->ok);
}

TEST_F(ToolboxTest, AJobIsCancelled) {
  Toolbox toolbox = Make();
  std::promise<void> release;
  auto released = release.get_future().share();
  judge_.before_answer = [&] { released.wait(); };
  const auto started = toolbox.Call("submit", Args({{"wait_seconds", 0}}));
  const Json job = Args({{"job", *started->content.Find("job")}});
  EXPECT_EQ(*toolbox.Call("cancel", job)->content.Find("status")->string(), "cancelling");
  release.set_value();
  EXPECT_THAT(toolbox.Call("poll", job)->text, HasSubstr("was cancelled"));
  EXPECT_TRUE(recorded_.empty());
  judge_.before_answer = nullptr;
  EXPECT_TRUE(toolbox.Call("submit", {})->ok);
}

TEST_F(ToolboxTest, AToolboxThatGoesEndsItsJob) {
  std::promise<void> release;
  auto released = release.get_future().share();
  judge_.before_answer = [&] { released.wait(); };
  {
    Toolbox toolbox = Make();
    ASSERT_TRUE(toolbox.Call("submit", Args({{"wait_seconds", 0}}))->ok);
    release.set_value();
  }
  EXPECT_TRUE(recorded_.empty());
}

TEST_F(ToolboxTest, LongOutputIsCutAndPaged) {
  Toolbox toolbox = Make();
  std::string page;
  for (int i = 0; page.size() < 50000; ++i) page += "line " + std::to_string(i) + " \xC3\xA4\n";
  toolbox.context().description = Args({{"task", "szp"}, {"target", "cpu"}, {"description", page}});
  const auto cut = toolbox.Call("describe_task", {});
  EXPECT_LT(cut->text.size(), 17000U);
  EXPECT_LT(cut->content.Find("description")->string()->size(), 17000U);
  const Json handle = *cut->content.FindPath({"more", "handle"});
  Json offset = *cut->content.FindPath({"more", "next_offset"});
  std::string whole = cut->text.substr(0, *offset.unsigned_integer());
  while (!offset.is_null()) {
    const auto more = toolbox.Call("read_output", Args({{"handle", handle}, {"offset", offset}}));
    ASSERT_TRUE(more->ok) << more->text;
    whole += more->text;
    offset = *more->content.Find("next_offset");
  }
  EXPECT_EQ(whole, toolbox.context().description.Dump(2));
  EXPECT_FALSE(toolbox.Call("read_output", Args({{"handle", "output-99"}}))->ok);
}

TEST_F(ToolboxTest, AnAgentsOwnLinksLeadNowhere) {
  Toolbox toolbox = Make();
  std::filesystem::create_symlink("/etc/passwd", folder_ + "/ws/candidate.cpp");
  EXPECT_FALSE(toolbox.Call("read_file", Args({{"path", "candidate.cpp"}}))->ok);
  EXPECT_FALSE(toolbox.Call("write_file", Args({{"path", "candidate.cpp"}, {"text", "x"}}))->ok);
  EXPECT_EQ(toolbox.Call("list_files", {})->text, "no files");
  std::filesystem::remove(folder_ + "/ws/candidate.cpp");
  for (int i = 0; i < 201; ++i) std::ofstream(folder_ + "/ws/f" + std::to_string(i)) << "x";
  EXPECT_THAT(toolbox.Call("build", {})->text, HasSubstr("more than 200 files"));
  EXPECT_TRUE(judge_.depths.empty());
}

}  // namespace
}  // namespace szarena::agent
