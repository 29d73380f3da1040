// SPDX-License-Identifier: Apache-2.0
// Places: fields, elements, dereference, address-of, compile-time paths, constants in memory.
#include <algorithm>

#include "csl/emit/class_builder.h"
#include "csl/sema/evaluator.h"

namespace szarena::csl {

using bytecode::Op;
using bytecode::Reg;
using bytecode::ScalarType;

namespace {

// Elements of the comptime value that `path` leads to, starting at `root`; null where it does not
// exist.
const Value* Follow(const Value& root, const std::vector<uint32_t>& path) {
  const Value* value = &root;
  for (const uint32_t index : path) {
    const std::vector<Value>* elements = value->as_elements();
    if (elements == nullptr || index >= elements->size()) return nullptr;
    value = &(*elements)[index];
  }
  return value;
}

}  // namespace

std::optional<ScalarType> Evaluator::ScalarTypeOf(TypeId type) {
  const TypeInfo& info = types()[type];
  switch (info.kind) {
    case TypeKind::kBool:
      return ScalarType::kBool;
    case TypeKind::kInt:
    case TypeKind::kEnum: {
      const int step = info.bits <= 8 ? 0 : info.bits <= 16 ? 1 : info.bits <= 32 ? 2 : 3;
      return static_cast<ScalarType>(step + (info.is_signed ? 0 : 4));
    }
    case TypeKind::kFloat:
      return info.format == FloatFormat::kF32 ? ScalarType::kF32 : ScalarType::kF16;
    case TypeKind::kPointer:
    case TypeKind::kHandle:
    case TypeKind::kDsr:
      return ScalarType::kU16;
    case TypeKind::kError:
    case TypeKind::kVoid:
    case TypeKind::kNoReturn:
    case TypeKind::kComptimeInt:
    case TypeKind::kComptimeFloat:
    case TypeKind::kComptimeString:
    case TypeKind::kComptimeStruct:
    case TypeKind::kType:
    case TypeKind::kModule:
    case TypeKind::kRange:
    case TypeKind::kFn:
    case TypeKind::kArray:
    case TypeKind::kStruct:
    case TypeKind::kUnion:
    case TypeKind::kDsd:
    case TypeKind::kAnyOpaque:
    case TypeKind::kAnyType:
      return std::nullopt;
  }
  return std::nullopt;
}

TypeId Evaluator::NaturalType(const PointerValue& path) {
  if (path.IsAbsolute()) return types().error();
  TypeId type = path.global != nullptr ? path.global->type : path.cell->value.type;
  for (const uint32_t index : path.path) {
    const TypeInfo& info = types()[type];
    if (info.kind == TypeKind::kArray) {
      type = info.element;
    } else if (index < info.fields.size()) {
      type = info.fields[index].type;
    } else {
      return types().error();
    }
  }
  return type;
}

std::optional<Value> Evaluator::ReadPath(const PointerValue& path, TypeId type, Span span) {
  const auto unknown = [&](std::string what) -> std::optional<Value> {
    Report(DiagKind::kNotComptime, span, what);
    return std::nullopt;
  };
  if (path.IsAbsolute()) return unknown("what an address points to");
  if (path.global != nullptr && path.global->kind == GlobalKind::kVar) {
    return unknown(fmt::format("the value of variable '{}'", path.global->label));
  }
  const Value& root = path.global != nullptr ? path.global->value : path.cell->value;
  const Value* found = path.byte_offset == 0 ? Follow(root, path.path) : nullptr;
  if (found == nullptr) return unknown("what this pointer points to");
  if (found->type != type) {
    // *T as *[1]T, and [*]T to the start of an array.
    const TypeInfo& wanted = types()[type];
    if (wanted.kind == TypeKind::kArray && wanted.element == found->type &&
        types().ElementCount(type) == 1) {
      return MakeAggregate(type, {*found});
    }
    return unknown("what this pointer points to");
  }
  if (found->is_undefined()) {
    PointerValue around = path;
    if (!around.path.empty()) around.path.pop_back();
    const TypeInfo& outer = types()[NaturalType(around)];
    if (outer.kind == TypeKind::kUnion && !path.path.empty()) {
      Report(DiagKind::kUnionField, span, outer.fields[path.path.back()].name);
      return std::nullopt;
    }
    return unknown("the value of a variable that was never written");
  }
  return *found;
}

std::optional<int64_t> Evaluator::AddressOfPath(const PointerValue& path, Span span) {
  if (path.IsAbsolute()) return path.byte_offset;
  if (path.cell != nullptr) {
    Cell& cell = *path.cell;
    if (cell.spilled == nullptr || !cell.is_const) cell.spilled = ConstantInMemory(cell.value);
    if (cell.spilled == nullptr) {
      Report(DiagKind::kNotRuntime, span, NameOf(cell.value.type));
      return std::nullopt;
    }
  }
  Global& global = path.global != nullptr ? *path.global : *path.cell->spilled;
  const std::optional<uint16_t> base = AddressOfGlobal(global, span);
  if (!base) return std::nullopt;
  int64_t address = *base + path.byte_offset;
  TypeId type = global.type;
  for (const uint32_t index : path.path) {
    const TypeInfo& info = types()[type];
    if (info.kind == TypeKind::kArray) {
      address += types().SizeOf(info.element) * index;
      type = info.element;
    } else {
      address += types().FieldOffset(type, index);
      type = info.fields[index].type;
    }
  }
  return address;
}

std::optional<std::pair<int64_t, int64_t>> Evaluator::BoundsOfPath(const PointerValue& path,
                                                                   Span span) {
  if (path.IsAbsolute()) return std::nullopt;
  PointerValue outer = path;
  outer.byte_offset = 0;
  // The outermost array that holds the place.
  while (!outer.path.empty()) {
    PointerValue up = outer;
    up.path.pop_back();
    if (types().kind(NaturalType(up)) != TypeKind::kArray) break;
    outer = std::move(up);
  }
  const std::optional<int64_t> lo = AddressOfPath(outer, span);
  if (!lo) return std::nullopt;
  return std::make_pair(*lo, *lo + types().SizeOf(NaturalType(outer)));
}

Global* Evaluator::ConstantInMemory(const Value& value) {
  if (unit_.builder == nullptr || types().IsComptimeOnly(value.type)) return nullptr;
  const std::string key = ValueKey(value);
  Global*& slot = unit_.constants[key];
  if (slot == nullptr) {
    Global& global = unit_.globals.emplace_back();
    global.kind = GlobalKind::kConstant;
    global.state = Global::State::kDone;
    global.label = fmt::format("(constant {})", NameOf(value.type));
    global.type = value.type;
    global.value = value;
    slot = &global;
  }
  return slot;
}

Operand Evaluator::FieldOf(Operand base, std::string_view name, Span span, Span name_span) {
  const auto is_module_like = [&](TypeId type) {
    const TypeKind kind = types().kind(type);
    return kind == TypeKind::kModule || kind == TypeKind::kType;
  };
  if (base.kind == Operand::Kind::kPath && is_module_like(base.type)) base = Load(base, span);
  if (base.Stops()) return base;
  if (base.IsValue()) {
    if (ModuleInstance* module = base.value.as_module()) {
      return MemberOf(*module, Intern(name), name_span);
    }
    if (const TypeId* type = base.value.as_type()) {
      if (types().kind(*type) == TypeKind::kEnum) {
        if (const std::optional<Int128> value = types().EnumValue(*type, name)) {
          return Operand::Of(MakeInt(*type, *value));
        }
      }
      return Report(DiagKind::kNoMember, name_span, NameOf(*type), name);
    }
  }
  if (types().kind(base.type) == TypeKind::kPointer) {
    base = Deref(Load(std::move(base), span), span);
    if (base.Stops()) return base;
  }
  const TypeInfo& info = types()[base.type];
  const std::optional<size_t> index = types().FieldIndex(base.type, name);
  if ((info.kind != TypeKind::kStruct && info.kind != TypeKind::kUnion) || !index) {
    return Report(DiagKind::kNoMember, name_span, info.name, name);
  }
  const TypeId field_type = info.fields[*index].type;
  switch (base.kind) {
    case Operand::Kind::kPath:
      base.path.path.push_back(static_cast<uint32_t>(*index));
      base.type = field_type;
      return base;
    case Operand::Kind::kValue: {
      const std::vector<Value>* elements = base.value.as_elements();
      if (elements == nullptr) return Report(DiagKind::kNotComptime, span, "an undefined value");
      if ((*elements)[*index].is_undefined() && info.kind == TypeKind::kUnion) {
        return Report(DiagKind::kUnionField, name_span, name);
      }
      return Operand::Of((*elements)[*index]);
    }
    case Operand::Kind::kParts:
      return base.parts[*index];
    case Operand::Kind::kMemory:
      if (types().IsPacked(base.type)) {
        base.bit_offset =
            static_cast<uint8_t>(base.bit_offset + types().BitOffset(base.type, *index));
        if (base.container_bytes == 0)
          base.container_bytes = static_cast<uint8_t>(types().SizeOf(base.type));
      }
      base.offset += types().FieldOffset(base.type, *index);
      base.type = field_type;
      if (base.has_index) {  // the index is in units of the aggregate: fold it
        return Report(DiagKind::kNotRuntime, span, info.name);
      }
      return base;
    case Operand::Kind::kReg:
    case Operand::Kind::kError:
    case Operand::Kind::kNoReturn:
      break;
  }
  return Report(DiagKind::kNoMember, name_span, info.name, name);
}

Operand Evaluator::ElementOf(Operand base, const std::vector<Operand>& indices,
                             const std::vector<Span>& spans, Span span) {
  if (types().kind(base.type) == TypeKind::kPointer) {
    base = Load(std::move(base), span);
    if (base.Stops()) return base;
    const TypeInfo pointer = types()[base.type];
    const bool to_array = types().kind(pointer.element) == TypeKind::kArray;
    if (!pointer.is_many && !to_array) {
      return Report(DiagKind::kNotIndexable, span, pointer.name);
    }
    if (!pointer.is_many) {
      base = Deref(std::move(base), span);
      if (base.Stops()) return base;
    }
  }
  const TypeInfo info = types()[base.type];
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!types().IsIntegral(indices[i].type)) {
      return Report(DiagKind::kIndexType, spans[i], NameOf(indices[i].type));
    }
  }
  if (info.kind == TypeKind::kStruct && info.is_tuple) {
    if (indices.size() != 1 || !indices[0].IsValue()) {
      return Report(DiagKind::kNotComptime, span, "the index of a tuple");
    }
    const Int128 index = *indices[0].value.as_int();
    if (index < 0 || index >= static_cast<Int128>(info.fields.size())) {
      return Report(DiagKind::kIndexOutOfBounds, spans[0], Int128ToString(index),
                    info.fields.size());
    }
    const auto i = static_cast<size_t>(index);
    if (base.kind == Operand::Kind::kPath) {
      base.path.path.push_back(static_cast<uint32_t>(i));
      base.type = info.fields[i].type;
      return base;
    }
    if (base.kind == Operand::Kind::kParts) return base.parts[i];
    if (base.IsValue()) return Operand::Of((*base.value.as_elements())[i]);
    if (base.kind == Operand::Kind::kMemory) {
      base.offset += types().FieldOffset(base.type, i);
      base.type = info.fields[i].type;
      return base;
    }
    return Report(DiagKind::kNotIndexable, span, info.name);
  }

  const bool is_many = info.kind == TypeKind::kPointer;
  if (info.kind != TypeKind::kArray && !is_many) {
    return Report(DiagKind::kNotIndexable, span, info.name);
  }
  const TypeId element = info.element;
  const int64_t element_size = types().SizeOf(element);
  const size_t rank = is_many ? 1 : info.dims.size();
  if (indices.size() != rank) {
    return Report(DiagKind::kIndexCount, span, info.name, rank, indices.size());
  }
  bool all_known = true;
  for (size_t i = 0; i < rank; ++i) {
    if (!indices[i].IsValue()) {
      all_known = false;
      continue;
    }
    const Int128 index = *indices[i].value.as_int();
    if (!is_many && (index < 0 || index >= info.dims[i])) {
      return Report(DiagKind::kIndexOutOfBounds, spans[i], Int128ToString(index), info.dims[i]);
    }
  }

  if (all_known) {
    Int128 flat = 0;
    for (size_t i = 0; i < rank; ++i) {
      flat = flat * (is_many ? 1 : info.dims[i]) + *indices[i].value.as_int();
    }
    if (is_many && base.IsValue()) {
      const PointerValue* pointer = base.value.as_pointer();
      if (pointer == nullptr) return Report(DiagKind::kNotComptime, span, "an undefined pointer");
      PointerValue path = *pointer;
      const TypeId natural = NaturalType(path);
      const TypeInfo& at = types()[natural];
      if (at.kind == TypeKind::kArray && at.element == element && path.byte_offset == 0 &&
          flat >= 0 && flat < types().ElementCount(natural)) {
        path.path.push_back(static_cast<uint32_t>(flat));
      } else if (natural == element && path.byte_offset == 0 && !path.path.empty() &&
                 flat + path.path.back() >= 0) {
        PointerValue up = path;
        up.path.pop_back();
        const TypeId around = NaturalType(up);
        if (types().kind(around) == TypeKind::kArray &&
            flat + path.path.back() < types().ElementCount(around)) {
          path.path.back() += static_cast<uint32_t>(flat);
        } else {
          path.byte_offset += static_cast<int64_t>(flat) * element_size;
        }
      } else if (flat != 0 || natural != element) {
        path.byte_offset += static_cast<int64_t>(flat) * element_size;
      }
      return Operand::Path(element, std::move(path), info.is_const);
    }
    if (base.IsValue()) {
      const std::vector<Value>* elements = base.value.as_elements();
      if (elements == nullptr) return Report(DiagKind::kNotComptime, span, "an undefined array");
      return Operand::Of((*elements)[static_cast<size_t>(flat)]);
    }
    if (base.kind == Operand::Kind::kPath) {
      const TypeId natural = NaturalType(base.path);
      if (natural == base.type) {
        base.path.path.push_back(static_cast<uint32_t>(flat));
      } else if (!(natural == element && flat == 0)) {
        base.path.byte_offset += static_cast<int64_t>(flat) * element_size;
      }
      base.type = element;
      return base;
    }
    if (base.kind == Operand::Kind::kParts) return base.parts[static_cast<size_t>(flat)];
    if (is_many) {  // run-time pointer
      return Operand::Memory(element, AddressBase::kRegister, ToReg(base, span),
                             static_cast<int64_t>(flat) * element_size, info.is_const);
    }
    base.offset += static_cast<int64_t>(flat) * element_size;
    base.type = element;
    return base;
  }

  if (fb_ == nullptr) {
    for (size_t i = 0; i < rank; ++i) {
      if (!indices[i].IsValue()) (void)RequireValue(indices[i], spans[i]);
    }
    return Operand::Error();
  }
  if (types().IsComptimeOnly(element)) {
    return Report(DiagKind::kNotComptime, spans[0],
                  fmt::format("the index into an array of {}", NameOf(element)));
  }
  At(span);
  Operand place;
  if (is_many) {
    place = Operand::Memory(element, AddressBase::kRegister, ToReg(base, span), 0, info.is_const);
  } else {
    place = ToMemory(std::move(base), span);
    if (place.Stops()) return place;
  }
  Reg flat = 0;
  for (size_t i = 0; i < rank; ++i) {
    Reg index = 0;
    if (indices[i].IsValue()) {
      index = fb_->Const(static_cast<int64_t>(*indices[i].value.as_int()));
    } else {
      index = ToReg(indices[i], spans[i]);
      if (!is_many) {
        fb_->EmitWide(Op::kCheckIndex, index, static_cast<uint32_t>(info.dims[i]));
      }
    }
    if (i == 0) {
      flat = index;
    } else {
      const Reg scaled = Scaled(flat, static_cast<int64_t>(info.dims[i]));
      const Reg sum = fb_->NewReg();
      fb_->Emit(Op::kAddU16, sum, scaled, index);
      flat = sum;
    }
  }
  place.type = element;
  if (types().IsScalar(element)) {
    // The variable in the index may change before the place is used: `a[i]` with a later `i += 1`
    // in the same expression cannot happen, since assignments are statements.
    place.has_index = true;
    place.index_reg = flat;
    return place;
  }
  const Reg scaled = Scaled(flat, static_cast<int64_t>(element_size));
  Operand start = place;
  start.has_index = false;
  const Reg sum = fb_->NewReg();
  fb_->Emit(Op::kAddU16, sum, AddressOf(start, span), scaled);
  return Operand::Memory(element, AddressBase::kRegister, sum, 0, place.is_const);
}

