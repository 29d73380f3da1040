// SPDX-License-Identifier: Apache-2.0
// The walk itself: dispatch over expression nodes, literals, names, compile-time contexts, limits.
#include <algorithm>

#include "csl/emit/class_builder.h"
#include "csl/sema/evaluator.h"
#include "csl/sema/scope.h"
#include "csl/sema/suggest.h"

namespace szarena::csl {
namespace {

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

// Only the distance between two such addresses is used. Not that of a local variable:
// AddressSanitizer keeps those elsewhere.
uintptr_t StackPointer() { return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)); }

struct DirectionName {
  const char* name;
  bytecode::Direction direction;
};
constexpr DirectionName kDirections[] = {
    {"EAST", bytecode::Direction::kEast},   {"WEST", bytecode::Direction::kWest},
    {"SOUTH", bytecode::Direction::kSouth}, {"NORTH", bytecode::Direction::kNorth},
    {"RAMP", bytecode::Direction::kRamp},
};

}  // namespace

Evaluator::Evaluator(Unit& unit, Context context)
    : unit_(unit), context_(context), stack_base_(StackPointer()) {}

bytecode::CodeClass& Evaluator::code_class() { return unit_.builder->code(); }

bool Evaluator::CheckLimits(Span span) {
  if (unit_.out_of_steps) return false;
  if (++unit_.steps > session().limits.comptime_steps) {
    unit_.out_of_steps = true;
    Report(DiagKind::kStepLimit, span, session().limits.comptime_steps);
    return false;
  }
  const uintptr_t here = StackPointer();
  const uintptr_t used = stack_base_ > here ? stack_base_ - here : here - stack_base_;
  if (used > session().limits.stack_bytes) {
    unit_.out_of_steps = true;
    Report(DiagKind::kRecursionLimit, span);
    return false;
  }
  return true;
}

void Evaluator::NoteCallers() {
  constexpr size_t kShown = 4;
  size_t shown = 0;
  for (auto it = call_stack_.rbegin(); it != call_stack_.rend() && shown < kShown; ++it, ++shown) {
    session().diags.Note(*it, "called from here");
  }
}

void Evaluator::At(Span span) {
  if (fb_ == nullptr || span.IsNone()) return;
  const SourceId file = session().sources.FileOf(span.begin);
  if (file.IsNone()) return;
  fb_->At(file.index, session().sources.LineOf(span.begin));
}

Operand Evaluator::Eval(ExprId id, TypeId expect) {
  if (id.IsNone()) return Operand::Error();
  const Span span = SpanOf(id);
  if (!CheckLimits(span)) return Operand::Error();
  return EvalNode(id, ast().Expr(id), expect);
}

