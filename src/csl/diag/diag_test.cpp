// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "csl/diag/diag.h"
#include "csl/diag/render.h"

namespace szarena::csl {
namespace {

class DiagTest : public ::testing::Test {
 protected:
  Span At(uint32_t begin, uint32_t end) const { return {base + begin, base + end}; }
  SourceMap sources;
  uint32_t base = sources.File(sources.Add("a.csl", "var x = 1;\n\tvar \xC3\xA9y;\n").value()).base;
  DiagSink sink;
};

TEST_F(DiagTest, TextShowsPlaceLineCaretNotesAndRemedy) {
  {
    DiagSink::Context context(sink, At(0, 3), "in the code of PE (1, 2)");
    sink.Report(DiagKind::kMissingConstValue, At(4, 5), "x").Note({}, "cause");
  }
  EXPECT_EQ(RenderText(sources, sink),
            "a.csl:1:5: error: constant 'x' has no value [missing-const-value]\n"
            "    1 | var x = 1;\n"
            "      |     ^\n"
            "note: cause\n"
            "a.csl:1:1: note: in the code of PE (1, 2)\n"
            "  help: write 'const x = VALUE;', or 'param' where the value comes from outside\n"
            "1 error\n");
}

TEST_F(DiagTest, TheCaretStandsUnderTheTokenAfterTabsAndLongCharacters) {
  sink.Report(DiagKind::kDuplicateElse, At(18, 19));
  EXPECT_EQ(RenderText(sources, sink.all()[0]),
            "a.csl:2:8: error: a switch has one 'else' branch [duplicate-else]\n"
            "    2 |  var \xC3\xA9y;\n"
            "      |       ^\n");
}

TEST_F(DiagTest, ARepetitionIsKeptOnce) {
  sink.Report(DiagKind::kDuplicateElse, At(4, 5)).Note({}, "first");
  sink.Report(DiagKind::kDuplicateElse, At(4, 5)).Note({}, "second");
  ASSERT_EQ(sink.all().size(), 1u);
  EXPECT_EQ(sink.all()[0].notes.size(), 1u);
  EXPECT_EQ(sink.error_count(), 1u);
}

TEST_F(DiagTest, JsonEscapes) {
  sink.Report(DiagKind::kInvalidNumber, At(4, 5), "\"\\\x01\xff");
  EXPECT_EQ(RenderJson(sources, sink),
            "[\n{\"file\":\"a.csl\",\"line\":1,\"column\":5,\"length\":1,\"severity\":\"error\","
            "\"kind\":\"invalid-number\","
            "\"message\":\"'\\\"\\\\\\u0001\\u00ff' is not a "
            "number\",\"remedy\":\"\",\"notes\":[]}\n]\n");
}

TEST_F(DiagTest, LongLinesAreCutAroundTheCaret) {
  SourceMap map;
  uint32_t start =
      map.File(map.Add("long", std::string(1000, 'a') + "!" + std::string(1000, 'b')).value()).base;
  DiagSink s;
  s.Report(DiagKind::kDuplicateElse, Span{start + 1000, start + 1001});
  std::string text = RenderText(map, s.all()[0]);
  size_t line = text.find(" | ") + 3, caret = text.rfind(" | ") + 3;
  EXPECT_EQ(text[line + text.find('^', caret) - caret], '!');
  EXPECT_LT(text.size(), 600u);
}

TEST(DiagTable, NamesAreUnique) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < DiagKindCount(); ++i)
    EXPECT_TRUE(names.insert(InfoOf(static_cast<DiagKind>(i)).name).second);
}

}  // namespace
}  // namespace szarena::csl
