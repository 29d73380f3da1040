// SPDX-License-Identifier: Apache-2.0
// Aggregates from a stored campaign, the written forms, and hostile text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "report/figure.h"
#include "report/grids.h"
#include "report/html.h"
#include "report/model.h"
#include "report/text.h"
#include "report/write.h"
#include "term/printable.h"

namespace szarena::report {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostile = "<script>alert('x')</script> & \"_$|";

judge::Verdict Verdict(double compress, double decompress, bool ratio_ok = true) {
  judge::Verdict verdict;
  verdict.task = "szp";
  verdict.target = "cpu";
  verdict.measured_field = "levitus-temp, 1000 elements";
  verdict.threads = 1;
  for (auto& stage : verdict.stages) stage.status = judge::StageStatus::kOk;
  verdict.ratio = ratio_ok ? 8.5 : 1.0;
  if (!ratio_ok) {
    verdict.at(judge::Stage::kRatioOk) = {judge::StageStatus::kFailed, 0, kHostile};
    verdict.at(judge::Stage::kMeasured).status = judge::StageStatus::kNotReached;
    return verdict;
  }
  const auto fill = [](judge::DirectionResult& direction, double gbs, double baseline) {
    direction.candidate.emplace().host = judge::Figure{gbs, gbs * 0.95, gbs * 1.05, 10};
    direction.baseline.emplace().host =
        judge::Figure{baseline, baseline * 0.98, baseline * 1.02, 10};
    direction.speedup = judge::Figure{gbs / baseline, gbs / baseline, gbs / baseline, 10};
    direction.floor_fraction = gbs / 10;
  };
  fill(verdict.directions[0], compress, 4);
  fill(verdict.directions[1], decompress, 5);
  return verdict;
}

class ReportTest : public testing::Test {
 protected:
  ReportTest() : folder_(testing::TempDir() + "/report_" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
    store_.emplace(*store::Store::Open(folder_ + "/r.sqlite"));
    EXPECT_TRUE(store_->AddCampaign(
        {"c", "2026-04-22T00:00:00.000Z", true, data::Json::Of({{"processor", kHostile}})}));
  }
  ~ReportTest() override { std::filesystem::remove_all(folder_); }

  void AddSession(int64_t trial, const std::vector<judge::Verdict>& verdicts) {
    store::Session session;
    session.key = {.campaign = "c",
                   .task = "szp",
                   .target = "cpu",
                   .source = "none",
                   .tier = "none",
                   .agent = "ladder",
                   .workflow = "scripted",
                   .trial = trial};
    session.agent = data::Json::Of({{"kind", "scripted"}});
    session.started_at = "2026-04-22T00:00:00.000Z";
    const auto id = store_->BeginSession(session);
    ASSERT_TRUE(id) << id.error().ToString();
    for (size_t i = 0; i < verdicts.size(); ++i) {
      ASSERT_TRUE(store_->AddAttempt(*id, {static_cast<int64_t>(i) + 1, "0" + std::to_string(i + 1),
                                           i == 0 ? kHostile : "idea", verdicts[i]}));
    }
    ASSERT_TRUE(store_->EndSession(*id, store::StopReason::kSubmitted, "", {}));
  }
  Model Built() {
    auto model = BuildModel(*store_, "", "0.1.0");
    EXPECT_TRUE(model) << model.error().ToString();
    return *std::move(model);
  }

