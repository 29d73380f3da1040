// SPDX-License-Identifier: Apache-2.0
// Nearly valid programs.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "program.h"

namespace szarena::csl_fuzz {
namespace {

struct Token {
  size_t begin = 0, end = 0;
};

std::vector<Token> Split(const std::string& text) {
  std::vector<Token> tokens;
  const auto word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    if (std::isspace(static_cast<unsigned char>(text[i])) != 0) {
      ++i;
      continue;
    }
    if (text[i] == '@') ++i;
    if (i < text.size() && word(text[i])) {
      while (i < text.size() &&
             (word(text[i]) ||
              (text[i] == '.' && std::isdigit(static_cast<unsigned char>(text[begin])) != 0)))
        ++i;
    } else if (text[i] == '"') {
      ++i;
      while (i < text.size() && text[i] != '"' && text[i] != '\n') ++i;
      if (i < text.size()) ++i;
    } else {
      ++i;
    }
    tokens.push_back({begin, i});
  }
  return tokens;
}

std::string Of(const std::string& text, const Token& t) {
  return text.substr(t.begin, t.end - t.begin);
}
bool IsNumber(const std::string& t) { return std::isdigit(static_cast<unsigned char>(t[0])) != 0; }
bool IsName(const std::string& t) {
  return std::isalpha(static_cast<unsigned char>(t[0])) != 0 || t[0] == '_';
}

// The span of one argument of a call: from a token after ( or , to the one before , or ).
bool Argument(const std::string& text, const std::vector<Token>& tokens, size_t at, Token& out) {
  size_t begin = at, end = at;
  int depth = 0;
  while (begin > 0) {
    const char c = text[tokens[begin - 1].begin];
    if (c == ')' || c == ']' || c == '}') ++depth;
    if (c == '(' || c == '[' || c == '{') {
      if (depth == 0) break;
      --depth;
    }
    if (depth == 0 && (c == ',' || c == ';')) break;
    --begin;
  }
  depth = 0;
  while (end < tokens.size()) {
    const char c = text[tokens[end].begin];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') {
      if (depth == 0) break;
      --depth;
    }
    if (depth == 0 && (c == ',' || c == ';')) break;
    ++end;
  }
  if (end <= begin) return false;
  out = {tokens[begin].begin, tokens[end - 1].end};
  return true;
}

}  // namespace