Operand Evaluator::Deref(Operand pointer, Span span) {
  if (pointer.Stops()) return pointer;
  const TypeInfo info = types()[pointer.type];
  if (info.kind != TypeKind::kPointer || info.is_many) {
    return Report(DiagKind::kNotDereferenceable, span, info.name);
  }
  if (types().kind(info.element) == TypeKind::kFn) return pointer;
  if (types().kind(info.element) == TypeKind::kAnyOpaque) {
    return Report(DiagKind::kNotDereferenceable, span, info.name);
  }
  if (pointer.IsValue()) {
    const PointerValue* path = pointer.value.as_pointer();
    if (path == nullptr) return Report(DiagKind::kNotComptime, span, "an undefined pointer");
    if (path->IsAbsolute() && fb_ != nullptr) {
      return Operand::Memory(info.element, AddressBase::kAbsolute, 0, path->byte_offset,
                             info.is_const);
    }
    return Operand::Path(info.element, *path, info.is_const);
  }
  if (fb_ == nullptr) {
    (void)RequireValue(pointer, span);
    return Operand::Error();
  }
  Reg reg = ToReg(pointer, span);
  if (pointer.is_place) {  // the pointer variable may change while the place lives
    const Reg copy = fb_->NewReg();
    fb_->Emit(Op::kMove, copy, reg);
    reg = copy;
  }
  return Operand::Memory(info.element, AddressBase::kRegister, reg, 0, info.is_const);
}

