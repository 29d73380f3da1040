// SPDX-License-Identifier: Apache-2.0
// Aggregate literals and type expressions: arrays, function types, structs, unions, enums.
#include <algorithm>
#include <set>

#include "csl/sema/evaluator.h"

namespace szarena::csl {

namespace {
// More elements than any PE memory holds, few enough for the compiler's own memory.
constexpr int64_t kMaxElements = int64_t{1} << 20;
}  // namespace

// A variable's register may change while the literal lives: take a copy.
Operand Evaluator::Detach(Operand operand) {
  if (operand.kind == Operand::Kind::kReg && operand.is_place && !operand.is_const) {
    const bytecode::Reg copy = fb_->NewReg();
    fb_->Emit(bytecode::Op::kMove, copy, operand.reg);
    return Operand::Register(operand.type, copy);
  }
  return operand;
}

namespace {

Operand FromParts(TypeId type, std::vector<Operand> parts) {
  const bool all_known =
      std::all_of(parts.begin(), parts.end(), [](const Operand& part) { return part.IsValue(); });
  if (all_known) {
    std::vector<Value> values;
    values.reserve(parts.size());
    for (Operand& part : parts) values.push_back(std::move(part.value));
    return Operand::Of(MakeAggregate(type, std::move(values)));
  }
  Operand result;
  result.kind = Operand::Kind::kParts;
  result.type = type;
  result.parts = std::move(parts);
  return result;
}

}  // namespace

Operand Evaluator::EvalInit(const InitExpr& node, Span span, TypeId expect) {
  if (!node.type.IsNone()) {
    const std::optional<TypeId> type = EvalType(node.type);
    if (!type) return Operand::Error();
    return InitAggregate(*type, node, span);
  }
  std::vector<Operand> parts;
  std::vector<Field> fields;
  std::set<Name> seen;
  bool is_tuple = true;
  bool failed = false;
  for (const FieldInit& field : ast().Get(node.fields)) {
    is_tuple = field.name.IsNone();
    TypeId hint;
    if (!expect.is_error()) {
      if (types().kind(expect) == TypeKind::kArray) {
        hint = types()[expect].element;
      } else if (const auto index = types().FieldIndex(expect, TextOf(field.name))) {
        hint = types()[expect].fields[*index].type;
      }
    }
    if (!is_tuple && !seen.insert(field.name).second) {
      Report(DiagKind::kDuplicateField, field.span, TextOf(field.name));
      failed = true;
      continue;
    }
    Operand part = EvalLoaded(field.value, hint);
    if (part.kind == Operand::Kind::kNoReturn) return part;
    if (part.Stops()) {
      failed = true;
      continue;
    }
    part = Detach(std::move(part));
    fields.push_back({std::string(TextOf(field.name)), part.type});
    parts.push_back(std::move(part));
  }
  if (failed) return Operand::Error();
  return FromParts(types().AnonymousStruct(std::move(fields), is_tuple), std::move(parts));
}

Operand Evaluator::InitAggregate(TypeId type, const InitExpr& node, Span span) {
  const TypeInfo info = types()[type];
  const std::span<const FieldInit> inits = ast().Get(node.fields);
  bool failed = false;
  if (info.kind == TypeKind::kArray) {
    const int64_t count = types().ElementCount(type);
    if (static_cast<int64_t>(inits.size()) != count) {
      return Report(DiagKind::kArrayInitCount, span, info.name, count, inits.size());
    }
    std::vector<Operand> parts;
    for (const FieldInit& init : inits) {
      if (!init.name.IsNone()) {
        return Report(DiagKind::kArrayInitNamed, init.span);
      }
      Operand part = EvalAs(init.value, info.element, Undefined::kStored);
      if (part.kind == Operand::Kind::kNoReturn) return part;
      failed = failed || part.Stops();
      if (!failed) parts.push_back(Detach(std::move(part)));
    }
    if (failed) return Operand::Error();
    return FromParts(type, std::move(parts));
  }
  if (info.kind == TypeKind::kVoid && inits.empty()) {
    return Operand::Of(MakeVoid(types().void_type()));
  }
  if (info.kind != TypeKind::kStruct && info.kind != TypeKind::kUnion) {
    return Report(DiagKind::kNotInitializable, span, info.name);
  }
  std::vector<Operand> parts(info.fields.size());
  std::vector<bool> given(info.fields.size(), false);
  size_t position = 0;
  for (const FieldInit& init : inits) {
    std::optional<size_t> index;
    if (init.name.IsNone()) {
      if (position < info.fields.size()) index = position++;
    } else {
      index = types().FieldIndex(type, TextOf(init.name));
    }
    if (!index) {
      Report(DiagKind::kNoMember, init.span, info.name,
             init.name.IsNone() ? std::string_view("more fields") : TextOf(init.name));
      failed = true;
      continue;
    }
    if (given[*index]) {
      Report(DiagKind::kDuplicateField, init.span, info.fields[*index].name);
      failed = true;
      continue;
    }
    given[*index] = true;
    Operand part = EvalAs(init.value, info.fields[*index].type, Undefined::kStored);
    if (part.kind == Operand::Kind::kNoReturn) return part;
    if (part.Stops()) {
      failed = true;
    } else {
      parts[*index] = Detach(std::move(part));
    }
  }
  if (info.kind == TypeKind::kUnion) {
    if (inits.size() != 1 && !failed) return Report(DiagKind::kUnionInit, span, info.name);
    if (failed) return Operand::Error();
    const auto active =
        static_cast<size_t>(std::find(given.begin(), given.end(), true) - given.begin());
    if (!parts[active].IsValue()) {
      Operand place = NewLocalMemory(type);
      Operand field = place;
      field.type = info.fields[active].type;
      Store(field, parts[active], span);
      return place;
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      if (i != active) parts[i] = Operand::Of(MakeUndefined(info.fields[i].type));
    }
    return FromParts(type, std::move(parts));
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i]) {
      Report(DiagKind::kMissingField, span, info.fields[i].name, info.name);
      failed = true;
    }
  }
  if (failed) return Operand::Error();
  return FromParts(type, std::move(parts));
}

