// SPDX-License-Identifier: Apache-2.0
// ANSI styles.
#include "term/style.h"

#include <unistd.h>

#include <cstdlib>

namespace szarena::term {
namespace {

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody calls setenv
  return value ? value : "";
}

const char* Code(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kBold:
      return "\x1b[1m";
    case Style::kDim:
      return "\x1b[2m";
    case Style::kGood:
      return "\x1b[32m";
    case Style::kBad:
      return "\x1b[31m";
    case Style::kWarning:
      return "\x1b[33m";
  }
  return "";
}

}  // namespace

bool IsTerminal(std::FILE* file) { return isatty(fileno(file)) == 1; }

bool WantsColour(std::FILE* file) {
  return IsTerminal(file) && Environment("NO_COLOR").empty() && Environment("TERM") != "dumb";
}

std::string Paint(std::string_view text, Style style, bool colour) {
  if (!colour || style == Style::kPlain) return std::string(text);
  return Code(style) + std::string(text) + "\x1b[0m";
}

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = text.find('m', i);
      if (i == std::string_view::npos) break;
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      ++width;
    }
  }
  return width;
}

}  // namespace szarena::term
