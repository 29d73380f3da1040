// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/narrow.h"

namespace szarena {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return Fail(ErrorCode::kInvalidArgument, "value is odd");
  return value / 2;
}

Result<int> Quarter(int value) {
  SZARENA_TRY(int half, Half(value));
  SZARENA_TRY(int quarter, Half(half));
  return quarter;
}

TEST(Error, TryPassesTheFirstFailureUp) {
  EXPECT_EQ(Quarter(8).value(), 2);
  EXPECT_EQ(Quarter(6).error().message, "value is odd");
}

TEST(Error, ContextGrowsOutwards) {
  Error error{ErrorCode::kIo, "no such file", {"while reading 'a'", "while loading task 'b'"}};
  EXPECT_EQ(error.ToString(), "no such file (while reading 'a', while loading task 'b')");
}

TEST(Bytes, EndianIsExplicit) {
  unsigned char buffer[5] = {};
  StoreBe<uint32_t>(buffer + 1, 0x01020304u);
  EXPECT_EQ(buffer[1], 1);
  EXPECT_EQ(LoadLe<uint32_t>(buffer + 1), 0x04030201u);
  EXPECT_EQ(LoadBe<uint32_t>(buffer + 1), 0x01020304u);
}

TEST(Narrow, RefusesWhatDoesNotFit) {
  EXPECT_EQ(TryNarrow<uint8_t>(255), uint8_t{255});
  EXPECT_FALSE(TryNarrow<uint8_t>(256).has_value());
  EXPECT_FALSE(TryNarrow<uint32_t>(-1).has_value());
  EXPECT_DEATH(NarrowTo<int8_t>(200), "does not fit");
}

}  // namespace
}  // namespace szarena
