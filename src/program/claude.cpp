// SPDX-License-Identifier: Apache-2.0
// Claude Code (code.claude.com/docs): `claude -p --output-format stream-json`, the Messages
// protocol.
#include "program/program.h"

namespace szarena::program {
namespace {

using data::Json;

Launch Prepare(const Surroundings& in) {
  const Json servers = Json::Of(
      {{"mcpServers", Json::Of({{"szarena", Json::Of({{"type", "http"}, {"url", in.mcp_url}})}})}});
  Launch launch;
  launch.arguments = {"-p",
                      "--output-format",
                      "stream-json",
                      "--verbose",
                      "--permission-mode",
                      "bypassPermissions",
                      "--strict-mcp-config",
                      "--mcp-config",
                      in.home + "/mcp.json",
                      "--disallowedTools",
                      "WebSearch,WebFetch"};
  if (!in.model.empty()) launch.arguments.insert(launch.arguments.end(), {"--model", in.model});
  launch.env = {{"ANTHROPIC_BASE_URL", in.model_url},
                {"ANTHROPIC_API_KEY", in.key},
                {"CLAUDE_CONFIG_DIR", in.home + "/.claude"},
                {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"},
                {"DISABLE_AUTOUPDATER", "1"},
                {"ENABLE_TOOL_SEARCH", "false"},  // our tools are there from the start
                {"MCP_TIMEOUT", "30000"},
                {"MCP_TOOL_TIMEOUT", "660000"}};
  // Its small side tasks go to the session's model, too.
  if (!in.model.empty()) {
    launch.env.emplace_back("ANTHROPIC_SMALL_FAST_MODEL", in.model);
    launch.env.emplace_back("ANTHROPIC_DEFAULT_HAIKU_MODEL", in.model);
  }
  launch.files = {{"mcp.json", servers.Dump(2)}};
  return launch;
}

void Read(const Json& event, Account& account) {
  if (TextAt(event, {"type"}) != "result") return;
  account.stop = TextAt(event, {"subtype"});
  const Json* failed = event.Find("is_error");
  if (failed != nullptr && failed->boolean() == true) account.error = TextAt(event, {"result"});
}

}  // namespace

const Program& Claude() {
  static constexpr Program kProgram{"claude",    "claude", "@anthropic-ai/claude-code",
                                    "anthropic", Prepare,  Read};
  return kProgram;
}

}  // namespace szarena::program
