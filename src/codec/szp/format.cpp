// SPDX-License-Identifier: Apache-2.0
#include "codec/szp/format.h"

#include <fmt/format.h>

#include "codec/core/size.h"

namespace szarena::codec::szp {
namespace {

tl::unexpected<Error> TooLarge(uint64_t count) {
  return Fail(ErrorCode::kCapacity,
              fmt::format("a payload of '{}' elements can exceed 64-bit sizes", count));
}

}  // namespace

std::string_view ModeName(Mode mode) {
  switch (mode) {
    case Mode::kFixed:
      return "fixed";
    case Mode::kPlain:
      return "plain";
    case Mode::kOutlier:
      return "outlier";
  }
  return "invalid";
}

std::optional<Mode> ParseMode(std::string_view name) {
  for (const Mode mode : {Mode::kFixed, Mode::kPlain, Mode::kOutlier}) {
    if (name == ModeName(mode)) return mode;
  }
  return std::nullopt;
}

Result<void> CheckParams(const Params& params) {
  if (!(params.eb >= 0)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("bound '{}' has no meaning, expected 0 or more", params.eb));
  }
  if (params.padding_blocks == 0) {
    return Fail(ErrorCode::kInvalidArgument, "padding of '0' blocks, expected at least 1");
  }
  if (ModeName(params.mode) == "invalid") {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("SZp mode '{}' is unknown, expected 0, 1 or 2",
                            static_cast<unsigned>(params.mode)));
  }
  return {};
}

Result<uint64_t> RateTableBytes(uint64_t count, const Params& params) {
  const auto bytes =
      CheckedMul(CeilDiv(BlockCount(count), params.padding_blocks), params.padding_blocks);
  if (!bytes) return TooLarge(count);
  return *bytes;
}

Result<uint64_t> MaxPayloadSize(uint64_t count, DType dtype, const Params& params) {
  SZARENA_TRY_VOID(CheckParams(params));
  SZARENA_TRY(const uint64_t rates, RateTableBytes(count, params));
  const auto total = CheckedAdd(rates, CheckedMul(BlockCount(count), RawBlockBytes(dtype)));
  if (!total) return TooLarge(count);
  return *total;
}

}  // namespace szarena::codec::szp
