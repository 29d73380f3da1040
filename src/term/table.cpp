// SPDX-License-Identifier: Apache-2.0
// Lays a table out.
#include "term/table.h"

#include <algorithm>

#include "base/check.h"
#include "term/style.h"

namespace szarena::term {

void Table::AddRow(std::vector<std::string> cells) {
  SZARENA_CHECK(cells.size() == columns_.size(), "a row has as many cells as the table columns");
  rows_.push_back(std::move(cells));
}

std::string Table::Text() const {
  std::vector<size_t> widths;
  std::vector<std::string> titles;
  std::vector<std::string> rules;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = DisplayWidth(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, DisplayWidth(row[i]));
    widths.push_back(width);
    titles.push_back(columns_[i].title);
    rules.emplace_back(width, '-');
  }
  std::string text;
  const auto add = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line += "  ";
      const std::string blanks(widths[i] - DisplayWidth(cells[i]), ' ');
      line += columns_[i].align == Align::kRight ? blanks + cells[i] : cells[i] + blanks;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  add(titles);
  add(rules);
  for (const auto& row : rows_) add(row);
  return text;
}

}  // namespace szarena::term
