// SPDX-License-Identifier: Apache-2.0
// szarena-standin SCRIPT [PORT]: the stand-in as a program, for tests of other programs. Prints its
// URL on stdout, then one JSON line a request; ends with its standard input.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/exit_code.h"
#include "model/testing/standin.h"

namespace {

using szarena::data::Json;

void Print(const szarena::model::standin::Seen& seen) {
  Json headers = Json::MakeObject();
  for (const auto& [name, value] : seen.headers) headers.Set(name, value);
  const Json line = Json::Of({{"method", seen.method},
                              {"path", seen.path},
                              {"status", seen.status},
                              {"chat", seen.chat},
                              {"turn", seen.turn},
                              {"headers", headers},
                              {"body", seen.body}});
  fmt::print("{}\n", line.Dump());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace szarena;  // NOLINT(google-build-using-namespace)
  constexpr std::string_view kUsage =
      "usage: szarena-standin SCRIPT [PORT]\nServes a script as a model, prints its address, and "
      "ends "
      "with its standard input.\n";
  if (argc == 2 && (std::string_view(argv[1]) == "--help" || std::string_view(argv[1]) == "-h")) {
    fmt::print("{}", kUsage);
    return 0;
  }
  if (argc < 2 || argc > 3) {
    fmt::print(stderr, "{}", kUsage);
    return static_cast<int>(ExitCode::kBadUsage);
  }
  auto script = model::standin::ReadScript(argv[1]);
  if (!script) {
    fmt::print(stderr, "szarena-standin: {}\n", script.error().ToString());
    return static_cast<int>(ExitCode::kBadUsage);
  }
  const int port = argc > 2 ? std::atoi(argv[2]) : 0;
  const auto standin = model::standin::StandIn::Start(std::move(*script), port, Print);
  if (!standin) {
    fmt::print(stderr, "szarena-standin: {}\n", standin.error().ToString());
    return static_cast<int>(ExitCode::kEnvironment);
  }
  fmt::print("{}\n", (*standin)->url());
  std::fflush(stdout);
  char ignored[256];
  while (read(STDIN_FILENO, ignored, sizeof ignored) > 0) {
  }
  return 0;
}