Operand Evaluator::EvalNode(ExprId id, const ExprNode& node, TypeId expect) {
  const Span span = SpanOf(id);
  TypeTable& t = types();
  return std::visit(
      Overloaded{
          [&](const ErrorExpr&) { return Operand::Error(); },
          [&](const IntExpr& n) {
            const UInt128 number = ast().Int(n);
            if (number >> 127 != 0)
              return Report(DiagKind::kIntegerTooLarge, span, TextOf(n.spelling));
            return Operand::Of(MakeInt(t.comptime_int(), static_cast<Int128>(number)));
          },
          [&](const FloatExpr& n) {
            return Operand::Of(MakeFloat(t.comptime_float(), ast().Float(n)));
          },
          [&](const StringExpr& n) {
            return Operand::Of(MakeText(t.comptime_string(), std::string(TextOf(n.bytes))));
          },
          [&](const BoolExpr& n) { return Operand::Of(MakeInt(t.bool_type(), n.value ? 1 : 0)); },
          [&](const UndefinedExpr&) {
            return Operand::Of(MakeUndefined(t.Simple(TypeKind::kAnyType)));
          },
          [&](const IdentExpr& n) { return EvalIdent(n.name, span); },
          [&](const FieldExpr& n) { return EvalField(n, span); },
          [&](const DerefExpr& n) {
            Operand base = EvalLoaded(n.base);
            if (base.Stops()) return base;
            return Deref(std::move(base), span);
          },
          [&](const IndexExpr& n) { return EvalIndex(n, span); },
          [&](const CallExpr& n) { return EvalCall(n, span); },
          [&](const BuiltinExpr& n) { return EvalBuiltin(n, span, expect); },
          [&](const UnaryExpr& n) { return EvalUnary(n, span, expect); },
          [&](const BinaryExpr& n) {
            if (n.op == BinaryOp::kAnd || n.op == BinaryOp::kOr) return EvalLogical(n, span);
            return EvalBinary(n, span);
          },
          [&](const ComptimeExpr& n) {
            ComptimeScope scope(*this);
            Operand result = EvalLoaded(n.operand, expect);
            if (result.Stops()) return result;
            const std::optional<Value> value = RequireValue(result, span);
            return value ? Operand::Of(*value) : Operand::Error();
          },
          [&](const InitExpr& n) { return EvalInit(n, span, expect); },
          [&](const ArrayTypeExpr& n) { return EvalArrayType(n, span); },
          [&](const PointerTypeExpr& n) {
            const std::optional<TypeId> pointee = EvalType(n.pointee);
            if (!pointee) return Operand::Error();
            const TypeKind kind = t.kind(*pointee);
            if (t.IsComptimeOnly(*pointee) && kind != TypeKind::kFn) {
              return Report(DiagKind::kPointerToComptime, span, NameOf(*pointee));
            }
            return Operand::Of(MakeType(t.type_type(), t.Pointer(*pointee, n.is_const, n.is_many)));
          },
          [&](const FnTypeExpr& n) { return EvalFnType(n, span); },
          [&](const ContainerExpr& n) { return EvalContainer(n, span); },
          [&](const TensorAccessExpr&) { return Report(DiagKind::kTensorAccessPlace, span); },
          [&](const IfExpr& n) { return EvalIf(n, span, expect); },
          [&](const SwitchExpr& n) { return EvalSwitch(n, span, expect); },
          [&](const BlockExpr& n) { return EvalBlock(n, span, expect); },
          [&](const WhileExpr& n) { return EvalWhile(n, span); },
          [&](const ForExpr& n) { return EvalFor(n, span); },
          [&](const AssignExpr& n) { return EvalAssign(n, span); },
          [&](const ReturnExpr& n) { return EvalReturn(n, span); },
          [&](const BreakExpr& n) { return EvalBreak(n, span); },
          [&](const ContinueExpr& n) { return EvalContinue(n, span); },
          [&](const DeclExpr& n) { return EvalLocal(n.decl, span); },
          [&](const AsmExpr&) { return Report(DiagKind::kAsmUnsupported, span); },
      },
      node);
}

Operand Evaluator::EvalLoaded(ExprId id, TypeId expect) {
  Operand operand = Eval(id, expect);
  if (operand.Stops()) return operand;
  return Load(std::move(operand), SpanOf(id));
}

Operand Evaluator::EvalAs(ExprId id, TypeId type, Undefined undefined) {
  Operand operand = EvalLoaded(id, type);
  if (operand.Stops()) return operand;
  operand = Coerce(std::move(operand), type, SpanOf(id));
  if (undefined == Undefined::kRefused && operand.IsValue() && operand.value.is_undefined()) {
    return Report(DiagKind::kNotComptime, SpanOf(id), "an undefined value");
  }
  return operand;
}

std::optional<Value> Evaluator::EvalComptime(ExprId id, TypeId expect) {
  ComptimeScope scope(*this);
  const Operand operand = EvalLoaded(id, expect);
  if (operand.kind == Operand::Kind::kNoReturn) {
    Report(DiagKind::kNotComptime, SpanOf(id), "this expression");
    return std::nullopt;
  }
  if (operand.Stops()) return std::nullopt;
  return RequireValue(operand, SpanOf(id));
}

