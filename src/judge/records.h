// SPDX-License-Identifier: Apache-2.0
// Records of the streaming contract (docs/contracts/cerebras.md): the blocks of a row as they cross
// the wafer's edges, and the row's payload that they make. A record is a word `index << 12 | tag`
// and the block's words.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "judge/reference.h"

namespace szarena::judge {

inline constexpr uint32_t kTagBits = 12;
inline constexpr uint32_t kMaxBlocks = 1u << 20;  // of a row

// Words of the longest record.
uint32_t MaxRecordWords(const TaskSpec& task);

// The records of a payload of n values, in the order of the blocks. The payload is one that
// our decoder reads (SZp: rate bytes padded to `pad_blocks` blocks); zero bytes behind it are
// passed over.
Result<std::vector<uint32_t>> ToRecords(const TaskSpec& task, uint64_t n, uint32_t pad_blocks,
                                        ByteView payload);

// The payload that a row's records make, whatever their order. Errors name the word.
Result<Bytes> FromRecords(const TaskSpec& task, uint64_t n, uint32_t pad_blocks,
                          std::span<const uint32_t> words);

// What is wrong with the count that a program reports for its payload of n values: `words` is what
// it counts, and behind them it wrote up to word `written`. Nothing where the payload does not say
// how long it is, or where the count is right or too large (a decoder says that).
std::optional<std::string> WrongCount(const TaskSpec& task, uint64_t n, uint32_t pad_blocks,
                                      std::span<const uint32_t> words, uint32_t written);

// A decompressed row: for each block its index, then its values. Writes the n values, little
// endian.
Result<void> FromValueRecords(const TaskSpec& task, uint64_t n, std::span<const uint32_t> words,
                              std::span<std::byte> values);

}  // namespace szarena::judge
