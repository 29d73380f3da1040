// SPDX-License-Identifier: Apache-2.0
#include "target/cuda/build.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "os/files.h"
#include "os/process.h"
#include "target/compile.h"
#include "target/cuda/device.h"
#include "target/cuda/embedded.h"
#include "target/cuda/sanitizer.h"
#include "target/cuda/toolkit.h"

namespace szarena::target::cuda {
namespace {

Result<BuildResult> BuildWith(const sandbox::Sandbox& sandbox, const Candidate& candidate,
                              const std::vector<std::string>& more) {
  SZARENA_TRY(const Toolkit toolkit, FindToolkit());
  CompileSpec spec;
  spec.argv = {toolkit.nvcc,
               "-std=c++20",
               "-O3",
               "--fmad=false",
               "-lineinfo",
               "-shared",
               "-Xcompiler",
               "-fPIC,-fopenmp,-ffp-contract=off",
               "-arch=" + TargetArchitecture(sandbox),
               "-ccbin",
               "/usr/bin/g++"};
  spec.argv.insert(spec.argv.end(), more.begin(), more.end());
  const std::vector<std::string> sources = SourcesOf(candidate, {".cu", ".cc", ".cpp", ".cxx"});
  if (sources.empty()) {
    BuildResult result;
    result.reason = "there is no .cu, .cc, .cpp or .cxx file";
    return result;
  }
  spec.argv.insert(spec.argv.end(), sources.begin(), sources.end());
  spec.headers = {{"szarena_candidate.h", std::string(CandidateHeader())},
                  {"szarena_candidate_cuda.h", std::string(CudaCandidateHeader())}};
  // PATH of the sandbox does not name the toolkit; nvcc itself needs only its own folder.
  const std::string folder =
      std::filesystem::path(toolkit.nvcc).parent_path().parent_path().string();
  if (!folder.starts_with("/usr/")) spec.binds.push_back({folder, folder, false});
  spec.timeout = std::chrono::seconds(240);
  spec.address_space_bytes = 16ull << 30;
  return CompileLibrary(sandbox, candidate, spec);
}

// The number before `unit` in a line of ptxas's: "24 registers", "8 bytes spill stores".
int64_t NumberBefore(const std::string& line, const std::string& unit) {
  const size_t end = line.find(" " + unit);
  if (end == std::string::npos || end == 0) return 0;
  size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  return begin == end ? 0 : std::strtoll(line.c_str() + begin, nullptr, 10);
}

}  // namespace

Result<BuildResult> Build(const sandbox::Sandbox& sandbox, const Candidate& candidate) {
  return BuildWith(sandbox, candidate, {});
}

Result<BuildResult> BuildWithUsage(const sandbox::Sandbox& sandbox, const Candidate& candidate) {
  SZARENA_TRY(BuildResult result, BuildWith(sandbox, candidate, {"-Xptxas", "-v"}));
  if (!result.ok) return result;
  SZARENA_TRY(const os::UniqueFd log, os::MemoryFile("log", result.log));
  sandbox::Command command;
  command.argv = {"/usr/bin/c++filt"};
  command.fds = {{log.get(), 0}};
  const auto readable = sandbox.Run(command, std::chrono::seconds(20));
  if (readable && readable->status.ok()) result.log = readable->out;
  return result;
}

std::vector<KernelUsage> ReadUsage(const std::string& log) {
  constexpr std::string_view kBegin = "Compiling entry function '";
  std::vector<KernelUsage> kernels;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.find(kBegin);
    if (at != std::string::npos) {
      const size_t begin = at + kBegin.size();
      kernels.emplace_back().name = line.substr(begin, line.rfind("' for '") - begin);
    } else if (!kernels.empty() && line.find("bytes stack frame") != std::string::npos) {
      KernelUsage& kernel = kernels.back();
      kernel.stack_bytes = NumberBefore(line, "bytes stack frame");
      kernel.spill_store_bytes = NumberBefore(line, "bytes spill stores");
      kernel.spill_load_bytes = NumberBefore(line, "bytes spill loads");
    } else if (!kernels.empty() && line.find("registers") != std::string::npos) {
      kernels.back().registers = NumberBefore(line, "registers");
      kernels.back().shared_bytes = NumberBefore(line, "bytes smem");
    }
  }
  return kernels;
}

const Backend& CudaBackend() {
  static constexpr Backend kBackend{"cuda",        "szarena_cuda_", Build,
                                    DriverProgram, FindDevice,      RunSanitizers};
  return kBackend;
}

}  // namespace szarena::target::cuda
