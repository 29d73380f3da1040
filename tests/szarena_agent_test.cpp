// SPDX-License-Identifier: Apache-2.0
// Sessions of models with the real program and the real judge, against the stand-in for their
// services: to a verified result, killed at random points, and with the key looked for in
// everything written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <iterator>
#include <ostream>
#include <random>
#include <thread>

#include "agent/transcript.h"
#include "data/json.h"
#include "model/testing/standin.h"
#include "program_testing.h"
#include "store/store.h"

namespace szarena {
namespace {

using data::Json;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;
namespace standin = model::standin;

constexpr const char* kKey = "sk-program-test-0123456789abcdef";
constexpr const char* kTask = "scan";

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A candidate that fails where it finds the key in its environment.
std::string Candidate() {
  return ReadAll(std::string(SZARENA_SOURCE_DIR) + "/tasks/" + kTask +
                 "/source/cpu/candidate.cpp") +
         R"(
#include <cstdlib>
#include <cstring>
extern "C" char** environ;
__attribute__((constructor)) static void LookForKeys() {
  for (char** entry = environ; entry && *entry; ++entry) {
    if (std::strstr(*entry, "sk-program-test") || std::strstr(*entry, "API_KEY")) std::abort();
  }
}
)";
}

Json Call(const std::string& tool, Json arguments) {
  return Json::Of({{"name", tool}, {"arguments", std::move(arguments)}});
}
Json Turn(std::initializer_list<Json> calls) {
  Json list = Json::MakeArray();
  for (const Json& call : calls) list.Append(call);
  return Json::Of({{"text", "next"}, {"calls", std::move(list)}});
}
Json Chat(const std::string& match, const std::string& advance, std::initializer_list<Json> turns) {
  Json list = Json::MakeArray();
  for (const Json& turn : turns) list.Append(turn);
  return Json::Of({{"match", match}, {"advance", advance}, {"turns", std::move(list)}});
}

class AgentProgramTest : public ProgramTest {
 protected:
  void Start(std::initializer_list<Json> chats) {
    Json list = Json::MakeArray();
    for (const Json& chat : chats) list.Append(chat);
    auto script = standin::ParseScript(Json::Of({{"key", kKey}, {"chats", std::move(list)}}), ".");
    ASSERT_TRUE(script) << script.error().ToString();
    standin_ = std::move(*standin::StandIn::Start(*script));
    std::ofstream models(Path("models.toml"));
    for (const char* provider : {"openai", "openai-chat", "anthropic"}) {
      models << "[providers." << provider << "]\nbase_url = \"" << standin_->url() << "/v1\"\n";
    }
    models << "[providers.google]\nbase_url = \"" << standin_->url() << "/v1beta\"\n";
  }
  os::ProcessSpec Spec(const std::string& agent, const std::string& workflow,
                       std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"session", "--task",     kTask,      "--agent",
                                          agent,     "--workflow", workflow,   "--out",
                                          Path("o"), "--json",     "--models", Path("models.toml")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    os::ProcessSpec spec = ProgramSpec(std::move(arguments));
    for (const char* variable : {"OPENAI_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY"}) {
      spec.env.emplace_back(variable, kKey);
    }
    return spec;
  }
  os::ProcessResult Run(const os::ProcessSpec& spec) {
    const auto result = os::RunProcess(spec, std::chrono::seconds(120));
    EXPECT_TRUE(result && !result->timed_out);
    return result ? *result : os::ProcessResult{};
  }
  store::Session LastSession() {
    auto store = store::Store::OpenForReading(Path("o/results.sqlite"));
    EXPECT_TRUE(store) << store.error().ToString();
    return store->Sessions("sessions")->back();
  }
  // Every file below the folder that holds the text.
  std::vector<std::string> FilesWith(const std::string& text) {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      if (entry.is_regular_file() && ReadAll(entry.path()).find(text) != std::string::npos) {
        found.push_back(entry.path());
      }
    }
    return found;
  }

  std::unique_ptr<standin::StandIn> standin_;
};

