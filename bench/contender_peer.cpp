// SPDX-License-Identifier: Apache-2.0
// A library with the ABI of tasks/contract/szarena_candidate.h. It runs in this process: load only
// what you trust.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "bench/contender.h"
#include "tasks/contract/szarena_candidate.h"

namespace szarena::bench {
namespace {

class Peer : public Contender {
 public:
  Peer(std::string name, void* library, std::uint32_t mode)
      : name_(std::move(name)), library_(library), mode_(mode) {}
  ~Peer() override { dlclose(library_); }

  Result<void> Bind() {
    SZARENA_TRY_VOID(BindOne(workspace_bytes_, "szarena_workspace_bytes"));
    SZARENA_TRY_VOID(BindOne(compress_, "szarena_compress"));
    SZARENA_TRY_VOID(BindOne(decompress_, "szarena_decompress"));
    // Beyond the contract: a text that says which code is behind it and how it was built.
    if (const auto* text = static_cast<const char* const*>(dlsym(library_, "szarena_peer_version")))
      version_ = *text;
    return {};
  }

  std::string name() const override { return name_; }
  std::string version() const override { return version_; }
  bool runs_threads() const override { return true; }

  Result<void> Prepare(const Problem& problem) override {
    const auto call = Describe(problem);
    const std::uint64_t bytes = workspace_bytes_(&call);
    if (bytes == UINT64_MAX)
      return Fail(ErrorCode::kUnavailable, fmt::format("'{}' does not take this problem", name_));
    workspace_.resize(bytes + 64);
    // More than any format here needs: public encoders are known to write beyond the raw size.
    buffer_.resize(2 * problem.values.count * codec::SizeOf(problem.values.dtype) + (1 << 20));
    return {};
  }
  Result<std::span<const std::byte>> Compress(const Problem& problem) override {
    const auto call = Describe(problem);
    szarena_payload payload = {};
    const int status = compress_(&call, problem.values.data, buffer_.data(), buffer_.size(),
                                 Workspace(), workspace_.size() - 64, &payload);
    if (status != SZARENA_OK) return Failed("compress", status);
    if (payload.offset > buffer_.size() || payload.size > buffer_.size() - payload.offset) {
      return Fail(ErrorCode::kInternal,
                  fmt::format("'{}' placed its payload outside the buffer", name_));
    }
    return std::span<const std::byte>(buffer_).subspan(payload.offset, payload.size);
  }
  Result<void> Decompress(const Problem& problem, std::span<const std::byte> payload,
                          std::byte* values) override {
    const auto call = Describe(problem);
    const int status = decompress_(&call, payload.data(), payload.size(), values, Workspace(),
                                   workspace_.size() - 64);
    if (status != SZARENA_OK) return Failed("decompress", status);
    return {};
  }

 private:
  template <typename Function>
  Result<void> BindOne(Function*& function, const char* symbol) {
    function = reinterpret_cast<Function*>(dlsym(library_, symbol));
    if (function != nullptr) return {};
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("peer '{}' has no function '{}'", name_, symbol));
  }
  tl::unexpected<Error> Failed(const char* what, int status) const {
    return Fail(status == SZARENA_UNSUPPORTED ? ErrorCode::kUnavailable : ErrorCode::kInternal,
                fmt::format("'{}' returned {} from {}", name_, status, what));
  }
  void* Workspace() {
    const auto at = reinterpret_cast<std::uintptr_t>(workspace_.data());
    return workspace_.data() + (64 - at % 64) % 64;
  }
  szarena_problem Describe(const Problem& problem) const {
    szarena_problem out = {};
    out.struct_size = sizeof out;
    out.version = SZARENA_CONTRACT_VERSION;
    out.n = problem.values.count;
    std::fill(out.dims, out.dims + 3, 1);
    std::copy(problem.dims.begin(), problem.dims.end(), out.dims + 3 - problem.dims.size());
    out.dtype = problem.values.dtype == codec::DType::kF32 ? SZARENA_F32 : SZARENA_F64;
    out.mode = mode_;
    out.abs_bound = problem.eb;
    const bool szx = mode_ == SZARENA_MODE_RANDOM_ACCESS || mode_ == SZARENA_MODE_SEQUENTIAL;
    out.block_size = szx ? 128 : 32;
    out.pad_blocks = szx ? 0 : 1024;
    out.threads = problem.threads;
    return out;
  }

  std::string name_;
  void* library_;
  std::uint32_t mode_;
  std::string version_ = "unknown";
  std::uint64_t (*workspace_bytes_)(const szarena_problem*) = nullptr;
  int (*compress_)(const szarena_problem*, const void*, void*, std::uint64_t, void*, std::uint64_t,
                   szarena_payload*) = nullptr;
  int (*decompress_)(const szarena_problem*, const void*, std::uint64_t, void*, void*,
                     std::uint64_t) = nullptr;
  std::vector<std::byte> workspace_;
  std::vector<std::byte> buffer_;
};

}  // namespace

Result<std::unique_ptr<Contender>> LoadPeer(std::string name, const std::string& library,
                                            std::uint32_t mode) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return Fail(ErrorCode::kNotFound, fmt::format("cannot load peer '{}': {}", name, dlerror()));
  }
  auto peer = std::make_unique<Peer>(std::move(name), handle, mode);
  SZARENA_TRY_VOID(peer->Bind());
  return std::unique_ptr<Contender>(std::move(peer));
}

}  // namespace szarena::bench
