// SPDX-License-Identifier: Apache-2.0
// Runs of whole blocks, vectorised, with the instruction set chosen at run time. Same bytes as
// block.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/szx/format.h"

namespace szarena::codec::szx {

// Bytes that EncodeRun may touch beyond the end of what it has coded.
inline constexpr std::size_t kEncodeSlack = 64;
// Bytes beyond the largest possible block that DecodeRun must be able to read to take the fast way.
inline constexpr std::size_t kDecodeSlack = 64;

// What a run of blocks has become.
struct RunSizes {
  std::size_t coded_blocks = 0;
  std::size_t coded_bytes = 0;
};

// Where a run's parts go. Sizes, medians and blocks are appended without gaps.
struct EncodeTarget {
  std::uint8_t* coded;    // room for blocks * MaxBlockBytes + kEncodeSlack bytes
  std::uint8_t* sizes;    // room for blocks u16 LE
  std::uint8_t* medians;  // room for blocks T BE
  std::uint8_t* states;   // ceil(blocks / 8) bytes, all written
};

// Codes `blocks` blocks of kBlockValues values each.
template <Real T>
RunSizes EncodeRun(const std::byte* values, std::size_t blocks, const Bound<T>& bound,
                   const EncodeTarget& target);

// Where a run's parts are.
struct DecodeSource {
  const Parts* parts;           // of the whole stream
  std::uint64_t first_block;    // of the run
  const std::uint8_t* sizes;    // u16 LE of the run's first coded block and those after it
  const std::uint8_t* medians;  // T BE of the run's first constant block and those after it
  const std::uint8_t* coded;    // the run's first coded block
};

// Decodes `blocks` blocks of kBlockValues values each. The caller has checked that the sizes and
// medians that the state bits call for exist and that the sizes stay inside the stream. False where
// a block is not what its size says.
template <Real T>
bool DecodeRun(const DecodeSource& source, std::size_t blocks, std::byte* values);

}  // namespace szarena::codec::szx