// What a service does not tell is not shown as zero.
TEST_F(AgentProgramTest, UnknownTokensAreUnknown) {
  Start({Chat("", "requests", {Json::Of({{"text", "x"}, {"tokens_in", -1}})})});
  os::ProcessSpec spec = Spec("openai-chat:m", "iterative", {"--model-calls", "1"});
  std::erase(spec.argv, "--json");
  const auto run = Run(spec);
  ASSERT_EQ(run.status.code, 0) << run.err;
  EXPECT_NE(run.out.find("1 model calls, unknown tokens in, unknown out"), std::string::npos)
      << run.out;
}

struct Pair {
  const char* agent;
  const char* workflow;
};
void PrintTo(const Pair& pair, std::ostream* out) { *out << pair.agent << " " << pair.workflow; }

class VerifiedResultTest : public AgentProgramTest, public testing::WithParamInterface<Pair> {};

TEST_P(VerifiedResultTest, AModelReachesOneAndItsKeyIsNowhere) {
  const Json write =
      Call("write_file", Json::Of({{"path", "candidate.cpp"}, {"text", Candidate()}}));
  const Json submit = Call("submit", Json::Of({{"idea", "plain"}, {"final", true}}));
  const Json answer = Json::Of({{"text", "### candidate.cpp\n\n```cpp\n" + Candidate() + "```\n"}});
  const Json accept = Json::Of({{"text", "ACCEPT"}});
  Start({Chat("Answer with the complete program", "requests", {answer}),
         Chat("You improve one program", "requests", {answer}),
         Chat("first of two phases", "calls", {Turn({write}), Turn({submit})}),
         Chat("Make one change", "calls", {Turn({submit})}),
         Chat("You are the planner", "requests", {Json::Of({{"text", "one pass"}})}),
         Chat("You are the critic", "requests", {accept}),
         Chat("You are the coder", "calls", {Turn({write}), Turn({submit})}),
         Chat("You have tools", "calls", {Turn({write}), Turn({submit})})});
  const auto [agent, workflow] = GetParam();
  const bool evolve = workflow == std::string("evolve");
  const auto run =
      Run(Spec(agent, workflow,
               evolve ? std::vector<std::string>{"--attempts", "1"} : std::vector<std::string>{}));
  ASSERT_EQ(run.status.code, 0) << run.err;
  const store::Session session = LastSession();
  EXPECT_EQ(session.stop, evolve ? store::StopReason::kBudget : store::StopReason::kSubmitted)
      << session.stop_detail;
  auto store = store::Store::OpenForReading(Path("o/results.sqlite"));
  const auto attempts = *store->Attempts(session.id);
  ASSERT_FALSE(attempts.empty());
  EXPECT_TRUE(attempts[0].verdict.ranked()) << attempts[0].verdict.feedback;
  EXPECT_GE(*session.usage.model_calls, 1);
  EXPECT_THAT(session.agent.Dump(), HasSubstr("words_sha256"));

  const auto transcript = agent::ReadTranscript(Path("o/" + session.transcript));
  ASSERT_TRUE(transcript) << transcript.error().ToString();
  EXPECT_THAT(Json(transcript->records).Dump(), HasSubstr("stand-in-1"));
  EXPECT_EQ(standin_->seen().front().status, 200);  // the key was sent
  EXPECT_THAT(FilesWith(kKey), testing::IsEmpty());
  EXPECT_THAT(run.out + run.err, Not(HasSubstr(kKey)));
  const auto page =
      RunProgram({"transcript", Path("o/" + session.transcript), "--html", Path("t.html")});
  EXPECT_EQ(page.status.code, 0) << page.err;
}

INSTANTIATE_TEST_SUITE_P(
    All, VerifiedResultTest,
    testing::Values(Pair{"openai:m", "iterative"}, Pair{"google:m", "single-shot"},
                    Pair{"anthropic:m", "team"}, Pair{"openai-chat:m", "evolve"},
                    Pair{"anthropic:m", "gated"}),
    [](const auto& each) {
      std::string name = std::string(each.param.agent) + "_" + each.param.workflow;
      for (char& c : name) c = c == ':' || c == '-' ? '_' : c;
      return name;
    });

