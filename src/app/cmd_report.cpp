// SPDX-License-Identifier: Apache-2.0
// szarena report: figures and tables of a stored campaign.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "app/commands.h"
#include "app/environment.h"
#include "report/write.h"
#include "store/store.h"

namespace szarena::app {
namespace {

struct Options {
  std::string store;
  std::string out;
  std::string campaign;
  bool as_json = false;
};

Result<ExitCode> Report(const Options& options) {
  SZARENA_TRY(store::Store store, store::Store::OpenForReading(options.store));
  SZARENA_TRY(const report::Model model,
              report::BuildModel(store, options.campaign, ProgramVersion()));
  if (options.as_json) {
    fmt::print("{}\n", report::ModelToJson(model).Dump(2));
    if (options.out.empty()) return ExitCode::kDone;
  }
  SZARENA_TRY(const auto paths, report::WriteReport(model, options.out));
  if (!options.as_json) {
    for (const std::string& path : paths) fmt::print("{}\n", path);
  }
  return ExitCode::kDone;
}

}  // namespace

void AddReport(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "report", "Figures and tables of a stored campaign: HTML, Markdown, CSV, LaTeX, JSON, SVG");
  auto options = std::make_shared<Options>();
  command->add_option("STORE", options->store, "Results file (results.sqlite)")->required();
  auto* out = command->add_option("--out", options->out, "Folder to write into");
  command->add_option("--campaign", options->campaign, "Which campaign (default: the latest)");
  auto* json = command->add_flag("--json", options->as_json, "Print the report's data as JSON");
  command->callback([&action, options, out, json] {
    if (out->empty() && json->empty()) throw CLI::RequiredError("--out or --json");
    action = [options] { return Report(*options); };
  });
}

}  // namespace szarena::app
