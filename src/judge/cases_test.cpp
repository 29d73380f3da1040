// SPDX-License-Identifier: Apache-2.0
// Hidden cases hold what decides between right programs and near misses, whatever the seed.
#include "judge/cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "base/bytes.h"
#include "codec/core/accept.h"
#include "codec/core/bound.h"
#include "judge/checks.h"
#include "judge/foreign.h"
#include "judge/split.h"

namespace szarena::judge {
namespace {

constexpr uint64_t kSeeds[] = {1, 2, 3, 4, 5, 6, 7, 8};

TaskSpec Task(const char* name) {
  auto task = task::LoadTask(SZARENA_SOURCE_DIR, name);
  EXPECT_TRUE(task) << task.error().ToString();
  return *SpecFromTask(*task);
}

std::vector<Case> Hidden(const TaskSpec& task, uint64_t seed) {
  auto cases = HiddenCases(task, seed, 1);
  EXPECT_TRUE(cases) << cases.error().ToString();
  return *std::move(cases);
}

// Within the bound as the difference is rounded, not as it is.
template <typename T>
bool OnlyRounded(T x, T back, T e) {
  return std::abs(x - back) <= e && !codec::WithinBound(x, back, e);
}

template <typename T>
bool QuantizedByRounding(const Case& item) {
  const T e = codec::RoundBoundDown<T>(item.problem.abs_bound);
  for (uint64_t i = 0; i < item.problem.n; ++i) {
    const T x = LoadLe<T>(item.input.data() + i * sizeof(T));
    const T t = x * (T(0.5) / e);
    const T q = std::trunc(t + T(0.5)) - (t < T(-0.5) ? T(1) : T(0));
    if (OnlyRounded<T>(x, (q * e) * T(2), e)) return true;
  }
  return false;
}

template <typename T>
bool ConstantByRounding(const TaskSpec& task, const Case& item) {
  const T e = codec::RoundBoundDown<T>(item.problem.abs_bound);
  for (uint64_t begin = 0; begin < item.problem.n; begin += task.block_size) {
    std::vector<T> block;
    for (uint64_t i = begin; i < std::min(item.problem.n, begin + task.block_size); ++i)
      block.push_back(LoadLe<T>(item.input.data() + i * sizeof(T)));
    const auto [low, high] = std::minmax_element(block.begin(), block.end());
    const T radius = (*high - *low) / 2;
    const T median = (*low + radius) + T(0);
    if (!(radius <= e)) continue;
    const bool rounded =
        std::all_of(block.begin(), block.end(), [&](T x) { return std::abs(x - median) <= e; });
    const bool exact = std::all_of(block.begin(), block.end(),
                                   [&](T x) { return codec::WithinBound(x, median, e); });
    if (rounded && !exact) return true;
  }
  return false;
}

TEST(HiddenCases, TiesAreDecidedByWhatTheDifferenceLost) {
  for (const char* name : {"szp", "szx", "quantize"}) {
    const TaskSpec task = Task(name);
    for (const uint64_t seed : kSeeds) {
      std::set<std::pair<uint32_t, uint32_t>> found;
      for (const Case& item : Hidden(task, seed)) {
        if (item.name != "hidden: values beside the bound") continue;
        const bool single = item.problem.dtype == SZARENA_F32;
        const bool quantized =
            single ? QuantizedByRounding<float>(item) : QuantizedByRounding<double>(item);
        const bool constant =
            task.kind == TaskKind::kSzx && (single ? ConstantByRounding<float>(task, item)
                                                   : ConstantByRounding<double>(task, item));
        if (task.kind == TaskKind::kSzx ? constant : quantized)
          found.insert({item.problem.dtype, item.problem.mode});
      }
      EXPECT_EQ(found.size(), task.dtypes.size() * task.modes.size()) << name << ", seed " << seed;
    }
  }
}

TEST(HiddenCases, IntegersOfEveryWidth) {
  for (const char* name : {"bitpack", "scan", "lorenzo", "histogram"}) {
    const TaskSpec task = Task(name);
    for (const uint64_t seed : kSeeds) {
      bool wide = false, one_bin = false;
      for (const Case& item : Hidden(task, seed)) {
        Result<Bytes> payload = ReferenceForward(task, item.problem, item.input);
        ASSERT_TRUE(payload) << payload.error().ToString();
        if (item.name == "hidden: integers of every width") {
          EXPECT_GE(item.problem.n, 5001u);
          if (task.kind == TaskKind::kBitpack) {
            const auto rates = std::span(*payload).first((item.problem.n + 31) / 32);
            for (int rate = 1; rate <= 31; ++rate)
              EXPECT_NE(std::count(rates.begin(), rates.end(), std::byte(rate)), 0)
                  << rate << ", seed " << seed;
          }
          if (task.kind == TaskKind::kScan) {
            // Of any 64 elements on: what a part of the machine holds.
            EXPECT_GT(LoadLe<uint64_t>(payload->data() + 640 * 8), uint64_t{1} << 32);
            EXPECT_GT(LoadLe<uint64_t>(payload->data() + item.problem.n * 8) >> 40, 0u);
          }
          wide = true;
        }
        if (task.kind != TaskKind::kHistogram) continue;
        for (uint32_t bin = 0; bin < task.bins; ++bin)
          one_bin |= LoadLe<uint32_t>(payload->data() + bin * 4) > 65535;
      }
      EXPECT_TRUE(wide) << name;
      EXPECT_EQ(one_bin, task.kind == TaskKind::kHistogram) << name;
    }
  }
}

TEST(ForeignPayload, OurDecoderReadsItAndItHasWhatOursNeverWrites) {
  for (const char* name : {"szp", "szx"}) {
    const TaskSpec task = Task(name);
    for (const uint64_t seed : kSeeds) {
      for (const Case& item : Hidden(task, seed)) {
        const Bytes payload = ForeignPayload(task, item.problem, seed);
        Bytes values(item.input.size());
        const Result<void> status = ReferenceBackward(task, item.problem, payload, values);
        ASSERT_TRUE(status) << name << " " << item.name << ": " << status.error().ToString();
        if (item.problem.n < 8000) continue;
        if (task.kind == TaskKind::kSzp) {
          const auto rates = std::span(payload).first(item.problem.n / 32);
          for (int rate = 25; rate <= 31; ++rate)
            EXPECT_NE(std::count(rates.begin(), rates.end(), std::byte(rate)), 0) << rate;
        }
      }
    }
  }
}

TEST(ForeignPayload, PartsHaveTheirOwn) {
  for (const char* name : {"szp", "szx"}) {
    const TaskSpec task = Task(name);
    for (Case& item : Hidden(task, 1)) {
      if (item.problem.dtype != SZARENA_F32 || item.problem.mode != task.modes.front()) continue;
      const Split split = {7, item.problem.n / 6 + 1, 4, 7, 0};
      const Bytes payload = SplitForeign(task, item.problem, split, 5);
      Bytes values(item.input.size());
      const Result<void> status = SplitBackward(task, item.problem, split, payload, values);
      EXPECT_TRUE(status) << name << " " << item.name << ": " << status.error().ToString();
    }
  }
}

TEST(SplitBackward, OtherBlockSizesAreNamedBehindPaddingToo) {
  // Some of these end between words.
  const TaskSpec task = Task("szx");
  szarena_problem problem = {};
  problem.n = 65;
  problem.dims[0] = problem.dims[1] = 1;
  problem.dims[2] = 65;
  problem.dtype = SZARENA_F32;
  problem.mode = SZARENA_MODE_RANDOM_ACCESS;
  problem.abs_bound = 1;
  problem.block_size = 64;
  const Split split = {1, 65, 4, 1, 0};
  bool padded = false;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    problem.block_size = 64;
    const Bytes own = ForeignPayload(task, problem, seed);
    padded |= own.size() % 4 != 0;
    problem.block_size = 128;
    Bytes values(65 * 4);
    const Result<void> status = SplitBackward(task, problem, split, JoinParts({own}), values);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, "PE (0, 0): the payload has blocks of 64 values, not 128");
  }
  EXPECT_TRUE(padded);
}

}  // namespace
}  // namespace szarena::judge
