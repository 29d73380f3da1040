// SPDX-License-Identifier: Apache-2.0
// Formatting and escaping.
#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "term/printable.h"

namespace szarena::report {

std::string Significant(double value) {
  if (!std::isfinite(value)) return std::string(kNone);
  if (value == 0) return "0";
  const double magnitude = std::fabs(value);
  if (magnitude >= 1e6 || magnitude < 1e-4) return fmt::format("{:.2e}", value);
  int decimals = std::max(0, 2 - static_cast<int>(std::floor(std::log10(magnitude))));
  std::string text = fmt::format("{:.{}f}", value, decimals);
  // 9.996 rounds to 10.00: one digit too many.
  if (decimals > 0 && std::fabs(std::stod(text)) >= std::pow(10.0, 3 - decimals)) {
    text = fmt::format("{:.{}f}", value, --decimals);
  }
  return text;
}

std::string Significant(const std::optional<double>& value) {
  return value ? Significant(*value) : std::string(kNone);
}

std::string Times(const std::optional<double>& value) {
  return value ? Significant(*value) + "×" : std::string(kNone);
}

std::string EscapeHtml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7F) {
          out += "\xEF\xBF\xBD";
        } else {
          out += c;
        }
    }
  }
  return term::Printable(out);
}

std::string EscapeLatex(std::string_view given) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 20> kSigns = {{
      {"\\", "\\textbackslash{}"},
      {"&", "\\&"},
      {"%", "\\%"},
      {"$", "\\$"},
      {"#", "\\#"},
      {"_", "\\_"},
      {"{", "\\{"},
      {"}", "\\}"},
      {"~", "\\textasciitilde{}"},
      {"^", "\\textasciicircum{}"},
      {"<", "\\textless{}"},
      {">", "\\textgreater{}"},
      {"—", "---"},
      {"–", "--"},
      {"×", "$\\times$"},
      {"·", "$\\cdot$"},
      {"≤", "$\\leq$"},
      {"≥", "$\\geq$"},
      {"\n", " "},
      {"→", "$\\rightarrow$"},
  }};
  const std::string shown = term::Printable(given);
  std::string_view text = shown;
  std::string out;
  while (!text.empty()) {
    const auto sign = std::find_if(kSigns.begin(), kSigns.end(), [&](const auto& s) {
      return text.substr(0, s.first.size()) == s.first;
    });
    if (sign == kSigns.end()) {
      out += text.front();
      text.remove_prefix(1);
    } else {
      out += sign->second;
      text.remove_prefix(sign->first.size());
    }
  }
  return out;
}

std::string EscapeMarkdown(std::string_view text) {
  std::string out;
  for (const char c : term::Printable(text)) {
    if (c == '<') {
      out += "&lt;";
      continue;
    }
    if (std::string_view("|\\`*_[").find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string EscapeCsv(std::string_view text) {
  std::string body;
  for (const char c : text) {  // no control characters for whoever prints the file
    const bool control =
        (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7F;
    body += control ? fmt::format("\\x{:02x}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  body = term::Printable(body);
  const bool formula =
      !body.empty() && std::string_view("=+-@\t").find(body.front()) != std::string_view::npos;
  const bool number =
      !body.empty() && body.find_first_not_of("+-0123456789.eE") == std::string::npos;
  if (formula && !number) body.insert(0, "'");
  if (body.find_first_of(",\"\n\r") == std::string::npos) return body;
  std::string out = "\"";
  for (const char c : body) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string Slug(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (plain) {
      out += c;
    } else if (c >= 'A' && c <= 'Z') {
      out += static_cast<char>(c - 'A' + 'a');
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

}  // namespace szarena::report