Program Mutate(Program program, Choices& c, std::string* what) {
  static const std::vector<std::string> kNumbers = {
      "0",          "1",
      "2",          "7",
      "8",          "15",
      "23",         "24",
      "29",         "31",
      "32",         "63",
      "64",         "255",
      "256",        "32767",
      "32768",      "65535",
      "65536",      "100000",
      "4294967296", "170141183460469231731687303715884105727",
      "1.5",        "-1",
      "1e300"};
  static const std::vector<std::string> kTypes = {"i16",
                                                  "u16",
                                                  "f16",
                                                  "f32",
                                                  "i8",
                                                  "u64",
                                                  "bool",
                                                  "void",
                                                  "type",
                                                  "comptime_int",
                                                  "comptime_struct",
                                                  "color",
                                                  "local_task_id",
                                                  "[3]i16",
                                                  "[*]f32",
                                                  "*const u16",
                                                  "mem1d_dsd",
                                                  "fabin_dsd",
                                                  "fn () void",
                                                  "anytype",
                                                  "u1",
                                                  "i40"};
  static const std::vector<std::string> kSyntax = {
      "(",      ")",   "{",    "}",        "[",        "]",         ";",    ",",         ".",
      "=",      "if",  "else", "comptime", "inline",   "const",     "var",  "fn",        "task",
      "return", "and", "!",    "-",        "&",        "=>",        ".{",   "undefined", "switch",
      "while",  "for", "|",    "@as",      "@get_dsd", "@activate", "break"};
  // Programs that mostly compile, and then lead wavelets astray, wait for ever or disagree on
  // lengths.
  static const std::vector<std::vector<std::string>> kAlike = {
      {"RAMP", "EAST", "WEST", "NORTH", "SOUTH"},
      {"true", "false"},
      {"@activate", "@block", "@unblock"},
      {"@mov16", "@add16", "@fmovh", "@mov32", "@fmovs"},
      {"@get_input_queue", "@get_output_queue"},
      {"i16", "u16"},
      {"SWITCH_ADV", "SWITCH_RST", "TEARDOWN", "NOP"},
      {"+", "-", "*", "/"},
      {"and", "or"}};
  const bool quiet = c.Chance(50);
  const int times = c.Between(1, 3);
  for (int n = 0; n < times; ++n) {
    File& file = program.files[c.Below(static_cast<uint32_t>(program.files.size()))];
    std::string& text = file.text;
    const std::vector<Token> tokens = Split(text);
    if (tokens.empty()) continue;
    const size_t at = c.Below(static_cast<uint32_t>(tokens.size()));
    const Token t = tokens[at];
    const std::string old = Of(text, t);
    // The next token of a kind, from `at` on.
    const auto next = [&](auto is) {
      for (size_t k = 0; k < tokens.size(); ++k) {
        const size_t i = (at + k) % tokens.size();
        if (is(Of(text, tokens[i]))) return i;
      }
      return at;
    };
    const auto replace = [&](size_t i, const std::string& by) {
      text.replace(tokens[i].begin, tokens[i].end - tokens[i].begin, by);
    };
    std::string how;
    const auto alike = [&](const std::string& s) -> const std::vector<std::string>* {
      for (const auto& family : kAlike) {
        if (std::find(family.begin(), family.end(), s) != family.end()) return &family;
      }
      return nullptr;
    };
    if (quiet && c.Chance(60)) {
      how = "token replaced by its like";
      const size_t i = next([&](const std::string& s) { return alike(s) != nullptr; });
      if (const auto* family = alike(Of(text, tokens[i]))) replace(i, c.Pick(*family));
    } else if (quiet) {
      how = "number changed a little";
      const size_t i = next(IsNumber);
      const std::string digits = Of(text, tokens[i]);
      if (digits.size() < 6 &&
          std::all_of(digits.begin(), digits.end(), [](char d) { return d >= '0' && d <= '9'; }))
        replace(i, std::to_string(std::max(0, std::stoi(digits) + c.Between(-2, 2))));
    } else
      switch (c.Below(14)) {
        case 0:
          how = "token deleted", replace(at, "");
          break;
        case 1:
          how = "token doubled", text.insert(t.end, " " + old);
          break;
        case 2: {
          how = "tokens exchanged";
          const size_t other = c.Below(static_cast<uint32_t>(tokens.size()));
          const std::string a = Of(text, tokens[std::min(at, other)]),
                            b = Of(text, tokens[std::max(at, other)]);
          replace(std::max(at, other), a);
          replace(std::min(at, other), b);
          break;
        }
        case 3:
        case 4:
          how = "number replaced", replace(next(IsNumber), c.Pick(kNumbers));
          break;
        case 5:
        case 6: {
          how = "name replaced";
          const size_t one = next(IsName);
          const size_t from = c.Below(static_cast<uint32_t>(tokens.size()));
          std::string name = "x";
          for (size_t k = 0; k < tokens.size(); ++k) {
            name = Of(text, tokens[(from + k) % tokens.size()]);
            if (IsName(name)) break;
          }
          replace(one, name);
          break;
        }
        case 7:
          how = "type replaced", replace(next([](const std::string& s) {
                                           return s == "i16" || s == "u16" || s == "f32" ||
                                                  s == "f16" || s == "i32" || s == "u32" ||
                                                  s == "void" || s == "bool";
                                         }),
                                         c.Pick(kTypes));
          break;
        case 8: {
          how = "argument dropped";
          Token span;
          if (Argument(text, tokens, at, span)) text.erase(span.begin, span.end - span.begin);
          break;
        }
        case 9: {
          how = "argument doubled";
          Token span;
          if (Argument(text, tokens, at, span))
            text.insert(span.end, ", " + text.substr(span.begin, span.end - span.begin));
          break;
        }
        case 10: {
          how = "argument replaced by another";
          Token a, b;
          const size_t other = c.Below(static_cast<uint32_t>(tokens.size()));
          if (Argument(text, tokens, at, a) && Argument(text, tokens, other, b)) {
            const std::string by = text.substr(b.begin, std::min<size_t>(b.end - b.begin, 200));
            text.replace(a.begin, a.end - a.begin, by);
          }
          break;
        }
        case 11:
        case 12: {
          const size_t begin =
              text.rfind('\n', t.begin) == std::string::npos ? 0 : text.rfind('\n', t.begin) + 1;
          const size_t end = std::min(text.find('\n', t.begin), text.size());
          const std::string line = text.substr(begin, end - begin) + "\n";
          if (c.Chance(50))
            how = "line dropped", text.erase(begin, end - begin);
          else
            how = "line doubled", text.insert(begin, line);
          break;
        }
        default:
          how = "token replaced", replace(at, c.Pick(kSyntax));
          break;
      }
    if (what != nullptr)
      *what += fmt::format("{}{} in {}", what->empty() ? "" : ", ", how, file.name);
  }
  return program;
}

}  // namespace szarena::csl_fuzz
