// SPDX-License-Identifier: Apache-2.0
#include "target/cpu/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "os/files.h"
#include "os/process.h"
#include "target/compile.h"
#include "target/cpu/embedded.h"

namespace szarena::target::cpu {
std::vector<std::string> CompileLine() {
  return {"/usr/bin/g++",
          "-std=c++20",
          "-O3",
          "-march=native",
          "-ffp-contract=off",
          "-fopenmp",
          "-pthread",
          "-fPIC",
          "-shared",
          "-fvisibility=hidden",
          "-Wall",
          "-fmax-errors=20",
          "-fdiagnostics-color=never",
          "-Wl,-z,defs",
          "-Wl,-z,now"};
}

namespace {

Result<BuildResult> BuildWith(const sandbox::Sandbox& sandbox, const Candidate& candidate,
                              std::vector<std::string> argv) {
  BuildResult result;
  CompileSpec spec;
  spec.argv = std::move(argv);
  if (!os::FindProgram(spec.argv[0])) {
    return Fail(ErrorCode::kUnavailable,
                "no compiler: '" + spec.argv[0] + "' was not found; install package 'g++'");
  }
  const std::vector<std::string> plain_c = SourcesOf(candidate, {".c"});
  const std::vector<std::string> sources = SourcesOf(candidate, {".cc", ".cpp", ".cxx"});
  if (plain_c.empty() && sources.empty()) {
    result.reason = "there is no .c, .cc, .cpp or .cxx file";
    return result;
  }
  // C files among C++ ones: their own language, their own standard.
  if (!plain_c.empty()) {
    spec.argv.insert(spec.argv.end(), {"-x", "c", "-std=gnu17"});
    spec.argv.insert(spec.argv.end(), plain_c.begin(), plain_c.end());
    spec.argv.insert(spec.argv.end(), {"-x", "none", "-std=c++20"});
  }
  spec.argv.insert(spec.argv.end(), sources.begin(), sources.end());
  spec.headers = {{"szarena_candidate.h", std::string(CandidateHeader())}};
  return CompileLibrary(sandbox, candidate, spec);
}

// A pair of lines of addr2line's: "function" and "/src/candidate.cpp:88 (discriminator 3)".
std::string PlainLocation(std::string text) {
  text.erase(std::min(text.size(), text.find(" (")));
  if (text.starts_with("??") || text.ends_with(":?")) return "";
  if (text.starts_with("/src/")) return text.substr(5);
  return text.substr(text.rfind('/') + 1);
}

}  // namespace

Result<BuildResult> Build(const sandbox::Sandbox& sandbox, const Candidate& candidate) {
  return BuildWith(sandbox, candidate, CompileLine());
}

Result<BuildResult> BuildWithLines(const sandbox::Sandbox& sandbox, const Candidate& candidate) {
  std::vector<std::string> argv = CompileLine();
  argv.push_back("-g");
  return BuildWith(sandbox, candidate, std::move(argv));
}

Result<std::vector<CodePlace>> FindCode(const sandbox::Sandbox& sandbox, const std::string& library,
                                        const std::vector<uint64_t>& offsets) {
  std::string input;
  for (const uint64_t offset : offsets) input += fmt::format("{:#x}\n", offset);
  SZARENA_TRY(const os::UniqueFd text, os::MemoryFile("offsets", input));
  SZARENA_TRY(const os::UniqueFd file, os::MemoryFile("library", library));
  sandbox::Command command;
  command.argv = {"/usr/bin/addr2line", "-e", "/run/library.so", "-a", "-f", "-C", "-i"};
  command.files = {{file.get(), "/run/library.so"}};
  command.fds = {{text.get(), 0}};
  command.output_limit = 16 << 20;
  SZARENA_TRY(const os::ProcessResult result, sandbox.Run(command, std::chrono::seconds(60)));
  if (!result.status.ok()) {
    return Fail(ErrorCode::kUnavailable,
                "program 'addr2line' does not run (package 'binutils'): " + result.err);
  }
  std::vector<CodePlace> places;
  std::istringstream lines(result.out);
  bool first = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0x")) {
      places.emplace_back();
      first = true;
    } else if (std::string location; !places.empty() && std::getline(lines, location)) {
      CodePlace& place = places.back();
      if (first) place = {line, line, PlainLocation(location)};
      place.function = line;  // the outermost comes last
      first = false;
    }
  }
  places.resize(offsets.size());
  return places;
}

const Backend& CpuBackend() {
  static constexpr Backend kBackend{"cpu", "szarena_", Build, DriverProgram};
  return kBackend;
}

}  // namespace szarena::target::cpu
