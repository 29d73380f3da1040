// SPDX-License-Identifier: Apache-2.0
// Memory at run time: addresses, loads, stores, fields of packed structs, values as register bits.
#include <algorithm>
#include <cmath>

#include "csl/emit/class_builder.h"
#include "csl/sema/dsd_value.h"
#include "csl/sema/evaluator.h"

namespace szarena::csl {

using bytecode::AddressForm;
using bytecode::Op;
using bytecode::Reg;
using bytecode::ScalarType;

namespace {

// True where every byte of the value in memory is 0.
bool IsAllZeros(const Value& value) {
  if (const std::vector<Value>* elements = value.as_elements())
    return std::all_of(elements->begin(), elements->end(), IsAllZeros);
  if (const Int128* number = value.as_int()) return *number == 0;
  const double* real = value.as_float();
  return real != nullptr && *real == 0.0 && !std::signbit(*real);
}

}  // namespace

Operand Evaluator::PathToMemory(const Operand& path, Span span) {
  const std::optional<int64_t> address = AddressOfPath(path.path, span);
  if (!address) return Operand::Error();
  Operand place = Operand::Memory(path.type, AddressBase::kAbsolute, 0, *address, path.is_const);
  const std::vector<uint32_t>& steps = path.path.path;
  if (steps.empty() || NaturalType(path.path) != path.type) return place;
  PointerValue around = path.path;
  around.path.clear();
  for (const uint32_t step : steps) {  // the outermost packed type on the way is the container
    const TypeId outer = NaturalType(around);
    around.path.push_back(step);
    if (!types().IsPacked(outer)) continue;
    place.bit_offset = static_cast<uint8_t>(place.bit_offset + types().BitOffset(outer, step));
    if (place.container_bytes == 0)
      place.container_bytes = static_cast<uint8_t>(types().SizeOf(outer));
  }
  return place;
}

// A field of a packed struct: read, and read-modify-write, of the whole container.
Operand Evaluator::LoadBits(const Operand& place, Span span) {
  const TypeId container = types().Int(static_cast<uint16_t>(place.container_bytes * 8), false);
  Operand whole = place;
  whole.type = container;
  whole.container_bytes = 0;
  const Reg word = ToReg(Load(std::move(whole), span), span);
  const Reg field = fb_->NewReg();
  if (place.bit_offset != 0) {
    fb_->Emit(bytecode::TypedOp(Op::kShrI8, *ScalarTypeOf(container)), field, word,
              fb_->Const(place.bit_offset));
  } else {
    fb_->Emit(Op::kMove, field, word);
  }
  const auto width = static_cast<uint16_t>(types().BitWidth(place.type));
  fb_->Emit(types().IsSignedScalar(place.type) ? Op::kSignExtend : Op::kZeroExtend, field, field,
            width);
  return Operand::Register(place.type, field);
}

Reg Evaluator::PackedBits(const Operand& value, Span span) {
  const auto width = static_cast<uint16_t>(types().BitWidth(value.type));
  if (value.kind == Operand::Kind::kValue) {
    const std::optional<uint64_t> bits = BitsOf(value.value, span);
    return fb_->Const(static_cast<int64_t>(bits.value_or(0)));
  }
  if (value.kind == Operand::Kind::kPath) return PackedBits(PathToMemory(value, span), span);
  if (value.kind == Operand::Kind::kParts) {
    const Reg word = fb_->NewReg();
    fb_->Emit(Op::kMove, word, fb_->Const(0));
    for (size_t i = 0; i < value.parts.size(); ++i) {
      const Operand& part = value.parts[i];
      const Reg from = types().IsPacked(part.type) ? PackedBits(part, span) : ToReg(part, span);
      const Reg field = fb_->NewReg();
      fb_->Emit(Op::kZeroExtend, field, from, static_cast<uint16_t>(types().BitWidth(part.type)));
      fb_->Emit(bytecode::TypedOp(Op::kShlI8, ScalarType::kU64), field, field,
                fb_->Const(types().BitOffset(value.type, i)));
      fb_->Emit(Op::kOr, word, word, field);
    }
    return word;
  }
  Operand whole = value;
  if (value.container_bytes != 0) {
    whole.type = types().Int(width, false);
    return ToReg(LoadBits(whole, span), span);
  }
  whole.type = types().Int(static_cast<uint16_t>(types().SizeOf(value.type) * 8), false);
  return ToReg(Load(std::move(whole), span), span);
}

void Evaluator::StoreBits(const Operand& place, const Operand& value, Span span) {
  const TypeId container = types().Int(static_cast<uint16_t>(place.container_bytes * 8), false);
  Operand whole = place;
  whole.type = container;
  whole.container_bytes = 0;
  const int width = types().BitWidth(place.type);
  const uint64_t mask = (width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1)
                        << place.bit_offset;
  if (place.bit_offset == 0 &&
      width == place.container_bytes * 8) {  // the whole container: nothing is kept, nothing read
    const Reg all = types().IsPacked(place.type) ? PackedBits(value, span) : ToReg(value, span);
    Store(whole, Operand::Register(container, all), span);
    return;
  }
  const Reg word = ToReg(Load(whole, span), span);
  const Reg kept = fb_->NewReg();
  fb_->Emit(Op::kAnd, kept, word, fb_->Const(static_cast<int64_t>(~mask)));
  const Reg field = fb_->NewReg();
  const bytecode::ScalarType wide = bytecode::ScalarType::kU64;
  const Reg from = types().IsPacked(place.type) ? PackedBits(value, span) : ToReg(value, span);
  fb_->Emit(bytecode::TypedOp(Op::kShlI8, wide), field, from, fb_->Const(place.bit_offset));
  fb_->Emit(Op::kAnd, field, field, fb_->Const(static_cast<int64_t>(mask)));
  fb_->Emit(Op::kOr, kept, kept, field);
  Store(whole, Operand::Register(container, kept), span);
}

bool Evaluator::CheckFloatFormat(TypeId type, Span span) {
  const TypeInfo& info = types()[type];
  switch (info.kind) {
    case TypeKind::kFloat:
      if (info.format == FloatFormat::kF32 || type == session().Fp16()) return true;
      Report(DiagKind::kOtherFloatFormat, span, info.name, NameOf(session().Fp16()));
      return false;
    case TypeKind::kArray:
      return CheckFloatFormat(info.element, span);
    case TypeKind::kStruct:
    case TypeKind::kUnion:
      return std::ranges::all_of(
          info.fields, [&](const Field& field) { return CheckFloatFormat(field.type, span); });
    default:
      return true;
  }
}

Operand Evaluator::NewLocalMemory(TypeId type) {
  const auto bytes = static_cast<uint32_t>(std::max<int64_t>(types().SizeOf(type), 1));
  Operand place;
  if (types().InDescriptorSpace(type)) {
    place = Operand::Memory(type, AddressBase::kDescriptorFrame, 0,
                            fb_->NewDescriptorLocal((bytes + 31) / 32 * 32), false);
  } else {
    place = Operand::Memory(type, AddressBase::kFrame, 0,
                            fb_->NewLocal(bytes, types().AlignOf(type) > 1 ? 2 : 1), false);
  }
  place.is_temp = true;
  return place;
}

Reg Evaluator::AddressOf(const Operand& place, Span span) {
  At(span);
  if (place.kind == Operand::Kind::kPath) return AddressOf(PathToMemory(place, span), span);
  if (place.kind != Operand::Kind::kMemory) return 0;
  Reg base = 0;
  int64_t offset = place.offset;
  switch (place.base) {
    case AddressBase::kAbsolute:
      base = fb_->Const(offset);
      offset = 0;
      break;
    case AddressBase::kFrame:
    case AddressBase::kDescriptorFrame:
      base = fb_->NewReg();
      fb_->EmitWide(place.base == AddressBase::kFrame ? Op::kFrameAddr : Op::kFrameAddrD, base,
                    static_cast<uint32_t>(offset));
      offset = 0;
      break;
    case AddressBase::kRegister:
      base = place.reg;
      break;
  }
  if (offset != 0) {
    const Reg sum = fb_->NewReg();
    if (offset >= INT16_MIN && offset <= INT16_MAX) {
      fb_->Emit(Op::kAddImmU16, sum, base, static_cast<uint16_t>(offset));
    } else {
      fb_->Emit(Op::kAddU16, sum, base, fb_->Const(offset));
    }
    base = sum;
  }
  if (place.has_index) {
    const int64_t size = types().SizeOf(place.type);
    Reg scaled = place.index_reg;
    if (size != 1) {
      scaled = Scaled(place.index_reg, size);
    }
    const Reg sum = fb_->NewReg();
    fb_->Emit(Op::kAddU16, sum, base, scaled);
    base = sum;
  }
  return base;
}

Operand Evaluator::Load(Operand operand, Span span) {
  Operand loaded = LoadPlace(std::move(operand), span);
  if (loaded.IsValue() && loaded.value.is_undefined()) {
    const TypeKind kind = types().kind(loaded.type);
    const bool is_only_stored = kind == TypeKind::kAnyType || kind == TypeKind::kArray ||
                                kind == TypeKind::kStruct || kind == TypeKind::kUnion;
    if (!is_only_stored) return Report(DiagKind::kNotComptime, span, "an undefined value");
  }
  return loaded;
}

Operand Evaluator::LoadPlace(Operand operand, Span span) {
  if (operand.kind == Operand::Kind::kPath) {
    const bool is_variable =
        operand.path.IsAbsolute() ||
        (operand.path.global != nullptr && operand.path.global->kind == GlobalKind::kVar);
    if (!is_variable) {
      // A constant whose type was changed by a pointer cast is read from memory.
      if (fb_ != nullptr && operand.path.global != nullptr &&
          NaturalType(operand.path) != operand.type) {
        return LoadPlace(PathToMemory(operand, span), span);
      }
      std::optional<Value> value = ReadPath(operand.path, operand.type, span);
      return value ? Operand::Of(std::move(*value)) : Operand::Error();
    }
    if (fb_ == nullptr) return operand;
    if (!types().IsScalar(operand.type)) return operand;
    operand = PathToMemory(operand, span);
  }
  if (operand.kind != Operand::Kind::kMemory || fb_ == nullptr) return operand;
  if (operand.container_bytes != 0)
    return types().IsScalar(operand.type) ? LoadBits(operand, span) : operand;
  const std::optional<ScalarType> scalar = ScalarTypeOf(operand.type);
  if (!scalar) return operand;
  if (!CheckFloatFormat(operand.type, span)) return Operand::Error();
  At(span);
  const Reg dest = fb_->NewReg();
  if (operand.has_index) {
    Operand base = operand;
    base.has_index = false;
    fb_->Emit(bytecode::LoadOp(*scalar, AddressForm::kIndexed), dest, AddressOf(base, span),
              operand.index_reg);
  } else if (operand.base == AddressBase::kAbsolute) {
    fb_->Emit(bytecode::LoadOp(*scalar, AddressForm::kAbsolute), dest,
              static_cast<uint16_t>(operand.offset));
  } else if (operand.base == AddressBase::kRegister && operand.offset >= 0 &&
             operand.offset <= UINT16_MAX) {
    fb_->Emit(bytecode::LoadOp(*scalar), dest, operand.reg, static_cast<uint16_t>(operand.offset));
  } else {
    fb_->Emit(bytecode::LoadOp(*scalar), dest, AddressOf(operand, span), 0);
  }
  return Operand::Register(operand.type, dest);
}

std::optional<uint64_t> Evaluator::BitsOf(const Value& value, Span span) {
  const TypeInfo& info = types()[value.type];
  if (value.is_undefined()) return uint64_t{0};
  if (const std::vector<Value>* elements = value.as_elements();
      elements != nullptr && types().IsPacked(value.type)) {
    uint64_t word = 0;
    for (size_t i = 0; i < elements->size(); ++i) {
      const std::optional<uint64_t> bits = BitsOf((*elements)[i], span);
      if (!bits) return std::nullopt;
      word |= bytecode::ZeroExtend(*bits, types().BitWidth((*elements)[i].type))
              << types().BitOffset(value.type, i);
    }
    return word;
  }
  if (const Int128* number = value.as_int()) return static_cast<uint64_t>(*number);
  if (const double* number = value.as_float()) {
    if (info.kind != TypeKind::kFloat) {
      Report(DiagKind::kNotRuntime, span, info.name);
      return std::nullopt;
    }
    if (info.format == FloatFormat::kF32) return bytecode::F32FromDouble(*number);
    return bytecode::F16FromDouble(static_cast<bytecode::FloatFormat>(info.format), *number);
  }
  if (const PointerValue* pointer = value.as_pointer()) {
    const std::optional<int64_t> address = AddressOfPath(*pointer, span);
    if (!address) return std::nullopt;
    return static_cast<uint64_t>(*address);
  }
  if (FnTemplate* fn = value.as_fn()) {
    const std::optional<uint32_t> index = FunctionIndex(*fn, span);
    if (!index) return std::nullopt;
    return *index;
  }
  Report(DiagKind::kNotRuntime, span, info.name);
  return std::nullopt;
}

Reg Evaluator::ToReg(const Operand& operand, Span span) {
  if (!operand.Stops() && types().IsFloat(operand.type) && !CheckFloatFormat(operand.type, span))
    return 0;
  if (operand.kind == Operand::Kind::kReg) return operand.reg;
  if (operand.kind == Operand::Kind::kValue) {
    if (types().kind(operand.type) == TypeKind::kComptimeInt ||
        types().kind(operand.type) == TypeKind::kComptimeFloat) {
      Report(DiagKind::kNotRuntime, span, NameOf(operand.type));
      return 0;
    }
    const std::optional<uint64_t> bits = BitsOf(operand.value, span);
    if (!bits) return 0;
    At(span);
    return fb_->Const(static_cast<int64_t>(*bits));
  }
  if (operand.kind == Operand::Kind::kMemory || operand.kind == Operand::Kind::kPath) {
    const Operand loaded = Load(operand, span);
    if (loaded.kind == Operand::Kind::kReg) return loaded.reg;
    if (loaded.kind == Operand::Kind::kValue) return ToReg(loaded, span);
  }
  if (!operand.Stops()) Report(DiagKind::kNotRuntime, span, NameOf(operand.type));
  return 0;
}

Operand Evaluator::ToMemory(Operand operand, Span span) {
  switch (operand.kind) {
    case Operand::Kind::kMemory:
      if (operand.container_bytes != 0 &&
          !types().IsScalar(operand.type)) {  // a packed struct within another: its own bytes
        Operand place = NewLocalMemory(operand.type);
        Operand whole = place;
        whole.type = types().Int(static_cast<uint16_t>(types().SizeOf(operand.type) * 8), false);
        Store(whole, Operand::Register(whole.type, PackedBits(operand, span)), span);
        return place;
      }
      return operand;
    case Operand::Kind::kError:
    case Operand::Kind::kNoReturn:
      return operand;
    case Operand::Kind::kPath: {
      Operand place = PathToMemory(operand, span);
      return place.container_bytes != 0 ? ToMemory(std::move(place), span) : place;
    }
    case Operand::Kind::kValue: {
      Global* constant = ConstantInMemory(operand.value);
      if (constant == nullptr) return Report(DiagKind::kNotRuntime, span, NameOf(operand.type));
      const std::optional<uint16_t> address = AddressOfGlobal(*constant, span);
      if (!address) return Operand::Error();
      return Operand::Memory(operand.type, AddressBase::kAbsolute, 0, *address, true);
    }
    case Operand::Kind::kReg:
    case Operand::Kind::kParts: {
      if (types().IsComptimeOnly(operand.type)) {
        return Report(DiagKind::kNotRuntime, span, NameOf(operand.type));
      }
      Operand place = NewLocalMemory(operand.type);
      Store(place, operand, span);
      return place;
    }
  }
  return operand;
}

void Evaluator::Store(const Operand& place, const Operand& value, Span span) {
  if (place.Stops() || value.Stops()) return;
  At(span);
  if (place.kind == Operand::Kind::kReg) {
    if (value.kind == Operand::Kind::kValue) {
      const std::optional<uint64_t> bits = BitsOf(value.value, span);
      if (bits) fb_->Const(place.reg, static_cast<int64_t>(*bits));
      return;
    }
    const Reg from = ToReg(value, span);
    if (from != place.reg) fb_->Emit(Op::kMove, place.reg, from);
    return;
  }
  if (place.kind == Operand::Kind::kPath) {
    Store(PathToMemory(place, span), value, span);
    return;
  }
  if (place.kind != Operand::Kind::kMemory) return;
  if (value.kind == Operand::Kind::kValue && value.value.is_undefined()) return;
  if (place.container_bytes != 0) {
    StoreBits(place, value, span);
    return;
  }
  const std::optional<ScalarType> scalar = ScalarTypeOf(place.type);
  if (scalar) {
    const Reg from = ToReg(value, span);
    if (place.has_index) {
      Operand base = place;
      base.has_index = false;
      fb_->Emit(bytecode::StoreOp(*scalar, AddressForm::kIndexed), from, AddressOf(base, span),
                place.index_reg);
    } else if (place.base == AddressBase::kAbsolute) {
      fb_->Emit(bytecode::StoreOp(*scalar, AddressForm::kAbsolute), from,
                static_cast<uint16_t>(place.offset));
    } else if (place.base == AddressBase::kRegister && place.offset >= 0 &&
               place.offset <= UINT16_MAX) {
      fb_->Emit(bytecode::StoreOp(*scalar), from, place.reg, static_cast<uint16_t>(place.offset));
    } else {
      fb_->Emit(bytecode::StoreOp(*scalar), from, AddressOf(place, span), 0);
    }
    return;
  }
  if (value.kind == Operand::Kind::kParts) {
    // The parts may read the place: read them all before the first is written.
    std::vector<Operand> parts = value.parts;
    for (Operand& part : parts) {
      if (types().IsScalar(part.type) && part.kind != Operand::Kind::kValue) {
        part = Operand::Register(part.type, ToReg(part, span));
      } else if (part.kind == Operand::Kind::kPath ||
                 (part.kind == Operand::Kind::kMemory && !part.is_temp)) {
        Operand copy = NewLocalMemory(part.type);
        Store(copy, part, span);
        part = std::move(copy);
      }
    }
    const Operand base =
        Operand::Memory(place.type, AddressBase::kRegister, AddressOf(place, span), 0, false);
    const TypeInfo& info = types()[place.type];
    if (types().IsPacked(place.type)) {  // no bit of the container is left unwritten
      fb_->EmitWide(Op::kZeroMem, base.reg, static_cast<uint32_t>(types().SizeOf(place.type)));
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      Operand target = base;
      if (types().IsPacked(place.type)) {
        target.bit_offset = static_cast<uint8_t>(types().BitOffset(place.type, i));
        target.container_bytes = static_cast<uint8_t>(types().SizeOf(place.type));
      }
      if (info.kind == TypeKind::kArray) {
        target.type = info.element;
        target.offset += static_cast<int64_t>(i) * types().SizeOf(info.element);
      } else {
        target.type = info.fields[i].type;
        target.offset += types().FieldOffset(place.type, i);
      }
      Store(target, parts[i], span);
    }
    return;
  }
  if (value.kind == Operand::Kind::kValue && value.value.as_dsd() != nullptr) {
    fb_->EmitWide(Op::kDsdConst, AddressOf(place, span),
                  bytecode::InternDescriptor(code_class(), DescriptorOf(*value.value.as_dsd())));
    return;
  }
  const int64_t size = types().SizeOf(place.type);
  if (size == 0) return;
  if (value.kind == Operand::Kind::kValue && size <= UINT16_MAX && IsAllZeros(value.value)) {
    // No constant in the PE's memory beside the variable.
    fb_->EmitWide(Op::kZeroMem, AddressOf(place, span), static_cast<uint32_t>(size));
    return;
  }
  const Operand source = ToMemory(value, span);
  if (source.Stops()) return;
  const Reg to = AddressOf(place, span);
  const Reg from = AddressOf(source, span);
  if (size <= UINT16_MAX) {
    fb_->Emit(Op::kCopyMem, to, from, static_cast<uint16_t>(size));
  } else {
    Report(DiagKind::kTypeTooLarge, span, NameOf(place.type), size);
  }
}

}  // namespace szarena::csl
