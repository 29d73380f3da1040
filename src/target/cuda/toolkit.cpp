// SPDX-License-Identifier: Apache-2.0
#include "target/cuda/toolkit.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <optional>

#include "os/process.h"

namespace szarena::target::cuda {
namespace {

constexpr char kUsualNvcc[] = "/usr/local/cuda/bin/nvcc";
constexpr int kOldestMajor = 12;
constexpr char kRemedy[] =
    "install CUDA toolkit 12.0 or newer (https://developer.nvidia.com/cuda-downloads) and put its "
    "bin folder in PATH";

// "13.0" of "Cuda compilation tools, release 13.0, V13.0.88"; empty where it does not say so.
std::string ReleaseIn(const std::string& text) {
  constexpr std::string_view kWord = "release ";
  const size_t at = text.find(kWord);
  if (at == std::string::npos) return "";
  const size_t begin = at + kWord.size();
  return text.substr(begin, text.find_first_not_of("0123456789.", begin) - begin);
}

}  // namespace

Result<std::string> FindNvcc() {
  std::error_code error;
  std::optional<std::string> found = os::FindProgram("nvcc", /*use_path=*/true);
  if (!found && std::filesystem::exists(kUsualNvcc, error)) found = kUsualNvcc;
  if (!found) {
    return Fail(ErrorCode::kUnavailable,
                fmt::format("no CUDA compiler: there is no 'nvcc' in PATH or in "
                            "/usr/local/cuda/bin; {}",
                            kRemedy));
  }
  // The toolkit finds its parts beside the program's real place.
  const std::filesystem::path real = std::filesystem::canonical(*found, error);
  return error ? *found : real.string();
}

Result<Toolkit> FindToolkit() {
  SZARENA_TRY(const std::string nvcc, FindNvcc());
  os::ProcessSpec spec;
  spec.argv = {nvcc, "--version"};
  spec.inherit_env = true;
  SZARENA_TRY(const os::ProcessResult run, os::RunProcess(spec, std::chrono::seconds(20)));
  Toolkit toolkit{nvcc, run.status.ok() ? ReleaseIn(run.out) : ""};
  int major = 0;
  std::from_chars(toolkit.release.data(), toolkit.release.data() + toolkit.release.size(), major);
  if (major == 0) {
    return Fail(ErrorCode::kUnavailable,
                fmt::format("the CUDA compiler cannot be used: '{} --version' does not say its "
                            "release ({}); {}",
                            nvcc, run.status.ToString(), kRemedy));
  }
  if (major < kOldestMajor) {
    return Fail(ErrorCode::kUnavailable,
                fmt::format("the CUDA compiler is too old: '{}' is of CUDA {}, which has no "
                            "C++20; {}",
                            nvcc, toolkit.release, kRemedy));
  }
  return toolkit;
}

}  // namespace szarena::target::cuda
