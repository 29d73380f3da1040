// SPDX-License-Identifier: Apache-2.0
#include "target/cpu/build.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "os/errno.h"
#include "os/files.h"
#include "os/temp_dir.h"
#include "target/cpu/embedded.h"

namespace szarena::target::cpu {
namespace {

constexpr size_t kMaxLibraryBytes = 64u << 20;
constexpr size_t kMaxLogBytes = 8000;
constexpr std::chrono::seconds kTimeout{90};

bool HasSuffix(const std::string& path, std::initializer_list<const char*> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(), [&](const char* s) { return path.ends_with(s); });
}

// Keeps the beginning: the first errors are the ones that matter.
std::string Cut(std::string log) {
  if (log.size() <= kMaxLogBytes) return log;
  log.resize(log.rfind('\n', kMaxLogBytes) == std::string::npos ? kMaxLogBytes : log.rfind('\n', kMaxLogBytes));
  return log + "\n[the rest of the compiler's output was cut]\n";
}

}  // namespace

std::vector<std::string> CompileLine() {
  return {"/usr/bin/g++", "-std=c++20", "-O3", "-march=native", "-ffp-contract=off", "-fopenmp", "-pthread",
          "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-fmax-errors=20", "-fdiagnostics-color=never",
          "-Wl,-z,defs", "-Wl,-z,now", "-I/contract"};
}

Result<BuildResult> Build(const sandbox::Sandbox& sandbox, const Candidate& candidate) {
  BuildResult result;
  sandbox::Command command;
  command.argv = CompileLine();
  if (!os::FindProgram(command.argv[0])) {
    return Fail(ErrorCode::kUnavailable, "no compiler: '" + command.argv[0] + "' was not found; install package 'g++'");
  }
  bool any_source = false;
  for (const CandidateFile& file : candidate.files) {
    if (file.path.ends_with(".c")) {
      // A C file among C++ ones: its own language, its own standard.
      command.argv.insert(command.argv.end(), {"-x", "c", "-std=gnu17", "/src/" + file.path, "-x", "none", "-std=c++20"});
      any_source = true;
    } else if (HasSuffix(file.path, {".cc", ".cpp", ".cxx"})) {
      command.argv.push_back("/src/" + file.path);
      any_source = true;
    }
  }
  if (!any_source) {
    result.reason = "there is no .c, .cc, .cpp or .cxx file";
    return result;
  }
  command.argv.insert(command.argv.end(), {"-o", "/out/candidate.so"});

  // Reached by another user inside: searchable, the output folder writable.
  SZARENA_TRY(const os::TempDir work, os::TempDir::Create("szarena-build-", 0711));
  const std::string source = work.path() + "/src";
  const std::string output = work.path() + "/out";
  const std::string contract = work.path() + "/contract";
  for (const auto& [path, mode] : {std::pair(source, 0755), {output, 0777}, {contract, 0755}}) {
    if (mkdir(path.c_str(), 0700) < 0 || chmod(path.c_str(), static_cast<mode_t>(mode)) < 0) {
      return os::FailErrno("cannot make folder '" + path + "'");
    }
  }
  SZARENA_TRY_VOID(WriteCandidate(candidate, source));
  Candidate header;
  header.files.push_back({"szarena_candidate.h", std::string(CandidateHeader())});
  SZARENA_TRY_VOID(WriteCandidate(header, contract));

  command.binds = {{source, "/src", false}, {contract, "/contract", false}, {output, "/out", true}};
  command.cwd = "/src";
  command.limits.cpu_seconds = static_cast<uint64_t>(kTimeout.count() + 10);
  command.limits.address_space_bytes = 6ull << 30;
  command.limits.file_bytes = kMaxLibraryBytes;
  command.limits.processes = 100;
  SZARENA_TRY(os::ProcessResult run, sandbox.Run(command, kTimeout));
  result.seconds = run.seconds;
  // The sandbox's own words come first and name it. A #line directive can make the compiler speak like that, too: then the
  // same sandbox runs another program.
  if (!run.status.ok() && run.err.starts_with("bwrap: ")) {
    command.argv = {"/usr/bin/true"};
    SZARENA_TRY(const os::ProcessResult again, sandbox.Run(command, kTimeout));
    if (!again.status.ok()) return Fail(ErrorCode::kUnavailable, "the sandbox for compiling could not be made (is the folder for temporary files, '" +
                                             work.path() + "', reachable by every user?): " + run.err.substr(0, run.err.find('\n')));
  }
  std::string log = run.out + run.err;
  for (size_t at = log.find("/src/"); at != std::string::npos; at = log.find("/src/", at)) log.erase(at, 5);
  result.log = Cut(std::move(log));
  if (run.timed_out) {
    result.reason = fmt::format("the compiler did not end within {} s", kTimeout.count());
    return result;
  }
  if (!run.status.ok()) {
    const size_t at = result.log.find("error");
    std::string line;
    if (at != std::string::npos) {
      const size_t begin = at == 0 ? 0 : result.log.rfind('\n', at) + 1;
      line = result.log.substr(begin, result.log.find('\n', at) - begin);
    }
    result.reason = line.empty() ? "the compiler failed with " + run.status.ToString() : line;
    return result;
  }
  Result<std::string> library = os::ReadRegularFile(output + "/candidate.so", kMaxLibraryBytes);
  if (!library) {
    result.reason = "the compiler made no library: " + library.error().message;
    return result;
  }
  result.library = *std::move(library);
  result.ok = true;
  return result;
}

const Backend& CpuBackend() {
  static constexpr Backend kBackend{"cpu", Build, DriverProgram};
  return kBackend;
}

}  // namespace szarena::target::cpu
