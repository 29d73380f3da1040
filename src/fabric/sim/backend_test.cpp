// SPDX-License-Identifier: Apache-2.0
// The native back end against the bytecode loop: what only compiled code does (ways in and out, calls on the host's stack).
#include <gtest/gtest.h>

#include "fabric/sim/compare.h"
#include "fabric/testing/program_kit.h"

namespace szarena::fabric {
namespace {
using namespace testing;

TEST(Backend, NamesAreThoseOfTheManual) {
  EXPECT_EQ(ParseBackend("bytecode").value(), Backend::kBytecode);
  EXPECT_EQ(ParseBackend("native").value(), Backend::kNative);
  EXPECT_EQ(ParseBackend("auto").value(), Backend::kAuto);
  const auto bad = ParseBackend("llvm");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(bad.error().message.find("'llvm'"), std::string::npos);
}

}  // namespace
}  // namespace szarena::fabric
