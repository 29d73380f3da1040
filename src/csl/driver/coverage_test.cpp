// SPDX-License-Identifier: Apache-2.0
// Every kind of diagnostic is produced by some golden test, with its remedy.
#include <gtest/gtest.h>

#include <set>

#include "csl/diag/diag.h"
#include "csl/driver/golden_file_testing.h"

namespace szarena::csl {
namespace {

TEST(DiagCoverage, EveryKindHasAGoldenTest) {
  std::string all;
  for (const char* folder : {"parse", "layout", "check"}) {
    for (const std::string& path :
         testing::GoldenFilesIn(std::string(SZARENA_SOURCE_DIR "/src/csl/testdata/") + folder)) {
      all += testing::ReadGolden(path).expected;
    }
  }
  for (size_t i = 0; i < DiagKindCount(); ++i) {
    std::string tag = "[" + std::string(InfoOf(static_cast<DiagKind>(i)).name) + "]";
    EXPECT_NE(all.find(tag), std::string::npos) << "no golden test expects " << tag;
  }
}

}  // namespace
}  // namespace szarena::csl
