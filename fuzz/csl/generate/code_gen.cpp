// SPDX-License-Identifier: Apache-2.0
#include "code_gen.h"

#include <fmt/format.h>

#include <algorithm>

namespace szarena::csl_fuzz {
namespace {

constexpr uint64_t kStepLimit = 20000;  // of a function

bool Widens(Type from, Type to) {
  if (from.kind == Kind::kFloat && to.kind == Kind::kFloat) return from.bits < to.bits;
  if (from.kind != Kind::kInt || to.kind != Kind::kInt) return false;
  if (from.is_signed == to.is_signed) return from.bits < to.bits;
  return to.is_signed && from.bits < to.bits;
}

}  // namespace

CodeGen::CodeGen(Choices& choices, Format half, std::string prefix)
    : c_(choices), half_(half), prefix_(std::move(prefix)) {}

Type CodeGen::AnyInt() {
  static const int kBits[] = {16, 32, 8, 64, 16, 32, 5, 12, 24, 40, 63, 3};
  const int bits = kBits[c_.Below(12)];
  return c_.Chance(50) ? Uint(bits) : Int(bits);
}

Type CodeGen::AnyType() {
  const uint32_t k = c_.Below(12);
  if (k < 6) return AnyInt();
  if (k < 8) return kF32;
  if (k < 10) return Half(half_);
  return k < 11 ? kBool : c_.Chance(50) ? Uint(16) : Int(16);
}

Bits CodeGen::AnyValue(Type t) {
  if (t.kind == Kind::kBool) return c_.Below(2);
  const Bits mask = t.bits == 64 ? ~Bits{0} : (Bits{1} << t.bits) - 1;
  if (t.kind == Kind::kInt) {
    switch (c_.Below(8)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return c_.Below(10) & mask;
      case 4:
        return (0 - Bits{c_.Below(10)}) & mask;
      case 5:
        return t.is_signed ? mask >> 1 : mask;
      case 6:
        return t.is_signed ? (mask >> 1) + 1 : mask - 1;
      default:
        return c_.Bits() & mask;
    }
  }
  if (c_.Below(8) < 6) {
    const Bits quarters = Convert(Int(16), t, c_.Below(64));
    const Bits v = Apply(Op::kMul, t, quarters, Convert(kF32, t, 0x3e800000));
    return c_.Chance(30) ? Negate(t, v) : v;
  }
  Bits v = c_.Bits() & mask;
  const Bits infinity = Apply(Op::kDiv, t, Convert(Int(16), t, 1), 0);
  if (((v | infinity) & (infinity | (mask >> 1))) == (v & (mask >> 1)) &&
      (v & infinity) == infinity)
    v &= ~infinity;  // finite
  return v;
}

std::string CodeGen::Name(const char* what) {
  return fmt::format("{}{}{}", prefix_, what, counter_++);
}

Variable& CodeGen::Make(const char* what, Type type, std::vector<int> dims, const Shape* shape) {
  Variable& v = code_.variables.emplace_back();
  v.name = Name(what);
  v.type = type;
  v.dims = std::move(dims);
  v.shape = shape;
  v.slot = static_cast<int>(code_.memory.size());
  code_.memory.resize(code_.memory.size() + static_cast<size_t>(v.Slots()), 0);
  return v;
}

// ---------------------------------------------------------------- expressions

Expr& CodeGen::New(Expr::Kind kind, Type type) {
  Expr& e = code_.exprs.emplace_back();
  e.kind = kind;
  e.type = type;
  spent_ += at_.times;
  return e;
}

const Expr* CodeGen::LiteralOf(Type type, Bits value) {
  Expr& e = New(Expr::Kind::kLiteral, type);
  e.value = value;
  return &e;
}

bool CodeGen::MayUse(const Variable& v) const {
  return !(v.is_global && !v.is_const && at_.is_closed);
}

// A random place of the type among the variables in reach.
bool CodeGen::PickPlace(Type type, bool writable, Place& out) {
  std::vector<Place> found;
  for (const Variable* v : scope_) {
    if (!MayUse(*v)) continue;
    if (writable && (v->is_const || v->bound > 0 || (v->is_global && !at_.may_write_globals)))
      continue;
    if (v->shape == nullptr) {
      if (v->type == type) found.push_back({v, {}, -1});
      continue;
    }
    for (size_t f = 0; f < v->shape->fields.size(); ++f) {
      if (v->shape->fields[f].type == type) found.push_back({v, {}, static_cast<int>(f)});
    }
  }
  if (found.empty()) return false;
  out = c_.Pick(found);
  if (out.variable->pointer == Variable::Pointer::kMany)
    out.index.push_back(Index(out.variable->reach));
  if (out.variable->pointer == Variable::Pointer::kNone) {
    for (const int length : out.variable->dims) out.index.push_back(Index(length));
  }
  return true;
}

// A u16 below `length`.
const Expr* CodeGen::Index(int length) {
  if (c_.Chance(40)) {
    std::vector<const Variable*> fit;
    for (const Variable* v : scope_) {
      if (v->bound > 0 && v->bound <= length) fit.push_back(v);
    }
    if (!fit.empty()) {
      Expr& e = New(Expr::Kind::kLoad, Uint(16));
      e.place.variable = c_.Pick(fit);
      e.type = e.place.variable->type;
      return &e;
    }
  }
  if (c_.Chance(30)) {
    const Expr* any = Leaf(Uint(16));
    Expr& e = New(Expr::Kind::kBinary, Uint(16));
    e.op = Op::kMod;
    e.kids = {any, LiteralOf(Uint(16), static_cast<Bits>(length))};
    return &e;
  }
  Expr& e = New(Expr::Kind::kLiteral, Uint(16));
  e.value = c_.Below(static_cast<uint32_t>(length));
  e.bare = true;
  return &e;
}

const Expr* CodeGen::Leaf(Type type) {
  Place place;
  if (c_.Chance(70) && PickPlace(type, false, place)) {
    Expr& e = New(Expr::Kind::kLoad, type);
    e.place = place;
    return &e;
  }
  return LiteralOf(type, AnyValue(type));
}

const Expr* CodeGen::Bare(const Expr* e) {
  if (e->kind != Expr::Kind::kLiteral || !e->name.empty() || !c_.Chance(60)) return e;
  Expr& copy = code_.exprs.emplace_back(*e);
  copy.bare = true;
  return &copy;
}

// An expression that becomes `type` by itself.
const Expr* CodeGen::Widened(Type type, int depth) {
  if (!c_.Chance(15)) return AnyExpr(type, depth);
  for (int tries = 0; tries < 4; ++tries) {
    const Type from = AnyType();
    if (!Widens(from, type)) continue;
    Expr& e = New(Expr::Kind::kCast, type);
    e.bare = true;
    e.kids = {AnyExpr(from, depth)};
    return &e;
  }
  return AnyExpr(type, depth);
}

const Expr* CodeGen::Condition(int depth) {
  if (depth <= 0 || c_.IsOver()) return Leaf(kBool);
  switch (c_.Below(7)) {
    case 0:
      return Leaf(kBool);
    case 1: {
      Expr& e = New(Expr::Kind::kNot, kBool);
      e.kids = {Condition(depth - 1)};
      return &e;
    }
    case 2:
    case 3: {
      Expr& e = New(c_.Chance(50) ? Expr::Kind::kAnd : Expr::Kind::kOr, kBool);
      e.kids.push_back(Condition(depth - 1));
      e.kids.push_back(Condition(depth - 1));
      return &e;
    }
    default: {
      static const Op kOps[] = {Op::kLt, Op::kEq, Op::kNe, Op::kLe, Op::kGt, Op::kGe};
      Type type = AnyType();
      Expr& e = New(Expr::Kind::kBinary, kBool);
      e.op = kOps[c_.Below(type.kind == Kind::kBool ? 3 : 6)];
      if (type.kind == Kind::kBool) e.op = e.op == Op::kLt ? Op::kEq : e.op;
      const Expr* a = AnyExpr(type, depth - 1);
      const Expr* b =
          a->kind == Expr::Kind::kLoad ? Bare(AnyExpr(type, depth - 1)) : AnyExpr(type, depth - 1);
      e.kids = {a, b};
      return &e;
    }
  }
}

const Expr* CodeGen::Arithmetic(Type type, int depth) {
  static const Op kFloat[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv};
  static const Op kInts[] = {Op::kAdd, Op::kSub, Op::kMul, Op::kAnd, Op::kOr,
                             Op::kXor, Op::kDiv, Op::kMod, Op::kShl, Op::kShr};
  const Op op = type.kind == Kind::kFloat ? kFloat[c_.Below(4)] : kInts[c_.Below(10)];
  const Expr* a = AnyExpr(type, depth - 1);
  const Expr* b = nullptr;
  if (op == Op::kShl || op == Op::kShr) {
    static const int kBits[] = {16, 8, 32, 64};
    b = c_.Chance(60) ? LiteralOf(Uint(16), c_.Below(static_cast<uint32_t>(type.bits) + 2))
                      : AnyExpr(Uint(kBits[c_.Below(4)]), depth - 1);
  } else {
    const bool typed = a->kind == Expr::Kind::kLoad || (a->kind == Expr::Kind::kCast && !a->bare);
    b = typed ? Bare(Widened(type, depth - 1)) : AnyExpr(type, depth - 1);
    if (type.kind == Kind::kInt && (op == Op::kDiv || op == Op::kMod)) {
      Expr& odd = New(Expr::Kind::kBinary, type);
      odd.op = Op::kOr;
      odd.kids = {b->kind == Expr::Kind::kLiteral ? LiteralOf(type, b->value) : b,
                  LiteralOf(type, 1)};
      b = &odd;
    }
  }
  Expr& e = New(Expr::Kind::kBinary, type);
  e.op = op;
  e.kids = {a, b};
  return &e;
}

const Expr* CodeGen::CallOf(const Function& f, int depth) {
  Expr& e = New(Expr::Kind::kCall, f.result);
  e.function = &f;
  for (size_t i = 0; i < f.params.size(); ++i) {
    const Variable& p = *f.params[i];
    if (p.pointer != Variable::Pointer::kNone) {
      // CallProcedure has made sure that there is one.
      std::vector<const Variable*> fit;
      for (const Variable* v : scope_) {
        const bool enough = p.pointer == Variable::Pointer::kMany
                                ? !v->dims.empty() && v->Elements() >= p.reach
                                : true;
        const bool open = p.is_const || !v->is_const;
        if (v->pointer == Variable::Pointer::kNone && v->shape == nullptr && v->type == p.type &&
            v->bound == 0 && enough && open && MayUse(*v))
          fit.push_back(v);
      }
      Expr& address = New(Expr::Kind::kAddress, p.type);
      address.place.variable = c_.Pick(fit);
      if (p.pointer == Variable::Pointer::kOne) {
        for (const int length : address.place.variable->dims)
          address.place.index.push_back(Index(length));
      }
      e.kids.push_back(&address);
      continue;
    }
    const bool first = i == 0;
    if (first && f.generic == Function::Generic::kComptimeParam)
      e.kids.push_back(Bare(LiteralOf(p.type, AnyValue(p.type))));
    else if (first && f.generic == Function::Generic::kAnytype)
      e.kids.push_back(AnyExpr(p.type, depth - 1));
    else
      e.kids.push_back(Bare(Widened(p.type, depth - 1)));
  }
  spent_ += f.cost * at_.times;
  return &e;
}

const Expr* CodeGen::AnyExpr(Type type, int depth) {
  if (depth <= 0 || c_.IsOver() || spent_ > kStepLimit) return Leaf(type);
  switch (c_.Below(12)) {
    case 0:
    case 1:
      return Leaf(type);
    case 2: {
      Type from = AnyType();
      if (from == type) return Leaf(type);
      Expr& e = New(Expr::Kind::kCast, type);
      e.kids = {AnyExpr(from, depth - 1)};
      return &e;
    }
    case 3: {
      Expr& e = New(Expr::Kind::kIf, type);
      const Expr* condition = Condition(depth - 1);
      const Expr* a = AnyExpr(type, depth - 1);
      e.kids = {condition, a, AnyExpr(type, depth - 1)};
      return &e;
    }
    case 4: {
      std::vector<const Function*> fit;
      for (const Function& f : code_.functions) {
        const bool pure = std::all_of(f.params.begin(), f.params.end(), [](const Variable* p) {
          return p->pointer == Variable::Pointer::kNone;
        });
        if (&f != at_.function && f.returns && f.result == type && pure &&
            (f.is_closed || !at_.is_closed) && spent_ + f.cost * at_.times < kStepLimit)
          fit.push_back(&f);
      }
      if (!fit.empty()) return CallOf(*c_.Pick(fit), depth);
      break;
    }
    case 5: {
      if (type.kind == Kind::kBool) break;
      Expr& e = New(Expr::Kind::kUnary, type);
      e.op = type.kind == Kind::kInt && c_.Chance(50) ? Op::kXor : Op::kSub;
      const Expr* kid = AnyExpr(type, depth - 1);
      e.kids = {kid};
      return &e;
    }
    case 6: {
      Type subject = AnyInt();
      Expr& e = New(Expr::Kind::kSwitch, type);
      e.kids.push_back(AnyExpr(subject, depth - 1));
      const Bits first = AnyValue(subject), second = AnyValue(subject);
      e.kids.push_back(LiteralOf(subject, first));
      e.kids.push_back(AnyExpr(type, depth - 2));
      if (second != first) {
        e.kids.push_back(LiteralOf(subject, second));
        e.kids.push_back(AnyExpr(type, depth - 2));
      }
      e.kids.push_back(AnyExpr(type, depth - 2));
      return &e;
    }
    case 7: {
      Expr& e = New(Expr::Kind::kBlock, type);
      e.name = Name("b");
      const Expr* condition = Condition(depth - 1);
      const Expr* a = AnyExpr(type, depth - 2);
      e.kids = {condition, a, AnyExpr(type, depth - 2)};
      return &e;
    }
    default:
      break;
  }
  return type.kind == Kind::kBool ? Condition(depth) : Arithmetic(type, depth);
}

}  // namespace szarena::csl_fuzz
