// SPDX-License-Identifier: Apache-2.0
#include "csl/syntax/ast.h"

namespace szarena::csl {

std::string_view Spelling(UnaryOp op) {
  switch (op) {
    case UnaryOp::kNegate:
      return "-";
    case UnaryOp::kNot:
      return "!";
    case UnaryOp::kBitNot:
      return "~";
    case UnaryOp::kAddressOf:
      return "&";
  }
  return "";
}

std::string_view Spelling(BinaryOp op) {
  static constexpr std::string_view kSpellings[] = {
      "*", "/",  "%",  "+", "-",  "<<", ">>", "&",   "^",
      "|", "==", "!=", "<", "<=", ">",  ">=", "and", "or"};
  return kSpellings[static_cast<size_t>(op)];
}

std::string_view Spelling(AssignOp op) {
  static constexpr std::string_view kSpellings[] = {
      "=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="};
  return kSpellings[static_cast<size_t>(op)];
}

ExprId Ast::Add(ExprNode node, Span span) {
  exprs_.push_back(node);
  expr_spans_.push_back(span);
  return {static_cast<uint32_t>(exprs_.size() - 1)};
}

DeclId Ast::Add(DeclNode node, Name name, Span name_span, Attributes attributes, Span span) {
  decls_.push_back({node, name, name_span, span, attributes});
  return {static_cast<uint32_t>(decls_.size() - 1)};
}

uint32_t Ast::AddInt(UInt128 value) {
  ints_.push_back(value);
  return static_cast<uint32_t>(ints_.size() - 1);
}

uint32_t Ast::AddFloat(double value) {
  floats_.push_back(value);
  return static_cast<uint32_t>(floats_.size() - 1);
}

}  // namespace szarena::csl
