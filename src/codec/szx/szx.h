// SPDX-License-Identifier: Apache-2.0
// SZx: blocks of 128 values around a median, cut to the bits that the bound needs, leading bytes
// shared with the neighbour (docs/formats/szx.md). The functions to call; `reference.h` holds the
// plain versions that they must equal bit for bit.
//
// A payload is bare: element count, type and bound must be known to the reader. The container
// stores them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"
#include "codec/core/array.h"

namespace szarena::codec::szx {

// The number is byte 3 of the stream. kRandomAccess is mode 3 of the public C library (sizes of the
// coded blocks are stored: parallel decoding), kSequential its mode 2 (they are not: shorter by 2
// bytes a coded block).
enum class Mode : std::uint8_t { kSequential = 0, kRandomAccess = 1 };
std::string_view ModeName(Mode mode);  // "sequential", "random-access"
std::optional<Mode> ParseMode(std::string_view name);

struct Params {
  double eb = 0;  // absolute bound, finite, >= 0; 0 keeps every bit
  Mode mode = Mode::kRandomAccess;
};

// Values per block in every stream that we write.
inline constexpr std::uint64_t kBlockValues = 128;
constexpr std::uint64_t BlockCount(std::uint64_t count) {
  return count / kBlockValues + (count % kBlockValues != 0);
}

// Exact size of the longest payload of `count` values (all blocks at full length); refuses what
// does not fit 64 bits.
Result<std::uint64_t> MaxPayloadSize(std::uint64_t count, DType dtype, const Params& params);

// MaxPayloadSize and room to place the blocks before the number of constant ones is known: with a
// buffer of this size CompressInPlace never moves a byte that it has written. Same refusal.
Result<std::uint64_t> RoomySize(std::uint64_t count, DType dtype, const Params& params);

// Where a payload lies inside the caller's buffer.
struct Placed {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

// Compresses `values` in one pass into the buffer, which must hold at least MaxPayloadSize bytes
// (RoomySize is faster), and says where the payload lies. Bytes outside of it have no meaning
// afterwards. The payload does not depend on `threads` (0: one per processor). Reads exactly
// `values`, at any alignment.
Result<Placed> CompressInPlace(ConstArray values, const Params& params, std::span<std::byte> buffer,
                               unsigned threads = 1);

// The same with the payload moved to the front of `payload`; returns its size.
Result<std::uint64_t> Compress(ConstArray values, const Params& params,
                               std::span<std::byte> payload, unsigned threads = 1);

// Writes every element of `values`. Safe on any bytes: a payload that is not exactly one stream of
// values.count elements of this type is kCorrupt, and nothing outside the two buffers is touched.
// On failure the content of `values` is unspecified. Either mode is read, with any block size.
Result<void> Decompress(std::span<const std::byte> payload, MutableArray values,
                        unsigned threads = 1);

// Random access: decodes the blocks from first_block on that cover `values`, out of a payload of
// `count` elements. values.count must be a number of whole blocks (of the payload's block size), or
// end at `count`. Reads the tables of the payload up to there and no other block; a sequential
// payload is walked through.
Result<void> DecompressBlocks(std::span<const std::byte> payload, std::uint64_t count,
                              std::uint64_t first_block, MutableArray values);

// What a payload is made of.
struct Info {
  Mode mode = Mode::kRandomAccess;
  std::uint64_t block_values = 0;
  std::uint64_t blocks = 0;
  std::uint64_t constant_blocks = 0;
  std::uint64_t full_blocks = 0;  // coded at full length around median +-0: every bit kept
  std::uint64_t table_bytes = 0;  // header, sizes, state bits, medians
  std::uint64_t block_bytes = 0;  // coded blocks
};
// Checks the tables and every block's size as Decompress does.
Result<Info> Inspect(std::span<const std::byte> payload, std::uint64_t count, DType dtype);

}  // namespace szarena::codec::szx
