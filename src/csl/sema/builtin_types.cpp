// SPDX-License-Identifier: Apache-2.0
// Builtins on types, casts, structs and module import.
#include <fmt/format.h>

#include "bytecode/numeric.h"
#include "csl/sema/evaluator.h"
#include "csl/sema/number.h"
#include "csl/sema/scope.h"

namespace szarena::csl {

using bytecode::Op;
using bytecode::Reg;

namespace {

Operand Bool(Evaluator& eval, bool value) {
  return Operand::Of(MakeInt(eval.types().bool_type(), value ? 1 : 0));
}
Operand TypeOperand(Evaluator& eval, TypeId type) {
  return Operand::Of(MakeType(eval.types().type_type(), type));
}

Operand As(BuiltinCall& call) {
  const std::optional<TypeId> type = call.eval.EvalType(call.args[0]);
  if (!type) return Operand::Error();
  Operand operand = call.eval.EvalLoaded(call.args[1], *type);
  return call.eval.Cast(std::move(operand), *type, call.span);
}

// The bits of a comptime scalar or array of scalars, least significant first.
bool Flatten(Evaluator& eval, const Value& value, Span span, Uint128& bits, int& shift,
             bool in_packed = false) {
  if (const std::vector<Value>* elements = value.as_elements()) {
    const bool is_packed = eval.types().IsPacked(value.type);
    const TypeKind kind = eval.types().kind(value.type);
    // Structs with padding and unions go through memory.
    if (kind == TypeKind::kUnion || (kind == TypeKind::kStruct && !is_packed)) return false;
    for (const Value& element : *elements) {
      if (!Flatten(eval, element, span, bits, shift, is_packed)) return false;
    }
    return true;
  }
  const std::optional<uint64_t> own = eval.BitsOf(value, span);
  if (!own) return false;
  const int width = in_packed || eval.types().kind(value.type) != TypeKind::kBool
                        ? eval.types().BitWidth(value.type)
                        : 8;
  if (shift + width > 128) return false;
  bits |= static_cast<Uint128>(bytecode::ZeroExtend(*own, width)) << shift;
  shift += width;
  return true;
}

// A value of `type` from bits.
std::optional<Value> Unflatten(Evaluator& eval, TypeId type, Uint128 bits) {
  TypeTable& types = eval.types();
  const TypeInfo info = types[type];
  switch (info.kind) {
    case TypeKind::kInt:
    case TypeKind::kEnum:
      return MakeInt(type, TypeTable::Wrap(info, static_cast<Int128>(bits)));
    case TypeKind::kBool:
      return MakeInt(type, static_cast<Int128>(bits & 1));
    case TypeKind::kHandle:
    case TypeKind::kDsr:
      return MakeInt(type, static_cast<Int128>(bits & 0xffff));
    case TypeKind::kFloat:
      if (info.format == FloatFormat::kF32) {
        return MakeFloat(type, bytecode::F32ToDouble(static_cast<uint32_t>(bits)));
      }
      return MakeFloat(type, bytecode::F16ToDouble(static_cast<bytecode::FloatFormat>(info.format),
                                                   static_cast<uint16_t>(bits)));
    case TypeKind::kPointer: {
      PointerValue pointer;
      pointer.byte_offset = static_cast<int64_t>(bits & 0xffff);
      return MakePointer(type, std::move(pointer));
    }
    case TypeKind::kArray: {
      std::vector<Value> elements;
      const TypeInfo& element = types[info.element];
      const int width =
          element.bits != 0 ? element.bits : static_cast<int>(types.SizeOf(info.element)) * 8;
      const int64_t count = types.ElementCount(type);
      if (width * count > 128) return std::nullopt;
      for (int64_t i = 0; i < count; ++i) {
        std::optional<Value> one = Unflatten(eval, info.element, bits >> (i * width));
        if (!one) return std::nullopt;
        elements.push_back(std::move(*one));
      }
      return MakeAggregate(type, std::move(elements));
    }
    case TypeKind::kStruct: {
      if (!types.IsPacked(type)) return std::nullopt;
      std::vector<Value> fields;
      for (size_t i = 0; i < info.fields.size(); ++i) {
        std::optional<Value> one =
            Unflatten(eval, info.fields[i].type, bits >> types.BitOffset(type, i));
        if (!one) return std::nullopt;
        fields.push_back(std::move(*one));
      }
      return MakeAggregate(type, std::move(fields));
    }
    default:
      return std::nullopt;
  }
}

Operand Bitcast(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  const std::optional<TypeId> type = eval.EvalType(call.args[0]);
  if (!type) return Operand::Error();
  Operand operand = eval.EvalLoaded(call.args[1]);
  if (operand.Stops()) return operand;
  TypeTable& types = eval.types();
  const Span span = eval.SpanOf(call.args[1]);
  if (types.IsComptimeOnly(operand.type) || types.IsComptimeOnly(*type) ||
      types.SizeOf(operand.type) != types.SizeOf(*type) || types.SizeOf(*type) == 0) {
    return eval.Report(DiagKind::kBitcastSize, call.span, eval.NameOf(operand.type),
                       eval.NameOf(*type));
  }
  if (operand.IsValue()) {
    Uint128 bits = 0;
    int shift = 0;
    if (operand.value.as_pointer() == nullptr && Flatten(eval, operand.value, span, bits, shift)) {
      if (std::optional<Value> value = Unflatten(eval, *type, bits)) {
        return Operand::Of(std::move(*value));
      }
    }
    if (!eval.IsRuntime()) return eval.Report(DiagKind::kNotComptime, span, "this cast");
  }
  if (!eval.IsRuntime()) {
    (void)eval.RequireValue(operand, span);
    return Operand::Error();
  }
  if (types.IsScalar(operand.type) && types.IsScalar(*type)) {
    // Registers hold floats as unsigned patterns and signed integers sign-extended.
    const Reg from = eval.ToReg(operand, span);
    const Reg dest = eval.fb().NewReg();
    const bytecode::ScalarType to = bytecode::StorageType(*eval.ScalarTypeOf(*type));
    eval.fb().Emit(bytecode::TypedOp(Op::kConvertI8, to), dest, from);
    return Operand::Register(*type, dest);
  }
  Operand place = eval.ToMemory(std::move(operand), span);
  if (place.Stops()) return place;
  Operand result = eval.NewLocalMemory(*type);
  Operand source = place;
  source.type = *type;
  eval.Store(result, eval.Load(std::move(source), span), span);
  return eval.Load(std::move(result), span);
}

Operand PtrCast(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  const std::optional<TypeId> type = eval.EvalType(call.args[0]);
  if (!type) return Operand::Error();
  Operand operand = eval.EvalLoaded(call.args[1]);
  if (operand.Stops()) return operand;
  TypeTable& types = eval.types();
  const bool from_int = types.IsIntegral(operand.type);
  if (types.kind(*type) != TypeKind::kPointer ||
      (!from_int && types.kind(operand.type) != TypeKind::kPointer)) {
    return eval.Report(DiagKind::kPtrcast, call.span, eval.NameOf(operand.type),
                       eval.NameOf(*type));
  }
  if (operand.IsValue()) {
    if (from_int) {
      PointerValue pointer;
      pointer.byte_offset = static_cast<int64_t>(*operand.value.as_int());
      if (pointer.byte_offset < 0 || pointer.byte_offset > 0xffff) {
        return eval.Report(DiagKind::kIntegerOutOfRange, call.span,
                           Int128ToString(*operand.value.as_int()), 0, 0xffff);
      }
      return Operand::Of(MakePointer(*type, std::move(pointer)));
    }
    Value value = operand.value;
    value.type = *type;
    return Operand::Of(std::move(value));
  }
  if (!eval.IsRuntime()) {
    (void)eval.RequireValue(operand, call.span);
    return Operand::Error();
  }
  return Operand::Register(*type, eval.ToReg(operand, call.span));
}

Operand TypeOf(BuiltinCall& call) {
  const TypeId type = call.eval.TypeOf(call.args[0]);
  if (type.is_error()) return Operand::Error();
  return TypeOperand(call.eval, type);
}

Operand IsSameType(BuiltinCall& call) {
  const std::optional<TypeId> a = call.eval.EvalType(call.args[0]);
  const std::optional<TypeId> b = call.eval.EvalType(call.args[1]);
  if (!a || !b) return Operand::Error();
  return Bool(call.eval, *a == *b);
}

Operand IsComptime(BuiltinCall& call) { return Bool(call.eval, !call.eval.IsRuntime()); }

Operand IsArch(BuiltinCall& call) {
  const std::optional<Value> name =
      call.eval.EvalComptime(call.args[0], call.eval.types().comptime_string());
  if (!name) return Operand::Error();
  const std::string* text = name->as_text();
  if (text == nullptr || (*text != "wse2" && *text != "wse3" && *text != "wse1")) {
    return call.eval.Report(DiagKind::kUnknownArch, call.eval.SpanOf(call.args[0]),
                            FormatValue(call.eval.types(), *name));
  }
  return Bool(call.eval, *text == (call.eval.session().IsWse3() ? "wse3" : "wse2"));
}

Operand Fp16(BuiltinCall& call) { return TypeOperand(call.eval, call.eval.session().Fp16()); }

std::optional<std::string> NameArg(BuiltinCall& call, size_t index) {
  const std::optional<Value> name =
      call.eval.EvalComptime(call.args[index], call.eval.types().comptime_string());
  if (!name) return std::nullopt;
  const std::string* text = name->as_text();
  if (text == nullptr) {
    call.eval.Report(DiagKind::kExpectedString, call.eval.SpanOf(call.args[index]),
                     call.eval.NameOf(name->type));
    return std::nullopt;
  }
  return *text;
}

Operand FieldBuiltin(BuiltinCall& call) {
  Operand base = call.eval.Eval(call.args[0]);
  if (base.Stops()) return base;
  const std::optional<std::string> name = NameArg(call, 1);
  if (!name) return Operand::Error();
  return call.eval.FieldOf(std::move(base), *name, call.span, call.eval.SpanOf(call.args[1]));
}

Operand HasField(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  const Operand base = eval.Eval(call.args[0]);
  if (base.Stops()) return base;
  const std::optional<std::string> name = NameArg(call, 1);
  if (!name) return Operand::Error();
  TypeId type = base.type;
  if (base.IsValue()) {
    if (const TypeId* named = base.value.as_type()) type = *named;
    if (ModuleInstance* module = base.value.as_module()) {
      return Bool(eval, module->globals.contains(eval.Intern(*name)));
    }
  }
  if (eval.types().kind(type) == TypeKind::kEnum) {
    return Bool(eval, eval.types().EnumValue(type, *name).has_value());
  }
  return Bool(eval, eval.types().FieldIndex(type, *name).has_value());
}

Operand ConcatStructs(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  std::vector<Field> fields;
  std::vector<Operand> parts;
  bool is_tuple = true;
  for (const ExprId arg : call.args) {
    Operand operand = eval.EvalLoaded(arg);
    if (operand.Stops()) return operand;
    const TypeInfo info = eval.types()[operand.type];
    if (info.kind != TypeKind::kStruct || !info.is_anonymous) {
      return eval.Report(DiagKind::kNotAnonymousStruct, eval.SpanOf(arg), info.name);
    }
    for (size_t i = 0; i < info.fields.size(); ++i) {
      is_tuple = is_tuple && info.is_tuple;
      for (const Field& other : fields) {
        if (!info.is_tuple && other.name == info.fields[i].name) {
          return eval.Report(DiagKind::kDuplicateField, eval.SpanOf(arg), other.name);
        }
      }
      fields.push_back(info.fields[i]);
      if (operand.IsValue()) {
        parts.push_back(Operand::Of((*operand.value.as_elements())[i]));
      } else if (operand.kind == Operand::Kind::kParts) {
        parts.push_back(operand.parts[i]);
      } else {
        Operand part = operand;
        if (part.kind == Operand::Kind::kPath) {
          part.path.path.push_back(static_cast<uint32_t>(i));
        } else {
          part.offset += eval.types().FieldOffset(operand.type, i);
        }
        part.type = info.fields[i].type;
        parts.push_back(eval.Load(std::move(part), eval.SpanOf(arg)));
      }
    }
  }
  for (const Field& field : fields) {
    if (field.name.empty() != is_tuple) {
      return eval.Report(DiagKind::kMixedConcat, call.span);
    }
  }
  Operand result;
  result.kind = Operand::Kind::kParts;
  result.type = eval.types().AnonymousStruct(std::move(fields), is_tuple);
  result.parts = std::move(parts);
  for (const Operand& part : result.parts) {
    if (!part.IsValue()) return result;
  }
  const std::optional<Value> value = eval.RequireValue(result, call.span);
  return value ? Operand::Of(*value) : Operand::Error();
}

// The array type that @dimensions and its kin ask about: a type, or a value of it.
std::optional<TypeId> ArrayArg(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  const std::optional<TypeId> type = eval.EvalType(call.args[0]);
  if (!type) return std::nullopt;
  if (eval.types().kind(*type) != TypeKind::kArray) {
    eval.Report(DiagKind::kExpectedArrayType, eval.SpanOf(call.args[0]), eval.NameOf(*type));
    return std::nullopt;
  }
  return type;
}

Operand Dimensions(BuiltinCall& call) {
  const std::optional<TypeId> type = ArrayArg(call);
  if (!type) return Operand::Error();
  TypeTable& types = call.eval.types();
  const std::vector<int64_t> dims = types[*type].dims;
  std::vector<Value> values;
  for (const int64_t dim : dims) values.push_back(MakeInt(types.u32(), dim));
  const TypeId result = types.Array({static_cast<int64_t>(dims.size())}, types.u32());
  return Operand::Of(MakeAggregate(result, std::move(values)));
}

Operand Rank(BuiltinCall& call) {
  const std::optional<TypeId> type = ArrayArg(call);
  if (!type) return Operand::Error();
  const auto rank = static_cast<Int128>(call.eval.types()[*type].dims.size());
  return Operand::Of(MakeInt(call.eval.types().u16(), rank));
}

Operand ElementCount(BuiltinCall& call) {
  const std::optional<TypeId> type = ArrayArg(call);
  if (!type) return Operand::Error();
  return Operand::Of(MakeInt(call.eval.types().u32(), call.eval.types().ElementCount(*type)));
}

Operand ElementType(BuiltinCall& call) {
  const std::optional<TypeId> type = ArrayArg(call);
  if (!type) return Operand::Error();
  return TypeOperand(call.eval, call.eval.types()[*type].element);
}

Operand ImportModule(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  const std::optional<std::string> path = NameArg(call, 0);
  if (!path) return Operand::Error();
  std::optional<Value> params;
  if (call.args.size() > 1) {
    params = eval.EvalComptime(call.args[1]);
    if (!params) return Operand::Error();
  }
  ModuleInstance* module = eval.ImportModule(*path, params ? &*params : nullptr, call.span);
  if (module == nullptr) return Operand::Error();
  return Operand::Of(Value{eval.types().module_type(), module});
}

constexpr BuiltinEntry kEntries[] = {
    {"as", 2, 2, kAnywhere, As, "@as(TYPE, value)"},
    {"bitcast", 2, 2, kAnywhere, Bitcast, "@bitcast(TYPE, value)"},
    {"ptrcast", 2, 2, kAnywhere, PtrCast, "@ptrcast(POINTER_TYPE, pointer)"},
    {"type_of", 1, 1, kAnywhere, TypeOf, "@type_of(value)"},
    {"is_same_type", 2, 2, kAnywhere, IsSameType, "@is_same_type(TYPE, TYPE)"},
    {"is_comptime", 0, 0, kAnywhere, IsComptime, "@is_comptime()"},
    {"is_arch", 1, 1, kAnywhere, IsArch, "@is_arch(\"wse2\")"},
    {"fp16", 0, 0, kAnywhere, Fp16, "@fp16()"},
    {"field", 2, 2, kAnywhere, FieldBuiltin, "@field(struct, \"name\")"},
    {"has_field", 2, 2, kAnywhere, HasField, "@has_field(struct, \"name\")"},
    {"concat_structs", 2, 2, kAnywhere, ConcatStructs, "@concat_structs(struct, struct)"},
    {"dimensions", 1, 1, kAnywhere, Dimensions, "@dimensions(ARRAY_TYPE)"},
    {"rank", 1, 1, kAnywhere, Rank, "@rank(ARRAY_TYPE)"},
    {"element_count", 1, 1, kAnywhere, ElementCount, "@element_count(ARRAY_TYPE)"},
    {"element_type", 1, 1, kAnywhere, ElementType, "@element_type(ARRAY_TYPE)"},
    {"import_module", 1, 2, kAnywhere, ImportModule, "@import_module(\"file.csl\", .{ params })"},
};

}  // namespace

std::span<const BuiltinEntry> TypeBuiltins() { return kEntries; }

}  // namespace szarena::csl