TEST_F(AgentProgramTest, ARefusedKeyIsNotShownEvenIfTheServiceRepeatsIt) {
  Start({});
  auto spec = Spec("openai:m", "iterative");
  const std::string wrong = "sk-wrong-key-that-is-echoed";
  for (auto& [name, value] : spec.env) value = wrong;
  const auto run = Run(spec);
  EXPECT_EQ(run.status.code, 3) << run.err;
  EXPECT_THAT(run.err, HasSubstr("[key]"));
  EXPECT_THAT(run.out + run.err, Not(HasSubstr(wrong)));
  EXPECT_THAT(FilesWith(wrong), testing::IsEmpty());
  EXPECT_EQ(LastSession().stop, store::StopReason::kError);
}

TEST_F(AgentProgramTest, WhatIsMissingOrMisspeltIsSaidBeforeAnythingIsWritten) {
  Start({});
  const auto code = [&](const std::string& agent, const std::string& workflow,
                        std::vector<std::string> more, const std::string& word) {
    auto spec = Spec(agent, workflow, std::move(more));
    spec.env = {{"HOME", folder_}, {"OPENAI_API_KEY", ""}, {"SZARENA_KEYS", ""}};
    const auto run = Run(spec);
    EXPECT_THAT(run.err, HasSubstr(word));
    return run.status.code;
  };
  EXPECT_EQ(code("openai:m", "iterative", {}, "OPENAI_API_KEY"), 3);
  EXPECT_EQ(code("nobody:m", "iterative", {}, "no agent 'nobody:m'"), 2);
  EXPECT_EQ(code("command:true", "program", {"--resume"}, "cannot go on"), 2);
  EXPECT_EQ(code("openai:m", "waterfall", {}, "no workflow 'waterfall'"), 2);
  std::ofstream(Path("models.toml"), std::ios::app)
      << "[providers.free]\nprotocol = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1\"\n";
  EXPECT_EQ(code("free:m", "iterative", {"--cost", "1"}, "price"), 2);
  EXPECT_FALSE(fs::exists(Path("o/results.sqlite")));
}

TEST_F(AgentProgramTest, NumbersOutOfTheirRangeAreRefusedAndNeverClamped) {
  Start({});
  const std::string huge(309, '9');
  for (const char* option : {"--trial", "--seed", "--tokens", "--cost", "--minutes", "--attempts",
                             "--patience", "--islands", "--runs"}) {
    for (const std::string& value : {huge, std::string("nan"), std::string("-1")}) {
      const auto run = Run(Spec("openai:m", "iterative", {option, value}));
      EXPECT_EQ(run.status.code, 2) << option << " " << value;
      EXPECT_THAT(run.out + run.err, HasSubstr("expected a")) << option;
      EXPECT_LT((run.out + run.err).size(), 300U);
    }
  }
  EXPECT_FALSE(fs::exists(Path("o/results.sqlite")));
}

// A line that is no JSON: shown and judged again without it, and named; not gone on from.
TEST_F(AgentProgramTest, ADamagedTranscriptIsShownWithoutTheDamage) {
  Start({});
  const auto made = RunProgram({"session", "--task", kTask, "--agent", "synthetic:attempts=3",
                                "--out", Path("o"), "--campaign", "c\x1b[31m"});
  ASSERT_EQ(made.status.code, 0) << made.err;
  EXPECT_THAT(made.out + made.err, Not(HasSubstr("\x1b")));
  const std::string path = [&] {
    for (const auto& entry : fs::directory_iterator(Path("o/transcripts"))) {
      return entry.path().string();
    }
    return std::string();
  }();
  std::string text = ReadAll(path);
  const size_t third = text.find('\n', text.find('\n') + 1) + 1;
  text.insert(third, "\x1b]0;garbage\n");
  std::ofstream(path, std::ios::trunc) << text;
  const auto shown = RunProgram({"transcript", path});
  EXPECT_EQ(shown.status.code, 0) << shown.err;
  EXPECT_THAT(shown.err, HasSubstr("left out: '" + path + ":3'"));
  EXPECT_THAT(shown.out + shown.err, Not(HasSubstr("\x1b")));
  EXPECT_THAT(shown.out, HasSubstr("synthetic 3"));
}

