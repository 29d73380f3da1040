// SPDX-License-Identifier: Apache-2.0
#include "judge/records.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "judge/split.h"

namespace szarena::judge {
namespace {

using testing::HasSubstr;

TaskSpec SpecOf(TaskKind kind, uint32_t block) {
  TaskSpec task;
  task.kind = kind;
  task.block_size = block;
  return task;
}
const TaskSpec kSzp = SpecOf(TaskKind::kSzp, 32);
const TaskSpec kSzx = SpecOf(TaskKind::kSzx, 128);

szarena_problem Problem(uint64_t n, const TaskSpec& task) {
  szarena_problem problem = {};
  problem.n = n;
  problem.dims[0] = problem.dims[1] = 1;
  problem.dims[2] = n;
  problem.dtype = SZARENA_F32;
  problem.mode = task.kind == TaskKind::kSzp ? SZARENA_MODE_PLAIN : SZARENA_MODE_RANDOM_ACCESS;
  problem.abs_bound = 1e-3;
  problem.block_size = task.block_size;
  problem.pad_blocks = 4;
  return problem;
}

// Smooth, constant, rough and non-finite stretches.
Bytes Values(uint64_t n) {
  std::vector<float> values(n);
  for (uint64_t i = 0; i < n; ++i) {
    const auto x = static_cast<float>(i);
    values[i] = i % 1000 < 300 ? 2.5f : i % 1000 < 600 ? std::sin(x / 50) : std::sin(x * x) * 100;
    if (i % 777 == 776) values[i] = std::numeric_limits<float>::quiet_NaN();
  }
  Bytes bytes(n * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Swaps the records of a row, last block first.
std::vector<uint32_t> Reversed(const TaskSpec& task, std::span<const uint32_t> words) {
  std::vector<std::vector<uint32_t>> records;
  for (size_t at = 0; at < words.size();) {
    const uint32_t tag = words[at] & 0xfff;
    const size_t size = task.kind == TaskKind::kSzp ? (tag == 0x3f ? 32u
                                                       : tag == 0  ? 0u
                                                                   : tag + 1)
                        : tag == 0                  ? 1u
                                                    : (tag + 3) / 4;
    records.emplace_back(words.begin() + static_cast<std::ptrdiff_t>(at),
                         words.begin() + static_cast<std::ptrdiff_t>(at + 1 + size));
    at += 1 + size;
  }
  std::vector<uint32_t> reversed;
  for (auto it = records.rbegin(); it != records.rend(); ++it)
    reversed.insert(reversed.end(), it->begin(), it->end());
  return reversed;
}

TEST(Records, ThereAndBackInAnyOrder) {
  for (const TaskSpec& task : {kSzp, kSzx}) {
    for (const uint64_t n : {0u, 1u, 31u, 32u, 33u, 127u, 128u, 129u, 5000u}) {
      const Bytes input = Values(n);
      const Bytes payload = n == 0 ? Bytes() : *ReferenceForward(task, Problem(n, task), input);
      Bytes padded = payload;
      padded.resize((payload.size() + 3) / 4 * 4);
      const auto words = ToRecords(task, n, 4, padded);
      ASSERT_TRUE(words) << words.error().ToString();
      const auto back = FromRecords(task, n, 4, *words);
      ASSERT_TRUE(back) << back.error().ToString();
      EXPECT_EQ(*back, payload) << n;
      EXPECT_EQ(*FromRecords(task, n, 4, Reversed(task, *words)), payload) << n;
    }
  }
}

TEST(Records, WhatIsWrongIsNamed) {
  const Bytes payload = *ReferenceForward(kSzp, Problem(100, kSzp), Values(100));
  const std::vector<uint32_t> words = *ToRecords(kSzp, 100, 4, payload);
  const auto fault = [](std::span<const uint32_t> of) {
    return FromRecords(kSzp, 100, 4, of).error().message;
  };
  EXPECT_THAT(fault(std::span(words).first(words.size() - 1)),
              HasSubstr("ends within the record of block 3"));
  EXPECT_THAT(fault({}), HasSubstr("4 of 4 blocks never came"));
  std::vector<uint32_t> twice = words;
  twice.insert(twice.end(), words.begin(), words.end());
  EXPECT_THAT(fault(twice), HasSubstr("block 0 a second time"));
  EXPECT_THAT(fault(std::vector<uint32_t>{9u << 12}), HasSubstr("names block 9, the row has 4"));
  EXPECT_THAT(fault(std::vector<uint32_t>{0x20}), HasSubstr("tag 32"));
  std::vector<uint32_t> bad_tag = words;
  bad_tag.push_back(0x20);
  EXPECT_THAT(fault(bad_tag), HasSubstr(fmt::format("word {} ", words.size())));
}

// A payload's own tables say how long it is: a count that is too small is the count's fault.
TEST(Records, CountsThatAreTooSmall) {
  for (const TaskSpec& task : {kSzp, kSzx}) {
    szarena_problem problem = Problem(300, task);
    problem.pad_blocks = task.kind == TaskKind::kSzp ? 4 : 0;
    Bytes payload = *ReferenceForward(task, problem, Values(300));
    payload.resize((payload.size() + 3) / 4 * 4);
    std::vector<uint32_t> words(payload.size() / 4);
    std::memcpy(words.data(), payload.data(), payload.size());
    const auto all = static_cast<uint32_t>(words.size());
    EXPECT_FALSE(WrongCount(task, 300, 4, words, all));
    EXPECT_FALSE(WrongCount(task, 300, 4, words, all + 5)) << "scratch behind it is allowed";
    for (uint32_t count = 1; count < all; ++count) {
      const auto wrong = WrongCount(task, 300, 4, std::span(words).first(count), all);
      ASSERT_TRUE(wrong) << count;
      EXPECT_THAT(*wrong, HasSubstr(fmt::format("output_word_count is {},", count)));
    }
    // Cut behind the tables, the right count is known.
    EXPECT_THAT(*WrongCount(task, 300, 4, std::span(words).first(all - 1), all),
                HasSubstr(fmt::format("has {} words", all)));
    // Nothing was written behind: then the payload is short, and not the count.
    EXPECT_FALSE(WrongCount(task, 300, 4, std::span(words).first(all - 1), all - 1));
    EXPECT_THAT(*WrongCount(task, 300, 4, {}, all), HasSubstr("is 0, with 300 elements"));
    EXPECT_FALSE(WrongCount(task, 0, 4, {}, 0));
  }
}

TEST(Records, DecompressedBlocksInAnyOrder) {
  std::vector<uint32_t> words;
  for (const uint32_t block : {1u, 0u}) {
    words.push_back(block);
    for (uint32_t i = 0; i < 32; ++i) words.push_back(block * 32 + i);
  }
  Bytes values(40 * 4);
  ASSERT_TRUE(FromValueRecords(kSzp, 40, words, values));
  std::vector<uint32_t> expected(40);
  std::iota(expected.begin(), expected.end(), 0u);
  EXPECT_EQ(std::memcmp(values.data(), expected.data(), values.size()), 0);
  words.pop_back();
  EXPECT_FALSE(FromValueRecords(kSzp, 40, words, values));
}

TEST(Split, PartsAreEncodedAloneAndDecodedTogether) {
  for (const TaskSpec& task : {kSzp, kSzx}) {
    const szarena_problem problem = Problem(1001, task);
    const Split split{6, 200, 8, 3, 0};
    const Bytes input = Values(1001);
    const auto payload = SplitForward(task, problem, split, input);
    ASSERT_TRUE(payload);
    const auto parts = PartsOf(split, *payload);
    ASSERT_TRUE(parts);
    ASSERT_EQ(parts->size(), 6u);
    Bytes back(input.size());
    const auto status = SplitBackward(task, problem, split, *payload, back);
    EXPECT_TRUE(status) << status.error().ToString();
    EXPECT_TRUE(SplitRawBlocks(task, problem, split, *payload));
    EXPECT_EQ(PayloadSize(split, *payload), payload->size() - 24);
    Bytes longer = *payload;
    longer.resize(longer.size() + 4);
    EXPECT_FALSE(SplitBackward(task, problem, split, longer, back));
  }
  EXPECT_EQ(PartName({6, 200, 8, 3, 0}, 4), "PE (1, 1)");
  EXPECT_EQ(PartName({6, 200, 8, 0, 0}, 4), "row 4");
}

TEST(Split, EmptyPartsHaveNoWord) {
  const szarena_problem problem = Problem(100, kSzx);
  const Split split{3, 100, 4, 3, 0};
  const Bytes payload = *SplitForward(kSzx, problem, split, Values(100));
  // A stream of no values is refused there.
  const std::vector<ByteView> views = *PartsOf(split, payload);
  EXPECT_TRUE(views[1].empty());
  std::vector<Bytes> parts;
  for (const ByteView part : views) parts.emplace_back(part.begin(), part.end());
  parts[2] = *ReferenceForward(kSzx, Problem(0, kSzx), {});
  Bytes back(400);
  const auto status = SplitBackward(kSzx, problem, split, JoinParts(parts), back);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("PE (2, 0)"));
}

TEST(Split, SumsAndCountsAreOfTheWholeArray) {
  TaskSpec scan = SpecOf(TaskKind::kScan, 0);
  const std::vector<uint32_t> values = {1, 2, 3, 4, 5};
  Bytes input(20);
  std::memcpy(input.data(), values.data(), 20);
  const Split split{3, 2, 4, 3, 0};
  const Bytes payload = *SplitForward(scan, Problem(5, scan), split, input);
  const auto parts = *PartsOf(split, payload);
  const auto sums = [](ByteView bytes) {
    std::vector<uint64_t> out(bytes.size() / 8);
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  };
  EXPECT_EQ(sums(parts[0]), (std::vector<uint64_t>{0, 1, 15}));
  EXPECT_EQ(sums(parts[1]), (std::vector<uint64_t>{3, 6}));
  EXPECT_EQ(sums(parts[2]), (std::vector<uint64_t>{10}));
}

}  // namespace
}  // namespace szarena::judge
