// SPDX-License-Identifier: Apache-2.0
#include "target/cerebras/free_host.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "base/atomic_file.h"
#include "os/errno.h"
#include "os/files.h"

namespace szarena::target::cerebras {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kCompileTimeout{60000};
constexpr size_t kMaxTool = 256u << 20;

// Flags that a candidate may give: none that names a file.
constexpr std::string_view kAllowed[] = {
    "--params=",         "--fabric-dims=",   "--channels=",
    "--colors=",         "--fp16-format=",   "--max-inlined-iterations=",
    "--width-west-buf=", "--width-east-buf="};

Result<void> MakeFolder(const std::string& path, mode_t mode) {
  if (mkdir(path.c_str(), 0700) < 0 || chmod(path.c_str(), mode) < 0)
    return os::FailErrno("cannot make folder '" + path + "'");
  return {};
}

std::string LastLine(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);
}

Result<std::vector<std::string>> ExtraFlags(const Candidate& candidate) {
  std::vector<std::string> flags;
  for (const CandidateFile& file : candidate.files) {
    if (file.path != "cslc_args") continue;
    std::istringstream lines(file.bytes);
    for (std::string line; std::getline(lines, line);) {
      if (line.empty()) continue;
      if (std::none_of(std::begin(kAllowed), std::end(kAllowed),
                       [&](std::string_view flag) { return line.starts_with(flag); })) {
        return Fail(ErrorCode::kInvalidArgument,
                    "cslc_args: '" + line + "' is no flag that a candidate may give");
      }
      flags.push_back(line);
    }
  }
  return flags;
}

// The cycles that the simulator printed last: a line that ends in "N cycles".
uint64_t PrintedCycles(const std::string& text) {
  const size_t at = text.rfind(" cycles");
  if (at == std::string::npos) return 0;
  size_t begin = at;
  while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
  uint64_t cycles = 0;
  std::from_chars(text.data() + begin, text.data() + at, cycles);
  return cycles;
}

}  // namespace

Result<HostTools> FindHostTools() {
  std::error_code error;
  const fs::path bin = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& start : {bin, bin.parent_path() / "bin"}) {
    const HostTools tools{start.string(), (start.parent_path() / "python").string()};
    if (fs::exists(start / "cslc", error) && fs::exists(start / "cs_python", error) &&
        fs::is_directory(tools.python, error))
      return tools;
  }
  return Fail(ErrorCode::kUnavailable,
              "cslc, cs_python and their Python modules are not beside '" + bin.string() +
                  "': build all programs (./dev build), or install python3-dev and pybind11 first");
}

Result<FreeHostProgram> CompileFreeHost(const sandbox::Sandbox& sandbox, const HostTools& tools,
                                        const Candidate& candidate, bytecode::Arch arch) {
  FreeHostProgram program;
  const auto has = [&](std::string_view name) {
    return std::any_of(candidate.files.begin(), candidate.files.end(),
                       [&](const CandidateFile& f) { return f.path == name; });
  };
  for (const char* name : {"layout.csl", "run.py"}) {
    if (has(name)) continue;
    program.reason = fmt::format("there is no file '{}'", name);
    return program;
  }
  const auto flags = ExtraFlags(candidate);
  if (!flags) {
    program.reason = flags.error().message;
    return program;
  }
  SZARENA_TRY(os::TempDir folder, os::TempDir::Create("szarena-free-host-", 0711));
  SZARENA_TRY_VOID(MakeFolder(folder.path() + "/src", 0755));
  SZARENA_TRY_VOID(MakeFolder(folder.path() + "/compiled", 0777));
  SZARENA_TRY_VOID(WriteCandidate(candidate, folder.path() + "/src"));
  SZARENA_TRY(const std::string cslc, os::ReadRegularFile(tools.bin + "/cslc", kMaxTool));
  SZARENA_TRY(const os::UniqueFd compiler, os::MemoryFile("cslc", cslc));
  sandbox::Command command;
  command.argv = {"/run/cslc",
                  "layout.csl",
                  arch == bytecode::Arch::kWse2 ? "--arch=wse2" : "--arch=wse3",
                  "--memcpy",
                  "--channels=1",
                  "--fabric-offsets=4,1",
                  "--only-below=/src"};
  command.argv.insert(command.argv.end(), flags->begin(), flags->end());
  command.argv.insert(command.argv.end(), {"-o", "/out/compiled"});
  command.files = {{compiler.get(), "/run/cslc", 0555}};
  command.binds = {{folder.path() + "/src", "/src", false},
                   {folder.path() + "/compiled", "/out", true}};
  command.cwd = "/src";
  command.limits.cpu_seconds = static_cast<uint64_t>(kCompileTimeout.count() / 1000);
  SZARENA_TRY(const os::ProcessResult run, sandbox.Run(command, kCompileTimeout));
  program.log = run.err + run.out;
  if (run.timed_out) {
    program.reason = fmt::format("compiling took more than {} s", kCompileTimeout.count() / 1000);
  } else if (!run.status.ok()) {
    const size_t at = run.err.find("error");
    program.reason = at == std::string::npos
                         ? "cslc ended with " + run.status.ToString()
                         : run.err.substr(run.err.rfind('\n', at) + 1,
                                          run.err.find('\n', at) - run.err.rfind('\n', at) - 1);
  } else {
    program.ok = true;
  }
  program.folder = std::move(folder);
  return program;
}

