// SPDX-License-Identifier: Apache-2.0
#include "csl/syntax/print.h"

#include "csl/syntax/dump.h"
#include "csl/syntax/precedence.h"

namespace szarena::csl {
namespace {

// Levels of an operand's surroundings: what may stand there without parentheses.
constexpr int kLevelExpr = 0;     // anything
constexpr int kLevelPrefix = 8;   // operand of a prefix operator, a type
constexpr int kLevelPostfix = 9;  // operand of .x [i] (a) {…}

class Printer {
 public:
  Printer(const Ast& ast, const NameTable& names) : ast_(ast), names_(names) {}

  std::string File() {
    for (const Item& item : ast_.items()) {
      if (item.kind == Item::Kind::kDecl) {
        Decl(item.decl);
      } else {
        out_ += item.kind == Item::Kind::kComptime ? "comptime " : "layout ";
        Expr(item.block);
      }
      out_ += '\n';
    }
    return std::move(out_);
  }

  std::string One(ExprId id) {
    Expr(id);
    return std::move(out_);
  }

 private:
  void Put(std::string_view text) { out_ += text; }
  void Put(Name name) { out_ += names_.Text(name); }
  void NewLine() { out_.append("\n").append(indent_ * 2, ' '); }

  // Binding level of the text of a node.
  int Level(ExprId id) const {
    const ExprNode& node = ast_.Expr(id);
    if (auto* binary = std::get_if<BinaryExpr>(&node)) return Precedence(binary->op);
    if (std::holds_alternative<ComptimeExpr>(node) || std::holds_alternative<IfExpr>(node) ||
        std::holds_alternative<AssignExpr>(node) || std::holds_alternative<ReturnExpr>(node) ||
        std::holds_alternative<BreakExpr>(node) || std::holds_alternative<WhileExpr>(node) ||
        std::holds_alternative<ForExpr>(node)) {
      return kLevelExpr;
    }
    // A prefix type is an operand of a prefix operator, but must be parenthesised before a postfix.
    if (std::holds_alternative<UnaryExpr>(node) || std::holds_alternative<PointerTypeExpr>(node) ||
        std::holds_alternative<ArrayTypeExpr>(node) || std::holds_alternative<FnTypeExpr>(node)) {
      return kLevelPrefix;
    }
    return 10;
  }

  // A block or switch as the operand of something would end a statement early.
  bool StartsLikeStatement(ExprId id) const {
    const ExprNode& node = ast_.Expr(id);
    return std::holds_alternative<BlockExpr>(node) || std::holds_alternative<SwitchExpr>(node) ||
           std::holds_alternative<IfExpr>(node);
  }

  // A type in a position where '{' would start the body of something: its own initialiser needs
  // parentheses.
  bool EndsWithInit(ExprId id) const {
    return ast_.As<InitExpr>(id) != nullptr && ast_.As<InitExpr>(id)->type;
  }

  void Expr(ExprId id, int level = kLevelExpr) {
    bool parens = Level(id) < level || (level > kLevelExpr && StartsLikeStatement(id));
    if (parens) Put("(");
    std::visit([this](const auto& node) { Node(node); }, ast_.Expr(id));
    if (parens) Put(")");
  }

  void Type(ExprId id) {
    bool parens = EndsWithInit(id) || (!ast_.As<PointerTypeExpr>(id) && Level(id) < kLevelPrefix) ||
                  StartsLikeStatement(id) || ast_.As<UnaryExpr>(id);
    if (parens) Put("(");
    std::visit([this](const auto& node) { Node(node); }, ast_.Expr(id));
    if (parens) Put(")");
  }

  void Separated(List<ExprId> list) {
    bool first = true;
    for (ExprId id : ast_.Get(list)) {
      if (!first) Put(", ");
      first = false;
      Expr(id);
    }
  }

  void PutAttributes(const Attributes& attributes) {
    auto one = [this](std::string_view word, ExprId id) {
      if (!id) return;
      Put(" "), Put(word), Put("("), Expr(id), Put(")");
    };
    one("align", attributes.align), one("linksection", attributes.linksection),
        one("linkname", attributes.linkname);
  }

