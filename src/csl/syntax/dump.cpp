// SPDX-License-Identifier: Apache-2.0
#include "csl/syntax/dump.h"

#include <fmt/format.h>

#include <bit>

namespace szarena::csl {
namespace {

std::string IntText(UInt128 value) {
  return fmt::format("{:x}", static_cast<uint64_t>(value >> 64)) + ":" +
         fmt::format("{:x}", static_cast<uint64_t>(value));
}

class Dumper {
 public:
  Dumper(const Ast& ast, const NameTable& names) : ast_(ast), names_(names) {}

  std::string Run() {
    for (const Item& item : ast_.items()) {
      switch (item.kind) {
        case Item::Kind::kDecl:
          Decl(item.decl);
          break;
        case Item::Kind::kComptime:
          Line("comptime-item"), Child("", item.block);
          break;
        case Item::Kind::kLayout:
          Line("layout-item"), Child("", item.block);
          break;
      }
    }
    return std::move(out_);
  }

 private:
  std::string_view Text(Name name) const { return names_.Text(name); }
  std::string NameOr(Name name, std::string_view none = "-") const {
    return name ? std::string(Text(name)) : std::string(none);
  }

  void Line(std::string_view text) {
    out_.append(depth_ * 2, ' ').append(role_).append(text).append("\n");
    role_.clear();
  }

  void Child(std::string_view role, ExprId id) {
    if (!id) return;
    ++depth_;
    if (!role.empty()) role_ = std::string(role) + ": ";
    Expr(id);
    --depth_;
  }
  void Children(std::string_view role, List<ExprId> list) {
    for (ExprId id : ast_.Get(list)) Child(role, id);
  }

  void Decl(DeclId id) {
    static constexpr std::string_view kLinkage[] = {"", " export", " extern"};
    static constexpr std::string_view kVarKind[] = {"var", "const", "param", "color"};
    if (auto* var = ast_.As<VarDecl>(id)) {
      Line(fmt::format("{} {}{}{}", kVarKind[static_cast<size_t>(var->kind)],
                       NameOr(ast_.NameOf(id)), kLinkage[static_cast<size_t>(var->linkage)],
                       var->is_comptime ? " comptime" : ""));
      Child("type", var->type);
      Child("init", var->init);
    } else if (auto* fn = ast_.As<FnDecl>(id)) {
      Line(fmt::format("{} {}{}{}", fn->is_task ? "task" : "fn", NameOr(ast_.NameOf(id)),
                       kLinkage[static_cast<size_t>(fn->linkage)], fn->is_inline ? " inline" : ""));
      for (const Param& param : ast_.Get(fn->params)) {
        ++depth_;
        Line(fmt::format("param {}{}{}", NameOr(param.name), param.is_comptime ? " comptime" : "",
                         param.is_anytype ? " anytype" : ""));
        Child("", param.type);
        --depth_;
      }
      Child("result", fn->result);
      Child("body", fn->body);
    }
    const Attributes& attributes = ast_.AttributesOf(id);
    Child("align", attributes.align);
    Child("linksection", attributes.linksection);
    Child("linkname", attributes.linkname);
  }

  void Expr(ExprId id) {
    std::visit([this](const auto& node) { Node(node); }, ast_.Expr(id));
  }

