// SPDX-License-Identifier: Apache-2.0
#include "codec/szx/format.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "base/bytes.h"
#include "codec/core/bound.h"

namespace szarena::codec::szx {
namespace {

template <Real T>
Result<std::uint64_t> SizeWithSlack(std::uint64_t count, Mode mode, std::uint64_t slack_per_block) {
  const std::uint64_t full = count / kBlockValues;
  const std::uint64_t tail = count % kBlockValues;
  const std::uint64_t blocks = full + (tail != 0);
  auto size = CheckedMul(full, MaxBlockBytes<T>(kBlockValues));
  if (tail != 0) size = CheckedAdd(size, MaxBlockBytes<T>(tail));
  size = CheckedAdd(size, CheckedMul(blocks, slack_per_block));
  size = CheckedAdd(size, HeaderBytes(mode));
  size = CheckedAdd(size, TableBytes<T>(mode, blocks, blocks));
  if (!size) {
    return Fail(ErrorCode::kCapacity,
                fmt::format("an SZx stream of {} values does not fit the address space", count));
  }
  return *size;
}

// Bytes a block that turns out constant takes from the tables beyond a coded one's.
template <Real T>
constexpr std::uint64_t ConstantSlack(Mode mode) {
  return sizeof(T) - (mode == Mode::kRandomAccess ? 2 : 0);
}

}  // namespace

std::string_view ModeName(Mode mode) {
  return mode == Mode::kRandomAccess ? "random-access" : "sequential";
}

std::optional<Mode> ParseMode(std::string_view name) {
  if (name == ModeName(Mode::kRandomAccess)) return Mode::kRandomAccess;
  if (name == ModeName(Mode::kSequential)) return Mode::kSequential;
  return std::nullopt;
}

Result<std::uint64_t> MaxPayloadSize(std::uint64_t count, DType dtype, const Params& params) {
  return dtype == DType::kF32 ? SizeWithSlack<float>(count, params.mode, 0)
                              : SizeWithSlack<double>(count, params.mode, 0);
}

Result<std::uint64_t> RoomySize(std::uint64_t count, DType dtype, const Params& params) {
  return dtype == DType::kF32
             ? SizeWithSlack<float>(count, params.mode, ConstantSlack<float>(params.mode))
             : SizeWithSlack<double>(count, params.mode, ConstantSlack<double>(params.mode));
}

template <Real T>
void WriteHeader(const Header& header, std::uint8_t* out) {
  out[0] = 1;
  out[1] = 1;
  out[2] = Type<T>::kVersionByte;
  out[3] = static_cast<std::uint8_t>(header.mode);
  if (header.mode == Mode::kRandomAccess) {
    StoreBe<std::uint64_t>(out + 4, header.block_values);
    StoreBe<std::uint64_t>(out + 12, header.constant_blocks);
  } else {
    out[4] = static_cast<std::uint8_t>(header.block_values);
    StoreBe<std::uint64_t>(out + 5, header.constant_blocks);
  }
}

template <Real T>
Result<Header> ReadHeader(Bytes stream) {
  if (stream.size() < 4) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("SZx stream of {} bytes ends inside its header", stream.size()));
  }
  if (stream[0] != 1 || stream[1] != 1 || stream[2] != Type<T>::kVersionByte || stream[3] > 1) {
    return Fail(
        ErrorCode::kCorrupt,
        fmt::format("SZx stream starts with bytes {} {} {} {}, expected 1 1 {} and 0 or 1 for f{}",
                    stream[0], stream[1], stream[2], stream[3], Type<T>::kVersionByte,
                    Type<T>::kBits));
  }
  Header header;
  header.mode = static_cast<Mode>(stream[3]);
  if (stream.size() < HeaderBytes(header.mode)) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("SZx stream of {} bytes ends inside its header", stream.size()));
  }
  if (header.mode == Mode::kRandomAccess) {
    header.block_values = LoadBe<std::uint64_t>(stream.data() + 4);
    header.constant_blocks = LoadBe<std::uint64_t>(stream.data() + 12);
  } else {
    header.block_values = stream[4];
    header.constant_blocks = LoadBe<std::uint64_t>(stream.data() + 5);
  }
  if (header.block_values < 1 || header.block_values > kMaxBlockValues) {
    return Fail(ErrorCode::kCorrupt, fmt::format("SZx block size is {}, expected 1 to {}",
                                                 header.block_values, kMaxBlockValues));
  }
  return header;
}

template <Real T>
Result<Parts> Split(Bytes stream, std::uint64_t count) {
  SZARENA_TRY(const auto header, ReadHeader<T>(stream));
  const std::uint64_t blocks = CeilDiv(count, header.block_values);
  if (header.constant_blocks > blocks) {
    return Fail(ErrorCode::kCorrupt, fmt::format("SZx stream claims {} constant blocks of {}",
                                                 header.constant_blocks, blocks));
  }
  const std::uint64_t coded_blocks = blocks - header.constant_blocks;
  const std::uint64_t rest = stream.size() - HeaderBytes(header.mode);
  // The first test keeps the sum of the second from wrapping.
  if (CeilDiv(blocks, 8) > rest || TableBytes<T>(header.mode, blocks, coded_blocks) > rest) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("SZx stream of {} bytes ends inside the tables of its {} blocks",
                            stream.size(), blocks));
  }
  Parts parts{.header = header, .blocks = blocks};
  parts.coded = stream.subspan(HeaderBytes(header.mode));
  const auto take = [&parts](std::uint64_t bytes) {
    const Bytes front = parts.coded.first(bytes);
    parts.coded = parts.coded.subspan(bytes);
    return front;
  };
  parts.sizes = take(header.mode == Mode::kRandomAccess ? 2 * coded_blocks : 0);
  parts.states = take(CeilDiv(blocks, 8));
  parts.medians = take(sizeof(T) * header.constant_blocks);
  return parts;
}

template <Real T>
Result<Bound<T>> MakeBound(double eb) {
  if (!(eb >= 0) || !std::isfinite(eb)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("error bound is {}, expected a finite number >= 0", eb));
  }
  const T value = RoundBoundDown<T>(eb);
  const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(value));
  return Bound<T>{value, static_cast<int>(bits >> 52) - 1023};
}

template void WriteHeader<float>(const Header&, std::uint8_t*);
template void WriteHeader<double>(const Header&, std::uint8_t*);
template Result<Header> ReadHeader<float>(Bytes);
template Result<Header> ReadHeader<double>(Bytes);
template Result<Parts> Split<float>(Bytes, std::uint64_t);
template Result<Parts> Split<double>(Bytes, std::uint64_t);
template Result<Bound<float>> MakeBound<float>(double);
template Result<Bound<double>> MakeBound<double>(double);

}  // namespace szarena::codec::szx