Operand Evaluator::EvalArrayType(const ArrayTypeExpr& node, Span span) {
  std::vector<int64_t> dims;
  for (const ExprId dim : ast().Get(node.dims)) {
    const std::optional<int64_t> extent = EvalComptimeInt(dim, 0, kMaxElements);
    if (!extent) return Operand::Error();
    dims.push_back(*extent);
  }
  const std::optional<TypeId> element = EvalType(node.element);
  if (!element) return Operand::Error();
  const TypeKind kind = types().kind(*element);
  if (kind == TypeKind::kVoid || kind == TypeKind::kAnyOpaque || kind == TypeKind::kAnyType) {
    return Report(DiagKind::kBadElementType, span, NameOf(*element));
  }
  // Dimensions are at most 2^20 each: check the product as it grows.
  int64_t count = std::max<int64_t>(types().SizeOf(*element), 1);
  for (const int64_t dim : dims) {
    count *= std::max<int64_t>(dim, 1);
    if (count > kMaxElements) return Report(DiagKind::kTypeTooLarge, span, "array", count);
  }
  return Operand::Of(MakeType(types().type_type(), types().Array(std::move(dims), *element)));
}

Operand Evaluator::EvalFnType(const FnTypeExpr& node, Span) {
  std::vector<TypeId> params;
  for (const ExprId param : ast().Get(node.params)) {
    const std::optional<TypeId> type = EvalType(param);
    if (!type) return Operand::Error();
    params.push_back(*type);
  }
  const std::optional<TypeId> result = EvalType(node.result);
  if (!result) return Operand::Error();
  return Operand::Of(MakeType(types().type_type(), types().Fn(std::move(params), *result)));
}

