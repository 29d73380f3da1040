// SPDX-License-Identifier: Apache-2.0
#include "codec/szx/reference.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "codec/szx/block.h"

namespace szarena::codec::szx {
namespace {

template <Real T>
Result<std::vector<std::byte>> CompressTyped(ConstArray values, const Params& params) {
  SZARENA_TRY(const auto bound, MakeBound<T>(params.eb));
  SZARENA_TRY(const auto capacity, MaxPayloadSize(values.count, values.dtype, params));
  const std::uint64_t blocks = BlockCount(values.count);
  std::vector<std::uint8_t> sizes;
  std::vector<std::uint8_t> states(CeilDiv(blocks, 8));
  std::vector<std::uint8_t> medians;
  std::vector<std::uint8_t> coded;
  std::vector<std::uint8_t> block(MaxBlockBytes<T>(kBlockValues));

  for (std::uint64_t b = 0; b < blocks; ++b) {
    const std::byte* const first = values.data + b * kBlockValues * sizeof(T);
    const std::size_t count = std::min(kBlockValues, values.count - b * kBlockValues);
    const auto plan = PlanBlock<T>(first, count, bound);
    if (plan.constant) {
      medians.resize(medians.size() + sizeof(T));
      StoreBe(medians.data() + medians.size() - sizeof(T), plan.median);
      continue;
    }
    states[b / 8] |= static_cast<std::uint8_t>(0x80 >> (b % 8));
    const std::size_t size = WriteBlock<T>(first, count, plan, block.data());
    coded.insert(coded.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(size));
    if (params.mode == Mode::kRandomAccess) {
      sizes.resize(sizes.size() + 2);
      StoreLe(sizes.data() + sizes.size() - 2, static_cast<std::uint16_t>(size));
    }
  }

  std::vector<std::uint8_t> header(HeaderBytes(params.mode));
  WriteHeader<T>({.mode = params.mode, .constant_blocks = medians.size() / sizeof(T)},
                 header.data());
  std::vector<std::byte> payload;
  payload.reserve(capacity);
  for (const auto* part : {&header, &sizes, &states, &medians, &coded}) {
    const auto bytes = std::as_bytes(std::span(*part));
    payload.insert(payload.end(), bytes.begin(), bytes.end());
  }
  return payload;
}

template <Real T>
Result<void> DecompressTyped(Bytes stream, MutableArray values) {
  SZARENA_TRY(auto parts, Split<T>(stream, values.count));
  const std::uint64_t block_values = parts.header.block_values;
  const auto take = [](Bytes& from, std::size_t bytes) {
    const Bytes front = from.first(bytes);
    from = from.subspan(bytes);
    return front;
  };

  for (std::uint64_t b = 0; b < parts.blocks; ++b) {
    std::byte* const first = values.data + b * block_values * sizeof(T);
    const std::size_t count = std::min(block_values, values.count - b * block_values);
    if (!parts.coded_block(b)) {
      if (parts.medians.empty()) {
        return Fail(ErrorCode::kCorrupt, "SZx state bits name too many constant blocks");
      }
      const T median = LoadBe<T>(take(parts.medians, sizeof(T)).data());
      for (std::size_t i = 0; i < count; ++i) Store<T>(first + i * sizeof(T), median);
      continue;
    }
    std::size_t size = 0;
    if (parts.header.mode == Mode::kSequential) {
      size = MeasureBlock<T>(parts.coded, count).value_or(0);
    } else if (!parts.sizes.empty()) {
      size = LoadLe<std::uint16_t>(take(parts.sizes, 2).data());
    }
    if (size > parts.coded.size() || !ReadBlock<T>(take(parts.coded, size), count, first)) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("SZx block {} of {} is damaged", b, parts.blocks));
    }
  }
  if (!parts.medians.empty()) {
    return Fail(ErrorCode::kCorrupt, "SZx state bits name too few constant blocks");
  }
  if (!parts.coded.empty()) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("SZx stream has {} bytes after its last block", parts.coded.size()));
  }
  return {};
}

}  // namespace

Result<std::vector<std::byte>> CompressReference(ConstArray values, const Params& params) {
  return values.dtype == DType::kF32 ? CompressTyped<float>(values, params)
                                     : CompressTyped<double>(values, params);
}

Result<void> DecompressReference(std::span<const std::byte> payload, MutableArray values) {
  const Bytes stream(reinterpret_cast<const std::uint8_t*>(payload.data()), payload.size());
  return values.dtype == DType::kF32 ? DecompressTyped<float>(stream, values)
                                     : DecompressTyped<double>(stream, values);
}

}  // namespace szarena::codec::szx
