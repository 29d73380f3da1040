// SPDX-License-Identifier: Apache-2.0
#include "target/cuda/sanitizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>

#include "os/files.h"
#include "os/process.h"
#include "target/cuda/build.h"
#include "target/cuda/check_jobs.h"
#include "target/cuda/embedded.h"
#include "target/cuda/toolkit.h"

namespace szarena::target::cuda {
namespace {

namespace fs = std::filesystem;

constexpr char kProgram[] = "compute-sanitizer";
constexpr std::chrono::seconds kTimeout{300};
constexpr int kFoundStatus = 86;  // what the tool is told to end with where it has found something

template <typename T>
void Append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string JobsFile(bool compressor, std::span<const ToolCall> calls) {
  const bool backward = std::any_of(
      calls.begin(), calls.end(), [](const ToolCall& c) { return c.kind == CallKind::kBackward; });
  std::string bytes;
  Append(bytes, JobsHeader{compressor ? 1u : 0u, backward ? 1u : 0u, calls.size()});
  for (const ToolCall& call : calls) {
    Append(bytes, JobHeader{static_cast<uint64_t>(call.kind), call.input.size(), call.output_size,
                            call.problem});
    bytes.append(reinterpret_cast<const char*>(call.input.data()), call.input.size());
  }
  return bytes;
}

// The tool's lines, without the bar in front of them.
std::vector<std::string> Said(const std::string& text) {
  std::vector<std::string> said;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("=========")) continue;
    const size_t at = line.find_first_not_of("= ");
    if (at != std::string::npos) said.push_back(line.substr(at));
  }
  return said;
}

// The number behind "SUMMARY:" in the tool's last summary.
std::optional<uint64_t> Count(const std::vector<std::string>& said) {
  for (auto line = said.rbegin(); line != said.rend(); ++line) {
    const size_t at = line->find("SUMMARY: ");
    if (at == std::string::npos) continue;
    const char* number = line->c_str() + at + 9;
    if (*number < '0' || *number > '9') return std::nullopt;
    return std::strtoull(number, nullptr, 10);
  }
  return std::nullopt;
}

// The first thing found and where: up to its third line, the header apart.
std::string First(const std::vector<std::string>& said) {
  std::string text;
  int lines = 0;
  for (const std::string& line : said) {
    if (line == "COMPUTE-SANITIZER" || line.find("SUMMARY:") != std::string::npos) continue;
    if (lines == 3) break;
    text += (lines++ == 0 ? "" : "; ") + line;
  }
  return text;
}

}  // namespace

std::string FindComputeSanitizer() {
  std::error_code error;
  std::vector<std::string> places;
  if (const auto found = os::FindProgram(kProgram, /*use_path=*/true)) places.push_back(*found);
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* home = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    if (home != nullptr && *home == '/') places.push_back(std::string(home) + "/bin/" + kProgram);
  }
  if (const auto nvcc = FindNvcc())
    places.push_back(fs::path(*nvcc).parent_path().string() + "/" + kProgram);
  for (const std::string& place : places) {
    const fs::path real = fs::canonical(place, error);
    if (!error) return real.string();
  }
  return "";
}

ToolReport ReadSanitizer(const std::string& tool, const os::ProcessResult& run, uint64_t calls) {
  ToolReport report{"compute-sanitizer " + tool, ToolReport::Status::kNotRun, ""};
  const std::vector<std::string> said = Said(run.out + "\n" + run.err);
  const std::optional<uint64_t> found = Count(said);
  const bool all_made =
      ("\n" + run.out).find(fmt::format("\n{}\t{}\n", kCheckedWord, calls)) != std::string::npos;
  if (run.timed_out) {
    report.detail = fmt::format("it did not end within {} s", kTimeout.count());
  } else if (found && *found > 0) {
    report.status = ToolReport::Status::kFindings;
    report.detail = fmt::format("{} found: {}", *found, First(said));
  } else if (found && run.status.ok() && all_made) {
    report.status = ToolReport::Status::kClean;
    report.detail = fmt::format("nothing found in {} calls", calls);
  } else {
    // Its own trouble, or calls that failed under it: that says nothing about what it looks for.
    std::string why = First(said);
    if (found && !all_made) why = "not every call succeeded under it: " + run.err.substr(0, 300);
    if (why.empty()) why = run.err.substr(0, 300);
    report.detail = fmt::format("it ended with {}: {}", run.status.ToString(), why);
  }
  return report;
}

Result<std::vector<ToolReport>> RunSanitizers(const sandbox::Sandbox& sandbox,
                                              const DeviceAccess& device,
                                              const std::string& library, bool compressor,
                                              std::span<const ToolCall> calls) {
  std::vector<ToolReport> reports;
  const std::string program = FindComputeSanitizer();
  for (const char* tool : {"memcheck", "racecheck", "initcheck"}) {
    if (program.empty()) {
      reports.push_back({"compute-sanitizer " + std::string(tool), ToolReport::Status::kNotRun,
                         "the program 'compute-sanitizer' is not in PATH, in CUDA_HOME/bin or "
                         "beside nvcc; it comes with the CUDA toolkit"});
      continue;
    }
    SZARENA_TRY(const os::UniqueFd driver, os::MemoryFile("driver", std::string(DriverProgram())));
    SZARENA_TRY(const os::UniqueFd candidate, os::MemoryFile("library", library));
    SZARENA_TRY(const os::UniqueFd jobs, os::MemoryFile("jobs", JobsFile(compressor, calls)));
    sandbox::Command command;
    command.argv = {
        program,         "--tool", tool,        "--error-exitcode", std::to_string(kFoundStatus),
        "--print-limit", "20",     kDriverPath, "--check"};
    command.env = device.env;
    command.files = {{driver.get(), kDriverPath, 0555},
                     {candidate.get(), kLibraryPath, 0555},
                     {jobs.get(), kJobsPath, 0444}};
    command.devices = device.nodes;
    // The tool's two processes speak over sockets; the sandbox's network has nothing but them.
    command.sockets = sandbox::Sockets::kAll;
    command.binds = device.folders;
    const std::string toolkit = fs::path(program).parent_path().parent_path().string();
    if (!toolkit.starts_with("/usr/")) command.binds.push_back({toolkit, toolkit, false});
    command.limits.open_files = 1024;
    command.limits.processes = 256;
    command.limits.cpu_seconds = static_cast<uint64_t>(kTimeout.count());
    command.limits.file_bytes = 1ull << 30;
    SZARENA_TRY(const os::ProcessResult run, sandbox.Run(command, kTimeout));
    reports.push_back(ReadSanitizer(tool, run, calls.size()));
  }
  return reports;
}

}  // namespace szarena::target::cuda
