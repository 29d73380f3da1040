// SPDX-License-Identifier: Apache-2.0
// Public checkers of the Model Context Protocol against our server: the conformance suite on its
// fixtures, the Inspector on `szarena mcp`, over both transports and in both eras.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "data/json.h"
#include "npm_testing.h"
#include "program_testing.h"

namespace szarena {
namespace {

using data::Json;
using testing::HasSubstr;

const std::string kFixtures = std::string(SZARENA_BIN_DIR) + "/../tests/szarena-mcp-conformance";

// Scenarios about what our server never does: ask its client for something (sampling, elicitation,
// roots, input_required), tell changes of lists and resources (they do not change), mirror tool
// arguments into headers, tasks. docs/mcp.md lists them.
bool NotOffered(const std::string& scenario) {
  static const std::set<std::string> kNames = {"tools-call-sampling",
                                               "tools-call-elicitation",
                                               "elicitation-sep1034-defaults",
                                               "elicitation-sep1330-enums",
                                               "resources-subscribe",
                                               "resources-unsubscribe",
                                               "http-custom-header-server-validation"};
  return kNames.contains(scenario) || scenario.starts_with("input-required-result-") ||
         scenario.starts_with("tasks-");
}

struct Outcome {
  int passed = 0;
  int failed = 0;
};

// "✓ tools-list: 4 passed, 0 failed" of the summary.
std::map<std::string, Outcome> Conformance(const std::string& url, const std::string& revision) {
  const auto result = os::RunProcess(NpmSpec({NpmBin() + "/node", NpmBin() + "/conformance",
                                              "server", "--url", url, "--requirements", revision}),
                                     std::chrono::seconds(300));
  EXPECT_TRUE(result) << result.error().ToString();
  std::map<std::string, Outcome> outcomes;
  if (!result) return outcomes;
  std::istringstream lines(
      result->out.substr(std::min(result->out.size(), result->out.find("=== SUMMARY"))));
  for (std::string line; std::getline(lines, line);) {
    char name[200];
    Outcome outcome;
    const size_t at = line.find(' ');
    if (at != std::string::npos && sscanf(line.c_str() + at, " %199[^:]: %d passed, %d failed",
                                          name, &outcome.passed, &outcome.failed) == 3) {
      outcomes[name] = outcome;
    }
  }
  return outcomes;
}

void ExpectConformance(const std::string& revision, size_t scenarios, int checks) {
  UrlServer server({kFixtures}, testing::TempDir() + "/conformance_" + std::to_string(getpid()));
  const auto outcomes = Conformance(server.url(), revision);
  size_t applicable = 0;
  int passed = 0;
  for (const auto& [name, outcome] : outcomes) {
    if (NotOffered(name) || outcome.passed + outcome.failed == 0) continue;
    ++applicable;
    passed += outcome.passed;
    EXPECT_EQ(outcome.failed, 0) << revision << " " << name;
  }
  EXPECT_EQ(applicable, scenarios) << "docs/mcp.md says how many apply";
  EXPECT_EQ(passed, checks);
}

TEST(McpConformance, StatelessRevision20260728) {
  SKIP_WITHOUT_NPM();
  ExpectConformance("2026-07-28", 25, 100);
}

TEST(McpConformance, HandshakeRevision20251125) {
  SKIP_WITHOUT_NPM();
  ExpectConformance("2025-11-25", 26, 60);
}

class InspectorTest : public ProgramTest, public testing::WithParamInterface<const char*> {
 protected:
  // One command of the Inspector; the answer as JSON.
  Json Ask(std::vector<std::string> arguments) {
    std::vector<std::string> argv = {NpmBin() + "/node", NpmBin() + "/mcp-inspector", "--cli"};
    argv.insert(argv.end(), target_.begin(), target_.end());
    argv.insert(argv.end(), {"--protocol-era", GetParam()});
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    const auto result = os::RunProcess(NpmSpec(argv), std::chrono::seconds(120));
    EXPECT_TRUE(result) << result.error().ToString();
    if (!result) return {};
    EXPECT_TRUE(result->status.ok()) << result->status.ToString() << result->err << result->out;
    const auto json = data::ParseJson(result->out, "answer");
    EXPECT_TRUE(json) << result->out;
    return json ? *json : Json();
  }
  Json Call(const std::string& tool, const Json& arguments) {
    return Ask(
        {"--method", "tools/call", "--tool-name", tool, "--tool-args-json", arguments.Dump()});
  }
  static const Json* At(const Json& json, std::initializer_list<std::string_view> path) {
    const Json* found = json.FindPath(path);
    EXPECT_NE(found, nullptr) << json.Dump(2).substr(0, 2000);
    static const Json kNull;
    return found == nullptr ? &kNull : found;
  }

