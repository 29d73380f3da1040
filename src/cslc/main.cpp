// SPDX-License-Identifier: Apache-2.0
// The CSL compiler: cslc LAYOUT.csl [FLAGS]. Messages go to standard error, products to standard
// output and the output directory.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/exit_code.h"
#include "csl/driver/driver.h"
#include "csl/driver/options.h"
#include "csl/driver/output.h"
#include "fabric/model/cost.h"

namespace {

void Print(std::FILE* to, const std::string& text) { std::fwrite(text.data(), 1, text.size(), to); }

// What takes the 48 KiB of a PE, class by class.
std::string MemoryReport(const szarena::bytecode::Program& program) {
  std::string text;
  for (const auto& code : program.classes) {
    uint32_t total = 0;
    for (const auto& item : code.memory) total += item.bytes;
    text += code.name + ": " + std::to_string(total) + " of " +
            std::to_string(szarena::bytecode::kSramBytes) + " bytes\n";
    for (const auto& item : code.memory)
      text += "  " + std::to_string(item.bytes) + "  " + item.name + "  (" + item.what + ")\n";
  }
  return text;
}

int Exit(szarena::ExitCode code) { return static_cast<int>(code); }

}  // namespace

int main(int argc, char** argv) {
  using namespace szarena;
  auto options = csl::ParseOptions({argv + 1, argv + argc});
  if (!options) {
    Print(stderr, "cslc: error: " + options.error().ToString() + "\n");
    return Exit(ExitCode::kBadUsage);
  }
  if (options->help) {
    Print(stdout, csl::OptionsHelp());
    return 0;
  }
  if (options->version) {
    Print(stdout, "cslc (szarena) " SZARENA_VERSION "\n");
    return 0;
  }
  if (options->print_cost_model) {
    Print(stdout, fabric::PrintCostModel());
    return 0;
  }
  options->color =
      !options->json && isatty(STDERR_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  const char* import_path = std::getenv("CSL_IMPORT_PATH");
  csl::Outcome outcome =
      csl::Compile(*options, csl::SplitPathList(import_path != nullptr ? import_path : ""));
  Print(options->json ? stdout : stderr, outcome.messages);
  Print(stdout, outcome.printed);
  if (outcome.exit != ExitCode::kDone || !outcome.program ||
      options->emit != csl::Options::Emit::kProgram)
    return Exit(outcome.exit);
  if (auto written = csl::WriteOutput(*outcome.program, options->output); !written) {
    Print(stderr, "cslc: error: " + written.error().ToString() + "\n");
    return Exit(ExitCodeFor(written.error().code));
  }
  const bytecode::Program& program = *outcome.program;
  if (options->output_json) {
    if (auto written = csl::WriteOutputJson(program, options->output, options->output_json_path);
        !written) {
      Print(stderr, "cslc: error: " + written.error().ToString() + "\n");
      return Exit(ExitCodeFor(written.error().code));
    }
  }
  if (!options->json) {
    Print(stdout, "cslc: " + options->input + ": " + std::to_string(program.width) + " x " +
                      std::to_string(program.height) + " PEs, " +
                      std::to_string(program.classes.size()) +
                      (program.classes.size() == 1 ? " class" : " classes") +
                      " of code, written to " + options->output + "\n");
    if (options->verbose) Print(stdout, MemoryReport(program));
  }
  return 0;
}
