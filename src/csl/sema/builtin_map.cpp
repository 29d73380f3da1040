// SPDX-License-Identifier: Apache-2.0
// @map(callback, inputs…, output): the callback for each element.
#include <vector>

#include "csl/emit/class_builder.h"
#include "csl/sema/dsd_forms.h"
#include "csl/sema/dsd_operand.h"

namespace szarena::csl {

using bytecode::Op;
using bytecode::OperandKind;
using bytecode::Reg;
using bytecode::ScalarType;

namespace {

Operand Map(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  TypeTable& types = eval.types();
  if (!eval.IsRuntime()) {
    return eval.Report(DiagKind::kBuiltinPlace, call.span, call.entry.name,
                       "in a function or task, not at compile time");
  }
  const Span fn_span = eval.SpanOf(call.args[0]);
  const std::optional<Value> callback = eval.EvalComptime(call.args[0]);
  if (!callback) return Operand::Error();
  FnTemplate* fn = callback->as_fn();
  if (fn == nullptr || fn->node->is_task || !eval.ResolveSignature(*fn) || fn->is_generic) {
    return eval.Report(DiagKind::kMapCallback, fn_span, eval.NameOf(callback->type));
  }
  const TypeInfo signature = types[fn->type];
  const size_t inputs = signature.params.size();
  const bool has_output = types.kind(signature.result) != TypeKind::kVoid;
  if (call.args.size() != 1 + inputs + (has_output ? 1 : 0)) {
    return eval.Report(DiagKind::kMapArity, call.span, eval.TextOf(fn->name), inputs,
                       has_output ? " and an output" : "", call.args.size() - 1);
  }

  bytecode::MapInfo info;
  bool any_dsd = false;
  std::vector<Span> spans;
  for (size_t i = 0; i < inputs; ++i) {
    const Span span = eval.SpanOf(call.args[1 + i]);
    spans.push_back(span);
    Operand operand = eval.EvalLoaded(call.args[1 + i]);
    if (operand.Stops()) return operand;
    const std::optional<ScalarType> element = eval.ScalarTypeOf(signature.params[i]);
    if (!element) return eval.Report(DiagKind::kMapCallback, fn_span, eval.NameOf(fn->type));
    bytecode::Operand input;
    if (IsDsdLike(eval, operand.type)) {
      if (!CheckMapOperand(eval, operand, false, span)) return Operand::Error();
      const std::optional<bytecode::Operand> dsd = DsdOperand(eval, operand, span);
      if (!dsd) return Operand::Error();
      input = *dsd;
      any_dsd = true;
    } else {
      operand = eval.Coerce(std::move(operand), signature.params[i], span);
      if (operand.Stops()) return operand;
      input.kind = OperandKind::kScalar;
      input.value = eval.ToReg(eval.Detach(operand), span);
    }
    input.type = *element;
    info.inputs.push_back(input);
  }
  if (has_output) {
    const ExprId arg = call.args.back();
    const Span span = eval.SpanOf(arg);
    const Operand operand = eval.EvalLoaded(arg);
    if (operand.Stops()) return operand;
    const std::optional<ScalarType> element = eval.ScalarTypeOf(signature.result);
    const TypeInfo out_info = types[operand.type];
    if (!element) return eval.Report(DiagKind::kMapCallback, fn_span, eval.NameOf(fn->type));
    if (IsDsdLike(eval, operand.type)) {
      if (!CheckMapOperand(eval, operand, true, span)) return Operand::Error();
      const std::optional<bytecode::Operand> dsd = DsdOperand(eval, operand, span);
      if (!dsd) return Operand::Error();
      info.output = *dsd;
      any_dsd = true;
    } else if (out_info.kind == TypeKind::kPointer && !out_info.is_const) {
      info.output.kind = OperandKind::kPointer;
      info.output.value = eval.ToReg(operand, span);
    } else {
      return eval.Report(DiagKind::kDsdOpOperand, span, "map", out_info.name);
    }
    info.output.type = *element;
  }
  if (!any_dsd) return eval.Report(DiagKind::kMapNoDsd, call.span);

  bytecode::FunctionBuilder& fb = eval.fb();
  eval.At(call.span);
  auto& maps = eval.code_class().maps;
  const auto index = static_cast<uint16_t>(maps.size());
  maps.push_back(std::move(info));
  fb.Emit(Op::kMapStart, 0, 0, index);
  const Reg window = fb.NewRegs(std::max<int>(static_cast<int>(inputs), 1));
  const bytecode::Label top = fb.NewLabel();
  const bytecode::Label exhausted = fb.NewLabel();
  fb.Bind(top);
  fb.MapNext(window, index, exhausted);
  std::vector<Operand> args;
  for (size_t i = 0; i < inputs; ++i) {
    args.push_back(Operand::Register(signature.params[i], static_cast<Reg>(window + i)));
  }
  const Operand result = eval.CallInLoop(*fn, std::move(args), std::move(spans), call.span);
  if (result.IsError()) return result;
  if (has_output && !result.Stops()) {
    fb.Emit(Op::kMapPut, eval.ToReg(result, call.span), 0, index);
  }
  fb.Jump(top);
  fb.Bind(exhausted);
  return Operand::Of(MakeVoid(types.void_type()));
}

constexpr BuiltinEntry kEntries[] = {
    {"map", 2, -1, kInRuntime, Map, "@map(callback, input, output)"},
};

}  // namespace

std::span<const BuiltinEntry> MapBuiltins() { return kEntries; }

}  // namespace szarena::csl
