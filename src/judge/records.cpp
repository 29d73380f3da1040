// SPDX-License-Identifier: Apache-2.0
#include "judge/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/bytes.h"
#include "codec/szp/format.h"
#include "judge/append.h"

namespace szarena::judge {
namespace {

constexpr uint32_t kTagMask = (1u << kTagBits) - 1;
constexpr uint32_t kSzxMaxBlock = 1 + 4 + 32 + 4 * 128;

uint64_t Blocks(const TaskSpec& task, uint64_t n) {
  return (n + task.block_size - 1) / task.block_size;
}

// Payload bytes behind a tag; nothing where the tag is none.
std::optional<uint32_t> TagBytes(const TaskSpec& task, uint32_t tag) {
  if (task.kind == TaskKind::kSzp) {
    if (tag == 0) return 0;
    if (tag == codec::szp::kRawRate) return 128;
    if (tag <= 31) return 4 + 4 * tag;
    return std::nullopt;
  }
  if (tag == 0) return 4;
  if (tag <= kSzxMaxBlock) return tag;
  return std::nullopt;
}

uint64_t SzpTable(uint64_t blocks, uint32_t pad) { return (blocks + pad - 1) / pad * pad; }

void AppendRecord(std::vector<uint32_t>& words, uint64_t block, uint32_t tag, ByteView bytes) {
  words.push_back(static_cast<uint32_t>(block) << kTagBits | tag);
  for (size_t at = 0; at < bytes.size(); at += 4) {
    uint32_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<size_t>(4, bytes.size() - at));
    words.push_back(word);
  }
}

Result<std::vector<uint32_t>> SzpRecords(uint64_t blocks, uint32_t pad, ByteView payload) {
  std::vector<uint32_t> words;
  uint64_t at = SzpTable(blocks, pad);
  const TaskSpec szp;  // of kind kSzp
  for (uint64_t b = 0; b < blocks; ++b) {
    const auto tag = b < payload.size() ? static_cast<uint32_t>(payload[b]) : kTagMask;
    const std::optional<uint32_t> bytes = TagBytes(szp, tag);
    if (!bytes || at + *bytes > payload.size()) {
      return Fail(ErrorCode::kInternal,
                  fmt::format("block {} of our own payload has no record", b));
    }
    AppendRecord(words, b, tag, payload.subspan(at, *bytes));
    at += *bytes;
  }
  return words;
}

Result<std::vector<uint32_t>> SzxRecords(uint64_t blocks, ByteView payload) {
  constexpr size_t kHeader = 20;
  const auto broken = [](const char* what) {
    return Fail(ErrorCode::kInternal, fmt::format("our own SZx payload has no {}", what));
  };
  if (payload.size() < kHeader) return broken("header");
  const uint64_t constant = LoadBe<uint64_t>(payload.data() + 12);
  if (constant > blocks) return broken("count of constant blocks");
  const uint64_t coded = blocks - constant;
  const uint64_t state_at = kHeader + 2 * coded;
  uint64_t median_at = state_at + (blocks + 7) / 8;
  uint64_t at = median_at + 4 * constant;
  if (at > payload.size()) return broken("room for its tables");
  std::vector<uint32_t> words;
  uint64_t next = 0;
  for (uint64_t b = 0; b < blocks; ++b) {
    if ((payload[state_at + b / 8] >> (7 - b % 8) & std::byte{1}) != std::byte{0}) {
      const uint16_t size =
          next < coded ? LoadLe<uint16_t>(payload.data() + kHeader + 2 * next) : uint16_t{0};
      if (size == 0 || at + size > payload.size()) return broken("whole block");
      AppendRecord(words, b, size, payload.subspan(at, size));
      at += size;
      ++next;
    } else {
      if (median_at + 4 > payload.size()) return broken("median");
      uint32_t median = 0;
      for (int i = 0; i < 4; ++i)
        median = median << 8 | static_cast<uint32_t>(payload[median_at + static_cast<uint64_t>(i)]);
      words.push_back(static_cast<uint32_t>(b) << kTagBits);
      words.push_back(median);
      median_at += 4;
    }
  }
  return words;
}

struct Record {
  uint32_t tag = 0;
  uint64_t first = 0;  // of its words
  bool seen = false;
};

// Finds every block's record. `size_of` gives the words behind a header, or why there are none.
template <typename SizeOf>
Result<std::vector<Record>> Find(uint64_t blocks, std::span<const uint32_t> words, SizeOf size_of) {
  std::vector<Record> records(blocks);
  uint64_t at = 0;
  uint64_t seen = 0;
  while (at < words.size()) {
    auto header_or = size_of(words[at]);
    if (!header_or) {
      return Fail(header_or.error().code, fmt::format("word {} {}", at, header_or.error().message));
    }
    const auto header = *header_or;
    const auto& [block, tag, size] = header;
    if (block >= blocks) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("word {} (0x{:08x}) names block {}, the row has {}", at, words[at],
                              block, blocks));
    }
    if (records[block].seen) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("word {} begins block {} a second time", at, block));
    }
    if (size > words.size() - at - 1) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("the row ends within the record of block {}, which begins at word "
                              "{}: {} words follow, {} belong to it",
                              block, at, words.size() - at - 1, size));
    }
    records[block] = {tag, at + 1, true};
    ++seen;
    at += 1 + size;
  }
  if (seen < blocks) {
    const auto missing =
        std::find_if(records.begin(), records.end(), [](const Record& r) { return !r.seen; }) -
        records.begin();
    return Fail(ErrorCode::kCorrupt,
                fmt::format("{} of {} blocks never came, the first is block {} ({} words came)",
                            blocks - seen, blocks, missing, words.size()));
  }
  return records;
}

