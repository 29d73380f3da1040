// SPDX-License-Identifier: Apache-2.0
#include "csl/lex/lexer.h"

#include <fmt/format.h>

#include <array>
#include <unordered_map>

namespace szarena::csl {
namespace {

struct Word {
  std::string_view text;
  TokenKind kind;
};

constexpr Word kSymbols[] = {
#define SYMBOL(kind, text) {text, TokenKind::k##kind},
#define KEYWORD(kind, text)
#include "csl/lex/token.def"
};

const std::unordered_map<std::string_view, TokenKind>& Keywords() {
  static const std::unordered_map<std::string_view, TokenKind> map = {
#define SYMBOL(kind, text)
#define KEYWORD(kind, text) {text, TokenKind::k##kind},
#include "csl/lex/token.def"
  };
  return map;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c); }

class Lexer {
 public:
  Lexer(const SourceFile& file, DiagSink& diags)
      : text_(file.text), base_(file.base), diags_(diags) {}

  std::vector<Token> Run() {
    tokens_.reserve(text_.size() / 4 + 1);
    while (pos_ < text_.size()) Next();
    start_ = pos_;
    Push(TokenKind::kEof);
    return std::move(tokens_);
  }

 private:
  char At(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  Span SpanFrom(size_t begin) const {
    return {base_ + static_cast<uint32_t>(begin), base_ + static_cast<uint32_t>(pos_)};
  }
  void Push(TokenKind kind) { tokens_.push_back({kind, SpanFrom(start_)}); }

  void Next() {
    start_ = pos_;
    char c = text_[pos_];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++pos_;
    } else if (c == '/' && At(pos_ + 1) == '/') {
      while (pos_ < text_.size() && text_[pos_] != '\n') ++pos_;
    } else if (c == '/' && At(pos_ + 1) == '*') {
      SkipBlockComment();
    } else if (IsNameStart(c)) {
      while (IsNamePart(At(pos_))) ++pos_;
      auto found = Keywords().find(text_.substr(start_, pos_ - start_));
      Push(found == Keywords().end() ? TokenKind::kIdentifier : found->second);
    } else if (IsDigit(c)) {
      Number();
    } else if (c == '@') {
      ++pos_;
      while (IsNamePart(At(pos_))) ++pos_;
      bool named = pos_ > start_ + 1 && IsNameStart(text_[start_ + 1]);
      if (!named) diags_.Report(DiagKind::kInvalidBuiltinName, SpanFrom(start_));
      Push(named ? TokenKind::kBuiltin : TokenKind::kError);
    } else if (c == '"') {
      Quoted('"', TokenKind::kString, DiagKind::kUnterminatedString);
    } else if (c == '\'') {
      Quoted('\'', TokenKind::kChar, DiagKind::kUnterminatedChar);
    } else {
      Symbol();
    }
  }

  // The comment is skipped, so that its text causes no further messages.
  void SkipBlockComment() {
    size_t end = text_.find("*/", pos_ + 2);
    pos_ = end == std::string_view::npos ? text_.size() : end + 2;
    diags_.Report(DiagKind::kBlockComment, Span{base_ + static_cast<uint32_t>(start_),
                                                base_ + static_cast<uint32_t>(start_) + 2});
  }

  // Hex digits with a 'p' behind them: without it `0xff.b` is a field of a number.
  bool IsHexFraction(size_t i) const {
    size_t begin = i;
    while (IsDigit(At(i)) || (At(i) >= 'a' && At(i) <= 'f') || (At(i) >= 'A' && At(i) <= 'F') ||
           At(i) == '_')
      ++i;
    return i > begin && (At(i) == 'p' || At(i) == 'P');
  }

  // Takes everything that touches the number; literal.cpp judges whether it is one.
  void Number() {
    bool hex = text_[pos_] == '0' && (At(pos_ + 1) == 'x' || At(pos_ + 1) == 'X');
    bool is_float = false;
    while (true) {
      char c = At(pos_);
      if (IsNamePart(c)) {
        bool exponent = hex ? (c == 'p' || c == 'P') : (c == 'e' || c == 'E');
        ++pos_;
        if (exponent) {
          is_float = true;
          if (At(pos_) == '+' || At(pos_) == '-') ++pos_;
        }
      } else if (c == '.' && (!is_float || !hex) &&
                 (hex ? IsHexFraction(pos_ + 1) : IsDigit(At(pos_ + 1)))) {
        is_float = true;
        ++pos_;
      } else {
        break;
      }
    }
    Push(is_float ? TokenKind::kFloat : TokenKind::kInt);
  }

  void Quoted(char quote, TokenKind kind, DiagKind unterminated) {
    ++pos_;
    while (pos_ < text_.size() && text_[pos_] != quote && text_[pos_] != '\n') {
      pos_ += text_[pos_] == '\\' && pos_ + 1 < text_.size() && text_[pos_ + 1] != '\n' ? 2 : 1;
    }
    if (At(pos_) == quote && pos_ < text_.size()) {
      ++pos_;
      Push(kind);
    } else {
      diags_.Report(unterminated, SpanFrom(start_));
      Push(TokenKind::kError);
    }
  }

  void Symbol() {
    std::string_view rest = text_.substr(pos_);
    const bool behind_dot = pos_ > 0 && text_[pos_ - 1] == '.';
    for (const Word& symbol : kSymbols) {
      if (behind_dot && symbol.kind == TokenKind::kStarAssign)
        continue;  // `p.*=8` stores through p
      if (rest.starts_with(symbol.text)) {
        pos_ += symbol.text.size();
        Push(symbol.kind);
        return;
      }
    }
    // One message for a run of bytes that are no CSL.
    auto foreign = [](char c) {
      unsigned char u = static_cast<unsigned char>(c);
      return u >= 0x7F || (u < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == '#' ||
             c == '$' || c == '?' || c == '\\' || c == '`';
    };
    while (pos_ < text_.size() && foreign(text_[pos_])) ++pos_;
    unsigned char first = static_cast<unsigned char>(text_[start_]);
    bool printable = first >= 0x20 && first < 0x7F;
    diags_.Report(
        DiagKind::kInvalidByte, SpanFrom(start_),
        printable ? fmt::format("'{}'", static_cast<char>(first)) : fmt::format("0x{:02X}", first),
        first == '?' ? "CSL has no optional types and no '?:'; write 'if (condition) a else b'"
                     : "");
    Push(TokenKind::kError);
  }

  std::string_view text_;
  uint32_t base_;
  DiagSink& diags_;
  size_t pos_ = 0;
  size_t start_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

std::string_view Describe(TokenKind kind) {
  static constexpr std::string_view kTexts[] = {
#define TOKEN(kind, text) text,
#include "csl/lex/token.def"
  };
  return kTexts[static_cast<size_t>(kind)];
}

bool IsKeyword(std::string_view word) { return Keywords().count(word) > 0; }

std::vector<Token> Lex(const SourceMap& sources, SourceId source, DiagSink& diags) {
  return Lexer(sources.File(source), diags).Run();
}

}  // namespace szarena::csl