  void Node(const ErrorExpr&) { Line("error"); }
  void Node(const IntExpr& n) {
    Line("int " + IntText(ast_.Int(n)) + " " + std::string(Text(n.spelling)));
  }
  void Node(const FloatExpr& n) {
    Line(fmt::format("float {:x} {}", std::bit_cast<uint64_t>(ast_.Float(n)), Text(n.spelling)));
  }
  void Node(const StringExpr& n) { Line("string \"" + EscapeBytes(Text(n.bytes)) + "\""); }
  void Node(const BoolExpr& n) { Line(n.value ? "true" : "false"); }
  void Node(const UndefinedExpr&) { Line("undefined"); }
  void Node(const IdentExpr& n) { Line("name " + std::string(Text(n.name))); }
  void Node(const FieldExpr& n) { Line("field " + std::string(Text(n.name))), Child("", n.base); }
  void Node(const DerefExpr& n) { Line("deref"), Child("", n.base); }
  void Node(const IndexExpr& n) { Line("index"), Child("", n.base), Children("at", n.indices); }
  void Node(const CallExpr& n) { Line("call"), Child("", n.callee), Children("arg", n.args); }
  void Node(const BuiltinExpr& n) {
    Line("builtin @" + std::string(Text(n.name))), Children("", n.args);
  }
  void Node(const UnaryExpr& n) {
    Line(fmt::format("unary {}", Spelling(n.op))), Child("", n.operand);
  }
  void Node(const BinaryExpr& n) {
    Line(fmt::format("binary {}", Spelling(n.op))), Child("", n.lhs), Child("", n.rhs);
  }
  void Node(const ComptimeExpr& n) { Line("comptime"), Child("", n.operand); }
  void Node(const InitExpr& n) {
    Line("init");
    Child("type", n.type);
    for (const FieldInit& field : ast_.Get(n.fields)) Child(NameOr(field.name), field.value);
  }
  void Node(const ArrayTypeExpr& n) {
    Line("array-type"), Children("dim", n.dims), Child("", n.element);
  }
  void Node(const PointerTypeExpr& n) {
    Line(fmt::format("pointer-type{}{}", n.is_many ? " many" : "", n.is_const ? " const" : "")),
        Child("", n.pointee);
  }
  void Node(const FnTypeExpr& n) {
    Line(n.is_task ? "task-type" : "fn-type"), Children("param", n.params),
        Child("result", n.result);
  }
  void Node(const ContainerExpr& n) {
    static constexpr std::string_view kKind[] = {"struct", "union", "enum"};
    static constexpr std::string_view kLayout[] = {"", " extern", " packed"};
    Line(fmt::format("{}{}", kKind[static_cast<size_t>(n.kind)],
                     kLayout[static_cast<size_t>(n.layout)]));
    Child("tag", n.tag);
    for (const Member& member : ast_.Get(n.members)) {
      ++depth_;
      Line("member " + NameOr(member.name));
      Child("type", member.type);
      Child("value", member.value);
      --depth_;
    }
  }
  void Node(const TensorAccessExpr& n) {
    std::string variables;
    for (Name name : ast_.Get(n.variables)) variables += " " + std::string(Text(name));
    Line("tensor-access" + variables);
    Children("extent", n.extents);
    Child("array", n.array);
    Children("at", n.indices);
  }
  void Node(const IfExpr& n) {
    Line("if"), Child("", n.condition), Child("then", n.then_branch), Child("else", n.else_branch);
  }
  void Node(const SwitchExpr& n) {
    Line("switch");
    Child("", n.operand);
    for (const SwitchProng& prong : ast_.Get(n.prongs)) {
      ++depth_;
      Line(prong.is_else ? "prong else" : "prong");
      Children("value", prong.values);
      Child("body", prong.body);
      --depth_;
    }
  }
  void Node(const BlockExpr& n) {
    Line(n.label ? "block " + std::string(Text(n.label)) : "block"), Children("", n.statements);
  }
  void Node(const WhileExpr& n) {
    Line(fmt::format("while {}{}", NameOr(n.label), n.is_inline ? " inline" : ""));
    Child("", n.condition), Child("step", n.step), Child("body", n.body);
  }
  void Node(const ForExpr& n) {
    Line(fmt::format("for {} {} {}{}", NameOr(n.label), NameOr(n.element), NameOr(n.index),
                     n.is_inline ? " inline" : ""));
    Child("", n.sequence), Child("body", n.body);
  }
  void Node(const AssignExpr& n) {
    Line(fmt::format("assign {}", Spelling(n.op))), Child("", n.target), Child("", n.value);
  }
  void Node(const ReturnExpr& n) { Line("return"), Child("", n.value); }
  void Node(const BreakExpr& n) { Line("break " + NameOr(n.label)), Child("", n.value); }
  void Node(const ContinueExpr& n) { Line("continue " + NameOr(n.label)); }
  void Node(const DeclExpr& n) { Decl(n.decl); }
  void Node(const AsmExpr& n) {
    Line(fmt::format("asm{} \"{}\"", n.is_volatile ? " volatile" : "", EscapeBytes(Text(n.text))));
    auto operands = [&](std::string_view role, List<AsmOperand> list) {
      for (const AsmOperand& operand : ast_.Get(list)) {
        ++depth_;
        Line(fmt::format("{} {} \"{}\"", role, NameOr(operand.name),
                         EscapeBytes(Text(operand.constraint))));
        Child("", operand.value);
        --depth_;
      }
    };
    operands("output", n.outputs), operands("input", n.inputs), operands("clobber", n.clobbers);
  }

  const Ast& ast_;
  const NameTable& names_;
  size_t depth_ = 0;
  std::string role_;
  std::string out_;
};

}  // namespace

std::string EscapeBytes(std::string_view bytes) {
  std::string out;
  for (char c : bytes) {
    unsigned char u = static_cast<unsigned char>(c);
    switch (c) {
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '"':
        out += "\\\"";
        break;
      default:
        if (u < 0x20 || u >= 0x7F)
          out += fmt::format("\\x{:02x}", u);
        else
          out += c;
    }
  }
  return out;
}

std::string Dump(const Ast& ast, const NameTable& names) { return Dumper(ast, names).Run(); }

}  // namespace szarena::csl
