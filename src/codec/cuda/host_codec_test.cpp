// SPDX-License-Identifier: Apache-2.0
// Arrays in host memory through the device, in many small chunks: the processor's payloads, byte
// for byte.
#include "codec/cuda/host_codec.h"

#include <gtest/gtest.h>

#include <random>

#include "codec/cuda/szx_cuda.h"
#include "codec/cuda/testing/device_memory.h"
#include "codec/cuda/testing/sample_arrays.h"
#include "codec/cuda/testing/szx_streams.h"
#include "codec/szp/format.h"
#include "codec/szx/format.h"

namespace szarena::codec::cuda {
namespace {

constexpr std::uint64_t kSmallChunk = 40000;  // bytes of values; no whole number of blocks

template <class T>
class HostCodecTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HaveDevice()) GTEST_SKIP() << "no CUDA device";
  }
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(HostCodecTest, Types);

TYPED_TEST(HostCodecTest, SzpPayloadsEqualTheProcessors) {
  auto codec = HostCodec::Create(kSmallChunk);
  ASSERT_TRUE(codec) << codec.error().ToString();
  for (const Kind kind : kKinds) {
    for (const std::size_t count : {0ul, 1ul, 33ul, 10000ul, 10016ul, 200003ul}) {
      for (const std::uint32_t padding : {1u, 1024u}) {
        SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " count " << count
                                        << " padding " << padding);
        const auto values = Make<TypeParam>(kind, count, 5);
        const ConstArray array = ArrayOf(std::span<const TypeParam>(values));
        const szp::Params params{.eb = 1e-3, .padding_blocks = padding};
        std::vector<std::byte> expected(szp::MaxPayloadSize(count, array.dtype, params).value());
        std::vector<std::byte> payload(expected.size(), std::byte{0xCD});
        expected.resize(szp::Compress(array, params, expected, 1).value());
        const auto size = codec->SzpCompress(array, params, payload);
        ASSERT_TRUE(size) << size.error().ToString();
        payload.resize(*size);
        ASSERT_EQ(payload, expected);
        std::vector<TypeParam> restored(count), reference(count);
        ASSERT_TRUE(szp::Decompress(expected, params, ArrayOf(std::span<TypeParam>(reference)), 1));
        const auto status =
            codec->SzpDecompress(payload, params, ArrayOf(std::span<TypeParam>(restored)));
        ASSERT_TRUE(status) << status.error().ToString();
        ASSERT_EQ(std::memcmp(restored.data(), reference.data(), count * sizeof(TypeParam)), 0);
      }
    }
  }
}

TYPED_TEST(HostCodecTest, SzxPayloadsEqualTheProcessors) {
  auto codec = HostCodec::Create(kSmallChunk);
  ASSERT_TRUE(codec) << codec.error().ToString();
  for (const Kind kind : kKinds) {
    for (const std::size_t count : {0ul, 1ul, 129ul, 8192ul, 9217ul, 200003ul}) {
      SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " count " << count);
      const auto values = Make<TypeParam>(kind, count, 5);
      const ConstArray array = ArrayOf(std::span<const TypeParam>(values));
      std::vector<std::byte> expected(szx::RoomySize(count, array.dtype, {}).value());
      std::vector<std::byte> buffer(expected.size(), std::byte{0xCD});
      expected.resize(szx::Compress(array, {.eb = 1e-3}, expected, 1).value());
      const auto placed = codec->SzxCompress(array, 1e-3, buffer);
      ASSERT_TRUE(placed) << placed.error().ToString();
      const auto payload = std::span<const std::byte>(buffer).subspan(placed->offset, placed->size);
      ASSERT_TRUE(std::equal(payload.begin(), payload.end(), expected.begin(), expected.end()));
      std::vector<TypeParam> restored(count), reference(count);
      ASSERT_TRUE(szx::Decompress(expected, ArrayOf(std::span<TypeParam>(reference)), 1));
      const auto status = codec->SzxDecompress(payload, ArrayOf(std::span<TypeParam>(restored)));
      ASSERT_TRUE(status) << status.error().ToString();
      ASSERT_EQ(std::memcmp(restored.data(), reference.data(), count * sizeof(TypeParam)), 0);
    }
  }
}

TYPED_TEST(HostCodecTest, OtherSzxStreamsAreRead) {
  auto codec = HostCodec::Create(kSmallChunk);
  ASSERT_TRUE(codec) << codec.error().ToString();
  for (const auto mode : {szx::Mode::kRandomAccess, szx::Mode::kSequential}) {
    for (const std::size_t block_values : {1ul, 100ul, 255ul, 4096ul}) {
      if (mode == szx::Mode::kSequential && block_values > 255) continue;
      SCOPED_TRACE(testing::Message()
                   << "blocks of " << block_values << " mode " << static_cast<int>(mode));
      const auto values = Make<TypeParam>(Kind::kSparse, 30011, 5);
      const auto stream = WithBlockSize(values, block_values, mode, 1e-3);
      std::vector<TypeParam> restored(values.size()), reference(values.size());
      ASSERT_TRUE(szx::Decompress(stream, ArrayOf(std::span<TypeParam>(reference)), 1));
      const auto status = codec->SzxDecompress(stream, ArrayOf(std::span<TypeParam>(restored)));
      ASSERT_TRUE(status) << status.error().ToString();
      ASSERT_EQ(std::memcmp(restored.data(), reference.data(), values.size() * sizeof(TypeParam)),
                0);
    }
  }
}

