// SPDX-License-Identifier: Apache-2.0
// Tables, styles, and the progress line's bytes.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "term/printable.h"
#include "term/progress.h"
#include "term/style.h"
#include "term/table.h"

namespace szarena::term {
namespace {

TEST(Table, AlignsByDisplayWidth) {
  Table table({{"name"}, {"GB/s", Align::kRight}});
  table.AddRow({"naïve", "0.5"});
  table.AddRow({Paint("x", Style::kGood, true), "12.25"});
  EXPECT_EQ(table.Text(),
            "name    GB/s\n"
            "-----  -----\n"
            "naïve    0.5\n"
            "\x1b[32mx\x1b[0m      12.25\n");
}

TEST(Style, NoColourWhereNobodySees) {
  EXPECT_EQ(Paint("x", Style::kBad, false), "x");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  EXPECT_FALSE(WantsColour(file.get()));
}

std::string Written(bool live) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  {
    Progress progress(file.get(), live);
    progress.Show("step 1");
    progress.Line("done");
    progress.Show(std::string(300, 'x'));
  }
  std::rewind(file.get());
  char buffer[1000];
  return {buffer, std::fread(buffer, 1, sizeof buffer, file.get())};
}

TEST(Progress, MovesOnlyOnATerminal) {
  EXPECT_EQ(Written(false), "done\n");
  EXPECT_EQ(Written(true),
            "\r\x1b[2Kstep 1\r\x1b[2Kdone\n\r\x1b[2K" + std::string(100, 'x') + "\r\x1b[2K");
}

TEST(Printable, NothingSteersTheTerminal) {
  EXPECT_EQ(Printable("a\tb\n\u00e4\u4e2d\U0001F600"), "a\tb\n\u00e4\u4e2d\U0001F600");
  EXPECT_EQ(Printable("\x1b[2J\r\x7f"), "\\u{1b}[2J\\u{d}\\u{7f}");
  EXPECT_EQ(Printable("\u009b"
                      "1m\u202e\u2066"),
            "\\u{9b}1m\\u{202e}\\u{2066}");
  EXPECT_EQ(Printable("\x9b\xff\xe2\x80"), "\\u{9b}\\u{ff}\\u{e2}\\u{80}");
}

}  // namespace
}  // namespace szarena::term
