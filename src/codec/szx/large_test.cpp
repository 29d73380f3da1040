// SPDX-License-Identifier: Apache-2.0
// More than 2^32 elements. The input is almost all untouched zero pages and the stream is short, so
// that little memory is used.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <vector>

#include "codec/szx/szx.h"

namespace szarena::codec::szx {
namespace {

// Address space that costs memory only where it is written.
struct Space {
  explicit Space(std::size_t size_bytes) : size(size_bytes) {
    void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    data = base == MAP_FAILED ? nullptr : static_cast<std::byte*>(base);
  }
  ~Space() {
    if (data != nullptr) munmap(data, size);
  }
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;
  std::size_t size;
  std::byte* data;
};

TEST(SzxLarge, MoreThan32BitsOfElements) {
  const std::uint64_t n = (std::uint64_t{1} << 32) + 200;
  const Params params{.eb = 1e-3};
  const Space input(n * sizeof(float));
  const Space buffer(RoomySize(n, DType::kF32, params).value());
  ASSERT_NE(input.data, nullptr);
  ASSERT_NE(buffer.data, nullptr);
  // Values around element 2^32 and at the very end.
  std::vector<float> tail(500);
  for (std::size_t i = 0; i < tail.size(); ++i) tail[i] = static_cast<float>(i * i) / 7;
  const std::uint64_t tail_at = n - tail.size();
  std::memcpy(input.data + tail_at * sizeof(float), tail.data(), tail.size() * sizeof(float));

  const auto placed =
      CompressInPlace({input.data, n, DType::kF32}, params, {buffer.data, buffer.size}, 0);
  ASSERT_TRUE(placed) << placed.error().ToString();
  const std::span<const std::byte> payload(buffer.data + placed->offset, placed->size);
  const auto info = Inspect(payload, n, DType::kF32);
  ASSERT_TRUE(info) << info.error().ToString();
  EXPECT_EQ(info->blocks, (std::uint64_t{1} << 25) + 2);
  EXPECT_EQ(info->blocks - info->constant_blocks, 5U);

  const std::uint64_t first_block = tail_at / kBlockValues;
  std::vector<float> back(n - first_block * kBlockValues);
  const auto status =
      DecompressBlocks(payload, n, first_block, ArrayOf<float>(std::span<float>(back)));
  ASSERT_TRUE(status) << status.error().ToString();
  for (std::size_t i = 0; i < tail.size(); ++i) {
    ASSERT_NEAR(back[back.size() - tail.size() + i], tail[i], 1e-3) << i;
  }
  EXPECT_NEAR(back[0], 0, 1e-3);
}

}  // namespace
}  // namespace szarena::codec::szx
