// SPDX-License-Identifier: Apache-2.0
#include "report/transcript.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace szarena::report {
namespace {

using data::Json;
using testing::HasSubstr;
using testing::Not;

Json::Array Records() {
  Json::Array records;
  for (
      const char* line :
      {R"({"seq": 0, "at": "2026-04-22T09:15:02.125Z", "kind": "session", "version": 2, "key": {"agent": "openai:m", "task": "szp", "target": "cpu", "tier": "user", "source": "none", "workflow": "iterative", "trial": 3}, "agent": {"kind": "model"}})",
       R"({"seq": 1, "at": "2026-04-22T09:15:02.126Z", "kind": "prompt", "sha256": "abcdef0123456789ff", "text": "write <b>it</b>"})",
       R"({"seq": 2, "at": "2026-04-22T09:15:03.126Z", "kind": "message", "chat": "agent", "role": "assistant", "text": "I write", "calls": [{"id": "1", "name": "write_file", "arguments": {"path": "a.cpp", "text": "l1\nl2\nl3"}}]})",
       R"({"seq": 3, "at": "2026-04-22T09:15:03.126Z", "kind": "usage", "chat": "agent", "model_version": "m-2026", "tokens_in": 120, "cost_usd": 0.0125})",
       R"({"seq": 4, "at": "2026-04-22T09:15:03.126Z", "kind": "tool-result", "tool": "write_file", "ok": false, "content": {"error": "no"}, "seconds": 0.5})",
       R"({"seq": 5, "at": "2026-04-22T09:15:04.126Z", "kind": "attempt", "number": 1, "label": "first", "stage": "built", "files": [{"path": "a.cpp", "text": "</pre><script>alert(1)</script>"}]})",
       R"({"seq": 6, "at": "2026-04-22T09:15:04.126Z", "kind": "unheard-of", "what": "x", "more": {"y": 1}})",
       R"({"seq": 7, "at": "2026-04-22T09:15:05.126Z", "kind": "stop", "reason": "budget", "detail": "3 model calls"})"}) {
    records.push_back(*data::ParseJson(line, "record"));
  }
  return records;
}

TEST(TranscriptViewTest, TextShowsEveryRecord) {
  const std::string text = TranscriptText(Records(), {});
  EXPECT_THAT(text, HasSubstr("openai:m · szp · cpu · tier user"));
  EXPECT_THAT(text, HasSubstr("[2] 09:15:03.126 message: agent: assistant → write_file"));
  EXPECT_THAT(text, HasSubstr("120 tokens in, 0.0125 USD"));
  EXPECT_THAT(text, HasSubstr("write_file refused, 0.500 s"));
  EXPECT_THAT(text, HasSubstr("attempt 1 'first' reached built"));
  EXPECT_THAT(text, HasSubstr("\"y\": 1"));
  EXPECT_THAT(text, HasSubstr("budget, 3 model calls"));
  const std::string cut = TranscriptText(Records(), {.lines = 1});
  EXPECT_THAT(cut, HasSubstr("[2 more lines]"));
  EXPECT_THAT(cut, Not(HasSubstr("l3")));
}

TEST(TranscriptViewTest, TheTerminalGetsNoEscapeSequences) {
  Json::Array records = Records();
  records[1].Set("text", "\x1b[31mred\x1b[0m");
  EXPECT_THAT(TranscriptText(records, {}), Not(HasSubstr("\x1b")));
}

TEST(TranscriptViewTest, ThePageNeedsNothingElseAndRunsNothing) {
  const std::string html = TranscriptHtml(Records());
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("<b>it")));
  EXPECT_THAT(html, Not(testing::ContainsRegex("(src|href)=\"(http|//)")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(html, HasSubstr("href=\"#r5\""));
  EXPECT_THAT(html, HasSubstr("Ended: budget"));
  Json::Array killed = Records();
  killed.pop_back();
  EXPECT_THAT(TranscriptHtml(killed), HasSubstr("was killed"));
}

}  // namespace
}  // namespace szarena::report
