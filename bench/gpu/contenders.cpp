// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "bench/gpu/contender.h"
#include "codec/cuda/szp_cuda.h"
#include "codec/cuda/szx_cuda.h"

namespace szarena::bench::gpu {
namespace {

using namespace codec;

// The contract's payload is the front of what our calls leave.
static_assert(offsetof(cuda::DeviceResult, offset) == offsetof(szarena_payload, offset) &&
              offsetof(cuda::DeviceResult, size) == offsetof(szarena_payload, size));

constexpr uint64_t kResultBytes = 256;  // the decompressor's, in front of its workspace

DType TypeOf(const szarena_problem& problem) {
  return problem.dtype == SZARENA_F32 ? DType::kF32 : DType::kF64;
}
bool IsSzx(const szarena_problem& problem) { return problem.mode == SZARENA_MODE_RANDOM_ACCESS; }
szp::Params SzpParams(const szarena_problem& problem) {
  return {.eb = problem.abs_bound,
          .mode = static_cast<szp::Mode>(problem.mode - SZARENA_MODE_FIXED)};
}
int Status(cuda::LaunchStatus status) {
  return status == cuda::LaunchStatus::kOk ? SZARENA_OK : SZARENA_FAILED;
}

uint64_t OwnWorkspaceBytes(const szarena_problem* problem) {
  const DType dtype = TypeOf(*problem);
  return kResultBytes + (IsSzx(*problem)
                             ? cuda::SzxWorkspaceBytes(problem->n, dtype)
                             : cuda::SzpWorkspaceBytes(problem->n, dtype, SzpParams(*problem)));
}

int OwnRelative(const szarena_problem* problem, double relative, const void* input, void* output,
                uint64_t capacity, void* workspace, uint64_t workspace_bytes,
                szarena_payload* payload, double* bound, szarena_stream stream) {
  const DType dtype = TypeOf(*problem);
  auto* const result = reinterpret_cast<cuda::DeviceResult*>(payload);
  return Status(
      IsSzx(*problem)
          ? cuda::SzxCompress(input, problem->n, dtype, problem->abs_bound, relative, output,
                              capacity, result, bound, workspace, workspace_bytes, stream)
          : cuda::SzpCompress(input, problem->n, dtype, SzpParams(*problem), relative, output,
                              capacity, result, bound, workspace, workspace_bytes, stream));
}

int OwnCompress(const szarena_problem* problem, const void* input, void* output, uint64_t capacity,
                void* workspace, uint64_t workspace_bytes, szarena_payload* payload,
                szarena_stream stream) {
  return OwnRelative(problem, 0, input, output, capacity, workspace, workspace_bytes, payload,
                     nullptr, stream);
}

int OwnDecompress(const szarena_problem* problem, const void* payload, uint64_t size, void* output,
                  void* workspace, uint64_t workspace_bytes, szarena_stream stream) {
  const DType dtype = TypeOf(*problem);
  auto* const result = static_cast<cuda::DeviceResult*>(workspace);
  void* const rest = static_cast<char*>(workspace) + kResultBytes;
  const uint64_t rest_bytes = workspace_bytes - kResultBytes;
  return Status(IsSzx(*problem)
                    ? cuda::SzxDecompress(payload, size, problem->n, dtype, output, result, rest,
                                          rest_bytes, stream)
                    : cuda::SzpDecompress(payload, size, problem->n, dtype, SzpParams(*problem),
                                          output, result, rest, rest_bytes, stream));
}

}  // namespace

std::vector<Contender> OwnContenders(std::string_view version) {
  std::vector<Contender> own;
  for (const auto& [name, mode] : {std::pair{"szp plain", SZARENA_MODE_PLAIN},
                                   {"szp outlier", SZARENA_MODE_OUTLIER},
                                   {"szx", SZARENA_MODE_RANDOM_ACCESS}}) {
    own.push_back({.name = name,
                   .version = std::string(version),
                   .mode = static_cast<uint32_t>(mode),
                   .own = true,
                   .workspace_bytes = OwnWorkspaceBytes,
                   .compress = OwnCompress,
                   .decompress = OwnDecompress,
                   .compress_relative = OwnRelative});
  }
  return own;
}

Result<std::vector<Contender>> LoadPeers(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("--peer is '{}', expected NAME=LIBRARY.so[:MODE]", text));
  }
  const std::string name(text.substr(0, equals));
  std::string library(text.substr(equals + 1));
  std::string modes = "plain,outlier";
  if (const auto colon = library.rfind(':'); colon != std::string::npos) {
    modes = library.substr(colon + 1);
    library.resize(colon);
  }
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return Fail(ErrorCode::kNotFound, fmt::format("peer '{}': {}", name, dlerror()));
  }
  const auto* const version =
      static_cast<const char* const*>(dlsym(handle, "szarena_peer_version"));
  std::vector<Contender> peers;
  for (const auto& [mode_name, mode] : {std::pair{"fixed", SZARENA_MODE_FIXED},
                                        {"plain", SZARENA_MODE_PLAIN},
                                        {"outlier", SZARENA_MODE_OUTLIER},
                                        {"random-access", SZARENA_MODE_RANDOM_ACCESS}}) {
    if (modes.find(mode_name) == std::string::npos) continue;
    Contender peer{.name = fmt::format("{} {}", name, mode_name),
                   .version = version != nullptr ? *version : "not told",
                   .mode = static_cast<uint32_t>(mode),
                   .own = false,
                   .workspace_bytes = reinterpret_cast<decltype(&szarena_cuda_workspace_bytes)>(
                       dlsym(handle, "szarena_cuda_workspace_bytes")),
                   .compress = reinterpret_cast<decltype(&szarena_cuda_compress)>(
                       dlsym(handle, "szarena_cuda_compress")),
                   .decompress = reinterpret_cast<decltype(&szarena_cuda_decompress)>(
                       dlsym(handle, "szarena_cuda_decompress"))};
    if (peer.workspace_bytes == nullptr || peer.compress == nullptr || peer.decompress == nullptr) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("peer '{}': '{}' lacks a function of szarena_candidate_cuda.h", name,
                              library));
    }
    peers.push_back(std::move(peer));
  }
  if (peers.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("peer '{}' has mode '{}', expected 'fixed', 'plain', 'outlier' or 'random-access'", name,
                            modes));
  }
  return peers;
}

uint64_t RoomFor(uint64_t count, uint32_t dtype) {
  const DType type = dtype == SZARENA_F32 ? DType::kF32 : DType::kF64;
  return std::max(szp::MaxPayloadSize(count, type, {}).value_or(0),
                  szx::RoomySize(count, type, {}).value_or(0)) +
         (1 << 20);
}

}  // namespace szarena::bench::gpu
