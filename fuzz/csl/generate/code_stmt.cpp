// SPDX-License-Identifier: Apache-2.0
// Statements, functions and modules of the code generator.
#include <fmt/format.h>

#include <algorithm>

#include "code_gen.h"

namespace szarena::csl_fuzz {
namespace {

constexpr uint64_t kStepLimit = 20000;  // of a function

}  // namespace

Stmt& CodeGen::NewStmt(Stmt::Kind kind) {
  Stmt& s = code_.stmts.emplace_back();
  s.kind = kind;
  spent_ += at_.times;
  return s;
}

CodeGen::Body CodeGen::Block(uint64_t times, int statements) {
  const Where saved = at_;
  const size_t names = scope_.size();
  at_.times *= times;
  ++at_.depth;
  Body body;
  for (int i = 0; i < statements; ++i) {
    Statement(body);
    if (!body.empty() &&
        (body.back()->kind == Stmt::Kind::kBreak || body.back()->kind == Stmt::Kind::kContinue ||
         body.back()->kind == Stmt::Kind::kReturn))
      break;
  }
  scope_.resize(names);
  at_ = saved;
  return body;
}

void CodeGen::DeclareLocal(Body& out) {
  const Type type = AnyType();
  if (c_.Chance(25)) {
    const Shape* shape = !code_.shapes.empty() && c_.Chance(50)
                             ? &code_.shapes[c_.Below(static_cast<uint32_t>(code_.shapes.size()))]
                             : nullptr;
    std::vector<int> dims;
    if (shape == nullptr || c_.Chance(40)) dims.push_back(c_.Between(1, 4));
    if (!dims.empty() && c_.Chance(25)) dims.push_back(c_.Between(1, 3));
    std::vector<const Expr*> values;
    Variable& v = Make("l", type, dims, shape);
    for (int i = 0; i < v.Slots(); ++i) {
      const Type element = shape != nullptr
                               ? shape->fields[static_cast<size_t>(i) % shape->fields.size()].type
                               : type;
      values.push_back(Bare(AnyExpr(element, 1)));
    }
    Stmt& s = NewStmt(Stmt::Kind::kDeclareArray);
    s.variable = &v;
    s.values = std::move(values);
    scope_.push_back(&v);
    out.push_back(&s);
    return;
  }
  const Expr* value = Bare(Widened(type, 3));
  Variable& v = Make("l", type);
  v.is_const = c_.Chance(30);
  Stmt& s = NewStmt(Stmt::Kind::kDeclare);
  s.variable = &v;
  s.value = value;
  scope_.push_back(&v);
  out.push_back(&s);
}

void CodeGen::Loop(Body& out) {
  const int count = c_.Between(1, 6);
  const uint32_t kind = c_.Below(at_.is_inline ? 1 : 4);
  Stmt& s = NewStmt(kind == 1   ? Stmt::Kind::kInlineFor
                    : kind == 2 ? Stmt::Kind::kWhile
                    : kind == 3 ? Stmt::Kind::kForArray
                                : Stmt::Kind::kFor);
  const Where saved = at_;
  const size_t names = scope_.size();
  if (s.kind == Stmt::Kind::kForArray) {
    std::vector<const Variable*> arrays;
    for (const Variable* v : scope_) {
      if (v->dims.size() == 1 && v->shape == nullptr && v->pointer == Variable::Pointer::kNone &&
          MayUse(*v))
        arrays.push_back(v);
    }
    if (arrays.empty())
      s.kind = Stmt::Kind::kFor;
    else
      s.source = c_.Pick(arrays);
  }
  Variable& v = Make("i", s.source != nullptr ? s.source->type : Uint(16));
  v.is_const = true;
  int times = count;
  if (s.source != nullptr) {
    Variable& index = Make("n", Uint(16));
    index.is_const = true;
    index.bound = s.source->Elements();
    s.second = &index;
    scope_.push_back(&index);
    times = s.source->Elements();
  } else if (s.kind == Stmt::Kind::kWhile || c_.Chance(60)) {
    s.stop = count;
    v.bound = count;
  } else {
    // @range(T, start, stop, step), either way; unsigned where it stays above 0.
    s.plain_range = false;
    v.type = Int(16);
    s.step = c_.Between(1, 3) * (c_.Chance(40) ? -1 : 1);
    s.start = c_.Between(-8, 8);
    s.stop = s.start + s.step * count - (s.step > 0 ? 1 : -1) * static_cast<int>(c_.Below(2));
    if (s.start < 0 || s.stop < 0) v.type = Int(c_.Chance(50) ? 16 : 32);
    times = count + 1;
  }
  if (!s.plain_range) {
    // Values of a signed type as its bits: the loops of the evaluator keep plain integers, so only
    // values from 0 on are made.
    if (s.start < 0 || s.stop < 0) {
      const int up = 40;
      s.start += up;
      s.stop += up;
    }
  }
  s.variable = &v;
  scope_.push_back(&v);
  at_.in_loop = s.kind != Stmt::Kind::kInlineFor;
  if (s.kind == Stmt::Kind::kInlineFor) at_.loops.clear();
  if (c_.Chance(30)) {
    s.label = Name("loop");
    if (s.kind != Stmt::Kind::kInlineFor) at_.loops.push_back(s.label);
  }
  s.bodies.push_back(Block(static_cast<uint64_t>(times), c_.Between(1, 3)));
  scope_.resize(names);
  at_ = saved;
  out.push_back(&s);
}

void CodeGen::CallProcedure(Body& out) {
  std::vector<const Function*> fit;
  for (const Function& f : code_.functions) {
    if (&f == at_.function || f.returns || spent_ + f.cost * at_.times > kStepLimit ||
        (!f.is_closed && !at_.may_write_globals))
      continue;
    const bool can = std::all_of(f.params.begin(), f.params.end(), [&](const Variable* p) {
      if (p->pointer == Variable::Pointer::kNone) return true;
      return std::any_of(scope_.begin(), scope_.end(), [&](const Variable* v) {
        const bool enough = p->pointer == Variable::Pointer::kMany
                                ? !v->dims.empty() && v->Elements() >= p->reach
                                : true;
        return v->pointer == Variable::Pointer::kNone && v->shape == nullptr &&
               v->type == p->type && v->bound == 0 && enough && (p->is_const || !v->is_const) &&
               MayUse(*v);
      });
    });
    if (can) fit.push_back(&f);
  }
  if (fit.empty()) return DeclareLocal(out);
  const Expr* call = CallOf(*c_.Pick(fit), 2);
  Stmt& s = NewStmt(Stmt::Kind::kCall);
  s.value = call;
  out.push_back(&s);
}

void CodeGen::Statement(Body& out) {
  if (spent_ > kStepLimit || c_.IsOver()) return;
  const bool deep = at_.depth >= 3;
  switch (c_.Below(14)) {
    case 0:
    case 1:
      return DeclareLocal(out);
    case 2:
    case 3:
      if (!deep) return Loop(out);
      break;
    case 4:
    case 5:
      if (!deep) {
        Stmt& s = NewStmt(Stmt::Kind::kIf);
        s.value = Condition(2);
        s.bodies.push_back(Block(1, c_.Between(1, 3)));
        s.bodies.push_back(c_.Chance(50) ? Block(1, c_.Between(1, 2)) : Body{});
        out.push_back(&s);
        return;
      }
      break;
    case 6:
      if (!deep) {
        Stmt& s = NewStmt(Stmt::Kind::kSwitch);
        const Type type = AnyInt();
        s.value = AnyExpr(type, 2);
        const int cases = c_.Between(1, 3);
        for (int i = 0; i < cases; ++i) {
          const Bits v = AnyValue(type);
          if (std::any_of(s.values.begin(), s.values.end(),
                          [&](const Expr* e) { return e->value == v; }))
            continue;
          s.values.push_back(LiteralOf(type, v));
          s.bodies.push_back(Block(1, c_.Between(1, 2)));
        }
        s.bodies.push_back(Block(1, 1));
        out.push_back(&s);
        return;
      }
      break;
    case 7:
      return CallProcedure(out);
    case 8:
      // An exit, under a condition, so that what follows is reachable.
      if (at_.depth >= 1 && (at_.in_loop || !at_.loops.empty()) && !at_.is_inline) {
        Stmt& exit = NewStmt(c_.Chance(50) ? Stmt::Kind::kBreak : Stmt::Kind::kContinue);
        if (!at_.loops.empty() && (!at_.in_loop || c_.Chance(50))) exit.label = c_.Pick(at_.loops);
        Stmt& s = NewStmt(Stmt::Kind::kIf);
        s.value = Condition(2);
        s.bodies = {Body{&exit}, Body{}};
        out.push_back(&s);
        return;
      }
      break;
    case 9:
      if (at_.function != nullptr && !at_.is_inline && c_.Chance(40)) {
        Stmt& exit = NewStmt(Stmt::Kind::kReturn);
        if (at_.function->returns) exit.value = Bare(AnyExpr(at_.function->result, 2));
        Stmt& s = NewStmt(Stmt::Kind::kIf);
        s.value = Condition(2);
        s.bodies = {Body{&exit}, Body{}};
        out.push_back(&s);
        return;
      }
      break;
    case 10: {
      // Whole arrays and structs.
      std::vector<std::pair<const Variable*, const Variable*>> pairs;
      for (const Variable* a : scope_) {
        if (a->Slots() == 1 || a->pointer != Variable::Pointer::kNone || a->is_const ||
            (a->is_global && !at_.may_write_globals) || !MayUse(*a))
          continue;
        for (const Variable* b : scope_) {
          if (a != b && b->pointer == Variable::Pointer::kNone && a->TypeName() == b->TypeName() &&
              MayUse(*b))
            pairs.push_back({a, b});
        }
      }
      if (!pairs.empty()) {
        const auto& [to, from] = c_.Pick(pairs);
        Stmt& s = NewStmt(Stmt::Kind::kCopy);
        s.place.variable = to;
        s.variable = from;
        spent_ += at_.times * static_cast<uint64_t>(to->Slots());
        out.push_back(&s);
        return;
      }
      break;
    }
    default:
      break;
  }
  Place place;
  const Type type = AnyType();
  if (!PickPlace(type, true, place)) return DeclareLocal(out);
  Stmt& s = NewStmt(Stmt::Kind::kAssign);
  s.place = place;
  s.compound = type.kind != Kind::kBool && c_.Chance(35);
  if (s.compound) {
    static const Op kOps[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kAnd, Op::kOr, Op::kXor};
    s.op = kOps[c_.Below(type.kind == Kind::kFloat ? 3 : 6)];
  }
  s.value = Bare(Widened(type, 3));
  out.push_back(&s);
}

void CodeGen::Constants() {
  at_ = {};
  at_.is_closed = true;
  const int count = c_.Between(0, 3);
  for (int i = 0; i < count; ++i) {
    const Type type = AnyType();
    const Expr* value = Bare(AnyExpr(type, 3));
    Variable& v = Make("K", type);
    v.is_const = v.is_global = true;
    code_.memory[static_cast<size_t>(v.slot)] = Evaluate(*value, code_.memory);
    head_ += fmt::format("const {}: {} = {};\n", v.name, type.Name(), Print(*value));
    scope_.push_back(&v);
  }
}

void CodeGen::Globals() {
  at_ = {};
  at_.is_closed = true;
  const int shapes = c_.Between(0, 2);
  for (int i = 0; i < shapes; ++i) {
    Shape& shape = code_.shapes.emplace_back();
    shape.name = Name("S");
    const uint32_t kind = c_.Below(3);
    shape.packed = kind == 2;
    int bits = 0;
    const int fields = c_.Between(1, 4);
    std::string text;
    for (int k = 0; k < fields; ++k) {
      Type type = AnyType();
      if (shape.packed && (bits += type.bits) > 64) break;
      if (kind == 1 && type.kind == Kind::kInt && type.bits != 16 && type.bits != 32)
        type = Int(16);
      shape.fields.push_back({fmt::format("f{}", k), type});
      text += fmt::format("{}f{}: {}", text.empty() ? "" : ", ", k, type.Name());
    }
    head_ += fmt::format("const {} = {}struct {{ {} }};\n", shape.name,
                         kind == 2   ? "packed "
                         : kind == 1 ? "extern "
                                     : "",
                         text);
  }
  const int count = c_.Between(2, 7);
  for (int i = 0; i < count; ++i) {
    const Type type = AnyType();
    const Shape* shape = !code_.shapes.empty() && c_.Chance(25)
                             ? &code_.shapes[c_.Below(static_cast<uint32_t>(code_.shapes.size()))]
                             : nullptr;
    std::vector<int> dims;
    if (c_.Chance(50)) dims.push_back(c_.Between(1, 6));
    if (!dims.empty() && c_.Chance(30)) dims.push_back(c_.Between(1, 3));
    std::vector<const Expr*> values;
    Variable& v = Make("g", type, dims, shape);
    v.is_global = true;
    const bool zero = !dims.empty() && shape == nullptr && c_.Chance(25);
    for (int k = 0; k < v.Slots(); ++k) {
      const Type element = shape != nullptr
                               ? shape->fields[static_cast<size_t>(k) % shape->fields.size()].type
                               : type;
      const Expr* value = zero ? LiteralOf(element, 0) : Bare(AnyExpr(element, 2));
      values.push_back(value);
      code_.memory[static_cast<size_t>(v.slot + k)] = Evaluate(*value, code_.memory);
    }
    const std::string init =
        zero ? fmt::format("@zeros({})", v.TypeName()) : Initialiser(v, values);
    head_ += fmt::format("{}var {}: {} = {};\n", shape == nullptr && c_.Chance(80) ? "export " : "",
                         v.name, v.TypeName(), init);
    globals_.push_back(&v);
  }
  for (const Variable* v : globals_) scope_.push_back(v);
}

void CodeGen::MakeFunction(bool procedure) {
  Function& f = code_.functions.emplace_back();
  f.name = Name("f");
  at_ = {};
  at_.function = &f;
  const size_t names = scope_.size();
  spent_ = 0;
  f.returns = !procedure;
  f.result = AnyType();
  f.is_closed = c_.Chance(50);
  f.is_inline = !procedure && c_.Chance(20);
  at_.is_closed = f.is_closed;
  at_.is_inline = f.is_inline;
  at_.may_write_globals = procedure && !f.is_closed;
  const int params = c_.Between(0, 3);
  for (int i = 0; i < params; ++i) {
    const Type type = i == 0 && c_.Chance(40) ? f.result : AnyType();
    Variable& p = Make("p", type);
    p.is_const = true;
    if (procedure && c_.Chance(40)) {
      p.pointer = c_.Chance(50) ? Variable::Pointer::kOne : Variable::Pointer::kMany;
      p.reach = c_.Between(1, 3);
      p.is_const = c_.Chance(30);
    }
    f.params.push_back(&p);
    scope_.push_back(&p);
  }
  if (!f.params.empty() && f.params[0]->pointer == Variable::Pointer::kNone && c_.Chance(40)) {
    static const Function::Generic kKinds[] = {
        Function::Generic::kType, Function::Generic::kAnytype, Function::Generic::kComptimeParam};
    f.generic = kKinds[c_.Below(3)];
  }
  if (f.is_inline) {
    if (c_.Chance(40)) DeclareLocal(f.body);
  } else {
    const int statements = c_.Between(1, 5);
    for (int i = 0; i < statements; ++i) Statement(f.body);
  }
  if (f.returns) {
    Stmt& s = NewStmt(Stmt::Kind::kReturn);
    s.value = Bare(AnyExpr(f.result, 3));
    f.body.push_back(&s);
  }
  f.cost = spent_ + 1;
  scope_.resize(names);
  bodies_ += Print(f, 0);
}

std::string CodeGen::Module() {
  Constants();
  const int closed = c_.Between(0, 2);
  for (int i = 0; i < closed; ++i) MakeFunction(false);
  Constants();
  Globals();
  const int functions = c_.Between(0, 3), procedures = c_.Between(0, 3);
  for (int i = 0; i < functions; ++i) MakeFunction(false);
  for (int i = 0; i < procedures; ++i) MakeFunction(true);

  Function& f = code_.functions.emplace_back();
  f.name = prefix_ + "run";
  at_ = {};
  at_.function = &f;
  at_.may_write_globals = true;
  spent_ = 0;
  const size_t names = scope_.size();
  const int statements = c_.Between(2, 10);
  for (int i = 0; i < statements; ++i) Statement(f.body);
  // The fields of structs, where they can be read back. Early returns would leave them out: in a
  // function of their own.
  Function& show = code_.functions.emplace_back();
  show.name = prefix_ + "show";
  scope_.resize(names);
  std::vector<const Variable*> structs;
  for (const Variable* v : globals_) {
    if (v->shape != nullptr) structs.push_back(v);
  }
  for (const Variable* v : structs) {
    for (size_t k = 0; k < v->shape->fields.size(); ++k) {
      for (int i = 0; i < v->Elements(); ++i) {
        Variable& copy = Make("g", v->shape->fields[k].type);
        copy.is_global = true;
        head_ += fmt::format("export var {}: {} = {};\n", copy.name, copy.type.Name(),
                             Literal(copy.type, 0));
        globals_.push_back(&copy);
        Expr& load = New(Expr::Kind::kLoad, copy.type);
        load.place.variable = v;
        load.place.field = static_cast<int>(k);
        int rest = i;
        std::vector<const Expr*> index(v->dims.size());
        for (size_t d = v->dims.size(); d-- > 0; rest /= v->dims[d]) {
          Expr& number = New(Expr::Kind::kLiteral, Uint(16));
          number.bare = true;
          number.value = static_cast<Bits>(rest % v->dims[d]);
          index[d] = &number;
        }
        load.place.index = index;
        Stmt& s = NewStmt(Stmt::Kind::kAssign);
        s.place.variable = &copy;
        s.value = &load;
        show.body.push_back(&s);
      }
    }
  }
  bodies_ += Print(f, 0) + Print(show, 0);
  entry_ = &f;
  return head_ + bodies_;
}

std::vector<CodeGen::Result> CodeGen::Results() {
  Call(*entry_, {}, code_.memory);
  Call(code_.functions.back(), {}, code_.memory);
  std::vector<Result> results;
  for (const Variable* v : globals_) {
    if (v->shape != nullptr) continue;
    const auto first = code_.memory.begin() + v->slot;
    results.push_back({v->name, v->type, {first, first + v->Slots()}});
  }
  return results;
}

}  // namespace szarena::csl_fuzz
