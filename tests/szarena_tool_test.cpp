// SPDX-License-Identifier: Apache-2.0
// Sessions whose agent is somebody else: calls from a shell, a program that is killed with its
// session, a server that is killed.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <thread>

#include "agent/transcript.h"
#include "data/json.h"
#include "os/fd.h"
#include "program_testing.h"

namespace szarena {
namespace {

using data::Json;
using testing::HasSubstr;

class ToolTest : public ProgramTest {
 protected:
  os::ProcessResult Tool(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "tool");
    arguments.insert(arguments.end(), {"--session", Path("s")});
    return RunProgram(std::move(arguments));
  }
  // The only transcript below a folder.
  std::string TranscriptOf(const std::string& folder) const {
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/transcripts")) {
      return entry.path().string();
    }
    return "";
  }
  // Waits until a transcript holds a text; another program writes it.
  bool WaitFor(const std::string& folder, const std::string& wanted) const {
    for (int i = 0; i < 1200; ++i) {
      std::error_code ignored;
      if (std::filesystem::is_directory(folder + "/transcripts", ignored)) {
        std::ifstream file(TranscriptOf(folder));
        const std::string text((std::istreambuf_iterator<char>(file)),
                               std::istreambuf_iterator<char>());
        if (text.find(wanted) != std::string::npos) return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }
};

TEST_F(ToolTest, ASessionGoesOnFromCallToCall) {
  EXPECT_THAT(Tool({"list_files"}).err, HasSubstr("its first call needs --task"));
  EXPECT_THAT(Tool({"describe_task", "--task", "quantize"}).out,
              HasSubstr("\"task\": \"quantize\""));
  EXPECT_EQ(Tool({"write_file", "path=a.cpp", "text=int x;"}).status.code, 0);
  EXPECT_EQ(Tool({"write_file", "--args", R"({"path": "b.cpp", "text": "bad"})"}).status.code, 0);
  EXPECT_EQ(Tool({"list_files"}).out, "a.cpp (6 bytes)\nb.cpp (3 bytes)\n");
  const auto refused = Tool({"read_file", "path=none.cpp"});
  EXPECT_EQ(refused.status.code, 1);
  EXPECT_EQ(refused.out, "there is no file 'none.cpp'\n");
  const auto built = Tool({"submit", "label=one", "final=false", "--json"});
  EXPECT_EQ(*data::ParseJson(built.out, "result")->FindPath({"failed", "stage"})->string(),
            "built");
  EXPECT_THAT(Tool({"history"}).out, HasSubstr("attempt 1 one"));
  EXPECT_EQ(Tool({"rm"}).status.code, 2);
  EXPECT_EQ(Tool({"close_session"}).status.code, 0);
  EXPECT_THAT(Tool({"list_files"}).err, HasSubstr("is finished already"));
  const auto transcript = agent::ReadTranscript(TranscriptOf(Path("s")));
  ASSERT_TRUE(transcript) << transcript.error().ToString();
  EXPECT_EQ(transcript->Last("attempt")->Find("files")->items().size(), 2U);
  EXPECT_EQ(*transcript->Last("stop")->Find("reason")->string(), "submitted");
}

TEST_F(ToolTest, AnotherSessionsTaskAndOtherFoldersAreRefused) {
  ASSERT_EQ(Tool({"write_file", "path=a.cpp", "text=x", "--task", "quantize"}).status.code, 0);
  const auto other = Tool({"write_file", "path=a.cpp", "text=y", "--task", "szp"});
  EXPECT_EQ(other.status.code, 2);
  EXPECT_THAT(other.err, HasSubstr("has --task quantize, not szp"));
  EXPECT_EQ(Tool({"list_files", "--tier", "expert"}).status.code, 2);
  EXPECT_EQ(Tool({"read_file", "path=a.cpp", "--task", "quantize"}).out, "x\n");
  std::filesystem::create_directory(Path("mine"));
  std::ofstream(Path("mine/notes.txt")) << "notes";
  const auto none =
      RunProgram({"tool", "list_files", "--task", "quantize", "--session", Path("mine")});
  EXPECT_EQ(none.status.code, 2);
  EXPECT_THAT(none.err, HasSubstr("is no session and not empty"));
  for (const auto& entry : std::filesystem::directory_iterator(Path("mine"))) {
    EXPECT_EQ(entry.path().filename(), "notes.txt");
  }
}

TEST_F(ToolTest, AKilledSessionTakesItsProgramWithIt) {
  const std::string mark = "987654" + std::to_string(getpid());  // of the process
  auto process = os::Process::Start(
      ProgramSpec({"session", "--task", "quantize", "--agent",
                   "command:bash -c 'echo it runs; sleep " + mark + "'", "--out", Path("o")}));
  ASSERT_TRUE(process) << process.error().ToString();
  ASSERT_TRUE(WaitFor(Path("o"), "the program's instructions"));
  const auto running = [&] {
    const std::string wanted = std::string("sleep") + '\0' + mark + '\0';
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
      std::ifstream file(entry.path() / "cmdline");
      const std::string line((std::istreambuf_iterator<char>(file)),
                             std::istreambuf_iterator<char>());
      if (line == wanted) return true;
    }
    return false;
  };
  for (int i = 0; i < 400 && !running(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ASSERT_TRUE(running());
  kill(process->pid(), SIGKILL);
  ASSERT_TRUE(process->Wait(os::After(std::chrono::seconds(30))));
  for (int i = 0; i < 400 && running(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(running());
  const auto transcript = agent::ReadTranscript(TranscriptOf(Path("o")));
  ASSERT_TRUE(transcript) << transcript.error().ToString();
  EXPECT_TRUE(transcript->First("prompt"));
  EXPECT_FALSE(transcript->Last("stop"));
}

TEST_F(ToolTest, AKilledServerLeavesAReadableTranscript) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const os::UniqueFd theirs(ends[0]);
  const os::UniqueFd ours(ends[1]);
  os::ProcessSpec spec = ProgramSpec({"mcp", "--task", "quantize", "--out", Path("o")});
  spec.fds = {{theirs.get(), 0}};
  auto process = os::Process::Start(spec);
  ASSERT_TRUE(process) << process.error().ToString();
  const std::string text =
      "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"initialize\", \"params\": "
      "{\"protocolVersion\": \"2025-06-18\", \"clientInfo\": {\"name\": \"tester\"}}}\n"
      "{\"jsonrpc\": \"2.0\", \"id\": 2, \"method\": \"tools/call\", \"params\": {\"name\": "
      "\"write_file\", \"arguments\": {\"path\": \"a.cpp\", \"text\": \"int x;\"}}}\n";
  ASSERT_EQ(write(ours.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ASSERT_TRUE(WaitFor(Path("o"), "\"tool-result\""));
  kill(process->pid(), SIGKILL);
  ASSERT_TRUE(process->Wait(os::After(std::chrono::seconds(30))));
  const auto transcript = agent::ReadTranscript(TranscriptOf(Path("o")));
  ASSERT_TRUE(transcript) << transcript.error().ToString();
  EXPECT_EQ(*transcript->First("session")->FindPath({"agent", "name"})->string(), "tester");
  EXPECT_EQ(*transcript->Last("tool-result")->FindPath({"content", "path"})->string(), "a.cpp");

  // The next server goes on with it, for the same client.
  const std::string more =
      "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"initialize\", \"params\": "
      "{\"protocolVersion\": \"2025-06-18\", \"clientInfo\": {\"name\": \"tester\"}}}\n"
      "{\"jsonrpc\": \"2.0\", \"id\": 2, \"method\": \"tools/call\", \"params\": {\"name\": "
      "\"list_files\", \"arguments\": {}}}\n";
  std::ofstream(Path("in")) << more;
  const os::UniqueFd input(open(Path("in").c_str(), O_RDONLY | O_CLOEXEC));
  os::ProcessSpec again =
      ProgramSpec({"mcp", "--task", "quantize", "--out", Path("o"), "--resume"});
  again.fds = {{input.get(), 0}};
  const auto run = os::RunProcess(again, std::chrono::seconds(60));
  ASSERT_TRUE(run && run->status.ok()) << run->err;
  EXPECT_NE(run->out.find("a.cpp (6 bytes)"), std::string::npos) << run->out;
  const auto whole = agent::ReadTranscript(TranscriptOf(Path("o")));
  ASSERT_TRUE(whole);
  EXPECT_NE(whole->First("resume"), nullptr);
  EXPECT_GT(whole->records.size(), transcript->records.size());
}

}  // namespace
}  // namespace szarena
