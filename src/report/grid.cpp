// SPDX-License-Identifier: Apache-2.0
// Writes tables.
#include "report/grid.h"

#include <fmt/format.h>

#include "report/text.h"

namespace szarena::report {
namespace {

std::string_view ToneClass(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return "";
    case Tone::kGood:
      return "good";
    case Tone::kBad:
      return "bad";
    case Tone::kMuted:
      return "muted";
    case Tone::kStrong:
      return "strong";
  }
  return "";
}

std::string_view KindClass(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kText:
      return "";
    case ColumnKind::kNumber:
      return "num";
    case ColumnKind::kMark:
      return "mark";
    case ColumnKind::kLongText:
      return "idea";
  }
  return "";
}

// ` class="…"`, or nothing.
std::string ClassAttribute(std::string_view first, std::string_view second) {
  if (first.empty() && second.empty()) return "";
  const std::string_view blank = first.empty() || second.empty() ? "" : " ";
  return fmt::format(" class=\"{}{}{}\"", first, blank, second);
}

std::string HtmlCell(const Cell& cell, ColumnKind kind, bool header) {
  const std::string attribute = ClassAttribute(ToneClass(cell.tone), KindClass(kind));
  std::string body = EscapeHtml(cell.text);
  if (!cell.sign.empty()) {
    body = fmt::format("<span aria-hidden=\"true\">{}</span><span class=\"hidden\">{}</span>",
                       EscapeHtml(cell.sign), body);
  }
  if (!cell.note.empty()) {
    body = fmt::format("<details><summary>{}</summary><div class=\"note\">{}</div></details>", body,
                       EscapeHtml(cell.note));
  }
  return header ? fmt::format("<th scope=\"row\"{}>{}</th>", attribute, body)
                : fmt::format("<td{}>{}</td>", attribute, body);
}

}  // namespace

Cell YesNo(bool value) {
  Cell cell = value ? Cell("yes", Tone::kGood) : Cell("no", Tone::kBad);
  cell.sign = value ? "✓" : "✗";
  return cell;
}

std::string GridToHtml(const Grid& grid, int number) {
  std::string html = fmt::format(
      "<div class=\"table\" id=\"{}\" tabindex=\"0\" role=\"region\" aria-label=\"Table "
      "{}\">\n<table>\n"
      "<caption><b>Table {}.</b> {}</caption>\n<thead><tr>",
      grid.id, number, number, EscapeHtml(grid.caption));
  for (const GridColumn& column : grid.columns) {
    html += fmt::format("<th scope=\"col\"{}>{}</th>", ClassAttribute(KindClass(column.kind), ""),
                        EscapeHtml(column.title));
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : grid.rows) {
    html += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) {
      html += HtmlCell(row[i], grid.columns[i].kind, i == 0);
    }
    html += "</tr>\n";
  }
  html += "</tbody>\n</table>\n";
  if (!grid.footnote.empty()) {
    html += fmt::format("<p class=\"footnote\">{}</p>\n", EscapeHtml(grid.footnote));
  }
  return html + "</div>\n";
}

std::string GridToMarkdown(const Grid& grid) {
  std::string text = fmt::format("**{}**\n\n|", EscapeMarkdown(grid.caption));
  for (const GridColumn& column : grid.columns)
    text += fmt::format(" {} |", EscapeMarkdown(column.title));
  text += "\n|";
  for (const GridColumn& column : grid.columns)
    text += column.kind == ColumnKind::kNumber ? "---:|" : "---|";
  text += '\n';
  for (const auto& row : grid.rows) {
    text += '|';
    for (const Cell& cell : row) text += fmt::format(" {} |", EscapeMarkdown(cell.text));
    text += '\n';
  }
  if (!grid.footnote.empty()) text += fmt::format("\n{}\n", EscapeMarkdown(grid.footnote));
  return text;
}

std::string GridToLatex(const Grid& grid) {
  std::string alignment;
  std::string titles;
  for (const GridColumn& column : grid.columns) {
    alignment += column.kind == ColumnKind::kNumber ? 'r' : 'l';
    if (!titles.empty()) titles += " & ";
    titles += EscapeLatex(column.title);
  }
  std::string text = fmt::format(
      "\\begin{{table}}\n\\centering\n\\caption{{{}}}\n\\label{{tab:{}}}\n\\begin{{tabular}}{{{}}}"
      "\n"
      "\\toprule\n{} \\\\\n\\midrule\n",
      EscapeLatex(grid.caption), grid.id, alignment, titles);
  for (const auto& row : grid.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      text += (i > 0 ? " & " : "") + EscapeLatex(row[i].text);
    }
    text += " \\\\\n";
  }
  text += "\\bottomrule\n\\end{tabular}\n";
  if (!grid.footnote.empty()) {
    text += fmt::format("\\par\\smallskip\\footnotesize {}\n", EscapeLatex(grid.footnote));
  }
  return text + "\\end{table}\n";
}

std::string GridToCsv(const Grid& grid) {
  std::string text;
  for (size_t i = 0; i < grid.columns.size(); ++i) {
    text += (i > 0 ? "," : "") + EscapeCsv(grid.columns[i].title);
  }
  text += '\n';
  for (const auto& row : grid.rows) {
    for (size_t i = 0; i < row.size(); ++i) text += (i > 0 ? "," : "") + EscapeCsv(row[i].text);
    text += '\n';
  }
  return text;
}

}  // namespace szarena::report