std::optional<Value> Evaluator::EvalComptimeAs(ExprId id, TypeId type, Undefined undefined) {
  const std::optional<Value> value = EvalComptime(id, type);
  if (!value) return std::nullopt;
  const Operand coerced = Coerce(Operand::Of(*value), type, SpanOf(id));
  if (!coerced.IsValue()) return std::nullopt;
  if (undefined == Undefined::kRefused && coerced.value.is_undefined()) {
    Report(DiagKind::kNotComptime, SpanOf(id), "an undefined value");
    return std::nullopt;
  }
  return coerced.value;
}

std::optional<TypeId> Evaluator::EvalType(ExprId id) {
  const std::optional<Value> value = EvalComptime(id, types().type_type());
  if (!value) return std::nullopt;
  if (const TypeId* type = value->as_type()) return *type;
  // `{}` and `void` are written alike in result positions.
  if (types().kind(value->type) == TypeKind::kVoid) return types().void_type();
  Report(DiagKind::kExpectedTypeValue, SpanOf(id), FormatValue(types(), *value),
         NameOf(value->type));
  return std::nullopt;
}

std::optional<int64_t> Evaluator::EvalComptimeInt(ExprId id, int64_t min, int64_t max) {
  const std::optional<Value> value = EvalComptime(id);
  if (!value) return std::nullopt;
  const TypeKind kind = types().kind(value->type);
  const Int128* number = value->as_int();
  if (number == nullptr || (kind != TypeKind::kInt && kind != TypeKind::kComptimeInt)) {
    Report(DiagKind::kExpectedInteger, SpanOf(id), NameOf(value->type));
    return std::nullopt;
  }
  if (*number < min || *number > max) {
    Report(DiagKind::kIntegerOutOfRange, SpanOf(id), Int128ToString(*number), min, max);
    return std::nullopt;
  }
  return static_cast<int64_t>(*number);
}

TypeId Evaluator::TypeOf(ExprId id) {
  // A name needs no code.
  if (const auto* ident = ast().As<IdentExpr>(id)) {
    const Operand operand = EvalIdent(ident->name, SpanOf(id));
    return operand.IsError() ? types().error() : operand.type;
  }
  if (fb_ == nullptr && context_ != kInRuntime) {
    const Operand operand = Eval(id);
    return operand.Stops() ? types().error() : operand.type;
  }
  bytecode::CodeClass scratch_class;
  bytecode::FunctionBuilder scratch(scratch_class, "typeof", {});
  bytecode::FunctionBuilder* saved = fb_;
  // Registers of the function stay valid numbers in the scratch.
  if (saved != nullptr) {
    while (scratch.mark() < saved->mark()) scratch.NewReg();
  }
  fb_ = &scratch;
  const Operand operand = Eval(id);
  fb_ = saved;
  return operand.Stops() ? types().error() : operand.type;
}

Operand* Evaluator::FindLocal(Name name) {
  for (auto it = frame_->locals.rbegin(); it != frame_->locals.rend(); ++it) {
    if (it->name == name) return &it->operand;
  }
  return nullptr;
}

Operand Evaluator::EvalIdent(Name name, Span span) {
  if (const Operand* local = FindLocal(name)) return *local;
  const auto global = frame_->module->globals.find(name);
  if (global != frame_->module->globals.end()) return UseGlobal(*global->second, span);

  const std::string_view text = TextOf(name);
  if (const std::optional<TypeId> type = types().FromName(text)) {
    return Operand::Of(MakeType(types().type_type(), *type));
  }
  for (const DirectionName& direction : kDirections) {
    if (text == direction.name) {
      return Operand::Of(MakeInt(types().Handle(HandleKind::kDirection),
                                 static_cast<Int128>(direction.direction)));
    }
  }
  if (const std::string_view remedy = RemedyForName(text); !remedy.empty())
    return Report(DiagKind::kUnknownName, span, text, "", remedy);
  std::vector<std::string> candidates;
  for (const Local& local : frame_->locals) candidates.emplace_back(TextOf(local.name));
  for (const Global* other : frame_->module->order) candidates.emplace_back(TextOf(other->name));
  return Report(DiagKind::kUnknownName, span, text, DidYouMean(text, candidates), "");
}