// Blocks that the format allows and no encoder of ours writes, in chunks full of them.
TYPED_TEST(HostCodecTest, TheLargestSzpBlocksAreRead) {
  auto codec = HostCodec::Create(kSmallChunk);
  ASSERT_TRUE(codec) << codec.error().ToString();
  constexpr std::size_t kBlocks = 1000;
  const szp::Params params{.eb = 1e-3, .mode = szp::Mode::kOutlier, .padding_blocks = 1};
  std::vector<std::byte> payload(kBlocks, std::byte{0xff});
  payload.resize(kBlocks + kBlocks * szp::MakeSizeTable(kDTypeOf<TypeParam>, params.mode)[0xff]);
  std::vector<TypeParam> restored(32 * kBlocks, 1), reference(32 * kBlocks, 2);
  ASSERT_TRUE(szp::Decompress(payload, params, ArrayOf(std::span<TypeParam>(reference)), 1));
  const auto status =
      codec->SzpDecompress(payload, params, ArrayOf(std::span<TypeParam>(restored)));
  ASSERT_TRUE(status) << status.error().ToString();
  EXPECT_EQ(restored, reference);
}

TYPED_TEST(HostCodecTest, AnOlderErrorOfTheCallerIsNotTheirs) {
  auto codec = HostCodec::Create(kSmallChunk);
  ASSERT_TRUE(codec) << codec.error().ToString();
  const auto values = Make<TypeParam>(Kind::kSmooth, 60000, 3);
  const ConstArray array = ArrayOf(std::span<const TypeParam>(values));
  std::vector<std::byte> buffer(szx::RoomySize(array.count, array.dtype, {}).value());
  ASSERT_NE(cudaSetDevice(1 << 20), cudaSuccess);
  EXPECT_TRUE(codec->SzpCompress(array, {.eb = 1e-3}, buffer));
  EXPECT_TRUE(codec->SzxCompress(array, 1e-3, buffer));
  EXPECT_NE(cudaGetLastError(), cudaSuccess) << "it is the caller's still";
}

TYPED_TEST(HostCodecTest, SequentialSzxStreamsOfTooManyBlocksAreForTheProcessor) {
  auto codec = HostCodec::Create(kSmallChunk);
  ASSERT_TRUE(codec) << codec.error().ToString();
  // Constant blocks of one value: tables that the header promises, and nothing else.
  const std::size_t count = kMostSequentialBlocks + 1;
  const std::size_t header = szx::HeaderBytes(szx::Mode::kSequential);
  std::vector<std::byte> stream(header + (count + 7) / 8 + count * sizeof(TypeParam));
  szx::WriteHeader<TypeParam>(
      {.mode = szx::Mode::kSequential, .block_values = 1, .constant_blocks = count},
      reinterpret_cast<std::uint8_t*>(stream.data()));
  std::vector<TypeParam> values(count);
  const auto status = codec->SzxDecompress(stream, ArrayOf(std::span<TypeParam>(values)));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kCapacity) << status.error().ToString();
}

TYPED_TEST(HostCodecTest, DamagedPayloadsAreCorruptAndTheNextCallWorks) {
  auto codec = HostCodec::Create(kSmallChunk);
  ASSERT_TRUE(codec) << codec.error().ToString();
  const auto values = Make<TypeParam>(Kind::kSparse, 60000, 3);
  const ConstArray array = ArrayOf(std::span<const TypeParam>(values));
  const szp::Params params{.eb = 1e-3};
  std::vector<std::byte> szp_payload(szp::MaxPayloadSize(array.count, array.dtype, params).value());
  szp_payload.resize(szp::Compress(array, params, szp_payload, 1).value());
  std::vector<std::byte> szx_payload(szx::MaxPayloadSize(array.count, array.dtype, {}).value());
  szx_payload.resize(szx::Compress(array, {.eb = 1e-3}, szx_payload, 1).value());
  std::mt19937 random(7);
  for (int trial = 0; trial < 100; ++trial) {
    SCOPED_TRACE(testing::Message() << "trial " << trial);
    const bool is_szp = trial % 2 == 0;
    auto bad = is_szp ? szp_payload : szx_payload;
    if (trial % 5 == 0) {
      bad.resize(random() % bad.size());
    } else {
      bad[random() % (trial % 3 == 0 ? bad.size() : 2000)] ^=
          static_cast<std::byte>(1 + random() % 255);
    }
    std::vector<TypeParam> restored(values.size()), reference(values.size());
    const auto out = ArrayOf(std::span<TypeParam>(restored));
    const auto reference_out = ArrayOf(std::span<TypeParam>(reference));
    const bool good = is_szp ? szp::Decompress(bad, params, reference_out, 1).has_value()
                             : szx::Decompress(bad, reference_out, 1).has_value();
    const auto status =
        is_szp ? codec->SzpDecompress(bad, params, out) : codec->SzxDecompress(bad, out);
    ASSERT_EQ(status.has_value(), good);
    if (good) {
      ASSERT_EQ(std::memcmp(restored.data(), reference.data(), restored.size() * sizeof(TypeParam)),
                0);
    } else {
      ASSERT_EQ(status.error().code, ErrorCode::kCorrupt) << status.error().ToString();
    }
  }
}

}  // namespace
}  // namespace szarena::codec::cuda
