// SPDX-License-Identifier: Apache-2.0
// Gemini CLI (geminicli.com/docs): `gemini -p … -o stream-json`, the generateContent protocol.
#include "program/program.h"

namespace szarena::program {
namespace {

using data::Json;

Launch Prepare(const Surroundings& in) {
  const Json server = Json::Of({{"httpUrl", in.mcp_url}, {"timeout", 660'000}, {"trust", true}});
  Json excluded = Json::MakeArray();
  excluded.Append("google_web_search").Append("web_fetch");
  const Json settings =
      Json::Of({{"mcpServers", Json::Of({{"szarena", server}})},
                {"tools", Json::Of({{"exclude", std::move(excluded)}})},
                {"security", Json::Of({{"auth", Json::Of({{"selectedType", "gemini-api-key"}})}})},
                {"general",
                 Json::Of({{"enableAutoUpdate", false}, {"enableAutoUpdateNotification", false}})},
                {"privacy", Json::Of({{"usageStatisticsEnabled", false}})},
                {"telemetry", Json::Of({{"enabled", false}})}});
  Launch launch;
  launch.arguments = {"--skip-trust",
                      "--approval-mode",
                      "yolo",
                      "-o",
                      "stream-json",
                      "-p",
                      "Do the task that is described above."};
  if (!in.model.empty()) launch.arguments.insert(launch.arguments.end(), {"-m", in.model});
  launch.env = {{"GEMINI_API_KEY", in.key}, {"GOOGLE_GEMINI_BASE_URL", in.model_url}};
  launch.files = {{".gemini/settings.json", settings.Dump(2)}};
  return launch;
}

void Read(const Json& event, Account& account) {
  const std::string type = TextAt(event, {"type"});
  if (type == "error") account.error = TextAt(event, {"message"});
  if (type != "result") return;
  account.stop = TextAt(event, {"status"});
  const std::string error = TextAt(event, {"error", "message"});
  if (!error.empty()) account.error = error;
}

}  // namespace

const Program& Gemini() {
  static constexpr Program kProgram{"gemini", "gemini", "@google/gemini-cli",
                                    "google", Prepare,  Read};
  return kProgram;
}

}  // namespace szarena::program