  void Decl(DeclId id) {
    static constexpr std::string_view kLinkage[] = {"", "export ", "extern "};
    static constexpr std::string_view kVarKind[] = {"var ", "const ", "param ", "color "};
    const Attributes& attributes = ast_.AttributesOf(id);
    if (auto* var = ast_.As<VarDecl>(id)) {
      Put(kLinkage[static_cast<size_t>(var->linkage)]);
      if (var->is_comptime) Put("comptime ");
      Put(kVarKind[static_cast<size_t>(var->kind)]);
      Put(ast_.NameOf(id));
      if (var->type) Put(": "), Type(var->type);
      PutAttributes(attributes);
      if (var->init) Put(" = "), Expr(var->init);
      Put(";");
      return;
    }
    const FnDecl& fn = *ast_.As<FnDecl>(id);
    Put(kLinkage[static_cast<size_t>(fn.linkage)]);
    if (fn.is_inline) Put("inline ");
    Put(fn.is_task ? "task " : "fn ");
    Put(ast_.NameOf(id));
    Put("(");
    bool first = true;
    for (const Param& param : ast_.Get(fn.params)) {
      if (!first) Put(", ");
      first = false;
      if (param.is_comptime) Put("comptime ");
      if (param.name) Put(param.name), Put(": ");
      if (param.is_anytype)
        Put("anytype");
      else
        Type(param.type);
    }
    Put(") ");
    Type(fn.result);
    PutAttributes(attributes);
    if (fn.body)
      Put(" "), Expr(fn.body);
    else
      Put(";");
  }

