// SPDX-License-Identifier: Apache-2.0
// The real agent programs from npm, each in its sandbox, with a scripted service on loopback for
// its model: from the first call to a verified result through our MCP server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "agent/transcript.h"
#include "data/json.h"
#include "npm_testing.h"
#include "program_testing.h"
#include "store/store.h"

namespace szarena {
namespace {

using data::Json;
using testing::HasSubstr;

constexpr const char* kKey = "the-real-key-of-the-service";

struct Case {
  const char* agent;
  const char* model;  // one that the program asks plainly, without a router or a mode of its own
};

class AgentProgramTest : public ProgramTest, public testing::WithParamInterface<Case> {};

TEST_P(AgentProgramTest, CompletesASession) {
  SKIP_WITHOUT_NPM();
  std::filesystem::copy(
      std::string(SZARENA_SOURCE_DIR) + "/tasks/quantize/baseline/cpu/candidate.cpp",
      Path("candidate.cpp"));
  std::ofstream(Path("script.json")) << R"({"key": ")" << kKey << R"(", "chats": [{"turns": [
    {"text": "I look at the task.", "calls": [{"name": "describe_task", "arguments": {}}]},
    {"calls": [{"name": "write_file", "arguments": {"path": "candidate.cpp", "text": {"$file": "candidate.cpp"}}}]},
    {"calls": [{"name": "submit", "arguments": {"label": "the baseline", "final": true, "wait_seconds": 300}}]},
    {"text": "Handed in."}]}]})";
  UrlServer service(
      {std::string(SZARENA_BIN_DIR) + "/../tests/szarena-standin", Path("script.json")},
      Path("service"));
  std::ofstream models(Path("models.toml"));
  for (const char* provider : {"openai", "openai-chat", "google", "anthropic"}) {
    models << "[providers." << provider << "]\nbase_url = \"" << service.url()
           << (std::string_view(provider) == "google" ? "/v1beta" : "/v1") << "\"\n";
  }
  models.close();

  os::ProcessSpec spec =
      NpmSpec({std::string(SZARENA_BIN_DIR) + "/szarena", "session", "--task", "quantize",
               "--agent", GetParam().agent, "--model", GetParam().model, "--models",
               Path("models.toml"), "--out", Path("o"), "--minutes", "4", "--json"});
  for (const char* name : {"OPENAI_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY"}) {
    spec.env.emplace_back(name, kKey);
  }
  const auto run = os::RunProcess(spec, std::chrono::seconds(300));
  ASSERT_TRUE(run) << run.error().ToString();
  ASSERT_TRUE(run->status.ok()) << run->err;
  EXPECT_EQ(*data::ParseJson(run->out, "outcome")->Find("stop")->string(), "submitted") << run->out;

  auto store = store::Store::OpenForReading(Path("o/results.sqlite"));
  ASSERT_TRUE(store) << store.error().ToString();
  const auto sessions = store->Sessions("sessions");
  ASSERT_TRUE(sessions && sessions->size() == 1);
  const store::Session& session = sessions->front();
  EXPECT_EQ(*session.agent.Find("kind")->string(), "program");
  EXPECT_FALSE(session.agent.Find("version")->is_null());
  EXPECT_EQ(session.key.agent, std::string(GetParam().agent) + "+" + GetParam().model);
  const auto attempts = store->Attempts(session.id);
  ASSERT_TRUE(attempts && attempts->size() == 1);
  EXPECT_TRUE(attempts->front().verdict.ranked()) << attempts->front().verdict.feedback;
  // Every call went through our proxy; the four of the script, and whatever the program adds.
  EXPECT_GE(session.usage.model_calls.value_or(0), 4);
  EXPECT_EQ(session.usage.tokens_in, 100 * session.usage.model_calls.value_or(0));

  const auto transcript = agent::ReadTranscript(Path("o/" + session.transcript));
  ASSERT_TRUE(transcript) << transcript.error().ToString();
  std::map<std::string, int> kinds;
  for (const Json& record : transcript->records) ++kinds[*record.Find("kind")->string()];
  EXPECT_GE(kinds["tool-call"], 3);
  EXPECT_EQ(kinds["attempt"], 1);
  EXPECT_EQ(kinds["usage"], session.usage.model_calls.value_or(0));
  EXPECT_GT(kinds["program"], 3);  // its own events

  std::ifstream file(Path("o/" + session.transcript));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_THAT(text, testing::Not(HasSubstr(kKey)));  // only the service has seen it
  EXPECT_THAT(service.Output(), HasSubstr(kKey));
}

INSTANTIATE_TEST_SUITE_P(FromNpm, AgentProgramTest,
                         testing::Values(Case{"codex", "gpt-5.1-codex"},
                                         Case{"gemini", "gemini-2.5-pro"},
                                         Case{"claude", "claude-opus-4-5"},
                                         Case{"opencode", "any-model"}),
                         [](const auto& which) { return std::string(which.param.agent); });

}  // namespace
}  // namespace szarena
