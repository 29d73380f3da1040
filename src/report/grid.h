// SPDX-License-Identifier: Apache-2.0
// A table once, in several written forms.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace szarena::report {

enum class Tone : uint8_t { kPlain, kGood, kBad, kMuted, kStrong };

struct Cell {
  std::string text;
  Tone tone = Tone::kPlain;
  std::string note;  // longer text: shown on demand in HTML, left out elsewhere
};

struct GridColumn {
  std::string title;
  bool numeric = false;  // aligned right
};

struct Grid {
  std::string id;       // slug, unique in a report
  std::string caption;  // names the cells that the table is about
  std::vector<GridColumn> columns;
  std::vector<std::vector<Cell>> rows;
  std::string footnote;
};

// A figure's cell, a yes/no cell that does not rely on colour alone.
Cell YesNo(bool value);

std::string GridToHtml(const Grid& grid, int number);  // <figure><table>…, "Table N."
std::string GridToMarkdown(const Grid& grid);
std::string GridToLatex(const Grid& grid);  // table environment, booktabs
std::string GridToCsv(const Grid& grid);    // header line, then rows

}  // namespace szarena::report
