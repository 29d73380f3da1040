// SPDX-License-Identifier: Apache-2.0
// Writes a report's files.
#include "report/write.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "base/atomic_file.h"
#include "report/figure.h"
#include "report/grids.h"
#include "report/html.h"
#include "report/text.h"

namespace szarena::report {
namespace {

std::string Markdown(const Model& model) {
  std::string text = fmt::format("# SZ Arena: {}\n\n", EscapeMarkdown(model.campaign.name));
  for (const std::string& warning : model.warnings)
    text += fmt::format("> {}\n", EscapeMarkdown(warning));
  text += '\n' + GridToMarkdown(SummaryGrid(model));
  for (const SessionView& view : model.sessions) {
    text += '\n' + GridToMarkdown(StepGrid(view));
    if (const Grid wafer = WaferGrid(view); !wafer.rows.empty())
      text += '\n' + GridToMarkdown(wafer);
  }
  return text + '\n' + GridToMarkdown(EnvironmentGrid(model));
}

std::string Latex(const Model& model) {
  std::string text = "% needs \\usepackage{booktabs} and \\usepackage[T1]{fontenc}\n";
  for (const std::string& warning : model.warnings) {
    text += fmt::format("% {}\n", EscapeLatex(warning));
  }
  text += GridToLatex(SummaryGrid(model));
  for (const SessionView& view : model.sessions) {
    text += '\n' + GridToLatex(StepGrid(view));
    if (const Grid wafer = WaferGrid(view); !wafer.rows.empty()) text += '\n' + GridToLatex(wafer);
  }
  return text + '\n' + GridToLatex(EnvironmentGrid(model));
}

}  // namespace

Result<std::vector<std::string>> WriteReport(const Model& model, const std::string& folder) {
  std::error_code fault;
  std::filesystem::create_directories(folder, fault);
  if (fault) {
    return Fail(ErrorCode::kIo,
                fmt::format("cannot make folder '{}': {}", folder, fault.message()));
  }
  std::vector<std::pair<std::string, std::string>> files = {
      {"report.html", ReportHtml(model)},
      {"report.json", ModelToJson(model).Dump(2) + "\n"},
      {"report.csv", GridToCsv(LongGrid(model))},
      {"report.md", Markdown(model)},
      {"report.tex", Latex(model)}};
  for (const SessionView& view : model.sessions) {
    for (const auto& [quantity, name] : {std::pair(Quantity::kThroughput, "figure"),
                                         std::pair(Quantity::kOverBaseline, "figure-relative")}) {
      std::string svg = StepFigure(view, quantity, FigureUse::kStandalone);
      if (svg.empty()) continue;
      files.emplace_back(fmt::format("{}-{}.svg", name, Slug(view.title)), std::move(svg));
    }
  }
  std::vector<std::string> paths;
  for (const auto& [name, text] : files) {
    paths.push_back((std::filesystem::path(folder) / name).string());
    SZARENA_TRY_VOID(WriteFileAtomically(paths.back(), text));
  }
  return paths;
}

}  // namespace szarena::report
