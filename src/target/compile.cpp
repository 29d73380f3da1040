// SPDX-License-Identifier: Apache-2.0
#include "target/compile.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "os/errno.h"
#include "os/files.h"
#include "os/temp_dir.h"

namespace szarena::target {
namespace {

constexpr size_t kMaxLibraryBytes = 64u << 20;
constexpr size_t kMaxLogBytes = 8000;

// Keeps the beginning: the first errors are the ones that matter.
std::string Cut(std::string log) {
  if (log.size() <= kMaxLogBytes) return log;
  log.resize(log.rfind('\n', kMaxLogBytes) == std::string::npos ? kMaxLogBytes
                                                                : log.rfind('\n', kMaxLogBytes));
  return log + "\n[the rest of the compiler's output was cut]\n";
}

}  // namespace

std::vector<std::string> SourcesOf(const Candidate& candidate,
                                   std::initializer_list<std::string_view> suffixes) {
  std::vector<std::string> sources;
  for (const CandidateFile& file : candidate.files) {
    for (const std::string_view suffix : suffixes) {
      if (file.path.ends_with(suffix)) sources.push_back("/src/" + file.path);
    }
  }
  return sources;
}

Result<BuildResult> CompileLibrary(const sandbox::Sandbox& sandbox, const Candidate& candidate,
                                   const CompileSpec& spec) {
  BuildResult result;
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
  Candidate headers;
  headers.files = spec.headers;
  SZARENA_TRY_VOID(WriteCandidate(headers, contract));

  sandbox::Command command;
  command.argv = spec.argv;
  command.argv.insert(command.argv.end(), {"-I/contract", "-o", "/out/candidate.so"});
  command.env = spec.env;
  command.binds = {{source, "/src", false}, {contract, "/contract", false}, {output, "/out", true}};
  command.binds.insert(command.binds.end(), spec.binds.begin(), spec.binds.end());
  command.cwd = "/src";
  command.limits.cpu_seconds = static_cast<uint64_t>(spec.timeout.count() + 10);
  command.limits.address_space_bytes = spec.address_space_bytes;
  command.limits.file_bytes = kMaxLibraryBytes;
  command.limits.processes = 100;
  SZARENA_TRY(os::ProcessResult run, sandbox.Run(command, spec.timeout));
  result.seconds = run.seconds;
  // The sandbox's own words come first and name it. A #line directive can make the compiler speak
  // like that, too: then the same sandbox runs another program.
  if (!run.status.ok() && run.err.starts_with("bwrap: ")) {
    command.argv = {"/usr/bin/true"};
    SZARENA_TRY(const os::ProcessResult again, sandbox.Run(command, spec.timeout));
    if (!again.status.ok())
      return Fail(
          ErrorCode::kUnavailable,
          "the sandbox for compiling could not be made (is the folder for temporary files, '" +
              work.path() +
              "', reachable by every user?): " + run.err.substr(0, run.err.find('\n')));
  }
  std::string log = run.out + run.err;
  for (size_t at = log.find("/src/"); at != std::string::npos; at = log.find("/src/", at))
    log.erase(at, 5);
  result.log = Cut(std::move(log));
  if (run.timed_out) {
    result.reason = fmt::format("the compiler did not end within {} s", spec.timeout.count());
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

}  // namespace szarena::target
