// SPDX-License-Identifier: Apache-2.0
// Tokens, recovery and the tree's depth limit.
#include "csl/parse/parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "csl/parse/parser_impl.h"
#include "csl/syntax/children.h"

namespace szarena::csl {

Parser::Parser(const SourceMap& sources, SourceId source, NameTable& names, DiagSink& diags)
    : sources_(sources),
      names_(names),
      diags_(diags),
      tokens_(Lex(sources, source, diags)),
      ast_(source) {}

bool Parser::AtWord(std::string_view word, size_t ahead) const {
  return At(TokenKind::kIdentifier, ahead) && Text(Peek(ahead).span) == word;
}

Span Parser::Take() {
  Span span = Peek().span;
  last_end_ = span.end;
  if (!AtEnd()) ++pos_;
  return span;
}

bool Parser::Accept(TokenKind kind) {
  if (!At(kind)) return false;
  Take();
  return true;
}

std::string Parser::Found() const {
  const Token& token = Peek();
  switch (token.kind) {
    case TokenKind::kIdentifier:
      return fmt::format("name '{}'", Text(token.span));
    case TokenKind::kBuiltin:
      return fmt::format("'{}'", Text(token.span));
    default:
      return std::string(Describe(token.kind));
  }
}

void Parser::ExpectedHere(DiagKind kind) {
  // An invalid token was reported by the lexer already.
  if (At(TokenKind::kError)) {
    ++faults_;
    last_fault_ = pos_;
    return;
  }
  std::string_view remedy = ForeignRemedy();
  if (remedy.empty() && kind == DiagKind::kExpectedDeclaration)
    remedy =
        "at the top level stand var, const, param, fn, task, comptime blocks and the layout block";
  Fault(kind, Peek().span, Found(), remedy);
}

// What to write where the tokens here are those of another language; empty where they are none that
// is known.
std::string_view Parser::ForeignRemedy() const {
  const bool after_dot = pos_ > 0 && tokens_[pos_ - 1].kind == TokenKind::kDot;
  if (after_dot && At(TokenKind::kDot))
    return "CSL has no ranges and no slices: loop with 'for (@range(i16, n)) |i|', pass a part of "
           "an array as a pointer '&a[i]' or a DSD";
  if (after_dot && At(TokenKind::kLeftBracket))
    return "an array is written '[3]f32{ 1.0, 2.0, 3.0 }'";
  if (At(TokenKind::kVar))
    return "a loop is written 'for (@range(i16, n)) |i| { … }' or 'while (i < n) : (i += 1) { … }'";
  if (!At(TokenKind::kIdentifier)) return {};
  const std::string_view text = Text(Peek().span);
  if (text == "pub") return "everything at the top level of a file is public: leave 'pub' out";
  if (text == "import" || text == "include" || text == "from")
    return "write 'const name = @import_module(\"file.csl\");'";
  if (text == "void" || text == "int" || text == "float" || text == "double" || text == "static")
    return "write 'fn name(a: i16) void { … }' or 'var name: f32 = 0.0;'";
  if (text == "let" || text == "def" || text == "func" || text == "function")
    return "variables are declared with 'var' or 'const', functions with 'fn'";
  return {};
}

bool Parser::Expect(TokenKind kind) {
  if (Accept(kind)) return true;
  if (At(TokenKind::kError)) {
    ExpectedHere(DiagKind::kExpectedExpression);
  } else {
    Fault(DiagKind::kExpectedToken, Peek().span, Describe(kind), Found(), ForeignRemedy());
  }
  return false;
}

Name Parser::ExpectName(Span* span) {
  if (span != nullptr) *span = Peek().span;
  if (At(TokenKind::kIdentifier)) return names_.Intern(Text(Take()));
  if (IsKeyword(Text(Peek().span))) {
    Fault(DiagKind::kReservedWord, Peek().span, Text(Peek().span));
    return names_.Intern(Text(Take()));
  }
  Expect(TokenKind::kIdentifier);
  return {};
}

// The message stands behind the last token, where the semicolon belongs. Before a new line it
// counts as given.
void Parser::ExpectSemicolon(std::string_view after) {
  if (Accept(TokenKind::kSemicolon)) return;
  if (pos_ > 0 && tokens_[pos_ - 1].kind == TokenKind::kError)
    return;  // a string without end took it
  if (At(TokenKind::kError)) {
    ++faults_;
    last_fault_ = pos_;
    return;
  }
  size_t faults = faults_;
  Fault(DiagKind::kMissingSemicolon, Span{last_end_ - 1, last_end_}, after);
  if (sources_.LineOf(Peek().span.begin) != sources_.LineOf(last_end_ - 1)) faults_ = faults;
}

bool Parser::StartsDeclaration(size_t ahead) const {
  switch (Peek(ahead).kind) {
    case TokenKind::kFn:
    case TokenKind::kTask:
      return !At(TokenKind::kLeftParen, ahead + 1);
    case TokenKind::kVar:
    case TokenKind::kConst:
    case TokenKind::kParam:
    case TokenKind::kInline:
    case TokenKind::kExport:
    case TokenKind::kExtern:
    case TokenKind::kComptime:
      return true;
    case TokenKind::kIdentifier:
      return (AtWord("layout", ahead) && At(TokenKind::kLeftBrace, ahead + 1)) ||
             (AtWord("color", ahead) && At(TokenKind::kIdentifier, ahead + 1));
    default:
      return false;
  }
}

bool Parser::AfterEnd() const {
  return pos_ == 0 || tokens_[pos_ - 1].kind == TokenKind::kSemicolon ||
         tokens_[pos_ - 1].kind == TokenKind::kRightBrace;
}

// Skips to behind the ';' or '}' that ends the statement, or to a keyword that starts the next one.
void Parser::SkipStatement() {
  int depth = 0;
  while (!AtEnd()) {
    switch (Peek().kind) {
      case TokenKind::kLeftBrace:
      case TokenKind::kLeftParen:
      case TokenKind::kLeftBracket:
        ++depth;
        break;
      case TokenKind::kRightParen:
      case TokenKind::kRightBracket:
        depth = std::max(0, depth - 1);
        break;
      case TokenKind::kRightBrace:
        if (depth == 0) return;  // ends the enclosing block
        if (--depth == 0) {
          Take();
          Accept(TokenKind::kSemicolon);
          return;
        }
        break;
      case TokenKind::kSemicolon:
        if (depth == 0) {
          Take();
          return;
        }
        break;
      case TokenKind::kVar:
      case TokenKind::kConst:
      case TokenKind::kWhile:
      case TokenKind::kFor:
      case TokenKind::kReturn:
      case TokenKind::kBreak:
      case TokenKind::kContinue:
      case TokenKind::kSwitch:
      case TokenKind::kIf:
        if (depth == 0 && pos_ != last_fault_) return;
        break;
      case TokenKind::kFn:
      case TokenKind::kTask:
      case TokenKind::kParam:
        // A name behind it: surely a declaration of the next part of the file.
        if (At(TokenKind::kIdentifier, 1)) return;
        break;
      default:
        break;
    }
    Take();
  }
}

// Skips to the next token that starts a declaration outside all brackets.
void Parser::SkipDeclaration() {
  int depth = 0;
  size_t start = pos_;
  while (!AtEnd()) {
    if (depth == 0 && pos_ > start && StartsDeclaration()) return;
    switch (Peek().kind) {
      case TokenKind::kLeftBrace:
        ++depth;
        break;
      case TokenKind::kRightBrace:
        depth = std::max(0, depth - 1);
        break;
      case TokenKind::kFn:
      case TokenKind::kTask:
      case TokenKind::kParam:
        if (At(TokenKind::kIdentifier, 1) && pos_ > start) return;
        break;
      default:
        break;
    }
    Take();
  }
}

Parser::Nest::Nest(Parser& parser) : parser_(parser) {
  if (++parser_.nesting_ <= kMaxNesting || parser_.gave_up_) return;
  parser_.diags_.Report(DiagKind::kNestedTooDeep, parser_.Peek().span, kMaxNesting);
  ++parser_.faults_;
  parser_.gave_up_ = true;
  parser_.pos_ = parser_.tokens_.size() - 1;
}

// Operator and call chains grow deep trees without nesting; children come before parents in the
// arena.
void Parser::CheckDepth() {
  std::vector<uint16_t> height(ast_.expr_count(), 1);
  for (uint32_t i = 0; i < height.size(); ++i) {
    ForEachChild(ast_, ExprId{i}, [&](ExprId child) {
      height[i] = std::max<uint16_t>(height[i], static_cast<uint16_t>(height[child.index] + 1));
    });
    if (height[i] > kMaxTreeDepth) {
      diags_.Report(DiagKind::kNestedTooDeep, ast_.SpanOf(ExprId{i}), kMaxTreeDepth);
      ast_ = Ast(ast_.source());
      return;
    }
  }
}

Ast Parser::Run() {
  while (!AtEnd()) {
    size_t before = pos_;
    TopLevel();
    if (pos_ == before) Take();
  }
  CheckDepth();
  return std::move(ast_);
}

Ast Parse(const SourceMap& sources, SourceId source, NameTable& names, DiagSink& diags) {
  return Parser(sources, source, names, diags).Run();
}

}  // namespace szarena::csl
