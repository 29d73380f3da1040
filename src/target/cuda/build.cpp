// SPDX-License-Identifier: Apache-2.0
#include "target/cuda/build.h"

#include <algorithm>
#include <filesystem>

#include "os/process.h"
#include "target/compile.h"
#include "target/cuda/device.h"
#include "target/cuda/embedded.h"

namespace szarena::target::cuda {
namespace {

constexpr char kUsualNvcc[] = "/usr/local/cuda/bin/nvcc";

bool HasSuffix(const std::string& path, std::initializer_list<const char*> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](const char* s) { return path.ends_with(s); });
}

}  // namespace

Result<std::string> FindNvcc() {
  std::error_code error;
  std::optional<std::string> found = os::FindProgram("nvcc", /*use_path=*/true);
  if (!found && std::filesystem::exists(kUsualNvcc, error)) found = kUsualNvcc;
  if (!found) {
    return Fail(ErrorCode::kUnavailable,
                "no CUDA compiler: 'nvcc' was not found in PATH or at " + std::string(kUsualNvcc) +
                    "; install the CUDA toolkit (https://developer.nvidia.com/cuda-downloads, or "
                    "Debian's package "
                    "'nvidia-cuda-toolkit' from non-free)");
  }
  // The toolkit finds its parts beside the program's real place.
  const std::filesystem::path real = std::filesystem::canonical(*found, error);
  return error ? *found : real.string();
}

Result<BuildResult> Build(const sandbox::Sandbox& sandbox, const Candidate& candidate) {
  SZARENA_TRY(const std::string nvcc, FindNvcc());
  CompileSpec spec;
  spec.argv = {nvcc,
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
  bool any_source = false;
  for (const CandidateFile& file : candidate.files) {
    if (!HasSuffix(file.path, {".cu", ".cc", ".cpp", ".cxx"})) continue;
    spec.argv.push_back("/src/" + file.path);
    any_source = true;
  }
  if (!any_source) {
    BuildResult result;
    result.reason = "there is no .cu, .cc, .cpp or .cxx file";
    return result;
  }
  spec.headers = {{"szarena_candidate.h", std::string(CandidateHeader())},
                  {"szarena_candidate_cuda.h", std::string(CudaCandidateHeader())}};
  // PATH of the sandbox does not name the toolkit; nvcc itself needs only its own folder.
  const std::string toolkit = std::filesystem::path(nvcc).parent_path().parent_path().string();
  if (!toolkit.starts_with("/usr/")) spec.binds.push_back({toolkit, toolkit, false});
  spec.timeout = std::chrono::seconds(240);
  spec.address_space_bytes = 16ull << 30;
  return CompileLibrary(sandbox, candidate, spec);
}

const Backend& CudaBackend() {
  static constexpr Backend kBackend{"cuda", "szarena_cuda_", Build, DriverProgram, FindDevice};
  return kBackend;
}

}  // namespace szarena::target::cuda
