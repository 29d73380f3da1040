// SPDX-License-Identifier: Apache-2.0
// Any program, by a shell command.
#include "program/program.h"

namespace szarena::program {

Launch PrepareCommand(const std::string& command, const Surroundings& in) {
  Launch launch;
  launch.arguments = {"-c", command};
  launch.env = {{"SZARENA_MCP_URL", in.mcp_url}, {"SZARENA_WORKSPACE", in.workspace}};
  if (in.model_url.empty()) return launch;
  launch.env.insert(launch.env.end(), {{"SZARENA_MODEL_URL", in.model_url},
                                       {"SZARENA_MODEL_KEY", in.key},
                                       {"SZARENA_MODEL", in.model},
                                       {"OPENAI_BASE_URL", in.model_url + "/v1"},
                                       {"OPENAI_API_KEY", in.key},
                                       {"ANTHROPIC_BASE_URL", in.model_url},
                                       {"ANTHROPIC_API_KEY", in.key},
                                       {"GOOGLE_GEMINI_BASE_URL", in.model_url},
                                       {"GEMINI_API_KEY", in.key}});
  return launch;
}

}  // namespace szarena::program