// Words of the payload that begins with `words`, as far as it says so itself: at least, where it is
// cut within its tables; nothing where it is none.
std::optional<uint64_t> LengthOf(const TaskSpec& task, uint64_t n, uint32_t pad,
                                 std::span<const uint32_t> words) {
  const uint64_t blocks = Blocks(task, n);
  const ByteView bytes = std::as_bytes(words);
  if (task.kind == TaskKind::kLorenzo) return n;
  if (task.kind == TaskKind::kSzx) {
    constexpr uint64_t kHeader = 20;
    const uint64_t least = (kHeader + (blocks + 7) / 8 + 4 * blocks + 3) / 4;
    if (bytes.size() < kHeader) return least;
    const uint64_t constant = LoadBe<uint64_t>(bytes.data() + 12);
    if (constant > blocks) return std::nullopt;
    const uint64_t coded = blocks - constant;
    uint64_t total = kHeader + 2 * coded + (blocks + 7) / 8 + 4 * constant;
    for (uint64_t b = 0; b < coded && kHeader + 2 * b + 2 <= bytes.size(); ++b) {
      const auto size = LoadLe<uint16_t>(bytes.data() + kHeader + 2 * b);
      if (size == 0 || size > kSzxMaxBlock) return std::nullopt;
      total += size;
    }
    return (total + 3) / 4;
  }
  TaskSpec szp;  // bitpack's blocks are SZp's
  szp.kind = TaskKind::kSzp;
  uint64_t total = SzpTable(blocks, pad);
  for (uint64_t b = 0; b < std::min<uint64_t>(blocks, bytes.size()); ++b) {
    const std::optional<uint32_t> block = TagBytes(szp, static_cast<uint32_t>(bytes[b]));
    if (!block) return std::nullopt;
    total += *block;
  }
  return (total + 3) / 4;
}

struct Header {
  uint64_t block;
  uint32_t tag;
  uint64_t words;
};

}  // namespace

uint32_t MaxRecordWords(const TaskSpec& task) {
  return 1 + (task.kind == TaskKind::kSzp ? 32 : (kSzxMaxBlock + 3) / 4);
}

Result<std::vector<uint32_t>> ToRecords(const TaskSpec& task, uint64_t n, uint32_t pad_blocks,
                                        ByteView payload) {
  const uint64_t blocks = Blocks(task, n);
  if (blocks == 0) return std::vector<uint32_t>();
  return task.kind == TaskKind::kSzp ? SzpRecords(blocks, pad_blocks, payload)
                                     : SzxRecords(blocks, payload);
}

