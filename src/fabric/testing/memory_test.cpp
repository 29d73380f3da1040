// SPDX-License-Identifier: Apache-2.0
// PE memory: sharing with the class image, written bits, page borders, overlapping copies.
#include "fabric/model/memory.h"

#include <gtest/gtest.h>

#include <random>

namespace szarena::fabric {
namespace {

TEST(Memory, PagesAreSharedUntilWritten) {
  bytecode::CodeClass c;
  c.image.push_back({1020, {1, 2, 3, 4, 5, 6, 7, 8}});  // over a page border
  const ClassImage image(c);
  PagePool pool;
  Memory a;
  Memory b;
  a.Init(image, pool);
  b.Init(image, pool);
  EXPECT_EQ(a.Read<uint32_t>(1022), 0x06050403u);
  EXPECT_EQ(pool.count(), 0u);
  a.Write<uint16_t>(1024, 0xaaaa);
  EXPECT_EQ(pool.count(), 1u);
  EXPECT_EQ(a.Read<uint32_t>(1022), 0xaaaa0403u);
  EXPECT_EQ(b.Read<uint32_t>(1022), 0x06050403u);
  EXPECT_EQ(a.private_pages(), 1u);
}

TEST(Memory, WrittenBitsFollowEveryKindOfAccess) {
  const ClassImage image{bytecode::CodeClass{}};
  PagePool pool;
  std::mt19937 engine(3);
  const auto random = [&] { return static_cast<uint32_t>(engine()); };
  Memory m;
  m.Init(image, pool);
  std::vector<uint8_t> bytes(0x10000, 0);
  std::vector<bool> written(0x8000, false);
  const auto mark = [&](uint32_t at, uint32_t n, bool v) {
    for (uint32_t i = at; i < at + n; ++i) written[i / 2] = v;
  };
  for (int step = 0; step < 20000; ++step) {
    const uint32_t at = random() % 5000;
    const uint32_t n = 1 + random() % 300;
    switch (random() % 7) {
      case 0:
        m.Write<uint8_t>(at, 7);
        bytes[at] = 7;
        mark(at, 1, true);
        break;
      case 1:
        m.Write<uint16_t>(at & ~1u, 0x1234);
        bytes[at & ~1u] = 0x34;
        bytes[(at & ~1u) + 1] = 0x12;
        mark(at & ~1u, 2, true);
        break;
      case 2: {
        const uint32_t v = random();
        m.Write<uint32_t>(at & ~1u, v);
        std::memcpy(bytes.data() + (at & ~1u), &v, 4);
        mark(at & ~1u, 4, true);
        break;
      }
      case 3:
        m.Fill(at, 9, n);
        std::fill_n(bytes.begin() + at, n, 9);
        mark(at, n, true);
        break;
      case 4:
        m.MarkUnwritten(at & ~1u, n & ~1u);
        mark(at & ~1u, n & ~1u, false);
        break;
      case 5: {
        const uint32_t from = random() % 5000 & ~1u;
        const uint32_t to = at & ~1u;
        const uint32_t size = (n & ~1u) + 2;
        m.Copy(to, from, size);
        std::vector<uint8_t> data(bytes.begin() + from, bytes.begin() + from + size);
        std::copy(data.begin(), data.end(), bytes.begin() + to);
        std::vector<bool> bits;
        for (uint32_t i = 0; i < size; i += 2) bits.push_back(written[(from + i) / 2]);
        for (uint32_t i = 0; i < size; i += 2) written[(to + i) / 2] = bits[i / 2];
        break;
      }
      default: {
        bool want = true;
        for (uint32_t i = at; i < at + n; ++i) want = want && written[i / 2];
        ASSERT_EQ(m.IsWritten(at, n), want) << step;
        std::vector<uint8_t> got(n);
        m.ReadBytes(at, got.data(), n);
        ASSERT_TRUE(std::equal(got.begin(), got.end(), bytes.begin() + at)) << step;
      }
    }
  }
}

}  // namespace
}  // namespace szarena::fabric
