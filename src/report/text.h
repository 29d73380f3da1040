// SPDX-License-Identifier: Apache-2.0
// Figures as text, and text made safe for each output.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace szarena::report {

inline constexpr std::string_view kNone = "—";  // a figure that does not exist; never 0

// Three significant digits, no exponent in the usual range: "0.0843", "0.446", "12.3", "134".
std::string Significant(double value);
std::string Significant(const std::optional<double>& value);  // kNone where absent
// "2.31×"
std::string Times(const std::optional<double>& value);

// Every Escape also shows what steers a terminal or turns the direction of writing as
// term::Printable does: "\u{1b}".
//
// Escapes the five characters that mean something in HTML and XML; C0 characters and DEL become
// U+FFFD.
std::string EscapeHtml(std::string_view text);
// Escapes LaTeX's special characters; known Unicode signs become commands.
std::string EscapeLatex(std::string_view given);
// Escapes what would break a Markdown table cell.
std::string EscapeMarkdown(std::string_view text);
// Quotes where needed (RFC 4180). A leading =, +, -, @ of a text is kept from being a formula.
std::string EscapeCsv(std::string_view text);

// "szp-cpu-ladder-1": letters, digits and '-' only, for ids and file names.
std::string Slug(std::string_view text);

}  // namespace szarena::report
