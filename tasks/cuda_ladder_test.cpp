// SPDX-License-Identifier: Apache-2.0
// The files of the CUDA candidates, as far as they can be looked at without a GPU: copies that a
// self-contained candidate has of others are equal, and what the last steps of the ladders have of
// their own beside the codec's kernels gives the codec's sizes and streams.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>

#include "codec/core/bound.h"
#include "codec/szp/format.h"
#include "codec/szx/format.h"
#include "field/generate.h"
#include "task/task.h"

// The steps' headers, as the host's compiler sees them, beside the codec's own.
#define __host__
#define __device__
#define szarena szarena_szp_step
#include "szp/ladder/cuda/08-resident/format.h"
#undef szarena
#define szarena szarena_szx_step
#include "szx/ladder/cuda/08-resident/sequential.h"
#undef szarena

namespace szarena {
namespace {

namespace fs = std::filesystem;
namespace szp_step = szarena_szp_step::codec;
namespace szx_step = szarena_szx_step::codec;

const std::string kTasks = std::string(SZARENA_SOURCE_DIR) + "/tasks/";

std::string TextOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

task::TargetInfo CudaOf(const std::string& name) {
  auto loaded = task::LoadTask(SZARENA_SOURCE_DIR, name);
  EXPECT_TRUE(loaded) << loaded.error().ToString();
  return loaded->targets[task::Target::kCuda];
}

TEST(CudaLadders, HaveSixStepsWithIdeasAndOneRegressionAndEndAtTheBaseline) {
  for (const char* name : {"szp", "szx"}) {
    const task::TargetInfo info = CudaOf(name);
    EXPECT_GE(info.ladder.size(), 6u);
    ASSERT_FALSE(info.ladder.empty());
    EXPECT_EQ(info.baseline, info.ladder.back());
    int regressions = 0;
    for (const std::string& step : info.ladder) {
      const auto loaded = task::LoadLadderStep(step);
      ASSERT_TRUE(loaded) << loaded.error().ToString();
      EXPECT_FALSE(loaded->idea.empty());
      regressions += loaded->regression ? 1 : 0;
    }
    EXPECT_EQ(regressions, 1) << name;
  }
}

// A header of a step is that of the step before, unless the step's idea is in it.
TEST(CudaLadders, HeadersThatStepsShareAreEqual) {
  const std::set<std::string> new_in = {"szp/06-look-back/prefix.cuh",
                                        "szx/03-parallel-scan/scan.cuh"};
  std::set<std::string> seen;
  for (const std::string name : {"szp", "szx"}) {
    std::map<std::string, fs::path> before;
    size_t compared = 0;
    for (const std::string& step : CudaOf(name).ladder) {
      for (const auto& entry : fs::directory_iterator(step)) {
        if (entry.path().extension() != ".cuh") continue;
        const std::string header = entry.path().filename().string();
        const std::string as = name + "/" + fs::path(step).filename().string() + "/" + header;
        const auto older = before.find(header);
        if (older != before.end()) {
          const bool equal = TextOf(older->second) == TextOf(entry.path());
          if (new_in.contains(as)) {
            EXPECT_FALSE(equal) << as << " is meant to differ from " << older->second;
            seen.insert(as);
          } else {
            EXPECT_TRUE(equal) << as << " differs from " << older->second;
            ++compared;
          }
        }
        before[header] = entry.path();
      }
    }
    EXPECT_GE(compared, 5u) << name;
  }
  EXPECT_EQ(seen, new_in);
  EXPECT_EQ(TextOf(kTasks + "szx/ladder/cuda/07-chain/prefix.cuh"),
            TextOf(kTasks + "szp/ladder/cuda/05-chain/prefix.cuh"));
}

TEST(CudaPrimitives, ShareOneLookBack) {
  const std::string one = TextOf(kTasks + "scan/baseline/cuda/lookback.cuh");
  EXPECT_FALSE(one.empty());
  for (const char* name : {"bitpack", "lorenzo"})
    EXPECT_EQ(TextOf(kTasks + name + "/baseline/cuda/lookback.cuh"), one) << name;
}

const uint64_t kCounts[] = {0,          1,          31,         32,         33,         127,
                            128,        129,        4096,       4099,       100003,     1u << 24,
                            ~0u,        1ull << 33, 1ull << 55, 1ull << 58, 1ull << 59, 1ull << 60,
                            1ull << 61, 1ull << 62, ~0ull - 31, ~0ull};

TEST(CudaSteps, SzpSizesAreTheCodecs) {
  int refused = 0;
  for (const uint64_t count : kCounts) {
    for (const uint32_t padding : {1u, 3u, 1024u, 0xffffffffu}) {
      for (const int mode : {0, 1, 2}) {
        codec::szp::Params params{1e-3, static_cast<codec::szp::Mode>(mode), padding};
        szp_step::szp::Params own{1e-3, static_cast<szp_step::szp::Mode>(mode), padding};
        const auto rates = codec::szp::RateTableBytes(count, params);
        const auto own_rates = szp_step::szp::RateTableBytes(count, own);
        ASSERT_EQ(own_rates.has_value(), rates.has_value()) << count;
        if (rates) {
          EXPECT_EQ(*own_rates, *rates) << count;
        }
        for (const int dtype : {0, 1}) {
          const auto most =
              codec::szp::MaxPayloadSize(count, static_cast<codec::DType>(dtype), params);
          const auto own_most =
              szp_step::szp::MaxPayloadSize(count, static_cast<szp_step::DType>(dtype), own);
          ASSERT_EQ(own_most.has_value(), most.has_value()) << count;
          if (most) {
            EXPECT_EQ(*own_most, *most) << count;
          }
          refused += most ? 0 : 1;
        }
      }
    }
    EXPECT_EQ(szp_step::szp::BlockCount(count), codec::szp::BlockCount(count));
  }
  EXPECT_GT(refused, 0);
}

TEST(CudaSteps, SzxSizesAreTheCodecs) {
  using codec::szx::Type;
  int refused = 0;
  for (const uint64_t count : kCounts) {
    for (const int mode : {0, 1}) {
      for (const int dtype : {0, 1}) {
        const auto room = codec::szx::RoomySize(count, static_cast<codec::DType>(dtype),
                                                {1e-3, static_cast<codec::szx::Mode>(mode)});
        const auto own = szx_step::szx::RoomySize(count, static_cast<szx_step::DType>(dtype),
                                                  {1e-3, static_cast<szx_step::szx::Mode>(mode)});
        ASSERT_EQ(own.has_value(), room.has_value()) << count;
        if (room) {
          EXPECT_EQ(*own, *room) << count;
        }
        refused += room ? 0 : 1;
      }
    }
    EXPECT_EQ(szx_step::szx::BlockCount(count), codec::szx::BlockCount(count));
    if (count < 8000) {
      EXPECT_EQ(szx_step::szx::MaxBlockBytes<double>(count),
                codec::szx::MaxBlockBytes<double>(count));
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_EQ(szx_step::szx::kBlockValues, codec::szx::kBlockValues);
  EXPECT_EQ(szx_step::szx::kMaxBlockValues, codec::szx::kMaxBlockValues);
  const auto same = [](auto own, auto ours) {
    EXPECT_EQ(own.kBits, ours.kBits);
    EXPECT_EQ(own.kExponentBias, ours.kExponentBias);
    EXPECT_EQ(own.kMantissaBits, ours.kMantissaBits);
    EXPECT_EQ(own.kHeadBits, ours.kHeadBits);
    EXPECT_EQ(own.kVersionByte, ours.kVersionByte);
  };
  same(szx_step::szx::Type<float>{}, Type<float>{});
  same(szx_step::szx::Type<double>{}, Type<double>{});
}

TEST(CudaSteps, BoundsAreRoundedAsTheCodecDoes) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 200000; ++i) {
    double eb = 0;
    const uint64_t bits = random();
    std::memcpy(&eb, &bits, sizeof eb);
    if (i % 3 == 0)
      eb = std::nextafter(static_cast<double>(static_cast<float>(eb)), i % 2 == 0 ? 0 : 1e300);
    const float single = codec::RoundBoundDown<float>(eb);
    const double twice = codec::RoundBoundDown<double>(eb);
    ASSERT_EQ(szp_step::RoundBoundDown<float>(eb), single) << eb;
    ASSERT_EQ(szx_step::RoundBoundDown<float>(eb), single) << eb;
    ASSERT_EQ(szp_step::RoundBoundDown<double>(eb), twice) << eb;
    ASSERT_EQ(szx_step::RoundBoundDown<double>(eb), twice) << eb;
  }
}

TEST(CudaSteps, SequentialStreamsAreMadeFromRandomAccessOnes) {
  for (const field::GeneratorKind kind : field::AllGenerators()) {
    for (const size_t n : {1, 127, 128, 129, 5000, 40003}) {
      for (const auto dtype : {field::DType::kF32, field::DType::kF64}) {
        field::GeneratorSpec spec;
        spec.kind = kind;
        spec.seed = 3;
        spec.dtype = dtype;
        spec.dims = {n};
        const auto data = field::Generate(spec);
        ASSERT_TRUE(data);
        const codec::ConstArray values{
            data->bytes().data(), n,
            dtype == field::DType::kF32 ? codec::DType::kF32 : codec::DType::kF64};
        codec::szx::Params params{1e-3, codec::szx::Mode::kRandomAccess};
        const auto compress = [&] {
          std::vector<std::byte> stream(*codec::szx::RoomySize(n, values.dtype, params));
          const auto size = codec::szx::Compress(values, params, stream);
          EXPECT_TRUE(size);
          stream.resize(size.value_or(0));
          return stream;
        };
        std::vector<std::byte> stream = compress();
        params.mode = codec::szx::Mode::kSequential;
        const std::vector<std::byte> wanted = compress();
        const uint64_t start = szx_step::szx::MakeSequential(
            reinterpret_cast<unsigned char*>(stream.data()), codec::szx::BlockCount(n));
        ASSERT_LE(start, stream.size());
        stream.erase(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(start));
        ASSERT_EQ(stream, wanted) << static_cast<int>(kind) << " " << n;
      }
    }
  }
}

}  // namespace
}  // namespace szarena
