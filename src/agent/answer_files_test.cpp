// SPDX-License-Identifier: Apache-2.0
#include "agent/answer_files.h"

#include <gtest/gtest.h>

namespace szarena::agent {
namespace {

TEST(AnswerFilesTest, NamesAreFoundInEachForm) {
  const FileTexts files = FilesInAnswer(
      "Two files.\n\n### candidate.cpp\n\n```cpp\nint a;\n```\n\n**`src/a.h`**\n```\n#pragma "
      "once\n```\n"
      "File: b.h\n~~~~\n```\nnested\n```\n~~~~\n```cpp title=c.cpp\nint c;\n```\r\n"
      "```cpp d.cpp\nint d;\n```\nSome words about e.g. nothing\n```\nunnamed\n```\n",
      "x.cpp");
  const FileTexts wanted = {{"candidate.cpp", "int a;\n"},
                            {"src/a.h", "#pragma once\n"},
                            {"b.h", "```\nnested\n```\n"},
                            {"c.cpp", "int c;\n"},
                            {"d.cpp", "int d;\n"}};
  EXPECT_EQ(files, wanted);
}

TEST(AnswerFilesTest, ALoneBlockGetsTheUsualName) {
  const std::string text = "Here:\n```cpp\nint a;\nint b;\n```\nor\n```\nx\n```\n";
  EXPECT_EQ(FilesInAnswer(text, "candidate.cpp"),
            (FileTexts{{"candidate.cpp", "int a;\nint b;\n"}}));
  EXPECT_TRUE(FilesInAnswer(text, "").empty());
}

TEST(AnswerFilesTest, WhatDoesNotEndIsLeftOut) {
  EXPECT_TRUE(FilesInAnswer("### a.cpp\n```\nint a;\n", "x").empty());
  EXPECT_TRUE(FilesInAnswer("", "x").empty());
  EXPECT_TRUE(FilesInAnswer("````\n```\n", "x").empty());
}

TEST(AnswerFilesTest, WhatIsShownIsReadBack) {
  const FileTexts files = {{"a.cpp", "// ```` fences\n"}, {"dir/b.h", "x\n"}};
  EXPECT_EQ(FilesInAnswer(FilesAsText(files), ""), files);
}

}  // namespace
}  // namespace szarena::agent