Operand Evaluator::EvalField(const FieldExpr& node, Span span) {
  Operand base = Eval(node.base);
  if (base.Stops()) return base;
  return FieldOf(std::move(base), TextOf(node.name), span, node.name_span);
}

Operand Evaluator::EvalIndex(const IndexExpr& node, Span span) {
  Operand base = Eval(node.base);
  if (base.Stops()) return base;
  std::vector<Operand> indices;
  std::vector<Span> spans;
  for (const ExprId index : ast().Get(node.indices)) {
    Operand operand = EvalLoaded(index);
    if (operand.Stops()) return operand;
    indices.push_back(std::move(operand));
    spans.push_back(SpanOf(index));
  }
  return ElementOf(std::move(base), indices, spans, span);
}

Operand Evaluator::EvalCall(const CallExpr& node, Span span) {
  Operand callee = EvalLoaded(node.callee);
  if (callee.Stops()) return callee;
  return Call(std::move(callee), ast().Get(node.args), span, SpanOf(node.callee));
}

Operand Evaluator::EvalBuiltin(const BuiltinExpr& node, Span span, TypeId expect) {
  const std::string_view name = TextOf(node.name);
  const BuiltinEntry* entry = session().builtins.Find(name);
  if (entry == nullptr) {
    if (const std::string_view remedy = RemedyForBuiltin(name); !remedy.empty())
      return Report(DiagKind::kUnknownBuiltin, span, name, "", remedy);
    std::vector<std::string> candidates;
    for (const std::string_view other : session().builtins.Names()) candidates.emplace_back(other);
    return Report(DiagKind::kUnknownBuiltin, span, name, DidYouMean(name, candidates), "");
  }
  if (entry->wse3_only && !session().IsWse3()) {
    const Operand error = Report(DiagKind::kNeedsWse3, span, name);
    // Statements of comptime blocks: the rest of the block is looked at, too.
    return entry->contexts == kInComptime ? Operand::Of(MakeVoid(types().void_type())) : error;
  }
  const std::span<const ExprId> args = ast().Get(node.args);
  const auto count = static_cast<int>(args.size());
  if (count < entry->min_args || (entry->max_args >= 0 && count > entry->max_args)) {
    const std::string wanted = entry->max_args < 0 ? fmt::format("at least {}", entry->min_args)
                               : entry->min_args == entry->max_args
                                   ? fmt::format("{}", entry->min_args)
                                   : fmt::format("{} to {}", entry->min_args, entry->max_args);
    return Report(DiagKind::kBuiltinArity, span, name, wanted, count, entry->usage);
  }
  if ((entry->contexts & context_) == 0) {
    std::string where;
    const auto add = [&](uint8_t bit, const char* text) {
      if ((entry->contexts & bit) == 0) return;
      if (!where.empty()) where += " or ";
      where += text;
    };
    add(kInLayout, "in the layout block");
    add(kInComptime, "in a top-level comptime block");
    add(kInGlobal, "in the initialiser of a global");
    add(kInRuntime, "in a function or task");
    return Report(DiagKind::kBuiltinPlace, span, name, where);
  }
  BuiltinCall call{*this, *entry, args, span, expect};
  return entry->handler(call);
}

std::optional<Value> Evaluator::RequireValue(const Operand& operand, Span span) {
  if (operand.kind == Operand::Kind::kValue) return operand.value;
  if (operand.kind == Operand::Kind::kParts) {
    std::vector<Value> elements;
    for (const Operand& part : operand.parts) {
      std::optional<Value> element = RequireValue(part, span);
      if (!element) return std::nullopt;
      elements.push_back(std::move(*element));
    }
    return MakeAggregate(operand.type, std::move(elements));
  }
  if (operand.Stops()) return std::nullopt;
  if (operand.kind == Operand::Kind::kPath && operand.path.global != nullptr) {
    Report(DiagKind::kNotComptime, span,
           fmt::format("the value of variable '{}'", operand.path.global->label));
  } else {
    Report(DiagKind::kNotComptime, span, "this expression");
  }
  return std::nullopt;
}

}  // namespace szarena::csl
