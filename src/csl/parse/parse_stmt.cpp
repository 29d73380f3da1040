// SPDX-License-Identifier: Apache-2.0
// Blocks, statements and control flow.
#include <optional>

#include "csl/parse/parser_impl.h"

namespace szarena::csl {
namespace {

std::optional<AssignOp> AssignOpOf(TokenKind kind) {
  switch (kind) {
    case TokenKind::kAssign:
      return AssignOp::kPlain;
    case TokenKind::kPlusAssign:
      return AssignOp::kAdd;
    case TokenKind::kMinusAssign:
      return AssignOp::kSub;
    case TokenKind::kStarAssign:
      return AssignOp::kMul;
    case TokenKind::kSlashAssign:
      return AssignOp::kDiv;
    case TokenKind::kPercentAssign:
      return AssignOp::kMod;
    case TokenKind::kShlAssign:
      return AssignOp::kShl;
    case TokenKind::kShrAssign:
      return AssignOp::kShr;
    case TokenKind::kAmpAssign:
      return AssignOp::kBitAnd;
    case TokenKind::kPipeAssign:
      return AssignOp::kBitOr;
    case TokenKind::kCaretAssign:
      return AssignOp::kBitXor;
    default:
      return std::nullopt;
  }
}

}  // namespace

ExprId Parser::Block(Name label, Span begin) {
  Nest nest(*this);
  if (nest.TooDeep() || !Expect(TokenKind::kLeftBrace)) return ErrorHere();
  std::vector<ExprId> statements;
  while (!At(TokenKind::kRightBrace) && !AtEnd()) {
    if (Accept(TokenKind::kSemicolon)) continue;
    // A declaration that cannot be local: the closing brace of this block is missing.
    bool next_part = (At(TokenKind::kFn) || At(TokenKind::kTask)) && At(TokenKind::kIdentifier, 1);
    if (next_part || (At(TokenKind::kExport) && nesting_ > 0)) break;
    size_t before = pos_, faults = faults_;
    statements.push_back(Statement());
    if (faults_ != faults && !(pos_ > before && AfterEnd())) SkipStatement();
    if (pos_ == before) Take();
  }
  Expect(TokenKind::kRightBrace);
  return ast_.Add(BlockExpr{label, ast_.AddList(statements)}, From(begin));
}

ExprId Parser::Statement() {
  Span begin = Peek().span;
  switch (Peek().kind) {
    case TokenKind::kVar:
    case TokenKind::kConst:
    case TokenKind::kParam: {
      DeclId decl = Variable(begin, Linkage::kNone, false, true);
      return ast_.Add(DeclExpr{decl}, From(begin));
    }
    case TokenKind::kComptime:
      if (At(TokenKind::kVar, 1) || At(TokenKind::kConst, 1)) {
        Take();
        DeclId decl = Variable(begin, Linkage::kNone, true, true);
        return ast_.Add(DeclExpr{decl}, From(begin));
      }
      if (At(TokenKind::kLeftBrace, 1)) {
        Take();
        ExprId block = Block({}, Peek().span);
        return ast_.Add(ComptimeExpr{block}, From(begin));
      }
      break;
    default:
      break;
  }
  size_t faults = faults_;
  ExprId statement = BranchOrBody(true);
  if (!EndsWithBlock(statement)) {
    if (faults_ == faults)
      ExpectSemicolon("the statement");
    else
      Accept(TokenKind::kSemicolon);
  }
  return statement;
}

// One statement without its semicolon. In a value position (`as_statement` false) it is an
// expression that may be a jump or a block, as in `const x = if (c) 1 else return;`.
ExprId Parser::BranchOrBody(bool as_statement) {
  Nest nest(*this);
  if (nest.TooDeep()) return ErrorHere();
  Span begin = Peek().span;
  switch (Peek().kind) {
    case TokenKind::kLeftBrace:
      return Block({}, begin);
    case TokenKind::kIf:
      if (as_statement) return If(true);
      break;
    case TokenKind::kSwitch:
      if (as_statement) return Switch();
      break;
    case TokenKind::kWhile:
    case TokenKind::kFor:
      return Loop(begin, {});
    case TokenKind::kInline:
      if (At(TokenKind::kWhile, 1) || At(TokenKind::kFor, 1)) return Loop(begin, {});
      break;
    case TokenKind::kReturn:
    case TokenKind::kBreak:
    case TokenKind::kContinue:
      return Jump();
    case TokenKind::kIdentifier:
      if (At(TokenKind::kColon, 1)) return Labelled();
      break;
    default:
      break;
  }
  return as_statement ? AssignOrExpr() : Expression();
}

ExprId Parser::Labelled() {
  Span begin = Peek().span;
  Name label = ExpectName();
  Take();  // ':'
  if (At(TokenKind::kLeftBrace)) return Block(label, begin);
  return Loop(begin, label);
}

ExprId Parser::AssignOrExpr() {
  Span begin = Peek().span;
  ExprId target = Expression();
  auto op = AssignOpOf(Peek().kind);
  if (!op) return target;
  bool assignable = ast_.As<IdentExpr>(target) || ast_.As<FieldExpr>(target) ||
                    ast_.As<IndexExpr>(target) || ast_.As<DerefExpr>(target) ||
                    ast_.As<ErrorExpr>(target);
  if (const BuiltinExpr* builtin = ast_.As<BuiltinExpr>(target))
    assignable = names_.Text(builtin->name) == "field";
  if (!assignable) Fault(DiagKind::kAssignmentTarget, ast_.SpanOf(target));
  Take();
  ExprId value = Expression();
  return ast_.Add(AssignExpr{*op, target, value}, From(begin));
}

ExprId Parser::If(bool as_statement) {
  Span begin = Take();
  IfExpr node{};
  Expect(TokenKind::kLeftParen);
  node.condition = Expression();
  Expect(TokenKind::kRightParen);
  size_t faults = faults_;
  node.then_branch = BranchOrBody(as_statement);
  // `if (c) x = 1; else …` reads like C; the semicolon does not belong there.
  if (faults_ == faults && At(TokenKind::kSemicolon) && At(TokenKind::kElse, 1)) Take();
  if (Accept(TokenKind::kElse)) node.else_branch = BranchOrBody(as_statement);
  return ast_.Add(node, From(begin));
}

ExprId Parser::Switch() {
  Nest nest(*this);
  Span begin = Take();
  Expect(TokenKind::kLeftParen);
  ExprId operand = Expression();
  Expect(TokenKind::kRightParen);
  if (nest.TooDeep() || !Expect(TokenKind::kLeftBrace)) return Error(From(begin));
  std::vector<SwitchProng> prongs;
  bool had_else = false;
  while (!At(TokenKind::kRightBrace) && !AtEnd()) {
    size_t before = pos_, faults = faults_;
    Span prong_begin = Peek().span;
    SwitchProng prong{};
    if (At(TokenKind::kElse)) {
      if (had_else) Fault(DiagKind::kDuplicateElse, Peek().span);
      Take();
      prong.is_else = had_else = true;
    } else {
      std::vector<ExprId> values;
      do {
        if (At(TokenKind::kFatArrow)) break;
        values.push_back(Expression());
      } while (Accept(TokenKind::kComma));
      prong.values = ast_.AddList(values);
    }
    Expect(TokenKind::kFatArrow);
    prong.body = BranchOrBody(true);
    prong.span = From(prong_begin);
    prongs.push_back(prong);
    bool more = Accept(TokenKind::kComma);
    if (faults_ != faults) {
      SkipStatement();
      Accept(TokenKind::kComma);
    } else if (!more && !At(TokenKind::kRightBrace)) {
      Expect(TokenKind::kComma);
      break;
    }
    if (pos_ == before) Take();
  }
  Expect(TokenKind::kRightBrace);
  return ast_.Add(SwitchExpr{operand, ast_.AddList(prongs)}, From(begin));
}

ExprId Parser::Loop(Span begin, Name label) {
  bool is_inline = Accept(TokenKind::kInline);
  if (At(TokenKind::kWhile)) return While(begin, label, is_inline);
  if (At(TokenKind::kFor)) return For(begin, label, is_inline);
  Expect(TokenKind::kFor);
  return Error(From(begin));
}

ExprId Parser::While(Span begin, Name label, bool is_inline) {
  Take();
  WhileExpr node{label, is_inline, {}, {}, {}};
  Expect(TokenKind::kLeftParen);
  node.condition = Expression();
  Expect(TokenKind::kRightParen);
  if (Accept(TokenKind::kColon)) {
    Expect(TokenKind::kLeftParen);
    node.step = At(TokenKind::kLeftBrace) ? Block({}, Peek().span) : AssignOrExpr();
    Expect(TokenKind::kRightParen);
  }
  node.body = BranchOrBody(true);
  return ast_.Add(node, From(begin));
}

ExprId Parser::For(Span begin, Name label, bool is_inline) {
  Take();
  ForExpr node{label, is_inline, {}, {}, {}, {}};
  Expect(TokenKind::kLeftParen);
  node.sequence = Expression();
  Expect(TokenKind::kRightParen);
  Expect(TokenKind::kPipe);
  node.element = ExpectName();
  if (Accept(TokenKind::kComma)) node.index = ExpectName();
  Expect(TokenKind::kPipe);
  node.body = BranchOrBody(true);
  return ast_.Add(node, From(begin));
}

ExprId Parser::Jump() {
  TokenKind kind = Peek().kind;
  Span begin = Take();
  Name label;
  if (kind != TokenKind::kReturn && Accept(TokenKind::kColon)) label = ExpectName();
  if (kind == TokenKind::kContinue) return ast_.Add(ContinueExpr{label}, From(begin));
  ExprId value;
  switch (Peek().kind) {
    case TokenKind::kSemicolon:
    case TokenKind::kRightBrace:
    case TokenKind::kRightParen:
    case TokenKind::kComma:
    case TokenKind::kElse:
    case TokenKind::kEof:
      break;
    default:
      value = BranchOrBody(false);
  }
  if (kind == TokenKind::kReturn) return ast_.Add(ReturnExpr{value}, From(begin));
  return ast_.Add(BreakExpr{label, value}, From(begin));
}

// Statements that end in a block need no semicolon.
bool Parser::EndsWithBlock(ExprId id) const {
  while (true) {
    if (ast_.As<BlockExpr>(id) || ast_.As<SwitchExpr>(id)) return true;
    if (auto* loop = ast_.As<WhileExpr>(id))
      id = loop->body;
    else if (auto* each = ast_.As<ForExpr>(id))
      id = each->body;
    else if (auto* branch = ast_.As<IfExpr>(id))
      id = branch->else_branch ? branch->else_branch : branch->then_branch;
    else
      return false;
  }
}

}  // namespace szarena::csl
