// SPDX-License-Identifier: Apache-2.0
// Type expressions. A type is an expression without binary operators.
#include "csl/parse/parser_impl.h"

namespace szarena::csl {

ExprId Parser::Type(Braces braces) {
  switch (Peek().kind) {
    case TokenKind::kEof:
    case TokenKind::kSemicolon:
    case TokenKind::kAssign:
    case TokenKind::kComma:
    case TokenKind::kRightParen:
    case TokenKind::kRightBrace:
      ExpectedHere(DiagKind::kExpectedType);
      return ErrorHere();
    default:
      return Prefix(braces);
  }
}

// *T, *const T, [*]T, [*]const T, [M, N]T
ExprId Parser::PointerOrArray(Braces braces) {
  Span begin = Peek().span;
  bool many =
      At(TokenKind::kLeftBracket) && At(TokenKind::kStar, 1) && At(TokenKind::kRightBracket, 2);
  if (many || At(TokenKind::kStar)) {
    for (int i = 0; i < (many ? 3 : 1); ++i) Take();
    bool is_const = Accept(TokenKind::kConst);
    ExprId pointee = Type(Braces::kBlock);
    return ast_.Add(PointerTypeExpr{many, is_const, pointee}, From(begin));
  }
  Take();
  auto dims = Arguments(TokenKind::kRightBracket);
  ExprId element = Type(Braces::kBlock);
  ExprId array = ast_.Add(ArrayTypeExpr{dims, element}, From(begin));
  if (braces == Braces::kInit && At(TokenKind::kLeftBrace)) return Initializer(array, begin);
  return array;
}

// fn(A, b: B) R; task(A) void
ExprId Parser::FnType() {
  bool is_task = At(TokenKind::kTask);
  Span begin = Take();
  std::vector<ExprId> params;
  if (!Expect(TokenKind::kLeftParen)) return Error(From(begin));
  while (!At(TokenKind::kRightParen) && !AtEnd()) {
    if (At(TokenKind::kIdentifier) && At(TokenKind::kColon, 1)) Take(), Take();
    params.push_back(Type(Braces::kBlock));
    if (!Accept(TokenKind::kComma)) break;
  }
  Expect(TokenKind::kRightParen);
  auto list = ast_.AddList(params);
  ExprId result = Type(Braces::kBlock);
  return ast_.Add(FnTypeExpr{list, result, is_task}, From(begin));
}

ExprId Parser::Container() {
  Nest nest(*this);
  Span begin = Peek().span;
  if (nest.TooDeep()) return ErrorHere();
  ContainerExpr node{};
  if (Accept(TokenKind::kPacked))
    node.layout = ContainerLayout::kPacked;
  else if (Accept(TokenKind::kExtern))
    node.layout = ContainerLayout::kExtern;
  if (Accept(TokenKind::kStruct))
    node.kind = ContainerKind::kStruct;
  else if (Accept(TokenKind::kUnion))
    node.kind = ContainerKind::kUnion;
  else if (Accept(TokenKind::kEnum))
    node.kind = ContainerKind::kEnum;
  else
    Expect(TokenKind::kStruct);
  if (Accept(TokenKind::kLeftParen)) {
    node.tag = Type();
    Expect(TokenKind::kRightParen);
  }
  if (!Expect(TokenKind::kLeftBrace)) return Error(From(begin));
  std::vector<Member> members;
  while (!At(TokenKind::kRightBrace) && !AtEnd()) {
    Span member_begin = Peek().span;
    Member member{};
    member.name = ExpectName();
    if (node.kind != ContainerKind::kEnum) {
      Expect(TokenKind::kColon);
      member.type = Type();
    }
    if (Accept(TokenKind::kAssign)) member.value = Expression();
    member.span = From(member_begin);
    members.push_back(member);
    if (!Accept(TokenKind::kComma)) break;
  }
  Expect(TokenKind::kRightBrace);
  node.members = ast_.AddList(members);
  return ast_.Add(node, From(begin));
}

}  // namespace szarena::csl
