// SPDX-License-Identifier: Apache-2.0
// Tables, styles, and the progress line's bytes.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

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

}  // namespace
}  // namespace szarena::term
