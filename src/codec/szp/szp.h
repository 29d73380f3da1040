// SPDX-License-Identifier: Apache-2.0
// SZp: cuSZp 3's one-dimensional payload with a guaranteed bound (docs/formats/szp.md). The
// functions to call; `reference.h` holds the plain versions that they must equal bit for bit.
//
// A payload is bare: element count, type, bound, mode and padding must be known to the decoder. The
// container (codec/container) stores them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"
#include "codec/core/array.h"

namespace szarena::codec::szp {

// cuSZp's numbers. Fixed codes the values themselves, plain their differences, outlier may also
// keep the first difference of a block apart.
enum class Mode : uint8_t { kFixed = 0, kPlain = 1, kOutlier = 2 };
std::string_view ModeName(Mode mode);
std::optional<Mode> ParseMode(std::string_view name);

struct Params {
  double eb = 0;  // absolute bound, >= 0 and not NaN; 0 stores everything raw
  Mode mode = Mode::kOutlier;
  uint32_t padding_blocks = 1024;  // rate bytes are padded to a multiple of this; at least 1
};

// Blocks of 32 values that `count` values need.
constexpr uint64_t BlockCount(uint64_t count) { return count / 32 + (count % 32 != 0); }

// Exact size of the largest payload that Compress can write; refuses what does not fit 64 bits.
Result<uint64_t> MaxPayloadSize(uint64_t count, DType dtype, const Params& params);

// Compresses `values` into the front of `payload` and returns the payload's size. A buffer of
// MaxPayloadSize always suffices; a smaller one is filled only as far as it reaches and reported as
// kCapacity. The bytes do not depend on `threads` (0: one per processor).
Result<uint64_t> Compress(ConstArray values, const Params& params, std::span<std::byte> payload,
                          unsigned threads = 1);

// Writes every element of `values`. Safe on any bytes: a payload that is not exactly one stream of
// values.count elements is kCorrupt, and nothing outside the two buffers is touched. On failure the
// content of `values` is unspecified.
Result<void> Decompress(std::span<const std::byte> payload, const Params& params,
                        MutableArray values, unsigned threads = 1);

// Random access: decodes the blocks from first_block on that cover `values`, out of a payload of
// `count` elements. values.count must be 32 times a number of blocks, or end at `count`.
Result<void> DecompressBlocks(std::span<const std::byte> payload, uint64_t count,
                              const Params& params, uint64_t first_block, MutableArray values);

// What a payload is made of.
struct Info {
  uint64_t blocks = 0;
  uint64_t zero_blocks = 0;     // rate byte 0: nothing stored
  uint64_t raw_blocks = 0;      // stored as they are
  uint64_t outlier_blocks = 0;  // first difference kept apart
  uint64_t rate_bytes = 0;      // bytes of the padded rate table
};
// Checks the sizes of a payload of `count` elements as Decompress does.
Result<Info> Inspect(std::span<const std::byte> payload, uint64_t count, DType dtype,
                     const Params& params);

}  // namespace szarena::codec::szp
