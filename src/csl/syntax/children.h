// SPDX-License-Identifier: Apache-2.0
// Generic walk: calls f(ExprId) for every direct child of a node, in source order.
#pragma once

#include <type_traits>

#include "csl/syntax/ast.h"

namespace szarena::csl {

// The children of a declaration: attributes, types, values, body.
template <typename F>
void ForEachChild(const Ast& ast, DeclId id, F&& f) {
  auto one = [&](ExprId child) {
    if (child) f(child);
  };
  const Attributes& attributes = ast.AttributesOf(id);
  if (auto* var = ast.As<VarDecl>(id)) {
    one(var->type);
    one(var->init);
  } else if (auto* fn = ast.As<FnDecl>(id)) {
    for (const Param& param : ast.Get(fn->params)) one(param.type);
    one(fn->result);
    one(fn->body);
  }
  one(attributes.align);
  one(attributes.linksection);
  one(attributes.linkname);
}

template <typename F>
void ForEachChild(const Ast& ast, ExprId id, F&& f) {
  auto one = [&](ExprId child) {
    if (child) f(child);
  };
  auto all = [&](List<ExprId> list) {
    for (ExprId child : ast.Get(list)) one(child);
  };
  std::visit(
      [&](const auto& node) {
        using T = std::decay_t<decltype(node)>;
        if constexpr (std::is_same_v<T, FieldExpr> || std::is_same_v<T, DerefExpr>)
          one(node.base);
        else if constexpr (std::is_same_v<T, IndexExpr>)
          one(node.base), all(node.indices);
        else if constexpr (std::is_same_v<T, CallExpr>)
          one(node.callee), all(node.args);
        else if constexpr (std::is_same_v<T, BuiltinExpr>)
          all(node.args);
        else if constexpr (std::is_same_v<T, UnaryExpr> || std::is_same_v<T, ComptimeExpr>)
          one(node.operand);
        else if constexpr (std::is_same_v<T, BinaryExpr>)
          one(node.lhs), one(node.rhs);
        else if constexpr (std::is_same_v<T, InitExpr>) {
          one(node.type);
          for (const FieldInit& field : ast.Get(node.fields)) one(field.value);
        } else if constexpr (std::is_same_v<T, ArrayTypeExpr>)
          all(node.dims), one(node.element);
        else if constexpr (std::is_same_v<T, PointerTypeExpr>)
          one(node.pointee);
        else if constexpr (std::is_same_v<T, FnTypeExpr>)
          all(node.params), one(node.result);
        else if constexpr (std::is_same_v<T, ContainerExpr>) {
          one(node.tag);
          for (const Member& member : ast.Get(node.members)) one(member.type), one(member.value);
        } else if constexpr (std::is_same_v<T, TensorAccessExpr>)
          all(node.extents), one(node.array), all(node.indices);
        else if constexpr (std::is_same_v<T, IfExpr>)
          one(node.condition), one(node.then_branch), one(node.else_branch);
        else if constexpr (std::is_same_v<T, SwitchExpr>) {
          one(node.operand);
          for (const SwitchProng& prong : ast.Get(node.prongs)) all(prong.values), one(prong.body);
        } else if constexpr (std::is_same_v<T, BlockExpr>)
          all(node.statements);
        else if constexpr (std::is_same_v<T, WhileExpr>)
          one(node.condition), one(node.step), one(node.body);
        else if constexpr (std::is_same_v<T, ForExpr>)
          one(node.sequence), one(node.body);
        else if constexpr (std::is_same_v<T, AssignExpr>)
          one(node.target), one(node.value);
        else if constexpr (std::is_same_v<T, ReturnExpr> || std::is_same_v<T, BreakExpr>)
          one(node.value);
        else if constexpr (std::is_same_v<T, DeclExpr>)
          ForEachChild(ast, node.decl, f);
        else if constexpr (std::is_same_v<T, AsmExpr>) {
          for (auto list : {node.outputs, node.inputs, node.clobbers}) {
            for (const AsmOperand& operand : ast.Get(list)) one(operand.value);
          }
        }
      },
      ast.Expr(id));
}

}  // namespace szarena::csl
