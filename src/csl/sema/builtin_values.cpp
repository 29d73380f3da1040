// SPDX-License-Identifier: Apache-2.0
// Builtins on values: zeros, constants, ranges, strings, assertions, printing, data files.
#include <fmt/format.h>

#include <algorithm>

#include "csl/emit/class_builder.h"
#include "csl/sema/evaluator.h"
#include "csl/sema/json_value.h"
#include "csl/sema/number.h"
#include "csl/sema/scope.h"

namespace szarena::csl {

using bytecode::Op;

namespace {

Operand Void(BuiltinCall& call) { return Operand::Of(MakeVoid(call.eval.types().void_type())); }

// Zero of any type with a representation, or nothing.
std::optional<Value> Zero(TypeTable& types, TypeId type) {
  const TypeInfo info = types[type];
  switch (info.kind) {
    case TypeKind::kBool:
    case TypeKind::kInt:
    case TypeKind::kComptimeInt:
    case TypeKind::kEnum:
    case TypeKind::kHandle:
    case TypeKind::kDsr:
      return MakeInt(type, 0);
    case TypeKind::kFloat:
    case TypeKind::kComptimeFloat:
      return MakeFloat(type, 0);
    case TypeKind::kArray: {
      const std::optional<Value> element = Zero(types, info.element);
      if (!element) return std::nullopt;
      return MakeAggregate(
          type, std::vector<Value>(static_cast<size_t>(types.ElementCount(type)), *element));
    }
    case TypeKind::kStruct: {
      std::vector<Value> fields;
      for (const Field& field : info.fields) {
        std::optional<Value> zero = Zero(types, field.type);
        if (!zero) return std::nullopt;
        fields.push_back(std::move(*zero));
      }
      return MakeAggregate(type, std::move(fields));
    }
    default:
      return std::nullopt;
  }
}

Operand Zeros(BuiltinCall& call) {
  const std::optional<TypeId> type = call.eval.EvalType(call.args[0]);
  if (!type) return Operand::Error();
  std::optional<Value> zero = Zero(call.eval.types(), *type);
  if (!zero) {
    return call.eval.Report(DiagKind::kNoZero, call.eval.SpanOf(call.args[0]),
                            call.eval.NameOf(*type));
  }
  return Operand::Of(std::move(*zero));
}

Operand Constants(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  const std::optional<TypeId> type = eval.EvalType(call.args[0]);
  if (!type) return Operand::Error();
  const TypeInfo info = eval.types()[*type];
  if (info.kind != TypeKind::kArray) {
    return eval.Report(DiagKind::kExpectedArrayType, eval.SpanOf(call.args[0]), info.name);
  }
  const Operand element = eval.EvalAs(call.args[1], info.element);
  if (element.Stops()) return element;
  const auto count = static_cast<size_t>(eval.types().ElementCount(*type));
  if (element.IsValue()) {
    return Operand::Of(MakeAggregate(*type, std::vector<Value>(count, element.value)));
  }
  Operand result;
  result.kind = Operand::Kind::kParts;
  result.type = *type;
  result.parts.assign(count, element);
  return result;
}

// A runtime range bound keeps its register; see Evaluator::ForRange.
Operand RangeOperand(BuiltinCall& call, TypeId element, std::vector<Operand> bounds) {
  Evaluator& eval = call.eval;
  const TypeId type = eval.types().Range(element);
  if (!bounds[2].IsValue()) return eval.Report(DiagKind::kNotComptime, call.span, "the step");
  if (*bounds[2].value.as_int() == 0) return eval.Report(DiagKind::kRangeStep, call.span);
  if (bounds[0].IsValue() && bounds[1].IsValue()) {
    RangeValue range;
    range.start = *bounds[0].value.as_int();
    range.stop = *bounds[1].value.as_int();
    range.step = *bounds[2].value.as_int();
    return Operand::Of(MakeRange(type, range));
  }
  Operand result;
  result.kind = Operand::Kind::kParts;
  result.type = type;
  result.parts = std::move(bounds);
  return result;
}

Operand Range(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  const std::optional<TypeId> element = eval.EvalType(call.args[0]);
  if (!element) return Operand::Error();
  if (!eval.types().IsIntegral(*element)) {
    return eval.Report(DiagKind::kExpectedIntegerType, eval.SpanOf(call.args[0]),
                       eval.NameOf(*element));
  }
  if (call.args.size() == 3) {
    return eval.Report(DiagKind::kBuiltinArity, call.span, "range", "2 or 4", 3, call.entry.usage);
  }
  std::vector<Operand> bounds(3, Operand::Of(MakeInt(*element, 0)));
  bounds[2] = Operand::Of(MakeInt(eval.types().comptime_int(), 1));
  const auto bound = [&](size_t arg) { return eval.Detach(eval.EvalAs(call.args[arg], *element)); };
  if (call.args.size() == 2) {
    bounds[1] = bound(1);
  } else {
    bounds[0] = bound(1);
    bounds[1] = bound(2);
    // The step may be negative even for unsigned elements.
    const std::optional<int64_t> step = eval.EvalComptimeInt(call.args[3], INT32_MIN, INT32_MAX);
    if (!step) return Operand::Error();
    bounds[2] = Operand::Of(MakeInt(eval.types().comptime_int(), *step));
  }
  for (const Operand& operand : bounds) {
    if (operand.Stops()) return operand;
  }
  return RangeOperand(call, *element, std::move(bounds));
}

Operand RangePart(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  Operand operand = eval.EvalLoaded(call.args[0]);
  if (operand.Stops()) return operand;
  const TypeInfo info = eval.types()[operand.type];
  if (info.kind != TypeKind::kRange) {
    return eval.Report(DiagKind::kTypeMismatch, eval.SpanOf(call.args[0]), "range", info.name,
                       "write '@range(TYPE, stop)'");
  }
  const size_t part = call.entry.name == "range_start"  ? 0
                      : call.entry.name == "range_stop" ? 1
                                                        : 2;
  if (operand.kind == Operand::Kind::kParts) return operand.parts[part];
  const RangeValue& range = *operand.value.as_range();
  const Int128 number = part == 0 ? range.start : part == 1 ? range.stop : range.step;
  return Operand::Of(MakeInt(info.element, number));
}

std::optional<std::string> StringArg(BuiltinCall& call, size_t index) {
  const std::optional<Value> value =
      call.eval.EvalComptime(call.args[index], call.eval.types().comptime_string());
  if (!value) return std::nullopt;
  if (value->as_text() == nullptr) {
    call.eval.Report(DiagKind::kExpectedString, call.eval.SpanOf(call.args[index]),
                     call.eval.NameOf(value->type));
    return std::nullopt;
  }
  return *value->as_text();
}

Operand StrCat(BuiltinCall& call) {
  std::string text;
  for (size_t i = 0; i < call.args.size(); ++i) {
    const std::optional<std::string> part = StringArg(call, i);
    if (!part) return Operand::Error();
    text += *part;
    if (text.size() > (size_t{1} << 20)) {
      return call.eval.Report(DiagKind::kTypeTooLarge, call.span, "string", text.size());
    }
  }
  return Operand::Of(MakeText(call.eval.types().comptime_string(), std::move(text)));
}

Operand StrLen(BuiltinCall& call) {
  const std::optional<std::string> text = StringArg(call, 0);
  if (!text) return Operand::Error();
  return Operand::Of(MakeInt(call.eval.types().comptime_int(), static_cast<Int128>(text->size())));
}

// @get_array(string): its bytes as [N]u8.
Operand GetArray(BuiltinCall& call) {
  const std::optional<std::string> text = StringArg(call, 0);
  if (!text) return Operand::Error();
  TypeTable& types = call.eval.types();
  const TypeId byte = types.Int(8, false);
  std::vector<Value> bytes;
  for (const char c : *text) bytes.push_back(MakeInt(byte, static_cast<unsigned char>(c)));
  const TypeId type = types.Array({static_cast<int64_t>(text->size())}, byte);
  return Operand::Of(MakeAggregate(type, std::move(bytes)));
}

Operand GetStringFromByte(BuiltinCall& call) {
  const std::optional<int64_t> byte = call.eval.EvalComptimeInt(call.args[0], 0, 255);
  if (!byte) return Operand::Error();
  return Operand::Of(
      MakeText(call.eval.types().comptime_string(), std::string(1, static_cast<char>(*byte))));
}

Operand ComptimeAssert(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  const std::optional<Value> condition =
      eval.EvalComptimeAs(call.args[0], eval.types().bool_type());
  if (!condition) return Operand::Error();
  std::string message = "assertion failed";
  if (call.args.size() > 1) {
    const std::optional<std::string> given = StringArg(call, 1);
    if (!given) return Operand::Error();
    message = *given;
  }
  if (condition->is_undefined() || *condition->as_int() == 0) {
    return eval.Report(DiagKind::kComptimeAssert, call.span, message);
  }
  return Void(call);
}

Operand Assert(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  if (!eval.IsRuntime()) return ComptimeAssert(call);
  const Operand condition = eval.EvalAs(call.args[0], eval.types().bool_type());
  if (condition.Stops()) return condition;
  const std::string text =
      fmt::format("@assert({})", eval.session().sources.Text(eval.SpanOf(call.args[0])));
  const bytecode::Reg reg = eval.ToReg(condition, call.span);
  eval.fb().EmitWide(Op::kAssert, reg, bytecode::InternString(eval.code_class(), text));
  return Void(call);
}

Operand ComptimePrint(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  std::string text;
  for (const ExprId arg : call.args) {
    const std::optional<Value> value = eval.EvalComptime(arg);
    if (!value) return Operand::Error();
    if (!text.empty()) text += ' ';
    text += FormatValue(eval.types(), *value);
  }
  eval.session().printed.push_back({call.span, std::move(text)});
  return Void(call);
}

Operand ImportComptimeValue(BuiltinCall& call) {
  Evaluator& eval = call.eval;
  const std::optional<TypeId> type = eval.EvalType(call.args[0]);
  if (!type) return Operand::Error();
  const std::optional<std::string> path = StringArg(call, 1);
  if (!path) return Operand::Error();
  const std::optional<std::string> text =
      eval.session().files.ReadText(*path, eval.ast().source(), call.span);
  if (!text) return Operand::Error();
  std::string why;
  const std::optional<Value> value = ValueFromJson(eval, *text, *type, why);
  if (!value) return eval.Report(DiagKind::kBadDataFile, call.span, *path, why);
  return Operand::Of(*value);
}

constexpr BuiltinEntry kEntries[] = {
    {"zeros", 1, 1, kAnywhere, Zeros, "@zeros(TYPE)"},
    {"constants", 2, 2, kAnywhere, Constants, "@constants(ARRAY_TYPE, value)"},
    {"range", 2, 4, kAnywhere, Range, "@range(TYPE, stop) or @range(TYPE, start, stop, step)"},
    {"range_start", 1, 1, kAnywhere, RangePart, "@range_start(range)"},
    {"range_stop", 1, 1, kAnywhere, RangePart, "@range_stop(range)"},
    {"range_step", 1, 1, kAnywhere, RangePart, "@range_step(range)"},
    {"strcat", 0, -1, kAnywhere, StrCat, "@strcat(string, string)"},
    {"strlen", 1, 1, kAnywhere, StrLen, "@strlen(string)"},
    {"get_array", 1, 1, kAnywhere, GetArray, "@get_array(string)"},
    {"get_string_from_byte", 1, 1, kAnywhere, GetStringFromByte, "@get_string_from_byte(byte)"},
    {"comptime_assert", 1, 2, kAnywhere, ComptimeAssert,
     "@comptime_assert(condition, \"message\")"},
    {"assert", 1, 1, kAnywhere, Assert, "@assert(condition)"},
    {"comptime_print", 0, -1, kAnywhere, ComptimePrint, "@comptime_print(value, …)"},
    {"import_comptime_value", 2, 2, kAnywhere, ImportComptimeValue,
     "@import_comptime_value(TYPE, \"file.json\")"},
};

}  // namespace

std::span<const BuiltinEntry> ValueBuiltins() { return kEntries; }

}  // namespace szarena::csl
