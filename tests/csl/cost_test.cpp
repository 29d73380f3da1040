// SPDX-License-Identifier: Apache-2.0
// The figures of accuracy.def are those that the programs give, and docs/csl/cost-model.md shows
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "cost_programs.h"
#include "fabric/model/accuracy.h"
#include "fabric/model/cost.h"

namespace szarena {
namespace {
using fabric::Accuracy;
using fabric::Part;

class CostModel : public ::testing::TestWithParam<size_t> {};

TEST_P(CostModel, GivesTheFigureOfTheTable) {
  const Accuracy& row = fabric::AccuracyTable()[GetParam()];
  const auto cycles =
      CyclesOf(std::string(SZARENA_SOURCE_DIR "/tests/csl/cost/") + row.program + ".csl",
               row.arch == bytecode::Arch::kWse2 ? "wse2" : "wse3");
  ASSERT_TRUE(cycles) << cycles.error().ToString();
  EXPECT_EQ(*cycles, row.ours)
      << row.program
      << ": when the cost model changed for a sourced reason, write the new figure into "
         "src/fabric/model/accuracy.def "
      << "and the new table (cslc --print-cost-model) into docs/csl/cost-model.md";
}
INSTANTIATE_TEST_SUITE_P(Rows, CostModel,
                         ::testing::Range<size_t>(0, fabric::AccuracyTable().size()),
                         [](const auto& row) {
                           return std::string(fabric::AccuracyTable()[row.param].program) +
                                  (fabric::AccuracyTable()[row.param].arch == bytecode::Arch::kWse2
                                       ? "_wse2"
                                       : "_wse3");
                         });

TEST(CostModelTable, NoProgramIsBothFittedAndHeldOut) {
  std::set<std::string> fitted;
  for (const Accuracy& a : fabric::AccuracyTable()) {
    if (a.part == Part::kFitting) fitted.insert(a.program);
  }
  for (const Accuracy& a : fabric::AccuracyTable()) {
    if (a.part == Part::kHeldOut) {
      EXPECT_FALSE(fitted.contains(a.program)) << a.program;
    }
  }
}

TEST(CostModelTable, SpreadIsAMeanOfRatios) {
  const fabric::Spread s = fabric::SpreadOf(Part::kHeldOut);
  double product = 1;
  int rows = 0;
  for (const Accuracy& a : fabric::AccuracyTable()) {
    if (a.part != Part::kHeldOut) continue;
    product *= std::max<double>(a.ours, a.published) / std::min<double>(a.ours, a.published);
    ++rows;
  }
  EXPECT_EQ(s.rows, rows);
  EXPECT_NEAR(s.typical, std::pow(product, 1.0 / rows), 1e-9);
  EXPECT_GE(s.worst, s.typical);
}

TEST(CostModelTable, IsInTheDocumentationAndInTheCompiler) {
  std::ifstream in(SZARENA_SOURCE_DIR "/docs/csl/cost-model.md");
  std::stringstream all;
  all << in.rdbuf();
  EXPECT_THAT(all.str(), ::testing::HasSubstr(fabric::PrintAccuracy()));
  EXPECT_THAT(fabric::PrintCostModel(), ::testing::HasSubstr(fabric::PrintAccuracy()));
  EXPECT_THAT(fabric::PrintCostModel(), ::testing::HasSubstr(fabric::HeldOutError()));
}

}  // namespace
}  // namespace szarena
