// SPDX-License-Identifier: Apache-2.0
// Declarations and what stands at the top level.
#include "csl/parse/parser_impl.h"

namespace szarena::csl {

void Parser::TopLevel() {
  Span begin = Peek().span;
  size_t faults = faults_;
  if (Accept(TokenKind::kSemicolon)) return;  // behind a block
  if (At(TokenKind::kComptime) && At(TokenKind::kLeftBrace, 1)) {
    Take();
    ExprId block = Block({}, Peek().span);
    ast_.Add(Item{Item::Kind::kComptime, {}, block, From(begin)});
  } else if (AtWord("layout") && At(TokenKind::kLeftBrace, 1)) {
    Take();
    ExprId block = Block({}, Peek().span);
    ast_.Add(Item{Item::Kind::kLayout, {}, block, From(begin)});
  } else if (AtWord("color") && At(TokenKind::kIdentifier, 1)) {
    LegacyColor();
  } else {
    Linkage linkage = Linkage::kNone;
    if (At(TokenKind::kExport) || At(TokenKind::kExtern))
      linkage = At(TokenKind::kExport) ? Linkage::kExport : Linkage::kExtern, Take();
    bool is_inline = Accept(TokenKind::kInline);
    if (linkage == Linkage::kNone && (At(TokenKind::kExport) || At(TokenKind::kExtern))) {
      linkage = At(TokenKind::kExport) ? Linkage::kExport : Linkage::kExtern;
      Take();
    }
    DeclId decl;
    if (!is_inline && (At(TokenKind::kVar) || At(TokenKind::kConst) || At(TokenKind::kParam))) {
      decl = Variable(begin, linkage, false, false);
    } else if (At(TokenKind::kFn) || At(TokenKind::kTask)) {
      decl = Function(begin, linkage, is_inline);
    } else {
      ExpectedHere(DiagKind::kExpectedDeclaration);
    }
    if (decl) ast_.Add(Item{Item::Kind::kDecl, decl, {}, From(begin)});
  }
  if (faults_ != faults && !AtEnd() && !AfterEnd() && !StartsDeclaration()) SkipDeclaration();
}

// color name;  or  color name = value;
void Parser::LegacyColor() {
  Span begin = Take();
  Span name_span;
  Name name = ExpectName(&name_span);
  ExprId init;
  if (Accept(TokenKind::kAssign)) init = Expression();
  ExpectSemicolon("the declaration");
  DeclId decl = ast_.Add(VarDecl{VarKind::kColor, Linkage::kNone, false, {}, init}, name, name_span,
                         {}, From(begin));
  ast_.Add(Item{Item::Kind::kDecl, decl, {}, From(begin)});
}

DeclId Parser::Variable(Span begin, Linkage linkage, bool is_comptime, bool is_local) {
  VarKind kind = At(TokenKind::kVar)     ? VarKind::kVar
                 : At(TokenKind::kConst) ? VarKind::kConst
                                         : VarKind::kParam;
  Span keyword = Take();
  if (is_local && kind == VarKind::kParam) Fault(DiagKind::kLocalStorage, keyword, "param");
  Span name_span;
  Name name = ExpectName(&name_span);
  VarDecl decl{kind, linkage, is_comptime, {}, {}};
  if (Accept(TokenKind::kColon)) decl.type = Type();
  Attributes attributes = ParseAttributes({});
  if (Accept(TokenKind::kAssign)) decl.init = Expression();
  std::string_view name_text = names_.Text(name);
  if (name && kind == VarKind::kConst && !decl.init && linkage != Linkage::kExtern &&
      !At(TokenKind::kError)) {
    Fault(DiagKind::kMissingConstValue, name_span, name_text);
  }
  if (name && kind == VarKind::kVar && !decl.init && !decl.type && !At(TokenKind::kError)) {
    Fault(DiagKind::kMissingType, name_span, name_text);
  }
  ExpectSemicolon("the declaration");
  return ast_.Add(decl, name, name_span, attributes, From(begin));
}

Attributes Parser::ParseAttributes(Attributes attributes) {
  while (At(TokenKind::kIdentifier) && At(TokenKind::kLeftParen, 1)) {
    std::string_view word = Text(Peek().span);
    ExprId* slot = word == "align"         ? &attributes.align
                   : word == "linksection" ? &attributes.linksection
                   : word == "linkname"    ? &attributes.linkname
                                           : nullptr;
    if (slot == nullptr) break;
    if (*slot) Fault(DiagKind::kTwiceGiven, Peek().span, word);
    Take();
    Take();
    *slot = Expression();
    if (!Expect(TokenKind::kRightParen)) break;
  }
  return attributes;
}

List<Param> Parser::Parameters() {
  std::vector<Param> params;
  if (!Expect(TokenKind::kLeftParen)) return {};
  while (!At(TokenKind::kRightParen) && !AtEnd()) {
    Span begin = Peek().span;
    Param param{};
    param.is_comptime = Accept(TokenKind::kComptime);
    bool reserved_name = IsKeyword(Text(Peek().span)) && At(TokenKind::kColon, 1);
    if ((At(TokenKind::kIdentifier) || reserved_name) && At(TokenKind::kColon, 1)) {
      param.name = ExpectName();
      Take();
    }
    if (Accept(TokenKind::kAnytype))
      param.is_anytype = true;
    else
      param.type = Type();
    param.span = From(begin);
    params.push_back(param);
    if (!Accept(TokenKind::kComma)) break;
  }
  Expect(TokenKind::kRightParen);
  return ast_.AddList(params);
}

DeclId Parser::Function(Span begin, Linkage linkage, bool is_inline) {
  FnDecl decl{};
  decl.is_task = At(TokenKind::kTask);
  decl.is_inline = is_inline;
  decl.linkage = linkage;
  Take();
  Span name_span;
  Name name = ExpectName(&name_span);
  decl.params = Parameters();
  Attributes attributes = ParseAttributes({});
  if (At(TokenKind::kLeftBrace) || At(TokenKind::kSemicolon)) {
    ExpectedHere(DiagKind::kExpectedType);
    decl.result = ErrorHere();
  } else {
    decl.result = Type();
  }
  attributes = ParseAttributes(attributes);
  const IdentExpr* result = ast_.As<IdentExpr>(decl.result);
  bool is_void = result != nullptr && names_.Text(result->name) == "void";
  if (decl.is_task && !is_void && !ast_.As<ErrorExpr>(decl.result)) {
    Fault(DiagKind::kTaskReturnsValue, ast_.SpanOf(decl.result), names_.Text(name));
  }
  if (At(TokenKind::kLeftBrace)) {
    decl.body = Block({}, Peek().span);
  } else if (At(TokenKind::kSemicolon)) {
    if (linkage != Linkage::kExtern) {
      Fault(DiagKind::kMissingBody, name_span, names_.Text(name));
      decl.body = Error(name_span);
    }
    Take();
  } else {
    Expect(TokenKind::kLeftBrace);
    decl.body = Error(name_span);
  }
  return ast_.Add(decl, name, name_span, attributes, From(begin));
}

}  // namespace szarena::csl
