// SPDX-License-Identifier: Apache-2.0
// The data of the page: frames, totals, bounds, and that texts cannot break out of it.
#include "fabric/view/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace szarena::fabric::view {
namespace {
using namespace trace;
using ::testing::HasSubstr;
using ::testing::Not;

Trace Sample(uint32_t cells) {
  Trace t;
  t.header.program = "</script><b>";
  t.header.arch = "wse2";
  t.header.width = cells;
  t.header.height = 1;
  t.header.cells_x = cells;
  t.header.cells_y = 1;
  t.header.class_of_cell.assign(cells, "pe.csl");
  t.labels.push_back({LabelKind::kInputEmpty, "input queue 2 (colour 5) is empty", "pe.csl", 7, 5});
  Window w;
  w.begin = 0;
  w.width = 8;
  w.bins = 32;
  w.activity.push_back({0, 8, {8, 0, 0, 0}});
  w.activity.push_back({0, 16, {2, 6, 0, 0}});
  w.links.push_back({0, 8, 0, 5, 6});
  w.links.push_back({0, 8, 0, 3, 2});
  t.windows.push_back(w);
  t.spans.push_back({0, 8, 0, 10, 20});
  t.waits.push_back({0, 10, 1});
  t.cycles = 64;
  t.complete = true;
  return t;
}

TEST(Page, FramesKeepTheSums) {
  const auto j = nlohmann::json::parse(PageData(Sample(1), 16));
  EXPECT_EQ(j["frames"], 16);
  EXPECT_EQ(j["frameWidth"], 4.0);
  double busy = 0;
  double stalled = 0;
  for (size_t f = 0; f < 16; ++f) {
    busy += j["total"][f * 4].get<double>();
    stalled += j["total"][f * 4 + 1].get<double>();
  }
  EXPECT_NEAR(busy, 10, 0.3);
  EXPECT_NEAR(stalled, 6, 0.3);
  EXPECT_NEAR(j["total"][2 * 4].get<double>(), 4, 0.05);  // cycles 8..11 are all busy
  EXPECT_EQ(j["spans"], nlohmann::json({0, 8, 0, 10, 10}));
  EXPECT_EQ(j["colorTotals"], nlohmann::json({{3, 2.0}, {5, 6.0}}));
}

TEST(Page, TheBusiestColourOfALinkIsShown) {
  const auto j = nlohmann::json::parse(PageData(Sample(1), 64));
  // Frame 8, cell 0, EAST: byte (8 * 1 + 0) * 5 of the colours.
  const std::string text = j["colors"];
  const size_t at = 40;
  const auto value = [](char c) {
    return static_cast<int>(
        std::string("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/").find(c));
  };
  const size_t group = at / 3 * 4;
  const int bits = value(text[group]) << 18 | value(text[group + 1]) << 12 |
                   value(text[group + 2]) << 6 | value(text[group + 3]);
  EXPECT_EQ(bits >> (16 - 8 * (at % 3)) & 255, 5);
}

TEST(Page, BigFabricsGetFewerFrames) {
  Trace t = Sample(4096);
  t.cycles = 1'000'000;
  const std::string data = PageData(t);
  EXPECT_EQ(nlohmann::json::parse(data)["frames"], 104);
  EXPECT_LT(data.size(), 10'000'000u);
}

TEST(Page, TextsOfTheProgramStayText) {
  const std::string page = MakePage(Sample(2));
  EXPECT_THAT(page, Not(HasSubstr("</script><b>")));
  EXPECT_THAT(page, HasSubstr("\\u003c/script>"));
  EXPECT_THAT(page, Not(HasSubstr("@DATA@")));
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
  EXPECT_THAT(page, Not(HasSubstr("src=\"")));
}

TEST(Page, AnEmptyTraceMakesAPage) {
  Trace t;
  t.header.cells_x = t.header.cells_y = t.header.width = t.header.height = 1;
  t.header.class_of_cell = {"(no code)"};
  EXPECT_THAT(MakePage(t), HasSubstr("\"frames\":1"));
}

}  // namespace
}  // namespace szarena::fabric::view
