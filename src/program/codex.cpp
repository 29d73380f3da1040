// SPDX-License-Identifier: Apache-2.0
// Codex CLI (developers.openai.com/codex): `codex exec --json`, the Responses protocol.
#include <fmt/format.h>

#include "program/program.h"

namespace szarena::program {
namespace {

// The sandbox is ours; its own would need namespaces inside namespaces.
constexpr std::string_view kConfig = R"(model_provider = "szarena"
web_search = "disabled"
check_for_update_on_startup = false

[model_providers.szarena]
name = "szarena"
base_url = "{}/v1"
env_key = "SZARENA_MODEL_KEY"
wire_api = "responses"

[mcp_servers.szarena]
url = "{}"
startup_timeout_sec = 30
tool_timeout_sec = 660

[analytics]
enabled = false
)";

Launch Prepare(const Surroundings& in) {
  Launch launch;
  launch.arguments = {
      "exec", "--json",    "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
      "--cd", in.workspace};
  if (!in.model.empty()) launch.arguments.insert(launch.arguments.end(), {"--model", in.model});
  launch.arguments.push_back("-");
  launch.env = {{"CODEX_HOME", in.home + "/.codex"}, {"SZARENA_MODEL_KEY", in.key}};
  launch.files = {
      {".codex/config.toml", fmt::format(fmt::runtime(kConfig), in.model_url, in.mcp_url)}};
  return launch;
}

void Read(const data::Json& event, Account& account) {
  const std::string type = TextAt(event, {"type"});
  if (type == "turn.completed") account.stop = "turn completed";
  if (type == "error") account.error = TextAt(event, {"message"});
  if (type == "turn.failed") {
    account.stop = "turn failed";
    account.error = TextAt(event, {"error", "message"});
  }
}

}  // namespace

const Program& Codex() {
  static constexpr Program kProgram{"codex", "codex", "@openai/codex", "openai", Prepare, Read};
  return kProgram;
}

}  // namespace szarena::program