// Sixty turns of writing, no judge: quick, and the same at each point.
class KillTest : public AgentProgramTest {
 protected:
  void SetUp() override {
    Json turns = Json::MakeArray();
    for (int i = 0; i < 60; ++i) {
      turns.Append(Turn({Call("write_file", Json::Of({{"path", "f" + std::to_string(i)},
                                                      {"text", std::string(20'000, 'x')}}))}));
    }
    Json chat = Json::Of({{"match", ""}, {"advance", "calls"}, {"turns", std::move(turns)}});
    Start({chat});
  }
};

TEST_F(KillTest, AtAnyMomentTheTranscriptIsReadableAndTheSessionGoesOn) {
  std::random_device device;
  const auto seed = device();
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::vector<std::string> resume = {"--trial", "1"};
  bool ended = false;
  size_t records_before = 0;
  for (int kills = 0; kills < 8 && !ended; ++kills) {
    auto process = os::Process::Start(Spec("openai:m", "iterative", resume));
    ASSERT_TRUE(process) << process.error().ToString();
    const auto wait = std::chrono::milliseconds(30 + random() % 220);
    const auto done = process->Wait(os::After(wait));
    ASSERT_TRUE(done);
    ended = *done;
    if (!ended) process->Kill();
    auto store = store::Store::OpenForReading(Path("o/results.sqlite"));
    if (!store || store->Sessions("sessions")->empty()) continue;  // before it began
    const store::Session session = store->Sessions("sessions")->back();
    if (!fs::exists(Path("o/" + session.transcript))) continue;
    const auto transcript = agent::ReadTranscript(Path("o/" + session.transcript));
    if (!transcript) {  // killed before the first line was whole
      EXPECT_EQ(records_before, 0U) << transcript.error().ToString();
      continue;
    }
    for (size_t i = 0; i < transcript->records.size(); ++i) {
      ASSERT_EQ(transcript->records[i].Find("seq")->integer(), static_cast<int64_t>(i));
    }
    EXPECT_GE(transcript->records.size(), records_before);
    records_before = transcript->records.size();
    EXPECT_EQ(RunProgram({"transcript", Path("o/" + session.transcript)}).status.code, 0);
    // A process that has ended has ended its session. A killed one may have done so, too, a moment
    // before; then there is nothing to go on with, and that is said.
    if (ended) {
      EXPECT_TRUE(session.stop.has_value());
    } else if (session.stop) {
      const auto run = Run(Spec("openai:m", "iterative", {"--trial", "1", "--resume"}));
      EXPECT_EQ(run.status.code, 2) << run.out << run.err;
      EXPECT_THAT(run.err, HasSubstr("is finished already"));
      ended = true;
    }
    resume = {"--trial", "1", "--resume"};
  }
  if (!ended) {
    const auto run = Run(Spec("openai:m", "iterative", resume));
    ASSERT_EQ(run.status.code, 0) << run.err;
  }
  // "Done." three times is the end of the script: the model has given up, and nothing was lost.
  const store::Session session = LastSession();
  EXPECT_EQ(session.stop, store::StopReason::kGaveUp) << session.stop_detail;
  for (int i = 0; i < 60; ++i) {
    const std::string file = Path("o/workspaces/" + fs::path(session.transcript).stem().string() +
                                  "/f" + std::to_string(i));
    EXPECT_EQ(fs::file_size(file), 20'000U) << file;
  }
  EXPECT_EQ(RunProgram({"report", Path("o/results.sqlite"), "--out", Path("r")}).status.code, 0);
}

}  // namespace
}  // namespace szarena
