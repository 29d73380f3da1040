// SPDX-License-Identifier: Apache-2.0
// Looks at one code point after the other.
#include "term/printable.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

namespace szarena::term {
namespace {

struct CodePoint {
  uint32_t value;
  size_t bytes;
  bool whole;  // false: a byte that begins no code point
};

CodePoint Next(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(text[i])); };
  const uint32_t first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (bytes == 0 || first > 0xF4 || bytes > text.size()) return {first, 1, false};
  uint32_t value = first & (0xFFU >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {first, 1, false};
    value = value << 6U | (byte(i) & 0x3FU);
  }
  return {value, bytes, true};
}

bool Steers(uint32_t c) {
  if (c == '\n' || c == '\t') return false;
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x061C || c == 0x200E || c == 0x200F ||
         (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint c = Next(text);
    if (!c.whole || Steers(c.value)) {
      out += fmt::format("\\u{{{:x}}}", c.value);
    } else {
      out += text.substr(0, c.bytes);
    }
    text.remove_prefix(c.bytes);
  }
  return out;
}

}  // namespace szarena::term
