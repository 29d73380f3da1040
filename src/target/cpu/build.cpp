// SPDX-License-Identifier: Apache-2.0
#include "target/cpu/build.h"

#include <algorithm>

#include "os/process.h"
#include "target/compile.h"
#include "target/cpu/embedded.h"

namespace szarena::target::cpu {
namespace {

bool HasSuffix(const std::string& path, std::initializer_list<const char*> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(), [&](const char* s) { return path.ends_with(s); });
}

}  // namespace

std::vector<std::string> CompileLine() {
  return {"/usr/bin/g++", "-std=c++20", "-O3", "-march=native", "-ffp-contract=off", "-fopenmp", "-pthread",
          "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-fmax-errors=20", "-fdiagnostics-color=never",
          "-Wl,-z,defs", "-Wl,-z,now"};
}

Result<BuildResult> Build(const sandbox::Sandbox& sandbox, const Candidate& candidate) {
  BuildResult result;
  CompileSpec spec;
  spec.argv = CompileLine();
  if (!os::FindProgram(spec.argv[0])) {
    return Fail(ErrorCode::kUnavailable, "no compiler: '" + spec.argv[0] + "' was not found; install package 'g++'");
  }
  bool any_source = false;
  for (const CandidateFile& file : candidate.files) {
    if (file.path.ends_with(".c")) {
      // A C file among C++ ones: its own language, its own standard.
      spec.argv.insert(spec.argv.end(), {"-x", "c", "-std=gnu17", "/src/" + file.path, "-x", "none", "-std=c++20"});
      any_source = true;
    } else if (HasSuffix(file.path, {".cc", ".cpp", ".cxx"})) {
      spec.argv.push_back("/src/" + file.path);
      any_source = true;
    }
  }
  if (!any_source) {
    result.reason = "there is no .c, .cc, .cpp or .cxx file";
    return result;
  }
  spec.headers = {{"szarena_candidate.h", std::string(CandidateHeader())}};
  return CompileLibrary(sandbox, candidate, spec);
}

const Backend& CpuBackend() {
  static constexpr Backend kBackend{"cpu", "szarena_", Build, DriverProgram};
  return kBackend;
}

}  // namespace szarena::target::cpu