Operand Evaluator::AddressOfPlace(Operand place, Span span) {
  if (place.Stops()) return place;
  if (types().kind(place.type) == TypeKind::kFn && place.IsValue()) {
    const TypeId pointer = types().Pointer(place.type, true, false);
    Value value = place.value;
    value.type = pointer;
    return Operand::Of(std::move(value));
  }
  if (types().IsComptimeOnly(place.type)) {
    return Report(DiagKind::kPointerToComptime, span, NameOf(place.type));
  }
  if (place.kind == Operand::Kind::kPath && !place.path.path.empty()) {
    PointerValue around = place.path;
    around.path.pop_back();
    if (types().IsPacked(NaturalType(around))) {
      return Report(DiagKind::kPackedAddress, span);
    }
  }
  if (place.container_bytes != 0) return Report(DiagKind::kPackedAddress, span);
  const TypeId pointer = types().Pointer(place.type, place.is_const, false);
  switch (place.kind) {
    case Operand::Kind::kPath:
      return Operand::Of(MakePointer(pointer, place.path));
    case Operand::Kind::kValue: {
      auto cell = std::make_shared<Cell>();
      cell->value = place.value;
      cell->is_const = true;
      PointerValue path;
      path.cell = std::move(cell);
      return Operand::Of(MakePointer(types().Pointer(place.type, true, false), std::move(path)));
    }
    case Operand::Kind::kParts:
      place = ToMemory(std::move(place), span);
      if (place.Stops()) return place;
      return Operand::Register(pointer, AddressOf(place, span));
    case Operand::Kind::kMemory:
      if (fb_ == nullptr) break;
      return Operand::Register(pointer, AddressOf(place, span));
    case Operand::Kind::kReg: {
      if (fb_ == nullptr) break;
      // A temporary, or a constant local: give it memory.
      Operand memory = NewLocalMemory(place.type);
      Store(memory, place, span);
      return Operand::Register(types().Pointer(place.type, true, false), AddressOf(memory, span));
    }
    case Operand::Kind::kError:
    case Operand::Kind::kNoReturn:
      return place;
  }
  (void)RequireValue(place, span);
  return Operand::Error();
}

