// SPDX-License-Identifier: Apache-2.0
// Expressions: operator precedence, postfix chains, primaries.
#include <optional>

#include "csl/lex/literal.h"
#include "csl/parse/parser_impl.h"
#include "csl/syntax/precedence.h"

namespace szarena::csl {

// What C programmers write where CSL has another spelling: a doubled token.
struct Foreign {
  TokenKind half;
  BinaryOp meant;
  std::string_view wrong, right;
};

namespace {

std::optional<BinaryOp> BinaryOpOf(TokenKind kind) {
  switch (kind) {
    case TokenKind::kStar:
      return BinaryOp::kMul;
    case TokenKind::kSlash:
      return BinaryOp::kDiv;
    case TokenKind::kPercent:
      return BinaryOp::kMod;
    case TokenKind::kPlus:
      return BinaryOp::kAdd;
    case TokenKind::kMinus:
      return BinaryOp::kSub;
    case TokenKind::kShl:
      return BinaryOp::kShl;
    case TokenKind::kShr:
      return BinaryOp::kShr;
    case TokenKind::kAmp:
      return BinaryOp::kBitAnd;
    case TokenKind::kCaret:
      return BinaryOp::kBitXor;
    case TokenKind::kPipe:
      return BinaryOp::kBitOr;
    case TokenKind::kEqualEqual:
      return BinaryOp::kEq;
    case TokenKind::kNotEqual:
      return BinaryOp::kNe;
    case TokenKind::kLess:
      return BinaryOp::kLt;
    case TokenKind::kLessEqual:
      return BinaryOp::kLe;
    case TokenKind::kGreater:
      return BinaryOp::kGt;
    case TokenKind::kGreaterEqual:
      return BinaryOp::kGe;
    case TokenKind::kAnd:
      return BinaryOp::kAnd;
    case TokenKind::kOr:
      return BinaryOp::kOr;
    default:
      return std::nullopt;
  }
}

constexpr Foreign kForeign[] = {{TokenKind::kAmp, BinaryOp::kAnd, "&&", "and"},
                                {TokenKind::kPipe, BinaryOp::kOr, "||", "or"},
                                {TokenKind::kPlus, BinaryOp::kAdd, "++", "+= 1"},
                                {TokenKind::kMinus, BinaryOp::kSub, "--", "-= 1"}};

}  // namespace

// `&&`, `||`, `++`, `--` at the current token, or null. `a--b` may be a - (-b); only `a--;` is
// surely the C operator.
const Foreign* Parser::ForeignHere() const {
  for (const Foreign& foreign : kForeign) {
    bool doubled = At(foreign.half) && At(foreign.half, 1) && Peek(1).span.begin == Peek().span.end;
    bool ends = At(TokenKind::kSemicolon, 2) || At(TokenKind::kRightParen, 2);
    if (doubled && (foreign.half != TokenKind::kMinus || ends)) return &foreign;
  }
  return nullptr;
}

ExprId Parser::Binary(int min_precedence, Braces braces) {
  Nest nest(*this);
  if (nest.TooDeep()) return ErrorHere();
  Span begin = Peek().span;
  ExprId lhs = Prefix(braces);
  while (auto op = BinaryOpOf(Peek().kind)) {
    Span op_span = Peek().span;
    const Foreign* foreign = ForeignHere();
    if (foreign != nullptr) op = foreign->meant;
    int precedence = Precedence(*op);
    if (precedence < min_precedence) break;
    if (foreign != nullptr) {
      Fault(DiagKind::kForeignOperator, Cover(op_span, Peek(1).span), foreign->wrong,
            foreign->right);
      Take();
      bool is_step = foreign->meant == BinaryOp::kAdd || foreign->meant == BinaryOp::kSub;
      if (is_step) {
        Take();
        return lhs;
      }
    }
    Take();
    bool comparison = precedence == kComparisonPrecedence;
    ExprId rhs = Binary(precedence + 1, braces);
    lhs = ast_.Add(BinaryExpr{*op, lhs, rhs, op_span}, From(begin));
    if (auto next = BinaryOpOf(Peek().kind);
        comparison && next && Precedence(*next) == precedence) {
      Fault(DiagKind::kChainedComparison, Peek().span);
    }
  }
  return lhs;
}

ExprId Parser::Prefix(Braces braces) {
  Nest nest(*this);
  if (nest.TooDeep()) return ErrorHere();
  Span begin = Peek().span;
  switch (Peek().kind) {
    case TokenKind::kMinus:
    case TokenKind::kBang:
    case TokenKind::kTilde:
    case TokenKind::kAmp: {
      UnaryOp op = At(TokenKind::kMinus)   ? UnaryOp::kNegate
                   : At(TokenKind::kBang)  ? UnaryOp::kNot
                   : At(TokenKind::kTilde) ? UnaryOp::kBitNot
                                           : UnaryOp::kAddressOf;
      Take();
      ExprId operand = Prefix(braces);
      return ast_.Add(UnaryExpr{op, operand}, From(begin));
    }
    case TokenKind::kComptime: {
      Take();
      ExprId operand = At(TokenKind::kLeftBrace) ? Block({}, Peek().span) : Expression(braces);
      return ast_.Add(ComptimeExpr{operand}, From(begin));
    }
    case TokenKind::kStar:
    case TokenKind::kLeftBracket:
      return Postfix(PointerOrArray(braces), begin, braces);
    case TokenKind::kFn:
    case TokenKind::kTask:
      return Postfix(FnType(), begin, braces);
    default:
      return Postfix(Primary(), begin, braces);
  }
}

bool Parser::CanStartInitializer(ExprId operand) const {
  return ast_.As<IdentExpr>(operand) || ast_.As<FieldExpr>(operand) ||
         ast_.As<BuiltinExpr>(operand) || ast_.As<CallExpr>(operand) ||
         ast_.As<ArrayTypeExpr>(operand) || ast_.As<ContainerExpr>(operand);
}

ExprId Parser::Postfix(ExprId operand, Span begin, Braces braces) {
  while (true) {
    switch (Peek().kind) {
      case TokenKind::kDot:
        if (At(TokenKind::kLeftBrace, 1)) return operand;
        Take();
        if (Accept(TokenKind::kStar)) {
          operand = ast_.Add(DerefExpr{operand}, From(begin));
        } else {
          Span name_span;
          Name name = ExpectName(&name_span);
          if (!name) return Error(From(begin));
          operand = ast_.Add(FieldExpr{operand, name, name_span}, From(begin));
        }
        break;
      case TokenKind::kLeftBracket: {
        Take();
        auto indices = Arguments(TokenKind::kRightBracket);
        operand = ast_.Add(IndexExpr{operand, indices}, From(begin));
        break;
      }
      case TokenKind::kLeftParen: {
        Take();
        auto args = Arguments(TokenKind::kRightParen);
        operand = ast_.Add(CallExpr{operand, args}, From(begin));
        break;
      }
      case TokenKind::kLeftBrace:
        if (braces == Braces::kBlock || !CanStartInitializer(operand)) return operand;
        operand = Initializer(operand, begin);
        break;
      default:
        return operand;
    }
  }
}

// Elements up to the closing token, which is taken too. A trailing comma is allowed.
List<ExprId> Parser::Arguments(TokenKind close) {
  std::vector<ExprId> list;
  while (!At(close) && !AtEnd()) {
    size_t before = pos_;
    list.push_back(Expression());
    if (!Accept(TokenKind::kComma) || pos_ == before) break;
  }
  Expect(close);
  return ast_.AddList(list);
}

// At '{' of `.{…}` (type none) or `T{…}`.
ExprId Parser::Initializer(ExprId type, Span begin) {
  Nest nest(*this);
  if (nest.TooDeep()) return ErrorHere();
  Take();
  std::vector<FieldInit> fields;
  while (!At(TokenKind::kRightBrace) && !AtEnd()) {
    Span element = Peek().span;
    FieldInit init{};
    if (At(TokenKind::kDot) && !At(TokenKind::kLeftBrace, 1)) {
      Take();
      init.name = ExpectName();
      Expect(TokenKind::kAssign);
    }
    init.value = Expression();
    init.span = From(element);
    if (!fields.empty() && fields.front().name.IsNone() != init.name.IsNone())
      Fault(DiagKind::kMixedInitializers, init.span);
    fields.push_back(init);
    if (!Accept(TokenKind::kComma)) break;
  }
  Expect(TokenKind::kRightBrace);
  return ast_.Add(InitExpr{type, ast_.AddList(fields)}, From(begin));
}

ExprId Parser::Primary() {
  Span begin = Peek().span;
  switch (Peek().kind) {
    case TokenKind::kInt: {
      Span span = Take();
      return ast_.Add(
          IntExpr{ast_.AddInt(ParseInt(Text(span), span, diags_)), names_.Intern(Text(span))},
          span);
    }
    case TokenKind::kFloat: {
      Span span = Take();
      return ast_.Add(
          FloatExpr{ast_.AddFloat(ParseFloat(Text(span), span, diags_)), names_.Intern(Text(span))},
          span);
    }
    case TokenKind::kChar: {
      Span span = Take();
      std::string bytes = ParseQuoted(Text(span), span, diags_);
      if (bytes.size() != 1) diags_.Report(DiagKind::kEmptyChar, span);
      unsigned char value = bytes.size() == 1 ? static_cast<unsigned char>(bytes[0]) : 0;
      return ast_.Add(IntExpr{ast_.AddInt(value), names_.Intern(Text(span))}, span);
    }
    case TokenKind::kString: {
      Span span = Take();
      return ast_.Add(StringExpr{names_.Intern(ParseQuoted(Text(span), span, diags_))}, span);
    }
    case TokenKind::kTrue:
    case TokenKind::kFalse: {
      bool value = At(TokenKind::kTrue);
      return ast_.Add(BoolExpr{value}, Take());
    }
    case TokenKind::kUndefined:
      return ast_.Add(UndefinedExpr{}, Take());
    case TokenKind::kIdentifier: {
      if (At(TokenKind::kColon, 1) && At(TokenKind::kLeftBrace, 2)) return Labelled();
      Span span = Take();
      return ast_.Add(IdentExpr{names_.Intern(Text(span))}, span);
    }
    case TokenKind::kBuiltin: {
      Name name = names_.Intern(Text(Take()).substr(1));
      if (!Expect(TokenKind::kLeftParen)) return Error(From(begin));
      auto args = Arguments(TokenKind::kRightParen);
      return ast_.Add(BuiltinExpr{name, args}, From(begin));
    }
    case TokenKind::kLeftParen: {
      Take();
      ExprId inner = Expression();
      if (At(TokenKind::kAssign)) Fault(DiagKind::kAssignmentValue, Peek().span);
      Expect(TokenKind::kRightParen);
      return inner;
    }
    case TokenKind::kDot:
      if (At(TokenKind::kLeftBrace, 1)) {
        Take();
        return Initializer({}, begin);
      }
      break;
    case TokenKind::kPipe:
      return TensorAccess();
    case TokenKind::kLeftBrace:
      return Block({}, begin);
    case TokenKind::kIf:
      return If(false);
    case TokenKind::kSwitch:
      return Switch();
    case TokenKind::kStruct:
    case TokenKind::kUnion:
    case TokenKind::kEnum:
    case TokenKind::kPacked:
      return Container();
    case TokenKind::kExtern:
      if (At(TokenKind::kStruct, 1) || At(TokenKind::kUnion, 1)) return Container();
      break;
    case TokenKind::kAsm:
      return Asm();
    case TokenKind::kAnytype: {
      Fault(DiagKind::kAnytypeOutsideParams, begin);
      return Error(Take());
    }
    default:
      break;
  }
  ExpectedHere(DiagKind::kExpectedExpression);
  ExprId error = ErrorHere();
  if (At(TokenKind::kError)) Take();
  return error;
}

// |i, j|{M, N} -> array[i, j + 1]
ExprId Parser::TensorAccess() {
  Span begin = Take();
  TensorAccessExpr node{};
  std::vector<Name> variables;
  while (!At(TokenKind::kPipe) && !AtEnd()) {
    Name name = ExpectName();
    if (!name) return Error(From(begin));
    variables.push_back(name);
    if (!Accept(TokenKind::kComma)) break;
  }
  Expect(TokenKind::kPipe);
  node.variables = ast_.AddList(variables);
  if (!Expect(TokenKind::kLeftBrace)) return Error(From(begin));
  node.extents = Arguments(TokenKind::kRightBrace);
  Expect(TokenKind::kArrow);
  Span array_begin = Peek().span;
  node.array = Primary();
  while (At(TokenKind::kDot)) {
    Take();
    if (Accept(TokenKind::kStar)) {
      node.array = ast_.Add(DerefExpr{node.array}, From(array_begin));
      continue;
    }
    Span name_span;
    Name name = ExpectName(&name_span);
    if (!name) return Error(From(begin));
    node.array = ast_.Add(FieldExpr{node.array, name, name_span}, From(array_begin));
  }
  if (!Expect(TokenKind::kLeftBracket)) return Error(From(begin));
  node.indices = Arguments(TokenKind::kRightBracket);
  return ast_.Add(node, From(begin));
}

// asm volatile ("text" : [name] "constraint" (expr), … : inputs : "clobber", …)
ExprId Parser::Asm() {
  Span begin = Take();
  AsmExpr node{};
  if (AtWord("volatile")) Take(), node.is_volatile = true;
  if (!Expect(TokenKind::kLeftParen)) return Error(From(begin));
  if (!At(TokenKind::kString)) {
    Expect(TokenKind::kString);
    return Error(From(begin));
  }
  Span text = Take();
  node.text = names_.Intern(ParseQuoted(Text(text), text, diags_));
  if (Accept(TokenKind::kColon)) node.outputs = AsmOperands(false);
  if (Accept(TokenKind::kColon)) node.inputs = AsmOperands(false);
  if (Accept(TokenKind::kColon)) node.clobbers = AsmOperands(true);
  Expect(TokenKind::kRightParen);
  return ast_.Add(node, From(begin));
}

List<AsmOperand> Parser::AsmOperands(bool clobbers) {
  std::vector<AsmOperand> operands;
  while (At(TokenKind::kString) || At(TokenKind::kLeftBracket)) {
    Span begin = Peek().span;
    AsmOperand operand{};
    if (Accept(TokenKind::kLeftBracket)) {
      operand.name = ExpectName();
      Expect(TokenKind::kRightBracket);
    }
    if (!At(TokenKind::kString)) {
      Expect(TokenKind::kString);
      break;
    }
    Span constraint = Take();
    operand.constraint = names_.Intern(ParseQuoted(Text(constraint), constraint, diags_));
    if (!clobbers && Expect(TokenKind::kLeftParen)) {
      if (Accept(TokenKind::kArrow))
        operand.value = Type(Braces::kInit);
      else
        operand.value = Expression();
      Expect(TokenKind::kRightParen);
    }
    operand.span = From(begin);
    operands.push_back(operand);
    if (!Accept(TokenKind::kComma)) break;
  }
  return ast_.AddList(operands);
}

}  // namespace szarena::csl
