// SPDX-License-Identifier: Apache-2.0
// Implicit conversions and peer types (docs/csl/decisions.md, "Coercion").
#include <cmath>

#include "csl/sema/evaluator.h"
#include "csl/sema/number.h"
#include "csl/sema/suggest.h"

namespace szarena::csl {

using bytecode::Op;

namespace {

// True if a pointer of type `from` may be used as one of type `to` without a cast.
bool PointerCoerces(const TypeTable& types, const TypeInfo& from, const TypeInfo& to) {
  if (from.is_const && !to.is_const) return false;
  const TypeInfo& from_element = types[from.element];
  const TypeInfo& to_element = types[to.element];
  if (to_element.kind == TypeKind::kAnyOpaque) return true;
  if (from.element == to.element) {
    return from.is_many == to.is_many || to.is_many;  // *T -> [*]T
  }
  if (to.is_many && from_element.kind == TypeKind::kArray && from_element.element == to.element) {
    return !from.is_many;  // *[N]T -> [*]T
  }
  if (!to.is_many && !from.is_many && to_element.kind == TypeKind::kArray &&
      to_element.element == from.element && to_element.dims == std::vector<int64_t>{1}) {
    return true;  // *T -> *[1]T
  }
  if (!to.is_many && !from.is_many && from_element.kind == TypeKind::kArray &&
      to_element.kind == TypeKind::kArray && from_element.element == to_element.element) {
    int64_t from_count = 1;
    int64_t to_count = 1;
    for (const int64_t dim : from_element.dims) from_count *= dim;
    for (const int64_t dim : to_element.dims) to_count *= dim;
    return from_element.dims.size() != to_element.dims.size() && from_count == to_count;
  }
  return false;
}

bool WidensInt(const TypeInfo& from, const TypeInfo& to) {
  if (from.is_signed == to.is_signed) return from.bits <= to.bits;
  return to.is_signed && from.bits < to.bits;
}

}  // namespace

std::optional<Value> Evaluator::CoerceValue(const Value& value, TypeId type) {
  if (value.type == type) return value;
  const TypeInfo& from = types()[value.type];
  const TypeInfo& to = types()[type];
  if (from.kind == TypeKind::kAnyType && value.is_undefined()) {
    if (to.kind == TypeKind::kVoid) return std::nullopt;
    return MakeUndefined(type);
  }
  switch (to.kind) {
    case TypeKind::kAnyType:
      return value;
    case TypeKind::kComptimeStruct:
      if (from.kind == TypeKind::kStruct) return value;
      return std::nullopt;
    case TypeKind::kInt:
    case TypeKind::kComptimeInt: {
      const Int128* number = value.as_int();
      if (number == nullptr || !types().IsIntegral(value.type)) return std::nullopt;
      if (to.kind == TypeKind::kInt &&
          (*number < TypeTable::MinOf(to) || *number > TypeTable::MaxOf(to))) {
        return std::nullopt;
      }
      return MakeInt(type, *number);
    }
    case TypeKind::kFloat:
    case TypeKind::kComptimeFloat: {
      if (const Int128* number = value.as_int()) {
        if (from.kind != TypeKind::kComptimeInt) return std::nullopt;
        return MakeFloat(type, RoundTo(types(), type, static_cast<double>(*number)));
      }
      const double* number = value.as_float();
      if (number == nullptr) return std::nullopt;
      const bool widens = from.kind == TypeKind::kComptimeFloat ||
                          (from.kind == TypeKind::kFloat && from.bits < 32 &&
                           (to.kind == TypeKind::kComptimeFloat || to.bits == 32));
      if (!widens) return std::nullopt;
      return MakeFloat(type, RoundTo(types(), type, *number));
    }
    case TypeKind::kRange:
      if (from.kind != TypeKind::kRange) return std::nullopt;
      return MakeRange(type, *value.as_range());
    case TypeKind::kPointer: {
      if (from.kind == TypeKind::kFn && types().kind(to.element) == TypeKind::kFn) {
        const TypeInfo& fn = types()[to.element];
        if (fn.params != from.params || fn.result != from.result) return std::nullopt;
        Value pointer = value;
        pointer.type = type;
        return pointer;
      }
      if (from.kind != TypeKind::kPointer || !PointerCoerces(types(), from, to)) {
        return std::nullopt;
      }
      Value pointer = value;
      pointer.type = type;
      return pointer;
    }
    case TypeKind::kFn: {
      // A pointer to a function known at compile time, or a task where a function type is named.
      const TypeInfo& fn = from.kind == TypeKind::kPointer ? types()[from.element] : from;
      if (fn.kind != TypeKind::kFn || value.as_fn() == nullptr) return std::nullopt;
      if (fn.params != to.params || fn.result != to.result) return std::nullopt;
      Value result = value;
      result.type = type;
      return result;
    }
    case TypeKind::kArray: {
      const std::vector<Value>* elements = value.as_elements();
      if (elements == nullptr) return std::nullopt;
      const bool is_list = from.kind == TypeKind::kStruct && from.is_tuple;
      if (!is_list && from.kind != TypeKind::kArray) return std::nullopt;
      if (static_cast<int64_t>(elements->size()) != types().ElementCount(type)) {
        return std::nullopt;
      }
      if (from.kind == TypeKind::kArray &&
          (from.dims != to.dims || !types().IsComptimeOnly(from.element))) {
        return std::nullopt;
      }
      std::vector<Value> coerced;
      coerced.reserve(elements->size());
      for (const Value& element : *elements) {
        std::optional<Value> one = CoerceValue(element, to.element);
        if (!one) return std::nullopt;
        coerced.push_back(std::move(*one));
      }
      return MakeAggregate(type, std::move(coerced));
    }
    case TypeKind::kStruct: {
      const std::vector<Value>* elements = value.as_elements();
      if (elements == nullptr || from.kind != TypeKind::kStruct || !from.is_anonymous ||
          from.fields.size() != to.fields.size()) {
        return std::nullopt;
      }
      if (from.is_tuple != to.is_tuple && !from.fields.empty()) return std::nullopt;
      std::vector<Value> coerced;
      for (size_t i = 0; i < to.fields.size(); ++i) {
        size_t source = i;
        if (!to.is_tuple) {
          const std::optional<size_t> index = types().FieldIndex(value.type, to.fields[i].name);
          if (!index) return std::nullopt;
          source = *index;
        }
        std::optional<Value> one = CoerceValue((*elements)[source], to.fields[i].type);
        if (!one) return std::nullopt;
        coerced.push_back(std::move(*one));
      }
      return MakeAggregate(type, std::move(coerced));
    }
    case TypeKind::kUnion: {
      const std::vector<Value>* elements = value.as_elements();
      if (elements == nullptr || from.kind != TypeKind::kStruct || from.fields.size() != 1) {
        return std::nullopt;
      }
      const std::optional<size_t> index = types().FieldIndex(type, from.fields[0].name);
      if (!index) return std::nullopt;
      std::vector<Value> coerced;
      for (size_t i = 0; i < to.fields.size(); ++i) {
        if (i != *index) {
          coerced.push_back(MakeUndefined(to.fields[i].type));
          continue;
        }
        std::optional<Value> one = CoerceValue((*elements)[0], to.fields[i].type);
        if (!one) return std::nullopt;
        coerced.push_back(std::move(*one));
      }
      return MakeAggregate(type, std::move(coerced));
    }
    case TypeKind::kError:
    case TypeKind::kVoid:
    case TypeKind::kNoReturn:
    case TypeKind::kBool:
    case TypeKind::kComptimeString:
    case TypeKind::kType:
    case TypeKind::kModule:
    case TypeKind::kEnum:
    case TypeKind::kHandle:
    case TypeKind::kDsd:
    case TypeKind::kDsr:
    case TypeKind::kAnyOpaque:
      return std::nullopt;
  }
  return std::nullopt;
}

Operand Evaluator::Coerce(Operand operand, TypeId type, Span span) {
  if (operand.Stops() || type.is_error()) return operand.Stops() ? operand : Operand::Error();
  if (operand.type == type) return operand;
  const TypeInfo& to = types()[type];
  const TypeInfo& from = types()[operand.type];
  if (to.kind == TypeKind::kAnyType) return operand;

  const auto mismatch = [&]() {
    if (operand.IsValue() && operand.value.as_int() != nullptr &&
        types().IsIntegral(operand.type) && to.kind == TypeKind::kInt) {
      return Report(DiagKind::kIntegerDoesNotFit, span, Int128ToString(*operand.value.as_int()),
                    to.name);
    }
    return Report(DiagKind::kTypeMismatch, span, to.name, from.name,
                  RemedyForType(types(), type, operand.type));
  };

  switch (operand.kind) {
    case Operand::Kind::kValue: {
      std::optional<Value> value = CoerceValue(operand.value, type);
      return value ? Operand::Of(std::move(*value)) : mismatch();
    }
    case Operand::Kind::kParts: {
      if (to.kind == TypeKind::kComptimeStruct && from.kind == TypeKind::kStruct) return operand;
      if (to.kind == TypeKind::kRange && from.kind == TypeKind::kRange) return operand;
      Operand result;
      result.kind = Operand::Kind::kParts;
      result.type = type;
      if (to.kind == TypeKind::kArray &&
          static_cast<int64_t>(operand.parts.size()) == types().ElementCount(type)) {
        for (Operand& part : operand.parts) {
          Operand one = Coerce(std::move(part), to.element, span);
          if (one.Stops()) return one;
          result.parts.push_back(std::move(one));
        }
        return result;
      }
      if (to.kind != TypeKind::kStruct || from.kind != TypeKind::kStruct || !from.is_anonymous ||
          from.fields.size() != to.fields.size()) {
        return mismatch();
      }
      for (size_t i = 0; i < to.fields.size(); ++i) {
        size_t source = i;
        if (!to.is_tuple) {
          const std::optional<size_t> index = types().FieldIndex(operand.type, to.fields[i].name);
          if (!index) return mismatch();
          source = *index;
        }
        Operand one = Coerce(operand.parts[source], to.fields[i].type, span);
        if (one.Stops()) return one;
        result.parts.push_back(std::move(one));
      }
      return result;
    }
    case Operand::Kind::kReg: {
      if (from.kind == TypeKind::kInt && to.kind == TypeKind::kInt && WidensInt(from, to)) {
        return Operand::Register(type, operand.reg, operand.is_place);
      }
      if (from.kind == TypeKind::kFloat && to.kind == TypeKind::kFloat && from.bits == 16 &&
          to.bits == 32) {
        At(span);
        const bytecode::Reg wide = fb_->NewReg();
        fb_->Emit(Op::kF32FromF16, wide, operand.reg);
        return Operand::Register(type, wide);
      }
      if (from.kind == TypeKind::kPointer && to.kind == TypeKind::kPointer &&
          PointerCoerces(types(), from, to)) {
        return Operand::Register(type, operand.reg, operand.is_place);
      }
      return mismatch();
    }
    case Operand::Kind::kMemory:
    case Operand::Kind::kPath: {
      if (fb_ == nullptr && types().IsScalar(operand.type)) {
        (void)RequireValue(operand, span);
        return Operand::Error();
      }
      if (fb_ != nullptr && types().IsScalar(operand.type)) {
        return Coerce(Load(std::move(operand), span), type, span);
      }
      if (to.kind == TypeKind::kComptimeStruct && from.kind == TypeKind::kStruct) return operand;
      if (from.kind == TypeKind::kStruct && from.is_anonymous && fb_ != nullptr) {
        Operand parts;
        parts.kind = Operand::Kind::kParts;
        parts.type = operand.type;
        for (size_t i = 0; i < from.fields.size(); ++i) {
          Operand part = operand;
          if (part.kind == Operand::Kind::kPath) {
            part.path.path.push_back(static_cast<uint32_t>(i));
          } else {
            part.offset += types().FieldOffset(operand.type, i);
          }
          part.type = from.fields[i].type;
          parts.parts.push_back(Load(std::move(part), span));
        }
        return Coerce(std::move(parts), type, span);
      }
      return mismatch();
    }
    case Operand::Kind::kError:
    case Operand::Kind::kNoReturn:
      return operand;
  }
  return operand;
}

TypeId Evaluator::PeerType(TypeId a, TypeId b) {
  if (a == b) return a;
  const TypeInfo& x = types()[a];
  const TypeInfo& y = types()[b];
  if (x.kind == TypeKind::kNoReturn) return b;
  if (y.kind == TypeKind::kNoReturn) return a;
  if (x.kind == TypeKind::kAnyType) return b;  // undefined
  if (y.kind == TypeKind::kAnyType) return a;
  if (x.kind == TypeKind::kComptimeInt && types().IsNumeric(b)) return b;
  if (y.kind == TypeKind::kComptimeInt && types().IsNumeric(a)) return a;
  if (x.kind == TypeKind::kComptimeFloat && types().IsFloating(b)) return b;
  if (y.kind == TypeKind::kComptimeFloat && types().IsFloating(a)) return a;
  if (x.kind == TypeKind::kInt && y.kind == TypeKind::kInt) {
    if (WidensInt(x, y)) return b;
    if (WidensInt(y, x)) return a;
    return {};
  }
  if (x.kind == TypeKind::kFloat && y.kind == TypeKind::kFloat) {
    if (x.bits == 32) return a;
    if (y.bits == 32) return b;
    return {};
  }
  if (x.kind == TypeKind::kPointer && y.kind == TypeKind::kPointer) {
    if (PointerCoerces(types(), x, y)) return b;
    if (PointerCoerces(types(), y, x)) return a;
    // *T and *const [N]T: the const many-pointer of both.
    return {};
  }
  if (x.kind == TypeKind::kStruct && y.kind == TypeKind::kStruct) {
    if (x.is_anonymous && !y.is_anonymous) return b;
    if (y.is_anonymous && !x.is_anonymous) return a;
    if (x.is_anonymous && y.is_anonymous && x.is_tuple == y.is_tuple &&
        x.fields.size() == y.fields.size()) {
      std::vector<Field> fields;
      for (size_t i = 0; i < x.fields.size(); ++i) {
        if (x.fields[i].name != y.fields[i].name) return {};
        const TypeId peer = PeerType(x.fields[i].type, y.fields[i].type);
        if (peer.is_error()) return {};
        fields.push_back({x.fields[i].name, peer});
      }
      return types().AnonymousStruct(std::move(fields), x.is_tuple);
    }
  }
  return {};
}

}  // namespace szarena::csl
