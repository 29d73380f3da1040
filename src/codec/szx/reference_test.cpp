// SPDX-License-Identifier: Apache-2.0
// The scalar reference against vectors worked out by hand from the specification.
#include "codec/szx/reference.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace szarena::codec::szx {
namespace {

std::vector<std::byte> Hex(std::initializer_list<int> bytes) {
  std::vector<std::byte> out;
  for (const int b : bytes) out.push_back(static_cast<std::byte>(b));
  return out;
}

template <Real T>
std::vector<std::byte> Code(const std::vector<T>& values, double eb,
                            Mode mode = Mode::kRandomAccess) {
  auto payload =
      CompressReference(ArrayOf<T>(std::span<const T>(values)), {.eb = eb, .mode = mode});
  EXPECT_TRUE(payload) << payload.error().ToString();
  return payload.value_or(std::vector<std::byte>{});
}

template <Real T>
std::vector<T> Decode(const std::vector<std::byte>& payload, std::size_t n) {
  std::vector<T> values(n, std::numeric_limits<T>::signaling_NaN());
  const auto status = DecompressReference(payload, ArrayOf<T>(std::span<T>(values)));
  EXPECT_TRUE(status) << status.error().ToString();
  return values;
}

TEST(SzxReference, EmptyFieldIsTheHeaderAlone) {
  EXPECT_EQ(Code<float>({}, 1),
            Hex({1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(Code<float>({}, 1, Mode::kSequential), Hex({1, 1, 1, 0, 128, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(Code<double>({}, 1, Mode::kSequential), Hex({1, 1, 2, 0, 128, 0, 0, 0, 0, 0, 0, 0, 0}));
}

// min 1, max 1.5: radius 0.25 <= eb, median 1.25 = 0x3fa00000.
TEST(SzxReference, ConstantBlockIsItsMedian) {
  const std::vector<float> values = {1, 1.5F, 1.25F};
  EXPECT_EQ(Code(values, 0.25),
            Hex({1,    1,    1,    1, 0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 0, 0, 0, 0, 1,  //
                 0x00, 0x3f, 0xa0, 0, 0}));
  EXPECT_EQ(Code(values, 0.25, Mode::kSequential),
            Hex({1, 1, 1, 0, 128, 0, 0, 0, 0, 0, 0, 0, 1, 0x00, 0x3f, 0xa0, 0, 0}));
  EXPECT_EQ(Decode<float>(Code(values, 0.25), 3), std::vector<float>(3, 1.25F));
}

// min 0, max 4: radius 2, E = 1; eb 0.5, E = -1; required length 9 + 2 + 1 = 12 bits: 2 bytes,
// shift 4. Median 2. Differences -2 -1 0 1 2: 0xc0000000 0xbf800000 0 0x3f800000 0x40000000,
// shifted right by 4: 0x0c000000 0x0bf80000 0 0x03f80000 0x04000000. XOR with the one before:
// 0x0c000000 (code 0), 0x07f80000 (0), 0x0bf80000 (0), 0x03f80000 (0), 0x07f80000 (0). Every value
// stores byte 2, then byte 3.
TEST(SzxReference, CodedBlock) {
  const std::vector<float> values = {0, 1, 2, 3, 4};
  EXPECT_EQ(Code(values, 0.5), Hex({1,    1,    1,    1,    0,    0,    0,    0,    0,    0,
                                    0,    128,  0,    0,    0,    0,    0,    0,    0,    0,  //
                                    17,   0,                    // size
                                    0x80,                       // state
                                    12,   0x40, 0,    0,    0,  // length, median 2
                                    0x00, 0x00,                 // codes
                                    0x00, 0x0c, 0xf8, 0x0b, 0x00, 0x00, 0xf8, 0x03, 0x00, 0x04}));
  EXPECT_EQ(Decode<float>(Code(values, 0.5), 5), values);
}

// As above with eb 2^-9: required length 9 + 1 + 9 + 1 = 20 bits, 3 bytes, shift 4. Median 2. Equal
// neighbours share all leading bytes (code 3) and store nothing; 0.5 after 0 differs in the top
// byte.
TEST(SzxReference, SharedLeadingBytes) {
  const std::vector<float> values = {0, 0, 4, 4.0F, 3.9990234375F};
  // Differences: 0xc0000000 twice, 0x40000000 twice, 2 - 2^-10 = 1.9990234375 = 0x3fffe000.
  // Shifted: 0x0c000000, same (code 3), 0x04000000 (xor 0x08000000, code 0), same (3), 0x03fffe00
  // (xor 0x07fffe00, code 0). Truncation keeps bytes 1..3 of 0x03fffe00: fe ff 03.
  EXPECT_EQ(Code(values, std::ldexp(1.0, -9)),
            Hex({1,    1,    1,    1,    0,    0,    0,    0,    0,   0,
                 0,    128,  0,    0,    0,    0,    0,    0,    0,   0,  //
                 16,   0,    0x80, 20,   0x40, 0,    0,    0,             //
                 0x33, 0x00,                                              // 00 11 00 11, 00
                 0x00, 0x00, 0x0c, 0x00, 0x00, 0x04, 0xfe, 0xff, 0x03}));
}

// A code may exceed the kept bytes: 2 kept bytes, difference in byte 1 only cannot be seen by the
// decoder.
TEST(SzxReference, CodesAreNotClamped) {
  const std::vector<float> values = {4, 4.0F, 0};
  const auto payload = Code(values, 0.5);
  // 0x04000000, same (code 3 with 2 kept bytes), 0x0c000000: codes 00 11 00.
  EXPECT_EQ(std::vector<std::byte>(payload.begin() + 28, payload.end()),
            Hex({0x30, 0x00, 0x04, 0x00, 0x0c}));
}

TEST(SzxReference, NonFiniteBlockKeepsBits) {
  const float nan = std::bit_cast<float>(0x7fc12345U);
  const std::vector<float> values = {1, nan, -0.0F};
  const auto payload = Code(values, 1e9);
  EXPECT_EQ(std::vector<std::byte>(payload.begin() + 20, payload.end()),
            Hex({18,   0,    0x80, 32,   0x80, 0,    0,    0,    0x00,  //
                 0x00, 0x00, 0x80, 0x3f, 0x45, 0x23, 0xc1, 0x7f, 0x00, 0x00, 0x00, 0x80}));
  const auto back = Decode<float>(payload, 3);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(std::bit_cast<uint32_t>(back[i]), std::bit_cast<uint32_t>(values[i]));
}

// f64: radius 2, eb 0.5: 12 + 2 + 1 = 15 bits, 2 bytes, shift 1. Differences -2 and 2: 0xc000..,
// 0x4000..; shifted 0x6000.., 0x2000..
TEST(SzxReference, DoubleBlock) {
  const std::vector<double> values = {0, 4};
  EXPECT_EQ(Code(values, 0.5, Mode::kSequential),
            Hex({1,    1,    2,    0,   128, 0, 0, 0, 0, 0,    0, 0, 0, 0x80,  //
                 15,   0x40, 0,    0,   0,   0, 0, 0, 0, 0x00,                 //
                 0x00, 0x60, 0x00, 0x20}));
}

TEST(SzxReference, RefusesMeaninglessBounds) {
  const std::vector<float> values = {1, 2};
  for (const double eb : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(CompressReference(ArrayOf<float>(std::span<const float>(values)), {.eb = eb}))
        << eb;
  }
}

}  // namespace
}  // namespace szarena::codec::szx
