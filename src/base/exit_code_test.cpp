// SPDX-License-Identifier: Apache-2.0
// The documented statuses: scripts rely on these numbers.
#include "base/exit_code.h"

#include <gtest/gtest.h>

namespace szarena {
namespace {

TEST(ExitCode, DocumentedNumbers) {
  EXPECT_EQ(static_cast<int>(ExitCodeFor(ErrorCode::kInvalidArgument)), 2);
  EXPECT_EQ(static_cast<int>(ExitCodeFor(ErrorCode::kNotFound)), 2);
  EXPECT_EQ(static_cast<int>(ExitCodeFor(ErrorCode::kCorrupt)), 2);
  EXPECT_EQ(static_cast<int>(ExitCodeFor(ErrorCode::kUnavailable)), 3);
  EXPECT_EQ(static_cast<int>(ExitCodeFor(ErrorCode::kIo)), 3);
  EXPECT_EQ(static_cast<int>(ExitCodeFor(ErrorCode::kCancelled)), 130);
  EXPECT_EQ(static_cast<int>(ExitCodeFor(ErrorCode::kInternal)), 4);
}

}  // namespace
}  // namespace szarena