Result<Bytes> FromRecords(const TaskSpec& task, uint64_t n, uint32_t pad_blocks,
                          std::span<const uint32_t> words) {
  const uint64_t blocks = Blocks(task, n);
  const auto read = [&](uint32_t word) -> Result<Header> {
    const uint32_t tag = word & kTagMask;
    const std::optional<uint32_t> bytes = TagBytes(task, tag);
    if (!bytes) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("(0x{:08x}), the header of block {}, has tag {}, which means nothing",
                              word, word >> kTagBits, tag));
    }
    return Header{word >> kTagBits, tag, (*bytes + 3) / 4};
  };
  SZARENA_TRY(const std::vector<Record> records, Find(blocks, words, read));
  if (blocks == 0) return Bytes();
  const std::span<const std::byte> all = std::as_bytes(words);
  const auto bytes_of = [&](const Record& record) {
    return all.subspan(record.first * 4, TagBytes(task, record.tag).value());
  };
  Bytes payload;
  if (task.kind == TaskKind::kSzp) {
    payload.resize(SzpTable(blocks, pad_blocks));
    for (uint64_t b = 0; b < blocks; ++b) payload[b] = static_cast<std::byte>(records[b].tag);
    for (const Record& record : records)
      payload.insert(payload.end(), bytes_of(record).begin(), bytes_of(record).end());
    return payload;
  }
  const auto constant = static_cast<uint64_t>(
      std::count_if(records.begin(), records.end(), [](const Record& r) { return r.tag == 0; }));
  for (const unsigned byte : {1u, 1u, 1u, 1u}) payload.push_back(static_cast<std::byte>(byte));
  AppendBe(payload, uint64_t{task.block_size});
  AppendBe(payload, constant);
  for (const Record& record : records) {
    if (record.tag == 0) continue;
    payload.push_back(static_cast<std::byte>(record.tag & 0xff));
    payload.push_back(static_cast<std::byte>(record.tag >> 8));
  }
  Bytes states((blocks + 7) / 8);
  for (uint64_t b = 0; b < blocks; ++b) {
    if (records[b].tag != 0) states[b / 8] |= std::byte{1} << (7 - b % 8);
  }
  payload.insert(payload.end(), states.begin(), states.end());
  for (const Record& record : records) {
    if (record.tag == 0) AppendBe(payload, words[record.first]);
  }
  for (const Record& record : records) {
    if (record.tag != 0)
      payload.insert(payload.end(), bytes_of(record).begin(), bytes_of(record).end());
  }
  return payload;
}

std::optional<std::string> WrongCount(const TaskSpec& task, uint64_t n, uint32_t pad_blocks,
                                      std::span<const uint32_t> words, uint32_t written) {
  if (n == 0 || (!task.compressor && !task.has_backward)) return std::nullopt;
  if (words.empty()) {
    return fmt::format(
        "output_word_count is 0, with {} elements here and {} words of output_words written", n,
        written);
  }
  const std::optional<uint64_t> right = LengthOf(task, n, pad_blocks, words);
  if (!right || *right <= words.size() || *right > written) return std::nullopt;
  return fmt::format("output_word_count is {}, the payload written there has {} words",
                     words.size(), *right);
}

Result<void> FromValueRecords(const TaskSpec& task, uint64_t n, std::span<const uint32_t> words,
                              std::span<std::byte> values) {
  const uint64_t blocks = Blocks(task, n);
  const auto read = [&](uint32_t word) -> Result<Header> {
    return Header{word, 0, task.block_size};
  };
  SZARENA_TRY(const std::vector<Record> records, Find(blocks, words, read));
  for (uint64_t b = 0; b < blocks; ++b) {
    const uint64_t first = b * task.block_size;
    std::memcpy(values.data() + first * 4, words.data() + records[b].first,
                std::min<uint64_t>(task.block_size, n - first) * 4);
  }
  return {};
}

}  // namespace szarena::judge
