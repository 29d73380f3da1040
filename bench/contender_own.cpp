// SPDX-License-Identifier: Apache-2.0
// Our codecs.
#include <fmt/format.h>
#include <hwy/targets.h>

#include "bench/contender.h"
#include "codec/szp/szp.h"
#include "codec/szx/szx.h"

namespace szarena::bench {
namespace {

std::string OwnVersion() {
  return fmt::format("szarena " SZARENA_VERSION ", best instruction set {}",
                     hwy::TargetName(hwy::SupportedTargets() & -hwy::SupportedTargets()));
}

class Szx : public Contender {
 public:
  explicit Szx(codec::szx::Mode mode) : mode_(mode) {}
  std::string name() const override { return fmt::format("szx {}", codec::szx::ModeName(mode_)); }
  std::string version() const override { return OwnVersion(); }
  bool runs_threads() const override { return true; }
  Result<void> Prepare(const Problem& problem) override {
    SZARENA_TRY(const auto size,
                codec::szx::RoomySize(problem.values.count, problem.values.dtype, Params(problem)));
    buffer_.resize(size);
    return {};
  }
  Result<std::span<const std::byte>> Compress(const Problem& problem) override {
    SZARENA_TRY(const auto placed, codec::szx::CompressInPlace(problem.values, Params(problem),
                                                               buffer_, problem.threads));
    return std::span<const std::byte>(buffer_).subspan(placed.offset, placed.size);
  }
  Result<void> Decompress(const Problem& problem, std::span<const std::byte> payload,
                          std::byte* values) override {
    return codec::szx::Decompress(payload, {values, problem.values.count, problem.values.dtype},
                                  problem.threads);
  }

 private:
  codec::szx::Params Params(const Problem& problem) const {
    return {.eb = problem.eb, .mode = mode_};
  }
  codec::szx::Mode mode_;
  std::vector<std::byte> buffer_;
};

class Szp : public Contender {
 public:
  explicit Szp(codec::szp::Mode mode) : mode_(mode) {}
  std::string name() const override { return fmt::format("szp {}", codec::szp::ModeName(mode_)); }
  std::string version() const override { return OwnVersion(); }
  bool runs_threads() const override { return true; }
  Result<void> Prepare(const Problem& problem) override {
    SZARENA_TRY(const auto size, codec::szp::MaxPayloadSize(problem.values.count,
                                                            problem.values.dtype, Params(problem)));
    buffer_.resize(size);
    return {};
  }
  Result<std::span<const std::byte>> Compress(const Problem& problem) override {
    SZARENA_TRY(const auto size,
                codec::szp::Compress(problem.values, Params(problem), buffer_, problem.threads));
    return std::span<const std::byte>(buffer_).first(size);
  }
  Result<void> Decompress(const Problem& problem, std::span<const std::byte> payload,
                          std::byte* values) override {
    return codec::szp::Decompress(payload, Params(problem),
                                  {values, problem.values.count, problem.values.dtype},
                                  problem.threads);
  }

 private:
  codec::szp::Params Params(const Problem& problem) const {
    return {.eb = problem.eb, .mode = mode_};
  }
  codec::szp::Mode mode_;
  std::vector<std::byte> buffer_;
};

}  // namespace

std::unique_ptr<Contender> MakeSzx(std::string_view mode) {
  return std::make_unique<Szx>(codec::szx::ParseMode(mode).value());
}
std::unique_ptr<Contender> MakeSzp(std::string_view mode) {
  return std::make_unique<Szp>(codec::szp::ParseMode(mode).value());
}

}  // namespace szarena::bench
