// SPDX-License-Identifier: Apache-2.0
// szarena doctor: what this machine can run, and what is missing for the rest.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/commands.h"
#include "data/json.h"

namespace szarena::app {
namespace {

struct Finding {
  std::string name;
  bool found;
  std::string detail;  // where it is, or what to do
};

std::optional<std::string> FindProgram(const std::string& name) {
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): before any thread
  std::string rest = path ? path : "";
  while (!rest.empty()) {
    const size_t end = rest.find(':');
    const std::string folder = rest.substr(0, end);
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
    const std::filesystem::path program = std::filesystem::path(folder) / name;
    if (!folder.empty() && access(program.c_str(), X_OK) == 0) return program.string();
  }
  return std::nullopt;
}

Finding Program(const std::string& name, const std::string& remedy) {
  const auto path = FindProgram(name);
  return {name, path.has_value(), path.value_or(remedy)};
}

std::vector<Finding> Examine() {
  return {
      Program("g++", "install g++: the CPU target builds candidates with it"),
      Program("nvcc", "install the CUDA toolkit: the CUDA target builds candidates with it"),
      Program("bwrap", "install bubblewrap: candidates run only inside its sandbox"),
      Program("python3", "install python3"),
  };
}

}  // namespace

void AddDoctor(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("doctor", "What this machine can run, and what is missing for the rest");
  auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "Print JSON");
  command->callback([&action, as_json] {
    action = [as_json]() -> Result<ExitCode> {
      const std::vector<Finding> findings = Examine();
      data::Json list = data::Json::MakeArray();
      for (const Finding& finding : findings) {
        if (*as_json) {
          list.Append(data::Json::Of(
              {{"name", finding.name}, {"found", finding.found}, {"detail", finding.detail}}));
        } else {
          fmt::print("{:4} {:12} {}\n", finding.found ? "ok" : "--", finding.name, finding.detail);
        }
      }
      if (*as_json) fmt::print("{}\n", data::Json::Of({{"findings", list}}).Dump(2));
      return ExitCode::kDone;
    };
  });
}

}  // namespace szarena::app
