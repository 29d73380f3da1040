// SPDX-License-Identifier: Apache-2.0
// OpenCode (opencode.ai/docs): `opencode run --format json`, the Chat Completions protocol.
#include "program/program.h"

namespace szarena::program {
namespace {

using data::Json;

Launch Prepare(const Surroundings& in) {
  const std::string model = in.model.empty() ? "default" : in.model;
  const Json provider =
      Json::Of({{"npm", "@ai-sdk/openai-compatible"},
                {"options", Json::Of({{"baseURL", in.model_url + "/v1"}, {"apiKey", in.key}})},
                {"models", Json::Of({{model, Json::Of({{"name", model}})}})}});
  const Json config = Json::Of(
      {{"provider", Json::Of({{"szarena", provider}})},
       {"model", "szarena/" + model},
       {"small_model", "szarena/" + model},
       {"mcp", Json::Of({{"szarena", Json::Of({{"type", "remote"},
                                               {"url", in.mcp_url},
                                               {"enabled", true},
                                               {"oauth", false},
                                               {"timeout", 660'000}})}})},
       {"permission", Json::Of({{"*", "allow"}, {"webfetch", "deny"}, {"websearch", "deny"}})},
       {"autoupdate", false},
       {"share", "disabled"}});
  Launch launch;
  launch.arguments = {"run", "--format", "json", "--pure", "-m", "szarena/" + model};
  launch.env = {{"OPENCODE_CONFIG", in.home + "/opencode.json"},
                {"OPENCODE_DISABLE_AUTOUPDATE", "1"},
                {"OPENCODE_DISABLE_MODELS_FETCH", "1"},
                {"OPENCODE_DISABLE_LSP_DOWNLOAD", "1"}};
  launch.files = {{"opencode.json", config.Dump(2)}};
  return launch;
}

void Read(const Json& event, Account& account) {
  const std::string type = TextAt(event, {"type"});
  if (type == "step_finish") account.stop = TextAt(event, {"part", "reason"});
  if (type == "error") account.error = TextAt(event, {"error", "data", "message"});
}

}  // namespace

const Program& OpenCode() {
  static constexpr Program kProgram{"opencode",    "opencode", "opencode-ai",
                                    "openai-chat", Prepare,    Read};
  return kProgram;
}

}  // namespace szarena::program