Operand Evaluator::EvalContainer(const ContainerExpr& node, Span span) {
  // Nominal by place in the source; contents that differ by instance make different types.
  const std::string identity = fmt::format("{}", span.begin);
  std::string name = std::exchange(type_name_, "");
  const std::span<const Member> members = ast().Get(node.members);
  TypeId tag;
  if (!node.tag.IsNone()) {
    const std::optional<TypeId> type = EvalType(node.tag);
    if (!type) return Operand::Error();
    if (!types().IsInt(*type)) {
      return Report(DiagKind::kExpectedIntegerType, SpanOf(node.tag), NameOf(*type));
    }
    tag = *type;
  }
  std::set<Name> seen;
  for (const Member& member : members) {
    if (!seen.insert(member.name).second) {
      return Report(DiagKind::kDuplicateField, member.span, TextOf(member.name));
    }
  }
  if (node.kind == ContainerKind::kEnum) {
    if (name.empty()) name = "enum";
    const TypeId underlying = tag.is_error() ? types().u16() : tag;
    std::vector<std::optional<Int128>> numbers;
    std::set<Int128> used;
    for (const Member& member : members) {
      if (member.value.IsNone()) {
        numbers.emplace_back();
        continue;
      }
      const std::optional<Value> value = EvalComptimeAs(member.value, underlying);
      if (!value) return Operand::Error();
      if (!used.insert(*value->as_int()).second) {
        return Report(DiagKind::kDuplicateEnumValue, member.span, Int128ToString(*value->as_int()));
      }
      numbers.emplace_back(*value->as_int());
    }
    std::vector<EnumElement> elements;
    Int128 next = 0;
    for (size_t i = 0; i < members.size(); ++i) {
      if (!numbers[i]) {
        while (used.contains(next)) ++next;
        numbers[i] = next++;
        if (*numbers[i] > TypeTable::MaxOf(types()[underlying])) {
          return Report(DiagKind::kIntegerDoesNotFit, members[i].span, Int128ToString(*numbers[i]),
                        NameOf(underlying));
        }
      }
      elements.push_back({std::string(TextOf(members[i].name)), *numbers[i]});
    }
    return Operand::Of(
        MakeType(types().type_type(),
                 types().Enum(identity, std::move(name), underlying, std::move(elements))));
  }
  const Packing packing = node.layout == ContainerLayout::kExtern   ? Packing::kExtern
                          : node.layout == ContainerLayout::kPacked ? Packing::kPacked
                                                                    : Packing::kAuto;
  std::vector<Field> fields;
  for (const Member& member : members) {
    const std::optional<TypeId> type = EvalType(member.type);
    if (!type) return Operand::Error();
    const TypeKind kind = types().kind(*type);
    if (kind == TypeKind::kAnyOpaque || kind == TypeKind::kAnyType || kind == TypeKind::kNoReturn) {
      return Report(DiagKind::kBadElementType, member.span, NameOf(*type));
    }
    fields.push_back({std::string(TextOf(member.name)), *type});
  }
  if (packing == Packing::kPacked) {
    int bits = 0;
    for (size_t i = 0; i < fields.size(); ++i) {
      if (!types().IsScalar(fields[i].type) && !types().IsPacked(fields[i].type)) {
        return Report(DiagKind::kPackedField, members[i].span, NameOf(fields[i].type));
      }
      const int own = types().BitWidth(fields[i].type);
      bits = node.kind == ContainerKind::kUnion ? std::max(bits, own) : bits + own;
    }
    const int limit = tag.is_error() ? 64 : types()[tag].bits;
    if (bits > limit || (!tag.is_error() && bits != limit)) {
      return Report(DiagKind::kPackedSize, span, bits, limit);
    }
  }
  if (node.kind == ContainerKind::kUnion) {
    if (name.empty()) name = "union";
    return Operand::Of(MakeType(
        types().type_type(), types().Union(identity, std::move(name), packing, std::move(fields))));
  }
  if (name.empty()) name = "struct";
  return Operand::Of(
      MakeType(types().type_type(),
               types().Struct(identity, std::move(name), packing, std::move(fields), tag)));
}

}  // namespace szarena::csl
