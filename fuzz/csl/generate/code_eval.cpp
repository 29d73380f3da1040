// SPDX-License-Identifier: Apache-2.0
// Runs generated code.
#include <cstdlib>

#include "code.h"

namespace szarena::csl_fuzz {
namespace {

enum class End : uint8_t { kNormal, kBreak, kContinue, kReturn };

class Runner {
 public:
  explicit Runner(std::vector<Bits>& memory) : memory_(memory) {}

  Bits Eval(const Expr& e) {
    switch (e.kind) {
      case Expr::Kind::kLiteral:
        return e.value;
      case Expr::Kind::kLoad:
        return memory_.at(SlotOf(e.place));
      case Expr::Kind::kAddress:
        return SlotOf(e.place);
      case Expr::Kind::kUnary:
        return e.op == Op::kSub ? Negate(e.type, Eval(*e.kids[0]))
                                : Complement(e.type, Eval(*e.kids[0]));
      case Expr::Kind::kNot:
        return Eval(*e.kids[0]) ^ 1;
      case Expr::Kind::kAnd:
        return Eval(*e.kids[0]) != 0 ? Eval(*e.kids[1]) : 0;
      case Expr::Kind::kOr:
        return Eval(*e.kids[0]) != 0 ? 1 : Eval(*e.kids[1]);
      case Expr::Kind::kBinary: {
        const Bits a = Eval(*e.kids[0]), b = Eval(*e.kids[1]);
        return Apply(e.op, e.kids[0]->type, a, b);
      }
      case Expr::Kind::kCast:
        return Convert(e.kids[0]->type, e.type, Eval(*e.kids[0]));
      case Expr::Kind::kIf:
        return Eval(Eval(*e.kids[0]) != 0 ? *e.kids[1] : *e.kids[2]);
      case Expr::Kind::kBlock:
        return Eval(Eval(*e.kids[0]) != 0 ? *e.kids[1] : *e.kids[2]);
      case Expr::Kind::kSwitch: {
        const Bits v = Eval(*e.kids[0]);
        for (size_t i = 1; i + 1 < e.kids.size(); i += 2) {
          if (Eval(*e.kids[i]) == v) return Eval(*e.kids[i + 1]);
        }
        return Eval(*e.kids.back());
      }
      case Expr::Kind::kCall: {
        std::vector<Bits> arguments;
        for (const Expr* kid : e.kids) arguments.push_back(Eval(*kid));
        return Call(*e.function, arguments, memory_);
      }
    }
    std::abort();
  }

  End Run(const std::vector<const Stmt*>& body) {
    for (const Stmt* s : body) {
      const End end = Run(*s);
      if (end != End::kNormal) return end;
    }
    return End::kNormal;
  }

  Bits result = 0;

 private:
  size_t SlotOf(const Place& p) {
    const Variable& v = *p.variable;
    if (v.pointer != Variable::Pointer::kNone) {
      const size_t at = memory_.at(static_cast<size_t>(v.slot));
      return p.index.empty() ? at : at + Eval(*p.index[0]);
    }
    size_t element = 0;
    for (size_t i = 0; i < p.index.size(); ++i)
      element = element * static_cast<size_t>(v.dims[i]) + Eval(*p.index[i]);
    const size_t width = v.shape != nullptr ? v.shape->fields.size() : 1;
    return static_cast<size_t>(v.slot) + element * width +
           static_cast<size_t>(p.field >= 0 ? p.field : 0);
  }

  // What a loop does with the end of its body: true to go on.
  bool Goes(End end, const Stmt& loop, End& out) {
    if (end == End::kReturn) out = end;
    if (end == End::kReturn) return false;
    if (end == End::kNormal) return true;
    if (!label_.empty() && label_ != loop.label) {
      out = end;
      return false;
    }
    label_.clear();
    return end == End::kContinue;
  }

  End Run(const Stmt& s) {
    End out = End::kNormal;
    switch (s.kind) {
      case Stmt::Kind::kText:
        return out;
      case Stmt::Kind::kAssign: {
        const size_t slot = SlotOf(s.place);
        const Bits v = Eval(*s.value);
        memory_.at(slot) = s.compound ? Apply(s.op, s.place.type(), memory_.at(slot), v) : v;
        return out;
      }
      case Stmt::Kind::kDeclare:
        memory_.at(static_cast<size_t>(s.variable->slot)) = Eval(*s.value);
        return out;
      case Stmt::Kind::kDeclareArray:
        for (size_t i = 0; i < s.values.size(); ++i)
          memory_.at(static_cast<size_t>(s.variable->slot) + i) = Eval(*s.values[i]);
        return out;
      case Stmt::Kind::kCopy:
        for (int i = 0; i < s.variable->Slots(); ++i) {
          memory_.at(static_cast<size_t>(s.place.variable->slot + i)) =
              memory_.at(static_cast<size_t>(s.variable->slot + i));
        }
        return out;
      case Stmt::Kind::kIf:
        return Run(s.bodies[Eval(*s.value) != 0 ? 0 : 1]);
      case Stmt::Kind::kFor:
      case Stmt::Kind::kInlineFor:
        for (int i = s.start; s.step > 0 ? i < s.stop : i > s.stop; i += s.step) {
          memory_.at(static_cast<size_t>(s.variable->slot)) = static_cast<Bits>(i);
          if (!Goes(Run(s.bodies[0]), s, out)) return out;
        }
        return out;
      case Stmt::Kind::kForArray:
        for (int i = 0; i < s.source->Elements(); ++i) {
          memory_.at(static_cast<size_t>(s.variable->slot)) =
              memory_.at(static_cast<size_t>(s.source->slot + i));
          memory_.at(static_cast<size_t>(s.second->slot)) = static_cast<Bits>(i);
          if (!Goes(Run(s.bodies[0]), s, out)) return out;
        }
        return out;
      case Stmt::Kind::kWhile: {
        Bits& counter = memory_.at(static_cast<size_t>(s.variable->slot));
        for (counter = 0; counter < static_cast<Bits>(s.stop); ++counter) {
          if (!Goes(Run(s.bodies[0]), s, out)) return out;
        }
        return out;
      }
      case Stmt::Kind::kSwitch: {
        const Bits v = Eval(*s.value);
        for (size_t i = 0; i < s.values.size(); ++i) {
          if (Eval(*s.values[i]) == v) return Run(s.bodies[i]);
        }
        return Run(s.bodies.back());
      }
      case Stmt::Kind::kBlock: {
        const End end = Run(s.bodies[0]);
        if (end == End::kBreak && label_ == s.label) {
          label_.clear();
          return out;
        }
        return end;
      }
      case Stmt::Kind::kBreak:
        label_ = s.label;
        return End::kBreak;
      case Stmt::Kind::kContinue:
        label_ = s.label;
        return End::kContinue;
      case Stmt::Kind::kCall:
        Eval(*s.value);
        return out;
      case Stmt::Kind::kReturn:
        if (s.value != nullptr) result = Eval(*s.value);
        return End::kReturn;
    }
    return out;
  }

  std::vector<Bits>& memory_;
  std::string label_;
};

}  // namespace

Bits Evaluate(const Expr& e, std::vector<Bits>& memory) { return Runner(memory).Eval(e); }

Bits Call(const Function& f, const std::vector<Bits>& arguments, std::vector<Bits>& memory) {
  for (size_t i = 0; i < f.params.size(); ++i)
    memory.at(static_cast<size_t>(f.params[i]->slot)) = arguments[i];
  Runner runner(memory);
  runner.Run(f.body);
  return runner.result;
}

}  // namespace szarena::csl_fuzz
