// SPDX-License-Identifier: Apache-2.0
// Text tables with aligned columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace szarena::term {

enum class Align : uint8_t { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as columns. Cells may hold escape sequences; they take no width.
  void AddRow(std::vector<std::string> cells);

  // Titles, a rule, rows; two blanks between columns; no blanks at line ends; ends with a newline.
  std::string Text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace szarena::term