  void Node(const ErrorExpr&) { Put("$"); }
  void Node(const IntExpr& n) { Put(n.spelling); }
  void Node(const FloatExpr& n) { Put(n.spelling); }
  void Node(const StringExpr& n) { Put("\""), Put(EscapeBytes(names_.Text(n.bytes))), Put("\""); }
  void Node(const BoolExpr& n) { Put(n.value ? "true" : "false"); }
  void Node(const UndefinedExpr&) { Put("undefined"); }
  void Node(const IdentExpr& n) { Put(n.name); }
  void Node(const FieldExpr& n) { Expr(n.base, kLevelPostfix), Put("."), Put(n.name); }
  void Node(const DerefExpr& n) { Expr(n.base, kLevelPostfix), Put(".*"); }
  void Node(const IndexExpr& n) {
    Expr(n.base, kLevelPostfix), Put("["), Separated(n.indices), Put("]");
  }
  void Node(const CallExpr& n) {
    Expr(n.callee, kLevelPostfix), Put("("), Separated(n.args), Put(")");
  }
  void Node(const BuiltinExpr& n) { Put("@"), Put(n.name), Put("("), Separated(n.args), Put(")"); }
  void Node(const UnaryExpr& n) {
    Put(Spelling(n.op));
    // "- -x", "& &x": two signs in a row would read as a C operator.
    if (auto* inner = ast_.As<UnaryExpr>(n.operand); inner != nullptr && inner->op == n.op)
      Put(" ");
    Expr(n.operand, kLevelPrefix);
  }
  void Node(const BinaryExpr& n) {
    int level = Precedence(n.op);
    bool comparison = level == kComparisonPrecedence;
    Expr(n.lhs, comparison ? level + 1 : level);
    Put(" "), Put(Spelling(n.op)), Put(" ");
    Expr(n.rhs, level + 1);
  }
  void Node(const ComptimeExpr& n) { Put("comptime "), Expr(n.operand); }
  void Node(const InitExpr& n) {
    if (n.type) {
      if (ast_.As<ArrayTypeExpr>(n.type))
        Type(n.type);
      else
        Expr(n.type, kLevelPostfix);
    } else {
      Put(".");
    }
    Put("{");
    bool first = true;
    for (const FieldInit& field : ast_.Get(n.fields)) {
      Put(first ? " " : ", ");
      first = false;
      if (field.name) Put("."), Put(field.name), Put(" = ");
      Expr(field.value);
    }
    Put(first ? "}" : " }");
  }
  void Node(const ArrayTypeExpr& n) { Put("["), Separated(n.dims), Put("]"), Type(n.element); }
  void Node(const PointerTypeExpr& n) {
    Put(n.is_many ? "[*]" : "*");
    if (n.is_const) Put("const ");
    Type(n.pointee);
  }
  void Node(const FnTypeExpr& n) {
    Put(n.is_task ? "task (" : "fn(");
    bool first = true;
    for (ExprId param : ast_.Get(n.params)) {
      if (!first) Put(", ");
      first = false;
      Type(param);
    }
    Put(") "), Type(n.result);
  }
  void Node(const ContainerExpr& n) {
    static constexpr std::string_view kKind[] = {"struct", "union", "enum"};
    static constexpr std::string_view kLayout[] = {"", "extern ", "packed "};
    Put(kLayout[static_cast<size_t>(n.layout)]), Put(kKind[static_cast<size_t>(n.kind)]);
    if (n.tag) Put("("), Type(n.tag), Put(")");
    Put(" {");
    bool first = true;
    for (const Member& member : ast_.Get(n.members)) {
      Put(first ? " " : ", ");
      first = false;
      Put(member.name);
      if (member.type) Put(": "), Type(member.type);
      if (member.value) Put(" = "), Expr(member.value);
    }
    Put(first ? "}" : " }");
  }
  void Node(const TensorAccessExpr& n) {
    Put("|");
    bool first = true;
    for (Name name : ast_.Get(n.variables)) {
      if (!first) Put(", ");
      first = false;
      Put(name);
    }
    Put("|{"), Separated(n.extents), Put("} -> ");
    Expr(n.array, kLevelPostfix);
    Put("["), Separated(n.indices), Put("]");
  }
  // A branch before `else`: an if without else would take it.
  void Branch(ExprId id, bool before_else) {
    bool dangling = before_else && EndsWithIf(id);
    if (dangling) Put("(");
    Expr(id);
    if (dangling) Put(")");
  }
  bool EndsWithIf(ExprId id) const {
    if (auto* branch = ast_.As<IfExpr>(id))
      return !branch->else_branch || EndsWithIf(branch->else_branch);
    if (auto* loop = ast_.As<WhileExpr>(id)) return EndsWithIf(loop->body);
    if (auto* each = ast_.As<ForExpr>(id)) return EndsWithIf(each->body);
    if (auto* assign = ast_.As<AssignExpr>(id)) return EndsWithIf(assign->value);
    if (auto* jump = ast_.As<ReturnExpr>(id)) return jump->value && EndsWithIf(jump->value);
    if (auto* jump = ast_.As<BreakExpr>(id)) return jump->value && EndsWithIf(jump->value);
    if (auto* now = ast_.As<ComptimeExpr>(id)) return EndsWithIf(now->operand);
    return false;
  }
  void Node(const IfExpr& n) {
    Put("if ("), Expr(n.condition), Put(") ");
    Branch(n.then_branch, static_cast<bool>(n.else_branch));
    if (n.else_branch) Put(" else "), Branch(n.else_branch, false);
  }
  void Node(const SwitchExpr& n) {
    Put("switch ("), Expr(n.operand), Put(") {");
    ++indent_;
    for (const SwitchProng& prong : ast_.Get(n.prongs)) {
      NewLine();
      if (prong.is_else)
        Put("else");
      else
        Separated(prong.values);
      Put(" => ");
      Expr(prong.body);
      Put(",");
    }
    --indent_;
    NewLine();
    Put("}");
  }
  void Label(Name label) {
    if (label) Put(label), Put(": ");
  }
  void Node(const BlockExpr& n) {
    Label(n.label);
    if (n.statements.empty()) {
      Put("{}");
      return;
    }
    Put("{");
    ++indent_;
    for (ExprId statement : ast_.Get(n.statements)) {
      NewLine();
      Expr(statement);
      if (!ast_.As<DeclExpr>(statement)) Put(";");
    }
    --indent_;
    NewLine();
    Put("}");
  }
  void Node(const WhileExpr& n) {
    Label(n.label);
    Put(n.is_inline ? "inline while (" : "while ("), Expr(n.condition), Put(")");
    if (n.step) Put(" : ("), Expr(n.step), Put(")");
    Put(" "), Expr(n.body);
  }
  void Node(const ForExpr& n) {
    Label(n.label);
    Put(n.is_inline ? "inline for (" : "for ("), Expr(n.sequence), Put(") |"), Put(n.element);
    if (n.index) Put(", "), Put(n.index);
    Put("| "), Expr(n.body);
  }
  void Node(const AssignExpr& n) {
    Expr(n.target), Put(" "), Put(Spelling(n.op)), Put(" "), Expr(n.value);
  }
  void Node(const ReturnExpr& n) {
    Put("return");
    if (n.value) Put(" "), Expr(n.value);
  }
  void Node(const BreakExpr& n) {
    Put("break");
    if (n.label) Put(" :"), Put(n.label);
    if (n.value) Put(" "), Expr(n.value);
  }
  void Node(const ContinueExpr& n) {
    Put("continue");
    if (n.label) Put(" :"), Put(n.label);
  }
  void Node(const DeclExpr& n) { Decl(n.decl); }
  void Node(const AsmExpr& n) {
    Put(n.is_volatile ? "asm volatile (\"" : "asm (\""), Put(EscapeBytes(names_.Text(n.text))),
        Put("\"");
    auto operands = [this](List<AsmOperand> list) {
      bool first = true;
      for (const AsmOperand& operand : ast_.Get(list)) {
        Put(first ? " " : ", ");
        first = false;
        if (operand.name) Put("["), Put(operand.name), Put("] ");
        Put("\""), Put(EscapeBytes(names_.Text(operand.constraint))), Put("\"");
        if (operand.value) Put(" ("), Expr(operand.value), Put(")");
      }
    };
    Put(" :"), operands(n.outputs), Put(" :"), operands(n.inputs), Put(" :"), operands(n.clobbers),
        Put(")");
  }

  const Ast& ast_;
  const NameTable& names_;
  size_t indent_ = 0;
  std::string out_;
};

}  // namespace

std::string Print(const Ast& ast, const NameTable& names) { return Printer(ast, names).File(); }

std::string Print(const Ast& ast, const NameTable& names, ExprId id) {
  return Printer(ast, names).One(id);
}

}  // namespace szarena::csl
