// SPDX-License-Identifier: Apache-2.0
// The parser's state and all its productions; each .cpp file holds one family.
//
// Recovery: at most one message for a token. A production that cannot go on reports and returns an
// ErrorExpr without taking the token; statements and declarations that had an error skip to a place
// where the next one can start.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "csl/lex/lexer.h"
#include "csl/parse/parser.h"

namespace szarena::csl {

class Parser {
 public:
  Parser(const SourceMap& sources, SourceId source, NameTable& names, DiagSink& diags);
  Ast Run();

 private:
  // What may follow an expression, decided by its surroundings.
  enum class Braces : bool { kInit, kBlock };  // does '{' after an operand start its initialiser?

  // ---- parser.cpp: tokens and recovery
  const Token& Peek(size_t ahead = 0) const {
    return tokens_[std::min(pos_ + ahead, tokens_.size() - 1)];
  }
  bool At(TokenKind kind, size_t ahead = 0) const { return Peek(ahead).kind == kind; }
  bool AtWord(std::string_view word, size_t ahead = 0) const;
  bool AtEnd() const { return At(TokenKind::kEof); }
  Span Take();                  // the current token's span; moves on
  bool Accept(TokenKind kind);  // takes the token if it is there
  bool Expect(TokenKind kind);  // takes it or reports
  Name ExpectName(Span* span = nullptr);
  std::string_view Text(Span span) const { return sources_.Text(span); }
  std::string Found() const;  // "'+'", "name 'foo'", …: the current token for messages
  Span From(Span begin) const { return {begin.begin, std::max(last_end_, begin.end)}; }
  template <typename... Args>
  void Fault(DiagKind kind, Span span, const Args&... args);
  void ExpectedHere(DiagKind kind);
  std::string_view ForeignRemedy() const;
  void ExpectSemicolon(std::string_view after);
  bool AfterEnd() const;  // did the last token end a statement or declaration?
  void SkipStatement();
  void SkipDeclaration();
  bool StartsDeclaration(size_t ahead = 0) const;
  void CheckDepth();

  class Nest {  // one level of nesting; past the limit the rest of the file is given up
   public:
    explicit Nest(Parser& parser);
    ~Nest() { --parser_.nesting_; }
    Nest(const Nest&) = delete;
    Nest& operator=(const Nest&) = delete;
    bool TooDeep() const { return parser_.gave_up_; }

   private:
    Parser& parser_;
  };

  ExprId Error(Span span) { return ast_.Add(ErrorExpr{}, span); }
  ExprId ErrorHere() { return Error({Peek().span.begin, Peek().span.begin}); }

  // ---- parse_decl.cpp
  void TopLevel();
  void LegacyColor();
  DeclId Variable(Span begin, Linkage linkage, bool is_comptime, bool is_local);
  DeclId Function(Span begin, Linkage linkage, bool is_inline);
  List<Param> Parameters();
  Attributes ParseAttributes(Attributes attributes);

  // ---- parse_stmt.cpp
  ExprId Block(Name label, Span begin);
  ExprId Statement();
  ExprId BranchOrBody(bool as_statement);
  ExprId AssignOrExpr();
  ExprId If(bool as_statement);
  ExprId Switch();
  ExprId While(Span begin, Name label, bool is_inline);
  ExprId For(Span begin, Name label, bool is_inline);
  ExprId Loop(Span begin, Name label);
  ExprId Jump();
  bool EndsWithBlock(ExprId id) const;

  // ---- parse_expr.cpp
  ExprId Expression(Braces braces = Braces::kInit) { return Binary(0, braces); }
  ExprId Binary(int min_precedence, Braces braces);
  const struct Foreign* ForeignHere() const;
  ExprId Prefix(Braces braces);
  ExprId Postfix(ExprId operand, Span begin, Braces braces);
  ExprId Primary();
  ExprId Anonymous();
  ExprId Initializer(ExprId type, Span begin);
  ExprId TensorAccess();
  ExprId Asm();
  List<AsmOperand> AsmOperands(bool clobbers);
  List<ExprId> Arguments(TokenKind close);
  bool CanStartInitializer(ExprId operand) const;
  ExprId Labelled();

  // ---- parse_type.cpp
  ExprId Type(Braces braces = Braces::kBlock);
  ExprId PointerOrArray(Braces braces);
  ExprId FnType();
  ExprId Container();

  const SourceMap& sources_;
  NameTable& names_;
  DiagSink& diags_;
  std::vector<Token> tokens_;
  Ast ast_;
  size_t pos_ = 0;
  uint32_t last_end_ = 0;         // end of the last token taken
  size_t last_fault_ = SIZE_MAX;  // token index of the last message
  size_t faults_ = 0;
  int nesting_ = 0;
  bool gave_up_ = false;
};

template <typename... Args>
void Parser::Fault(DiagKind kind, Span span, const Args&... args) {
  ++faults_;
  if (gave_up_ || last_fault_ == pos_) return;
  last_fault_ = pos_;
  diags_.Report(kind, span, args...);
}

}  // namespace szarena::csl
