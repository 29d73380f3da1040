// SPDX-License-Identifier: Apache-2.0
#include "csl/driver/golden_file_testing.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "csl/driver/driver.h"

namespace szarena::csl::testing {
namespace {
namespace fs = std::filesystem;
constexpr std::string_view kExpect = "//--- expect\n";
}  // namespace

std::vector<std::string> GoldenFilesIn(const std::string& directory) {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".csl") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

GoldenFile ReadGolden(const std::string& path) {
  GoldenFile golden;
  golden.path = path;
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::istringstream lines(text.str());
  golden.inputs.emplace_back(fs::path(path).filename().string(), "");
  std::string line;
  bool expecting = false;
  while (std::getline(lines, line)) {
    line += '\n';
    if (!expecting && line == kExpect) {
      expecting = true;
    } else if (!expecting && line.starts_with("//--- ")) {
      golden.inputs.emplace_back(line.substr(6, line.size() - 7), "");
    } else if (!expecting) {
      if (line.starts_with("//@ args:")) {
        std::istringstream words(line.substr(9));
        for (std::string word; words >> word;) golden.args.push_back(word);
      }
      golden.inputs.back().second += line;
    }
    if (expecting && line != kExpect) golden.expected += line;
    if (!expecting) golden.head += line;
  }
  return golden;
}

bool UpdatesGolden() { return std::getenv("SZARENA_UPDATE_GOLDEN") != nullptr; }

bool WriteGolden(const GoldenFile& golden, const std::string& actual) {
  std::ofstream file(golden.path, std::ios::binary);
  file << golden.head << kExpect << actual;
  return static_cast<bool>(file.flush());
}

GoldenRun RunGolden(const GoldenFile& golden) {
  fs::path root = fs::temp_directory_path() / ("csl_golden_" + std::to_string(::getpid()));
  fs::remove_all(root);
  fs::create_directories(root);
  for (const auto& [name, text] : golden.inputs) {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name, std::ios::binary) << text;
  }
  fs::path before = fs::current_path();
  fs::current_path(root);
  std::vector<std::string> args = golden.args;
  args.push_back(golden.inputs[0].first);
  GoldenRun run;
  if (auto options = ParseOptions(args)) {
    Outcome outcome = Compile(*options, {});
    run.output = outcome.messages + outcome.printed;
    run.failed = outcome.exit != ExitCode::kDone;
  } else {
    run.output = "error: " + options.error().ToString() + "\n";
    run.failed = true;
  }
  fs::current_path(before);
  fs::remove_all(root);
  return run;
}

}  // namespace szarena::csl::testing