  std::string folder_;
  std::optional<store::Store> store_;
};

TEST_F(ReportTest, StepsAreComparedWithTheRankedStepBefore) {
  AddSession(1, {Verdict(0.5, 1), Verdict(0, 0, false), Verdict(2, 2), Verdict(1, 3)});
  const Model model = Built();
  ASSERT_EQ(model.sessions.size(), 1U);
  const SessionView& view = model.sessions[0];
  EXPECT_EQ(view.level, Level::kHost);
  EXPECT_FALSE(view.steps[0].speedup_over_previous[0]);
  EXPECT_FALSE(view.steps[1].ranked);
  EXPECT_TRUE(view.steps[1].decodable);
  EXPECT_EQ(view.steps[1].failed_stage, "ratio-ok");
  EXPECT_FALSE(view.steps[1].throughput[0]);
  EXPECT_EQ(view.steps[2].speedup_over_previous[0], 4);  // over step 1, not over the failed one
  EXPECT_EQ(view.steps[3].speedup_over_previous[0], 0.5);
  EXPECT_EQ(view.steps[3].speedup_over_previous[1], 1.5);
  EXPECT_FALSE(view.steps[2].slower[0]);
  EXPECT_TRUE(view.steps[3].slower[0]);
  EXPECT_FALSE(view.steps[3].slower[1]);
  EXPECT_EQ(view.best, 2U);
  EXPECT_EQ(view.baseline[0]->median, 4);
  EXPECT_NEAR(*view.floor_gbs[0], 10, 1e-12);
  EXPECT_TRUE(model.warnings.empty());
}

judge::Verdict OnTheWafer(uint64_t cycles, const std::string& variant) {
  judge::Verdict verdict = Verdict(2, 2);
  judge::WaferRecord& wafer = verdict.wafer.emplace();
  wafer.variant = variant;
  wafer.toolchain = "ours";
  wafer.arch = "wse2";
  wafer.width = wafer.height = 16;
  wafer.model_error = "estimated, off by a factor of 1.5";
  wafer.directions[0] = judge::WaferActivity{.elements = 1000,
                                             .pes_active = 250,
                                             .busy_cycles = 75,
                                             .stalled_cycles = 5,
                                             .idle_cycles = 20,
                                             .vector_arithmetic = 12000,
                                             .launch_cycles = cycles};
  verdict.directions[0].candidate->kernel = judge::Figure{30, 30, 30, 3};
  verdict.directions[0].candidate->basis = judge::Basis::kEstimated;
  return verdict;
}

TEST_F(ReportTest, WhatHappenedOnTheWaferIsTold) {
  AddSession(1, {OnTheWafer(777, "resident"), OnTheWafer(888, "streaming")});
  AddSession(2, {OnTheWafer(777, "resident")});
  const Model model = Built();
  // Variants are different races: views, figures, tables and cells of their own.
  ASSERT_EQ(model.sessions.size(), 3U);
  EXPECT_EQ(SessionCount(model), 2U);
  EXPECT_EQ(model.sessions[0].title, "szp · cpu · resident · ladder · trial 1");
  EXPECT_EQ(model.sessions[1].title, "szp · cpu · streaming · ladder · trial 1");
  for (const SessionView& view : model.sessions) {
    ASSERT_EQ(view.steps.size(), 1U);
    EXPECT_EQ(view.steps[0].wafer->variant, view.variant);
    EXPECT_FALSE(view.steps[0].speedup_over_previous[0]);
  }
  ASSERT_EQ(model.cells.size(), 2U);
  EXPECT_EQ(model.cells[0].variant, "resident");
  EXPECT_EQ(model.cells[0].trials, 2);
  EXPECT_EQ(model.cells[1].trials, 1);
  EXPECT_THAT(GridToMarkdown(SummaryGrid(model)), HasSubstr("cpu, streaming"));
  EXPECT_EQ(model.sessions[0].level, Level::kKernel);
  const std::string table = GridToMarkdown(WaferGrid(model.sessions[0]));
  EXPECT_THAT(table, HasSubstr("resident, wse2, 16 x 16"));
  EXPECT_THAT(table, HasSubstr("75 %"));
  EXPECT_THAT(table, HasSubstr("off by a factor of 1.5"));
  EXPECT_THAT(GridToCsv(LongGrid(model)), HasSubstr("16x16,250,777"));
  EXPECT_THAT(ReportHtml(model), HasSubstr("what the programs did on the wafer"));
  // Identical cycles in different cells.
  EXPECT_THAT(model.warnings, testing::ElementsAre(HasSubstr("identical number of cycles (777)")));
}

// Wherever a speed of the wafer stands, "estimated" stands there, and nothing about a busy machine.
TEST_F(ReportTest, EveryFigureOfTheWaferSaysThatItIsEstimated) {
  judge::Verdict moved = OnTheWafer(888, "resident");
  for (judge::DirectionResult& direction : moved.directions) {
    direction.candidate->kernel = judge::Figure{25, 24, 26, 3};
    direction.candidate->basis = judge::Basis::kEstimated;
    direction.baseline->kernel = judge::Figure{20, 20, 20, 3};
    direction.baseline->basis = judge::Basis::kEstimated;
  }
  judge::Verdict first = moved;
  first.wafer->directions[0]->launch_cycles = 777;
  for (judge::DirectionResult& direction : first.directions) {
    direction.candidate->kernel->median = 24.5;
    direction.baseline->kernel->median = 50;  // far from the other step's
  }
  AddSession(1, {first, moved});
  const Model model = Built();
  EXPECT_TRUE(model.warnings.empty()) << model.warnings[0];
  const auto paths = WriteReport(model, folder_ + "/out");
  ASSERT_TRUE(paths) << paths.error().ToString();
  for (const std::string& path : *paths) {
    std::ifstream file(path);
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    EXPECT_THAT(text, HasSubstr("estimated")) << path;
    EXPECT_THAT(text, Not(HasSubstr("machine's load"))) << path;
    EXPECT_THAT(text, Not(HasSubstr("busy;"))) << path;
    // Units stand in headings, or behind a number: then the basis follows.
    if (path.ends_with(".csv") || path.ends_with(".json")) continue;
    for (size_t at = text.find(" GB/s"); at != std::string::npos; at = text.find(" GB/s", at + 5)) {
      if (at == 0 || text[at - 1] < '0' || text[at - 1] > '9') continue;
      EXPECT_EQ(text.substr(at, 17), " GB/s (estimated)")
          << path << ": " << text.substr(at - 40, 80);
    }
  }
}

TEST_F(ReportTest, CellsCountTrialsAndGiveIntervals) {
  AddSession(1, {Verdict(2, 2.5)});
  AddSession(2, {Verdict(4, 5)});
  AddSession(3, {Verdict(0, 0, false)});
  const Model model = Built();
  ASSERT_EQ(model.cells.size(), 1U);
  const CellView& cell = model.cells[0];
  EXPECT_EQ(cell.trials, 3);
  EXPECT_EQ(cell.runnable, 3);
  EXPECT_EQ(cell.decodable, 3);
  EXPECT_EQ(cell.correct, 2);
  EXPECT_EQ(cell.ranked, 2);
  EXPECT_NEAR(*cell.best_speedup, 0.75, 1e-12);  // median of 0.5 and 1
  EXPECT_NEAR(cell.best_speedup_interval->low, 0.5, 1e-12);
  EXPECT_NEAR(cell.ranked_interval->low, 0.2076595, 1e-6);  // scipy, Wilson 2 of 3
}

TEST_F(ReportTest, WarnsOfIdenticalTimesAndOfUnfinishedCampaigns) {
  AddSession(1, {Verdict(2, 1), Verdict(2, 3)});
  EXPECT_THAT(Built().warnings,
              testing::ElementsAre(HasSubstr("steps 1, 2 have the identical compress")));
  ASSERT_TRUE(
      store_->AddCampaign({"d", "2026-04-23T00:00:00.000Z", false, data::Json::MakeObject()}));
  EXPECT_THAT(Built().warnings, testing::ElementsAre(HasSubstr("not complete")));
  EXPECT_EQ(BuildModel(*store_, "nope", "").error().code, ErrorCode::kNotFound);
}

TEST_F(ReportTest, WarnsWhereTheBaselineMoved) {
  judge::Verdict slow = Verdict(1, 2);
  slow.directions[1].baseline->host->median = 3;  // 5 elsewhere
  AddSession(1, {Verdict(0.5, 1), slow});
  EXPECT_THAT(Built().warnings,
              testing::ElementsAre(HasSubstr("decompress median moved between 3 and 5 GB/s")));
}

TEST_F(ReportTest, WritesEveryFormAndEscapesHostileText) {
  AddSession(1, {Verdict(0.5, 1), Verdict(0, 0, false), Verdict(2, 3)});
  const auto paths = WriteReport(Built(), folder_ + "/out");
  ASSERT_TRUE(paths) << paths.error().ToString();
  ASSERT_EQ(paths->size(), 7U);
  for (const std::string& path : *paths) {
    std::ifstream file(path);
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    EXPECT_GT(text.size(), 200U) << path;
    if (path.find(".json") == std::string::npos && path.find(".csv") == std::string::npos) {
      EXPECT_THAT(text, Not(HasSubstr("<script>alert"))) << path;
    }
  }
  const auto json = data::ReadJsonFile(folder_ + "/out/report.json");
  ASSERT_TRUE(json) << json.error().ToString();
  EXPECT_EQ(json->Find("sessions")->items()[0].Find("steps")->items().size(), 3U);
}

TEST_F(ReportTest, PageNeedsNothingFromElsewhere) {
  AddSession(1, {Verdict(0.5, 1)});
  const std::string html = ReportHtml(Built());
  EXPECT_THAT(html, Not(HasSubstr("http:/"
                                  "/cdn")));
  EXPECT_THAT(html, Not(HasSubstr("<link")));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_THAT(html, HasSubstr("baseline 4.00"));
  EXPECT_THAT(html, HasSubstr("floor (copy) 10.0"));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert"));
}

TEST_F(ReportTest, NoRankedStepMeansNoFigureAndNoZeros) {
  AddSession(1, {Verdict(0, 0, false)});
  const Model model = Built();
  EXPECT_EQ(StepFigure(model.sessions[0], Quantity::kThroughput, FigureUse::kStandalone), "");
  EXPECT_THAT(GridToMarkdown(StepGrid(model.sessions[0])), HasSubstr("| — |"));
  EXPECT_THAT(ReportHtml(model), HasSubstr("No attempt was ranked"));
}

TEST(Text, ThreeSignificantDigits) {
  EXPECT_EQ(Significant(0.0843), "0.0843");
  EXPECT_EQ(Significant(0.446), "0.446");
  EXPECT_EQ(Significant(9.996), "10.0");
  EXPECT_EQ(Significant(12.34), "12.3");
  EXPECT_EQ(Significant(134.0), "134");
  EXPECT_EQ(Significant(99.96), "100");
  EXPECT_EQ(Significant(0.0), "0");
  EXPECT_EQ(Significant(std::optional<double>()), "—");
  EXPECT_EQ(Times(2.0), "2.00×");
}

TEST(Text, Escapes) {
  EXPECT_EQ(EscapeHtml("a<b>&\"'\x01"), "a&lt;b&gt;&amp;&quot;&#39;\xEF\xBF\xBD");
  EXPECT_EQ(EscapeLatex("50%_$×\\"), "50\\%\\_\\$$\\times$\\textbackslash{}");
  EXPECT_EQ(EscapeCsv("a,\"b\""), "\"a,\"\"b\"\"\"");
  EXPECT_EQ(EscapeCsv("a\x1b[31m\x7f\rb"), "a\\x1b[31m\\x7f\\x0db");
  EXPECT_EQ(EscapeCsv("=1+1"), "'=1+1");
  EXPECT_EQ(EscapeCsv("-1.5e-3"), "-1.5e-3");
  EXPECT_EQ(EscapeMarkdown("a|b"), "a\\|b");
  // What a model writes steers no terminal and turns no line, in any form of the report.
  const std::string_view steering = "a\x1b[31m\x07\r\xC2\x9B\xE2\x80\xAE\x7F\x9B z";
  for (const auto escape : {EscapeHtml, EscapeLatex, EscapeMarkdown, EscapeCsv}) {
    const std::string text = escape(steering);
    EXPECT_EQ(text, term::Printable(text));
    EXPECT_EQ(text.find('\r'), std::string::npos);
    EXPECT_EQ(text.substr(0, 1), "a");
    EXPECT_EQ(text.substr(text.size() - 2), " z");
  }
  EXPECT_EQ(EscapeMarkdown("\x1b"), "\\\\u{1b}");
  EXPECT_EQ(EscapeLatex("\x1b"), "\\textbackslash{}u\\{1b\\}");
  EXPECT_EQ(Slug("szp · CPU · ladder"), "szp-cpu-ladder");
}

}  // namespace
}  // namespace szarena::report
