// SPDX-License-Identifier: Apache-2.0
// The DSD operations of bytecode/dsd_op.def: @fadds(dest, a, b, .{ settings }) and the like.
#include <vector>

#include "csl/emit/class_builder.h"
#include "csl/sema/dsd_forms.h"
#include "csl/sema/dsd_operand.h"

namespace szarena::csl {

using bytecode::DsdOp;
using bytecode::DsdOpFacts;
using bytecode::OperandKind;
using bytecode::ScalarType;

namespace {

// The type that a scalar operand of an element letter takes, given what it is now.
TypeId ScalarFor(Evaluator& eval, char letter, const Operand& operand) {
  TypeTable& types = eval.types();
  const TypeInfo& info = types[operand.type];
  switch (letter) {
    case 'h':
      return eval.session().Fp16();
    case 's':
      return types.f32();
    case 'w':
    case 'l': {
      const uint16_t bits = letter == 'w' ? 16 : 32;
      // Any scalar of the width: the operation moves bits.
      const bool fits_width = (info.kind == TypeKind::kInt || info.kind == TypeKind::kFloat ||
                               info.kind == TypeKind::kEnum) &&
                              info.bits == bits;
      if (fits_width) return operand.type;
      if (bits == 16 && (info.kind == TypeKind::kPointer || info.kind == TypeKind::kHandle)) {
        return operand.type;
      }
      const Int128* number = operand.IsValue() ? operand.value.as_int() : nullptr;
      const bool is_negative = number != nullptr && *number < 0;
      const bool is_signed = is_negative || (info.kind == TypeKind::kInt && info.is_signed);
      return types.Int(bits, is_signed);
    }
    default:
      return types.error();
  }
}

char LetterOf(const DsdOpFacts& facts, size_t index) { return facts.sources[index]; }

// A source or destination. `letter`: its element; `is_dest`: scalars by value are not allowed.
std::optional<bytecode::Operand> OpOperand(BuiltinCall& call, const Operand& operand, Span span,
                                           char letter, bool is_dest) {
  Evaluator& eval = call.eval;
  if (IsDsdLike(eval, operand.type)) return DsdOperand(eval, operand, span);
  const TypeInfo info = eval.types()[operand.type];
  bytecode::Operand result;
  if (info.kind == TypeKind::kPointer) {
    TypeId element = info.element;
    const TypeInfo pointee = eval.types()[element];
    if (pointee.kind == TypeKind::kArray && eval.types().ElementCount(element) == 1) {
      element = pointee.element;
    }
    const std::optional<ScalarType> scalar = eval.ScalarTypeOf(element);
    if (!scalar || (is_dest && info.is_const)) {
      eval.Report(DiagKind::kDsdOpOperand, span, call.entry.name, info.name);
      return std::nullopt;
    }
    result.kind = OperandKind::kPointer;
    result.type = *scalar;
    result.value = eval.ToReg(operand, span);
    return result;
  }
  if (is_dest || info.kind == TypeKind::kArray || info.kind == TypeKind::kStruct) {
    eval.Report(DiagKind::kDsdOpOperand, span, call.entry.name, info.name);
    return std::nullopt;
  }
  const Operand scalar = eval.Coerce(operand, ScalarFor(eval, letter, operand), span);
  if (scalar.Stops()) return std::nullopt;
  const std::optional<ScalarType> type = eval.ScalarTypeOf(scalar.type);
  if (!type) {
    eval.Report(DiagKind::kDsdOpOperand, span, call.entry.name, info.name);
    return std::nullopt;
  }
  result.kind = OperandKind::kScalar;
  result.type = *type;
  result.value = eval.ToReg(scalar, span);
  return result;
}

std::optional<DsdOp> OpByName(std::string_view name) {
  for (int i = 0; i < static_cast<int>(DsdOp::kCount); ++i) {
    const auto op = static_cast<DsdOp>(i);
    if (name == bytecode::FactsOf(op).name) return op;
  }
  return std::nullopt;
}

Operand Run(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  if (!eval.IsRuntime()) {
    return eval.Report(DiagKind::kBuiltinPlace, call.span, call.entry.name,
                       "in a function or task, not at compile time");
  }
  const DsdOp op = *OpByName(call.entry.name);
  const DsdOpFacts& facts = bytecode::FactsOf(op);
  const size_t source_count = std::string_view(facts.sources).size();
  const bool has_dest = facts.dest != '-';
  const size_t operand_count = source_count + (has_dest ? 1 : 0);
  bytecode::DsdOpInfo info;
  info.op = op;
  std::vector<Operand> operands;
  std::vector<Span> spans;
  for (size_t i = 0; i < operand_count; ++i) {
    Operand operand = eval.EvalLoaded(call.args[i]);
    if (operand.Stops()) return operand;
    operands.push_back(eval.Detach(std::move(operand)));
    spans.push_back(eval.SpanOf(call.args[i]));
  }
  if (!CheckDsdOperands(eval, call.entry.name, op, operands, spans, call.span))
    return Operand::Error();
  // @faddhs takes its f32 and its f16 in either order.
  const auto is_float = [&](const Operand& operand, uint16_t bits) {
    const TypeInfo& type = eval.types()[operand.type];
    return type.kind == TypeKind::kFloat && type.bits == bits;
  };
  const bool swapped =
      op == DsdOp::kFaddhs && (is_float(operands[1], 16) || is_float(operands[2], 32));
  bool may_be_fabric = false;
  for (size_t i = 0; i < operand_count; ++i) {
    const bool is_dest = has_dest && i == 0;
    const size_t source = i - (has_dest ? 1 : 0);
    char letter = is_dest ? facts.dest : LetterOf(facts, source);
    if (!is_dest && swapped) letter = LetterOf(facts, 1 - source);
    may_be_fabric = may_be_fabric || MayBeFabric(eval, operands[i].type);
    const std::optional<bytecode::Operand> operand =
        OpOperand(call, operands[i], spans[i], letter, is_dest);
    if (!operand) return Operand::Error();
    (is_dest ? info.dest : info.src[source]) = *operand;
  }
  if (call.args.size() > operand_count) {
    Settings settings(eval, call.args[operand_count],
                      "the settings of @" + std::string(call.entry.name));
    if (!settings.valid() || !ReadAsyncSettings(eval, settings, info.settings, call.span)) {
      return Operand::Error();
    }
    if (Settings::Entry* index = settings.Find("index")) {
      const Operand value = eval.Coerce(index->operand, eval.types().u16(), index->span);
      if (value.Stops()) return value;
      info.has_index = true;
      if (value.IsValue()) {
        info.index = static_cast<uint32_t>(*value.value.as_int());
      } else {
        info.index_in_register = true;
        info.index = eval.ToReg(value, index->span);
      }
    }
    if (op == DsdOp::kDfilt && (settings.Find("on_control") != nullptr || info.has_index)) {
      return eval.Report(DiagKind::kDfiltSettings, call.span,
                         info.has_index ? "has no '.index'" : "has no '.on_control'");
    }
    if (!settings.Finish()) return Operand::Error();
    if (info.settings.async && !may_be_fabric) {
      return eval.Report(DiagKind::kAsyncNeedsFabric, call.span, call.entry.name);
    }
  }
  if (op == DsdOp::kDfilt && !info.settings.async) {
    return eval.Report(DiagKind::kDfiltSettings, call.span, "is always asynchronous");
  }
  bytecode::FunctionBuilder& fb = eval.fb();
  eval.At(call.span);
  auto& table = eval.code_class().dsd_ops;
  const auto index = static_cast<uint32_t>(table.size());
  table.push_back(info);
  const bytecode::Reg result = fb.NewReg();
  fb.EmitWide(bytecode::Op::kDsd, result, index);
  return Operand::Register(eval.types().bool_type(), result);
}

constexpr std::string_view kUsage1 = "@op(dest, source, .{ settings })";
constexpr std::string_view kUsage2 = "@op(dest, source, source, .{ settings })";
constexpr std::string_view kUsage3 = "@op(dest, addend, factor, scalar_factor, .{ settings })";
constexpr std::string_view kUsageFilter = "@dfilt(fabin_dsd, .{ .async = true })";

constexpr int OperandsOf(char dest, std::string_view sources) {
  return static_cast<int>(sources.size()) + (dest == '-' ? 0 : 1);
}
constexpr std::string_view UsageOf(char dest, std::string_view sources) {
  if (dest == '-') return kUsageFilter;
  return sources.size() == 1 ? kUsage1 : sources.size() == 2 ? kUsage2 : kUsage3;
}

constexpr BuiltinEntry kEntries[] = {
#define DSDOP(name, builtin, dest, sources) \
  {builtin,                                 \
   OperandsOf(dest, sources),               \
   OperandsOf(dest, sources) + 1,           \
   kInRuntime | kInComptime | kInGlobal,    \
   Run,                                     \
   UsageOf(dest, sources)},
#include "bytecode/dsd_op.def"
};

}  // namespace

std::span<const BuiltinEntry> DsdOpBuiltins() { return kEntries; }

}  // namespace szarena::csl
