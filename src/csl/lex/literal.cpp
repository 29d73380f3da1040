// SPDX-License-Identifier: Apache-2.0
#include "csl/lex/literal.h"

#include <charconv>

namespace szarena::csl {
namespace {

int DigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

bool IsHex(std::string_view text) { return text.starts_with("0x") || text.starts_with("0X"); }

}  // namespace

UInt128 ParseInt(std::string_view text, Span span, DiagSink& diags) {
  std::string_view digits = text;
  int base = 10;
  if (IsHex(text))
    base = 16;
  else if (text.starts_with("0b") || text.starts_with("0B"))
    base = 2;
  else if (text.starts_with("0o") || text.starts_with("0O"))
    base = 8;
  if (base != 10) digits.remove_prefix(2);
  UInt128 value = 0;
  bool valid = false, overflow = false, last_was_digit = false;
  for (char c : digits) {
    if (c == '_' && last_was_digit) {
      last_was_digit = false;
      continue;
    }
    int digit = DigitValue(c);
    last_was_digit = valid = digit < base;
    if (!valid) break;
    UInt128 next = value * static_cast<unsigned>(base) + static_cast<unsigned>(digit);
    overflow |= value > (~UInt128{0} - static_cast<unsigned>(digit)) / static_cast<unsigned>(base);
    value = next;
  }
  if (!valid || !last_was_digit) {
    diags.Report(DiagKind::kInvalidNumber, span, text);
    return 0;
  }
  if (overflow) {
    diags.Report(DiagKind::kIntegerTooLarge, span, text);
    return 0;
  }
  return value;
}

double ParseFloat(std::string_view text, Span span, DiagSink& diags) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    bool between = i > 0 && i + 1 < text.size() && DigitValue(text[i - 1]) < 16 &&
                   DigitValue(text[i + 1]) < 16;
    if (text[i] != '_' || !between) plain += text[i];
  }
  bool hex = IsHex(plain);
  const char* begin = plain.data() + (hex ? 2 : 0);
  const char* end = plain.data() + plain.size();
  double value = 0;
  auto [stop, error] =
      std::from_chars(begin, end, value, hex ? std::chars_format::hex : std::chars_format::general);
  if (error != std::errc() || stop != end) {
    diags.Report(DiagKind::kInvalidNumber, span, text);
    return 0;
  }
  return value;
}

std::string ParseQuoted(std::string_view text, Span span, DiagSink& diags) {
  std::string bytes;
  std::string_view body = text.substr(1, text.size() - 2);
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\') {
      bytes += body[i];
      continue;
    }
    size_t escape = i++;
    char c = i < body.size() ? body[i] : '\0';
    switch (c) {
      case 'n':
        bytes += '\n';
        continue;
      case 'r':
        bytes += '\r';
        continue;
      case 't':
        bytes += '\t';
        continue;
      case '0':
        bytes += '\0';
        continue;
      case '\\':
      case '\'':
      case '"':
        bytes += c;
        continue;
      case 'x':
        if (i + 2 < body.size() && DigitValue(body[i + 1]) < 16 && DigitValue(body[i + 2]) < 16) {
          bytes += static_cast<char>(DigitValue(body[i + 1]) * 16 + DigitValue(body[i + 2]));
          i += 2;
          continue;
        }
        break;
      default:
        break;
    }
    Span place{span.begin + 1 + static_cast<uint32_t>(escape),
               span.begin + 2 + static_cast<uint32_t>(i)};
    place.end = std::min(place.end, span.end - 1);
    diags.Report(DiagKind::kInvalidEscape, place, body.substr(escape, 2));
  }
  return bytes;
}

}  // namespace szarena::csl
