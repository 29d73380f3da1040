// SPDX-License-Identifier: Apache-2.0
// ZFP in fixed-accuracy mode, from the Debian package libzfp-dev.
#include "bench/contender.h"

#if SZARENA_HAS_ZFP
#include <fmt/format.h>
#include <zfp.h>

namespace szarena::bench {
namespace {

class Zfp : public Contender {
 public:
  std::string name() const override { return "zfp accuracy"; }
  std::string version() const override { return fmt::format("libzfp {}", ZFP_VERSION_STRING); }
  bool runs_threads() const override { return false; }

  Result<void> Prepare(const Problem& problem) override {
    const Call call(problem, const_cast<std::byte*>(problem.values.data));
    buffer_.resize(zfp_stream_maximum_size(call.stream, call.field));
    return {};
  }
  Result<std::span<const std::byte>> Compress(const Problem& problem) override {
    const Call call(problem, const_cast<std::byte*>(problem.values.data));
    Bits bits(call, buffer_.data(), buffer_.size());
    const std::size_t size = zfp_compress(call.stream, call.field);
    if (size == 0) return Fail(ErrorCode::kUnavailable, "zfp could not compress");
    return std::span<const std::byte>(buffer_).first(size);
  }
  Result<void> Decompress(const Problem& problem, std::span<const std::byte> payload,
                          std::byte* values) override {
    const Call call(problem, values);
    Bits bits(call, const_cast<std::byte*>(payload.data()), payload.size());
    if (zfp_decompress(call.stream, call.field) == 0)
      return Fail(ErrorCode::kCorrupt, "zfp could not decompress");
    return {};
  }

 private:
  // A stream in accuracy mode and a field over `data`.
  struct Call {
    Call(const Problem& problem, std::byte* data) {
      const zfp_type type =
          problem.values.dtype == codec::DType::kF32 ? zfp_type_float : zfp_type_double;
      const auto& d = problem.dims;
      field = d.size() == 3   ? zfp_field_3d(data, type, d[2], d[1], d[0])
              : d.size() == 2 ? zfp_field_2d(data, type, d[1], d[0])
                              : zfp_field_1d(data, type, d[0]);
      stream = zfp_stream_open(nullptr);
      zfp_stream_set_accuracy(stream, problem.eb);
    }
    ~Call() {
      zfp_stream_close(stream);
      zfp_field_free(field);
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    zfp_field* field;
    zfp_stream* stream;
  };
  struct Bits {
    Bits(const Call& call, void* data, std::size_t size) : bits(stream_open(data, size)) {
      zfp_stream_set_bit_stream(call.stream, bits);
      zfp_stream_rewind(call.stream);
    }
    ~Bits() { stream_close(bits); }
    Bits(const Bits&) = delete;
    Bits& operator=(const Bits&) = delete;
    bitstream* bits;
  };
  std::vector<std::byte> buffer_;
};

}  // namespace

std::unique_ptr<Contender> MakeZfp() { return std::make_unique<Zfp>(); }

}  // namespace szarena::bench
#else
namespace szarena::bench {
std::unique_ptr<Contender> MakeZfp() { return nullptr; }
}  // namespace szarena::bench
#endif
