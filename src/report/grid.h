// SPDX-License-Identifier: Apache-2.0
// A table once, in several written forms.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace szarena::report {

enum class Tone : uint8_t { kPlain, kGood, kBad, kMuted, kStrong };

struct Cell {
  Cell(std::string shown, Tone its_tone = Tone::kPlain)  // NOLINT(google-explicit-constructor)
      : text(std::move(shown)), tone(its_tone) {}

  std::string text;
  Tone tone;
  std::string note;  // longer text: shown on demand in HTML, left out elsewhere
  std::string sign;  // where not empty: what HTML shows instead, with the text for screen readers
};

enum class ColumnKind : uint8_t { kText, kNumber, kMark, kLongText };

struct GridColumn {
  std::string title;
  ColumnKind kind = ColumnKind::kText;
};

struct Grid {
  std::string id;       // slug, unique in a report
  std::string caption;  // names the cells that the table is about
  std::vector<GridColumn> columns;
  std::vector<std::vector<Cell>> rows;
  std::string footnote;
};

// "yes" or "no", shown as a sign that does not rely on colour alone.
Cell YesNo(bool value);

std::string GridToHtml(const Grid& grid, int number);  // <figure><table>…, "Table N."
std::string GridToMarkdown(const Grid& grid);
std::string GridToLatex(const Grid& grid);  // table environment, booktabs
std::string GridToCsv(const Grid& grid);    // header line, then rows

}  // namespace szarena::report
