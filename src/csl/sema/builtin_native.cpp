// SPDX-License-Identifier: Apache-2.0
// @native for library files, and the builtins that are natives by another name: random numbers,
// configuration registers, symbols, queue flushes.
#include <algorithm>

#include "bytecode/native_math.h"
#include "csl/emit/class_builder.h"
#include "csl/sema/evaluator.h"

namespace szarena::csl {

using bytecode::Native;
using bytecode::Op;
using bytecode::Reg;

namespace {

TypeId TypeOfLetter(Evaluator& eval, char letter) {
  TypeTable& types = eval.types();
  switch (letter) {
    case 'b':
      return types.bool_type();
    case 'c':
      return types.Int(8, false);
    case 'w':
      return types.u16();
    case 'i':
      return types.i16();
    case 'l':
      return types.u32();
    case 'j':
      return types.Int(32, true);
    case 'h':
      return eval.session().Fp16();
    case 's':
      return types.f32();
    case 't':
      return types.comptime_string();
    case 'e':
      return types.type_type();
    case 'v':
      return types.void_type();
    default:
      return types.error();  // p, x: any pointer, any scalar
  }
}

// One argument as the number that goes to its register, or a register.
struct NativeArg {
  std::optional<uint64_t> bits;
  Reg reg = 0;
};

std::optional<NativeArg> EvalArg(BuiltinCall& call, ExprId id, char letter, TypeId& last_type) {
  Evaluator& eval = call.eval;
  const Span span = eval.SpanOf(id);
  NativeArg arg;
  if (letter == 't') {
    const std::optional<Value> text = eval.EvalComptimeAs(id, eval.types().comptime_string());
    if (!text) return std::nullopt;
    arg.bits = bytecode::InternString(eval.code_class(), *text->as_text());
    return arg;
  }
  if (letter == 'e') {
    const std::optional<TypeId> type = eval.EvalType(id);
    if (!type) return std::nullopt;
    const std::optional<bytecode::ScalarType> scalar = eval.ScalarTypeOf(*type);
    if (!scalar) {
      eval.Report(DiagKind::kNotRuntime, span, eval.NameOf(*type));
      return std::nullopt;
    }
    last_type = *type;
    arg.bits = static_cast<uint64_t>(*scalar);
    return arg;
  }
  Operand operand = eval.EvalLoaded(id);
  if (operand.Stops()) return std::nullopt;
  TypeId wanted = letter == 'x' ? last_type : TypeOfLetter(eval, letter);
  if (letter == 'p') {
    if (eval.types().kind(operand.type) != TypeKind::kPointer) {
      eval.Report(DiagKind::kTypeMismatch, span, "*T", eval.NameOf(operand.type), "");
      return std::nullopt;
    }
    wanted = operand.type;
  }
  if (!wanted.is_error()) operand = eval.Coerce(std::move(operand), wanted, span);
  if (operand.Stops()) return std::nullopt;
  if (operand.IsValue()) {
    const std::optional<uint64_t> bits = eval.BitsOf(operand.value, span);
    if (!bits) return std::nullopt;
    arg.bits = *bits;
  } else if (eval.IsRuntime()) {
    arg.reg = eval.ToReg(operand, span);
  } else {
    (void)eval.RequireValue(operand, span);
    return std::nullopt;
  }
  return arg;
}

Operand EmitNative(BuiltinCall& call, Native native, std::span<const ExprId> args,
                   std::vector<NativeArg> leading = {}) {
  Evaluator& eval = call.eval;
  const bytecode::NativeInfo& info = bytecode::InfoOf(native);
  const std::string_view letters = info.args;
  if (args.size() + leading.size() != letters.size()) {
    return eval.Report(DiagKind::kCallArity, call.span, info.name, letters.size(),
                       args.size() + leading.size());
  }
  std::vector<NativeArg> values = std::move(leading);
  TypeId last_type;
  for (const ExprId arg : args) {
    const std::optional<NativeArg> value = EvalArg(call, arg, letters[values.size()], last_type);
    if (!value) return Operand::Error();
    values.push_back(*value);
  }
  const TypeId result = TypeOfLetter(eval, info.result);
  const bool is_void = eval.types().kind(result) == TypeKind::kVoid;
  if (!eval.IsRuntime() && bytecode::IsMath(native)) {
    const bytecode::FloatFormat fp16 = eval.session().target.fp16;
    const uint64_t bits =
        bytecode::EvalMath(native, fp16, *values[0].bits, values.size() > 1 ? *values[1].bits : 0);
    return Operand::Of(MakeFloat(
        result, info.result == 's' ? bytecode::F32ToDouble(static_cast<uint32_t>(bits))
                                   : bytecode::F16ToDouble(fp16, static_cast<uint16_t>(bits))));
  }
  if (!eval.IsRuntime()) {
    // In a comptime block: done at load. Elsewhere there is no hardware to ask.
    if (eval.context() != kInComptime || !is_void) {
      return eval.Report(DiagKind::kNotComptime, call.span, "the result of the hardware");
    }
  }
  bytecode::FunctionBuilder& fb = eval.IsRuntime() ? eval.fb() : eval.InitBuilder();
  eval.At(call.span);
  const Reg window = fb.NewRegs(std::max<int>(static_cast<int>(values.size()), 1));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto to = static_cast<Reg>(window + i);
    if (values[i].bits) {
      fb.Const(to, static_cast<int64_t>(*values[i].bits));
    } else {
      fb.Emit(Op::kMove, to, values[i].reg);
    }
  }
  fb.Emit(Op::kNative, window, 0, static_cast<uint16_t>(native));
  if (is_void) return Operand::Of(MakeVoid(result));
  if (info.result == 'p') {
    return Operand::Register(eval.types().Pointer(eval.types().u16(), false, true), window);
  }
  return Operand::Register(result, window);
}

Operand CallNative(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  if (!eval.frame().module->is_library) {
    return eval.Report(DiagKind::kNativeInUserCode, call.span);
  }
  const std::optional<Value> name =
      eval.EvalComptimeAs(call.args[0], eval.types().comptime_string());
  if (!name) return Operand::Error();
  const Native native = bytecode::NativeByName(*name->as_text());
  if (native == Native::kCount) {
    return eval.Report(DiagKind::kUnknownBuiltin, eval.SpanOf(call.args[0]),
                       "native:" + *name->as_text(), "", "");
  }
  return EmitNative(call, native, call.args.subspan(1));
}

// @set_dsr_base_addr(dsr, pointer), of SDK 0.9 and older: the descriptor in a register gets another
// base address.
Operand SetDsrBaseAddr(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  const std::optional<Value> dsr = eval.EvalComptime(call.args[0]);
  if (!dsr) return Operand::Error();
  const TypeInfo info = eval.types()[dsr->type];
  if (info.kind != TypeKind::kDsr || dsr->as_int() == nullptr)
    return eval.Report(DiagKind::kDsrKind, eval.SpanOf(call.args[0]), info.name);
  NativeArg handle;
  handle.bits = static_cast<uint64_t>(*dsr->as_int());
  return EmitNative(call, Native::k_dsr_set_base, call.args.subspan(1), {handle});
}

Operand Random16(BuiltinCall& call) { return EmitNative(call, Native::k_random16, call.args); }
Operand SetActivePrng(BuiltinCall& call) {
  return EmitNative(call, Native::k_prng_select, call.args);
}
Operand GetConfig(BuiltinCall& call) {
  return EmitNative(call, Native::k_config_get, call.args.first(1));
}
Operand SetConfig(BuiltinCall& call) {
  return EmitNative(call, Native::k_config_set, call.args.first(2));
}
Operand GetTensorPtr(BuiltinCall& call) {
  return EmitNative(call, Native::k_tensor_ptr, call.args);
}

Operand GetSymbolValue(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  const std::optional<TypeId> type = eval.EvalType(call.args[0]);
  if (!type) return Operand::Error();
  const std::optional<bytecode::ScalarType> scalar = eval.ScalarTypeOf(*type);
  if (!scalar) {
    return eval.Report(DiagKind::kNotRuntime, eval.SpanOf(call.args[0]), eval.NameOf(*type));
  }
  Operand word = EmitNative(call, Native::k_symbol_value, call.args.subspan(1));
  if (word.Stops()) return word;
  const Reg dest = eval.fb().NewReg();
  eval.fb().Emit(bytecode::TypedOp(Op::kConvertI8, bytecode::StorageType(*scalar)), dest, word.reg);
  return Operand::Register(*type, dest);
}

Operand QueueFlush(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  const Operand queue = eval.EvalLoaded(call.args[0]);
  if (queue.Stops()) return queue;
  const bool is_input = eval.types().IsHandle(queue.type, HandleKind::kInputQueue);
  if (!is_input && !eval.types().IsHandle(queue.type, HandleKind::kOutputQueue)) {
    return eval.Report(DiagKind::kTypeMismatch, eval.SpanOf(call.args[0]),
                       "input_queue or output_queue", eval.NameOf(queue.type),
                       "make one with '@get_input_queue(number)' or '@get_output_queue(number)'");
  }
  if (!eval.IsRuntime()) {
    return eval.Report(DiagKind::kBuiltinPlace, call.span, call.entry.name,
                       "in a function or task");
  }
  NativeArg id;
  id.reg = eval.ToReg(queue, call.span);
  NativeArg kind;
  kind.bits = is_input ? 0 : 1;
  return EmitNative(call, Native::k_queue_flush, {}, {id, kind});
}

constexpr uint8_t kWhere = kInComptime | kInRuntime;
constexpr BuiltinEntry kEntries[] = {
    {"native", 1, -1, kAnywhere, CallNative, "@native(\"name\", …)"},
    {"set_dsr_base_addr", 2, 2, kInRuntime, SetDsrBaseAddr, "@set_dsr_base_addr(dsr, pointer)"},
    {"random16", 0, 0, kInRuntime, Random16, "@random16()"},
    {"set_active_prng", 1, 1, kWhere, SetActivePrng, "@set_active_prng(id)"},
    {"get_config", 1, 2, kInRuntime, GetConfig, "@get_config(address)"},
    {"get_config_unchecked", 1, 2, kInRuntime, GetConfig, "@get_config_unchecked(address)"},
    {"set_config", 2, 3, kWhere, SetConfig, "@set_config(address, value)"},
    {"set_config_unchecked", 2, 3, kWhere, SetConfig, "@set_config_unchecked(address, value)"},
    {"get_tensor_ptr", 1, 1, kInRuntime, GetTensorPtr, "@get_tensor_ptr(symbol_id)"},
    {"get_symbol_value", 2, 2, kInRuntime, GetSymbolValue, "@get_symbol_value(TYPE, symbol_id)"},
    {"queue_flush", 1, 1, kInRuntime, QueueFlush, "@queue_flush(queue)", true},
};

}  // namespace

std::span<const BuiltinEntry> NativeBuiltins() { return kEntries; }

}  // namespace szarena::csl