Value* Evaluator::WritablePath(const PointerValue& path, Span span) {
  if (path.cell == nullptr || path.byte_offset != 0) {
    Report(DiagKind::kNotComptime, span, "the place that is written");
    return nullptr;
  }
  Cell& cell = *path.cell;
  if (cell.runtime_depth < depth_ && fb_ != nullptr) {
    Report(DiagKind::kComptimeVarInBranch, span);
    return nullptr;
  }
  Value* value = &cell.value;
  for (const uint32_t index : path.path) {
    const TypeInfo info = types()[value->type];
    if (value->is_undefined()) {
      // First write into an array or struct without initialiser.
      const size_t count = info.kind == TypeKind::kArray
                               ? static_cast<size_t>(types().ElementCount(value->type))
                               : info.fields.size();
      std::vector<Value> elements;
      elements.reserve(count);
      for (size_t i = 0; i < count; ++i) {
        elements.push_back(
            MakeUndefined(info.kind == TypeKind::kArray ? info.element : info.fields[i].type));
      }
      *value = MakeAggregate(value->type, std::move(elements));
    }
    if (info.kind == TypeKind::kUnion) {
      for (size_t i = 0; i < info.fields.size(); ++i) {
        if (i != index) value->MutableElements()[i] = MakeUndefined(info.fields[i].type);
      }
    }
    value = &value->MutableElements()[index];
  }
  return value;
}

bool Evaluator::StorePath(const PointerValue& path, Value value, Span span) {
  Value* place = WritablePath(path, span);
  if (place == nullptr) return false;
  *place = std::move(value);
  return true;
}

}  // namespace szarena::csl