Result<FreeHostResult> RunFreeHost(const sandbox::Sandbox& sandbox, const HostTools& tools,
                                   const FreeHostProgram& program, const FreeHostCall& call,
                                   milliseconds timeout) {
  SZARENA_TRY(const os::TempDir data, os::TempDir::Create("szarena-free-host-run-", 0711));
  SZARENA_TRY_VOID(MakeFolder(data.path() + "/out", 0777));
  SZARENA_TRY(const os::UniqueFd input, os::MemoryFile("input", call.input));
  SZARENA_TRY(const std::string starter, os::ReadRegularFile(tools.bin + "/cs_python", kMaxTool));
  SZARENA_TRY(const os::UniqueFd python, os::MemoryFile("cs_python", starter));
  sandbox::Command command;
  command.argv = {"/sdk/bin/cs_python",
                  "--cycles",
                  "run.py",
                  "--name",
                  "/program/compiled",
                  "--direction",
                  call.forward ? "compress" : "decompress",
                  "--n",
                  std::to_string(call.n),
                  "--eb",
                  fmt::format("{}", call.bound),
                  "--input",
                  "/data/input",
                  "--output",
                  "/out/output"};
  command.env = {
      {"PATH", "/usr/bin:/bin"}, {"OPENBLAS_NUM_THREADS", "1"}, {"PYTHONDONTWRITEBYTECODE", "1"}};
  command.files = {{python.get(), "/sdk/bin/cs_python", 0555}, {input.get(), "/data/input", 0444}};
  command.binds = {{tools.python, "/sdk/python", false},
                   {program.folder->path() + "/src", "/src", false},
                   {program.folder->path() + "/compiled", "/program", false},
                   {data.path() + "/out", "/out", true}};
  command.cwd = "/src";
  command.limits.cpu_seconds = static_cast<uint64_t>(timeout.count() / 1000) * 2 + 2;
  command.limits.file_bytes = std::max<uint64_t>(call.output_limit + 4096, 1 << 20);
  SZARENA_TRY(const os::ProcessResult run, sandbox.Run(command, timeout));
  FreeHostResult result;
  result.seconds = run.seconds;
  result.printed = run.err + run.out;
  result.cycles = PrintedCycles(result.printed);
  if (run.timed_out) {
    result.message = fmt::format("run.py took more than {} s", timeout.count() / 1000);
    return result;
  }
  if (!run.status.ok()) {
    result.message =
        fmt::format("run.py ended with {}: {}", run.status.ToString(), LastLine(run.err));
    return result;
  }
  result.finished = true;
  auto output = os::ReadRegularFile(data.path() + "/out/output", call.output_limit);
  if (output)
    result.output = *std::move(output);
  else
    result.fault = "run.py left no usable output file: " + output.error().message;
  return result;
}

Result<void> CheckHostTools(const sandbox::Sandbox& sandbox, const HostTools& tools) {
  FreeHostProgram program;
  SZARENA_TRY(program.folder, os::TempDir::Create("szarena-free-host-", 0711));
  SZARENA_TRY_VOID(MakeFolder(program.folder->path() + "/src", 0755));
  SZARENA_TRY_VOID(MakeFolder(program.folder->path() + "/compiled", 0777));
  const Candidate probe{{{"run.py",
                          "import numpy\nfrom cerebras.sdk.runtime.sdkruntimepybind import "
                          "SdkRuntime\nopen('/out/output', 'w').write('ready')\n"}},
                        {}};
  SZARENA_TRY_VOID(WriteCandidate(probe, program.folder->path() + "/src"));
  FreeHostCall call;
  call.output_limit = 4096;
  SZARENA_TRY(const FreeHostResult result,
              RunFreeHost(sandbox, tools, program, call, milliseconds(60000)));
  if (result.finished && result.output && *result.output == "ready") return {};
  return Fail(ErrorCode::kUnavailable,
              fmt::format("cs_python beside '{}' does not run or cannot import its modules ({}): "
                          "build all programs (./dev build), or install python3-dev, pybind11 and "
                          "python3-numpy first",
                          tools.bin, result.finished ? result.fault : result.message));
}

}  // namespace szarena::target::cerebras