  // What both transports have in common.
  void LookAround() {
    const Json tools = Ask({"--method", "tools/list"});
    std::set<std::string> names;
    for (const Json& tool : At(tools, {"tools"})->items()) {
      names.insert(*tool.Find("name")->string());
      EXPECT_TRUE(tool.Find("outputSchema")) << tool.Dump();
    }
    for (const char* name : {"describe_task", "write_file", "build", "submit", "poll"}) {
      EXPECT_TRUE(names.contains(name)) << name;
    }
    const Json resources = Ask({"--method", "resources/list"});
    EXPECT_GE(At(resources, {"resources"})->items().size(), 3U);
    const Json read = Ask({"--method", "resources/read", "--uri",
                           "szarena://reference/contract/szarena_candidate.h"});
    EXPECT_THAT(*At(read, {"contents"})->items().at(0).Find("text")->string(),
                HasSubstr("szarena_problem"));
    EXPECT_EQ(At(Ask({"--method", "prompts/list"}), {"prompts"})->items().size(), 3U);
    const Json prompt = Ask({"--method", "prompts/get", "--prompt-name", "expert"});
    EXPECT_THAT(prompt.Dump(), HasSubstr("quantize"));
  }

  std::vector<std::string> target_;  // how the Inspector reaches the server
};

TEST_P(InspectorTest, Stdio) {
  SKIP_WITHOUT_NPM();
  target_ = {
      std::string(SZARENA_BIN_DIR) + "/szarena", "mcp", "--task", "quantize", "--out", Path("o")};
  LookAround();
  const Json wrote = Call("write_file", Json::Of({{"path", "candidate.cpp"}, {"text", "int x;"}}));
  EXPECT_EQ(At(wrote, {"structuredContent", "size_bytes"})->integer(), 6);
}

TEST_P(InspectorTest, Http) {
  SKIP_WITHOUT_NPM();
  UrlServer server({std::string(SZARENA_BIN_DIR) + "/szarena", "mcp", "--task", "quantize", "--out",
                    Path("o"), "--http", "0", "--no-token"},
                   Path("log"));
  target_ = {server.url(), "--transport", "http"};
  LookAround();
  if (std::string_view(GetParam()) == "legacy") {  // its connection is its session
    EXPECT_EQ(
        At(Call("list_files", Json::MakeObject()), {"structuredContent", "files"})->items().size(),
        0U);
    return;
  }
  const Json opened = Call("open_session", Json::MakeObject());
  const Json& session = *At(opened, {"structuredContent", "session"});
  Call("write_file", Json::Of({{"session", session}, {"path", "a.cpp"}, {"text", "int x;"}}));
  const Json files = Call("list_files", Json::Of({{"session", session}}));
  EXPECT_EQ(At(files, {"structuredContent", "files"})->items().size(), 1U);
  Call("close_session", Json::Of({{"session", session}}));
}

INSTANTIATE_TEST_SUITE_P(Eras, InspectorTest, testing::Values("legacy", "modern"),
                         [](const auto& era) { return std::string(era.param); });

}  // namespace
}  // namespace szarena
