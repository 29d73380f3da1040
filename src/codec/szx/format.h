// SPDX-License-Identifier: Apache-2.0
// The SZx stream's constants, sizes and header (docs/formats/szx.md has every byte).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "codec/core/dtype.h"
#include "codec/core/size.h"
#include "codec/szx/szx.h"

namespace szarena::codec::szx {

using Bytes = std::span<const std::uint8_t>;

// Largest block size that is read: a coded f64 block of so many values still fits the u16 of the
// size table.
inline constexpr std::uint64_t kMaxBlockValues = 7936;

// What differs between the two element types.
template <Real T>
struct Type;

template <>
struct Type<float> {
  using Bits = std::uint32_t;
  static constexpr int kBits = 32;
  static constexpr int kExponentBias = 127;
  static constexpr int kMantissaBits = 23;
  static constexpr int kHeadBits = 9;  // sign and exponent: the shortest required length
  static constexpr std::uint8_t kVersionByte = 1;
};

template <>
struct Type<double> {
  using Bits = std::uint64_t;
  static constexpr int kBits = 64;
  static constexpr int kExponentBias = 1023;
  static constexpr int kMantissaBits = 52;
  static constexpr int kHeadBits = 12;
  static constexpr std::uint8_t kVersionByte = 2;
};

// Bytes in front of the first 2-bit code of a coded block: required length and median.
template <Real T>
inline constexpr std::size_t kBlockHeadBytes = 1 + sizeof(T);

// Bytes of `count` values coded at full length with no byte shared: the largest a coded block can
// be.
template <Real T>
constexpr std::size_t MaxBlockBytes(std::size_t count) {
  return kBlockHeadBytes<T> + CeilDiv(count, 4) + count * sizeof(T);
}
static_assert(MaxBlockBytes<double>(kMaxBlockValues) <= 65535);

constexpr std::size_t HeaderBytes(Mode mode) { return mode == Mode::kRandomAccess ? 20 : 13; }

// Bytes of size table, state bits and constant medians where `coded` of `blocks` blocks are coded.
template <Real T>
constexpr std::uint64_t TableBytes(Mode mode, std::uint64_t blocks, std::uint64_t coded) {
  return (mode == Mode::kRandomAccess ? 2 * coded : 0) + CeilDiv(blocks, 8) +
         sizeof(T) * (blocks - coded);
}

// The fixed part of a stream.
struct Header {
  Mode mode = Mode::kRandomAccess;
  std::uint64_t block_values = kBlockValues;
  std::uint64_t constant_blocks = 0;
};

// Writes HeaderBytes(header.mode) bytes.
template <Real T>
void WriteHeader(const Header& header, std::uint8_t* out);

// Fails with kCorrupt where the bytes are no SZx stream of this element type.
template <Real T>
Result<Header> ReadHeader(Bytes stream);

// The parts of a stream of `count` values. Their sizes are consistent; the state bits are not
// counted yet.
struct Parts {
  Header header;
  std::uint64_t blocks = 0;
  Bytes sizes{};    // u16 LE of every coded block; empty in a sequential stream
  Bytes states{};   // one bit a block, most significant first: 1 = coded
  Bytes medians{};  // T BE of every constant block
  Bytes coded{};    // the coded blocks back to back

  bool coded_block(std::uint64_t block) const {
    return (states[block / 8] & 0x80 >> (block % 8)) != 0;
  }
};

// Fails with kCorrupt as ReadHeader does, and where the stream is too short for its tables.
template <Real T>
Result<Parts> Split(Bytes stream, std::uint64_t count);

// The error bound as the arithmetic of a block needs it.
template <Real T>
struct Bound {
  T value = 0;           // ebq: largest T that is <= the bound asked for; 0: every bit is kept
  int exponent = -1023;  // E(ebq): unbiased exponent field of ebq as f64
};

// Fails with kInvalidArgument unless eb is finite and >= 0.
template <Real T>
Result<Bound<T>> MakeBound(double eb);

}  // namespace szarena::codec::szx
