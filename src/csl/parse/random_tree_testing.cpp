// SPDX-License-Identifier: Apache-2.0
#include "csl/parse/random_tree_testing.h"

#include <random>
#include <string>

namespace szarena::csl::testing {
namespace {

class Generator {
 public:
  Generator(uint32_t seed, NameTable& names) : random_(seed), names_(names), ast_(SourceId{0}) {}

  Ast Run() {
    int count = 1 + Below(4);
    for (int i = 0; i < count; ++i) {
      switch (Below(6)) {
        case 0:
          ast_.Add(Item{Item::Kind::kComptime, {}, Block(3, false), {}});
          break;
        case 1:
          ast_.Add(Item{Item::Kind::kLayout, {}, Block(3, false), {}});
          break;
        case 2:
          ast_.Add(Item{Item::Kind::kDecl, Function(), {}, {}});
          break;
        case 3:
          ast_.Add(Item{
              Item::Kind::kDecl,
              ast_.Add(
                  VarDecl{VarKind::kColor, Linkage::kNone, false, {}, Maybe() ? Expr(2) : ExprId{}},
                  Word(), {}, {}, {}),
              {},
              {}});
          break;
        default:
          ast_.Add(Item{Item::Kind::kDecl, Variable(true), {}, {}});
          break;
      }
    }
    return std::move(ast_);
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  bool Maybe(int one_in = 2) { return Below(one_in) == 0; }
  Name Word() {
    static constexpr std::string_view kWords[] = {"a",    "b",  "foo",     "i16", "f32",
                                                  "void", "x1", "layout_", "_",   "EAST"};
    return names_.Intern(kWords[Below(10)]);
  }
  ExprId Add(ExprNode node) { return ast_.Add(node, {}); }
  ExprId Ident() { return Add(IdentExpr{Word()}); }

  template <typename F>
  List<ExprId> Exprs(int min, int max, F&& make) {
    std::vector<ExprId> list;
    int count = min + Below(max - min + 1);
    for (int i = 0; i < count; ++i) list.push_back(make());
    return ast_.AddList(list);
  }

  DeclId Variable(bool top) {
    VarDecl decl{};
    decl.kind = static_cast<VarKind>(Below(top ? 3 : 2));
    if (top) decl.linkage = static_cast<Linkage>(Below(3));
    decl.is_comptime = !top && Maybe(4);
    if (decl.kind == VarKind::kVar || Maybe()) decl.type = Type(2);
    if (decl.kind == VarKind::kConst || Maybe()) decl.init = Expr(3);
    Attributes attributes;
    if (decl.type && Maybe(4)) attributes.align = Expr(1);
    if (Maybe(6)) attributes.linksection = Add(StringExpr{names_.Intern("s\n\x80\"")});
    if (Maybe(6)) attributes.linkname = Expr(1);
    return ast_.Add(decl, Word(), {}, attributes, {});
  }

  DeclId Function() {
    FnDecl decl{};
    decl.is_task = Maybe(3);
    decl.is_inline = Maybe(3);
    decl.linkage = static_cast<Linkage>(Below(3));
    std::vector<Param> params;
    for (int i = Below(3); i > 0; --i) {
      Param param{Word(), Maybe(3), Maybe(3), {}, {}};
      if (!param.is_anytype) param.type = Type(2);
      params.push_back(param);
    }
    decl.params = ast_.AddList(params);
    decl.result = decl.is_task ? Add(IdentExpr{names_.Intern("void")}) : Type(2);
    if (decl.linkage != Linkage::kExtern || Maybe()) decl.body = Block(3, false);
    return ast_.Add(decl, Word(), {}, {}, {});
  }

  ExprId Block(int depth, bool label) {
    Name name = label ? Word() : Name{};
    auto statements = Exprs(0, depth > 0 ? 4 : 0, [&] { return Statement(depth - 1); });
    return Add(BlockExpr{name, statements});
  }

  ExprId Body(int depth) { return Maybe() ? Block(depth, Maybe(4)) : Statement(depth, false); }

  ExprId Statement(int depth, bool allow_decl = true) {
    switch (Below(depth > 0 ? 12 : 4)) {
      case 0:
        return Add(AssignExpr{static_cast<AssignOp>(Below(11)), Target(), Expr(depth)});
      case 1:
        return Add(ContinueExpr{Maybe() ? Word() : Name{}});
      case 2:
        return Add(CallExpr{Ident(), Exprs(0, 2, [&] { return Expr(depth - 1); })});
      case 3:
        return Add(ReturnExpr{Maybe() ? Expr(depth) : ExprId{}});
      case 4:
        return Add(BreakExpr{Maybe() ? Word() : Name{}, Maybe() ? Expr(depth) : ExprId{}});
      case 5: {
        ExprId condition = Expr(depth - 1), then_branch = Block(depth - 1, false);
        return Add(IfExpr{condition, then_branch, Maybe() ? Block(depth - 1, false) : ExprId{}});
      }
      case 6: {
        ExprId condition = Expr(depth - 1), step = Maybe() ? Statement(0, false) : ExprId{};
        if (step && !ast_.As<AssignExpr>(step) && !ast_.As<CallExpr>(step)) step = {};
        ExprId body = Body(depth - 1);
        return Add(WhileExpr{Maybe(4) ? Word() : Name{}, Maybe(4), condition, step, body});
      }
      case 7: {
        ExprId sequence = Expr(depth - 1), body = Body(depth - 1);
        return Add(ForExpr{Maybe(4) ? Word() : Name{}, Maybe(4), sequence, Word(),
                           Maybe() ? Word() : Name{}, body});
      }
      case 8:
        return Switch(depth);
      case 9:
        if (allow_decl) return Add(DeclExpr{Variable(false)});
        [[fallthrough]];
      case 10:
        return Block(depth - 1, Maybe(3));
      default:
        return Add(BuiltinExpr{Word(), Exprs(0, 3, [&] { return Expr(depth - 1); })});
    }
  }

  ExprId Switch(int depth) {
    ExprId operand = Expr(depth - 1);
    std::vector<SwitchProng> prongs;
    for (int i = Below(3); i > 0; --i) {
      auto values = Exprs(1, 2, [&] { return Expr(depth - 1); });
      prongs.push_back({values, false, Body(depth - 1), {}});
    }
    if (Maybe()) prongs.push_back({{}, true, Body(depth - 1), {}});
    return Add(SwitchExpr{operand, ast_.AddList(prongs)});
  }

  ExprId Target() {
    ExprId base = Ident();
    switch (Below(4)) {
      case 0:
        return Add(FieldExpr{base, Word(), {}});
      case 1:
        return Add(DerefExpr{base});
      case 2:
        return Add(IndexExpr{base, Exprs(1, 2, [&] { return Expr(1); })});
      default:
        return base;
    }
  }

  ExprId Type(int depth) {
    switch (Below(depth > 0 ? 7 : 1)) {
      case 1: {
        auto dims = Exprs(1, 2, [&] { return Expr(depth - 1); });
        return Add(ArrayTypeExpr{dims, Type(depth - 1)});
      }
      case 2:
        return Add(PointerTypeExpr{Maybe(), Maybe(), Type(depth - 1)});
      case 3: {
        auto params = Exprs(0, 2, [&] { return Type(depth - 1); });
        return Add(FnTypeExpr{params, Type(depth - 1), Maybe(4)});
      }
      case 4:
        return Container(depth);
      case 5:
        return Add(FieldExpr{Ident(), Word(), {}});
      default:
        return Ident();
    }
  }

  ExprId Container(int depth) {
    ContainerExpr node{static_cast<ContainerKind>(Below(3)), {}, {}, {}};
    if (node.kind != ContainerKind::kEnum) node.layout = static_cast<ContainerLayout>(Below(3));
    if (Maybe()) node.tag = Ident();
    std::vector<Member> members;
    for (int i = Below(3); i > 0; --i) {
      Member member{Word(), {}, {}, {}};
      if (node.kind != ContainerKind::kEnum) member.type = Type(depth - 1);
      if (Maybe()) member.value = Expr(depth - 1);
      members.push_back(member);
    }
    node.members = ast_.AddList(members);
    return Add(node);
  }

  ExprId Literal() {
    switch (Below(7)) {
      case 0:
        return Add(FloatExpr{ast_.AddFloat(1.5), names_.Intern("1.5")});
      case 1:
        return Add(StringExpr{names_.Intern(std::string_view("q\"\\\t\x01\xff\0z", 8))});
      case 2:
        return Add(BoolExpr{Maybe()});
      case 3:
        return Add(UndefinedExpr{});
      case 4:
        return Add(IntExpr{ast_.AddInt('x'), names_.Intern("'x'")});
      case 5:
        return Add(IntExpr{ast_.AddInt(255), names_.Intern("0xff")});
      default:
        return Ident();
    }
  }

  ExprId Init(int depth) {
    ExprId type;
    if (Maybe()) {
      auto dims = Exprs(1, 2, [&] { return Expr(depth - 1); });
      type = Maybe() ? Ident() : Add(ArrayTypeExpr{dims, Type(depth - 1)});
    }
    bool named = Maybe();
    std::vector<FieldInit> fields;
    for (int i = Below(4); i > 0; --i)
      fields.push_back({named ? Word() : Name{}, Expr(depth - 1), {}});
    return Add(InitExpr{type, ast_.AddList(fields)});
  }

  ExprId Expr(int depth) {
    if (depth <= 0) return Literal();
    switch (Below(16)) {
      case 0:
      case 1:
      case 2: {
        ExprId lhs = Expr(depth - 1);
        return Add(BinaryExpr{static_cast<BinaryOp>(Below(18)), lhs, Expr(depth - 1), {}});
      }
      case 3:
        return Add(UnaryExpr{static_cast<UnaryOp>(Below(4)), Expr(depth - 1)});
      case 4:
        return Add(FieldExpr{Expr(depth - 1), Word(), {}});
      case 5: {
        ExprId base = Expr(depth - 1);
        return Add(IndexExpr{base, Exprs(1, 2, [&] { return Expr(depth - 1); })});
      }
      case 6: {
        ExprId callee = Expr(depth - 1);
        return Add(CallExpr{callee, Exprs(0, 2, [&] { return Expr(depth - 1); })});
      }
      case 7:
        return Add(BuiltinExpr{Word(), Exprs(0, 3, [&] { return Expr(depth - 1); })});
      case 8:
        return Init(depth);
      case 9: {
        ExprId condition = Expr(depth - 1), then_branch = Expr(depth - 1);
        return Add(IfExpr{condition, then_branch, Maybe(4) ? ExprId{} : Expr(depth - 1)});
      }
      case 10:
        return Type(depth);
      case 11: {
        std::vector<Name> variables(static_cast<size_t>(1 + Below(2)), Word());
        auto list = ast_.AddList(variables);
        auto extents = Exprs(1, 2, [&] { return Expr(depth - 1); });
        ExprId array = Ident();
        if (Maybe(3)) array = Add(DerefExpr{array});
        if (Maybe(3)) array = Add(FieldExpr{array, Word(), {}});
        return Add(
            TensorAccessExpr{list, extents, array, Exprs(1, 2, [&] { return Expr(depth - 1); })});
      }
      case 12:
        return Add(ComptimeExpr{Maybe(3) ? Block(depth - 1, false) : Expr(depth - 1)});
      case 13:
        return Maybe() ? Switch(depth) : Block(depth - 1, Maybe());
      case 14:
        return Maybe(3) ? Asm(depth) : Add(DerefExpr{Expr(depth - 1)});
      default:
        return Literal();
    }
  }

  ExprId Asm(int depth) {
    AsmExpr node{Maybe(), names_.Intern("mov r0, r1\n"), {}, {}, {}};
    auto operands = [&](bool clobbers) {
      std::vector<AsmOperand> list;
      for (int i = Below(3); i > 0; --i) {
        list.push_back({clobbers ? Name{} : Word(),
                        names_.Intern("=r"),
                        clobbers ? ExprId{} : Expr(depth - 1),
                        {}});
      }
      return ast_.AddList(list);
    };
    node.outputs = operands(false);
    node.inputs = operands(false);
    node.clobbers = operands(true);
    return Add(node);
  }

  std::mt19937 random_;
  NameTable& names_;
  Ast ast_;
};

}  // namespace

Ast RandomTree(uint32_t seed, NameTable& names) { return Generator(seed, names).Run(); }

}  // namespace szarena::csl::testing
