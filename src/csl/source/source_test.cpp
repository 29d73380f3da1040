// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "csl/source/names.h"
#include "csl/source/source_map.h"

namespace szarena::csl {
namespace {

TEST(SourceMap, OffsetsNameFileLineAndColumn) {
  SourceMap map;
  SourceId a = map.Add("a.csl", "x\r\nyy\n").value();
  SourceId b = map.Add("b.csl", "zzz").value();
  uint32_t base = map.File(a).base;
  EXPECT_NE(base, 0u);
  auto place = map.Locate(base + 4);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->file->path, "a.csl");
  EXPECT_EQ(place->line, 2u);
  EXPECT_EQ(place->column, 2u);
  EXPECT_EQ(map.Line(map.File(a), 1), "x");
  EXPECT_EQ(map.Line(map.File(a), 9), "");
  EXPECT_EQ(map.FileOf(map.File(b).base), b);
  EXPECT_EQ(map.FileOf(base + 6), a);  // the end of a file is in it
  EXPECT_EQ(map.Text({map.File(b).base + 1, map.File(b).base + 3}), "zz");
  EXPECT_FALSE(map.Locate(0));
  EXPECT_FALSE(map.Locate(9999));
}

TEST(SourceMap, EmptyFilesHaveAPlaceOfTheirOwn) {
  SourceMap map;
  SourceId a = map.Add("a", "").value();
  SourceId b = map.Add("b", "").value();
  EXPECT_EQ(map.FileOf(map.File(a).base), a);
  EXPECT_EQ(map.FileOf(map.File(b).base), b);
  EXPECT_EQ(map.LineOf(map.File(b).base), 1u);
}

TEST(NameTable, EqualTextsAreOneName) {
  NameTable names;
  Name a = names.Intern("a");
  EXPECT_EQ(a, names.Intern("a"));
  EXPECT_NE(a, names.Intern("b"));
  EXPECT_FALSE(Name{});
  EXPECT_TRUE(names.Intern(""));
  EXPECT_EQ(names.Text(a), "a");
}

}  // namespace
}  // namespace szarena::csl
