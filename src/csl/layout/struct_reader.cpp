// SPDX-License-Identifier: Apache-2.0
#include "csl/layout/struct_reader.h"

#include "csl/sema/suggest.h"

namespace szarena::csl {

StructReader::StructReader(Evaluator& eval, const Value& value, ExprId expr, Span span,
                           std::string what)
    : eval_(eval), value_(&value), expr_(expr), span_(span), what_(std::move(what)) {
  const TypeInfo& info = eval.types()[value.type];
  // `.{}` may be an empty tuple.
  valid_ = info.kind == TypeKind::kStruct && value.as_elements() != nullptr &&
           (!info.is_tuple || info.fields.empty());
  if (!valid_) eval.Report(DiagKind::kConfigNotStruct, span, what_, eval.NameOf(value.type));
}

const Value* StructReader::Find(std::string_view name) {
  known_.emplace(name);
  if (!valid_) return nullptr;
  auto index = eval_.types().FieldIndex(value_->type, name);
  return index ? &(*value_->as_elements())[*index] : nullptr;
}

ExprId StructReader::ExprOf(std::string_view name) const {
  if (!expr_) return {};
  if (auto* init = eval_.ast().As<InitExpr>(expr_)) {
    for (const FieldInit& field : eval_.ast().Get(init->fields)) {
      if (eval_.TextOf(field.name) == name) return field.value;
    }
  }
  return {};
}

Span StructReader::SpanOf(std::string_view name) const {
  ExprId field = ExprOf(name);
  return field ? eval_.SpanOf(field) : span_;
}

void StructReader::WrongType(std::string_view name, std::string_view expected) {
  const Value* field = Find(name);
  eval_.Report(DiagKind::kConfigField, SpanOf(name), name, what_, expected,
               FormatValue(eval_.types(), *field));
}

bool StructReader::Bool(std::string_view name, bool otherwise) {
  const Value* field = Find(name);
  if (field == nullptr) return otherwise;
  if (eval_.types().kind(field->type) == TypeKind::kBool && field->as_int() != nullptr)
    return *field->as_int() != 0;
  WrongType(name, "true or false");
  return otherwise;
}

int64_t StructReader::Int(std::string_view name, int64_t min, int64_t max, int64_t otherwise) {
  const Value* field = Find(name);
  if (field == nullptr) return otherwise;
  const Int128* number = field->as_int();
  if (number != nullptr && *number >= min && *number <= max) return static_cast<int64_t>(*number);
  WrongType(name, "an integer from " + std::to_string(min) + " to " + std::to_string(max));
  return otherwise;
}

std::optional<uint8_t> StructReader::Directions(std::string_view name) {
  const Value* field = Find(name);
  if (field == nullptr) return std::nullopt;
  auto one = [&](const Value& value) -> uint8_t {
    bool fits =
        eval_.types().IsHandle(value.type, HandleKind::kDirection) && value.as_int() != nullptr;
    return fits ? bytecode::BitOf(static_cast<bytecode::Direction>(*value.as_int())) : uint8_t{0};
  };
  if (const auto* elements = field->as_elements()) {
    uint8_t set = 0;
    for (const Value& element : *elements) {
      uint8_t bit = one(element);
      if (bit == 0) {
        WrongType(name, "directions");
        return std::nullopt;
      }
      set |= bit;
    }
    return set;
  }
  uint8_t bit = one(*field);
  if (bit == 0) {
    WrongType(name, "a direction or a tuple of directions");
    return std::nullopt;
  }
  return bit;
}

std::optional<size_t> StructReader::Choice(std::string_view name,
                                           std::initializer_list<std::string_view> options) {
  auto inner = Nested(name, "." + std::string(name));
  if (!inner) return std::nullopt;
  std::optional<size_t> chosen;
  size_t index = 0;
  std::string all;
  for (std::string_view option : options) {
    all += (all.empty() ? "." : ", .") + std::string(option);
    if (inner->Bool(option)) {
      if (chosen)
        eval_.Report(DiagKind::kConfigField, SpanOf(name), name, what_, "one option only",
                     FormatValue(eval_.types(), *Find(name)));
      chosen = index;
    }
    ++index;
  }
  inner->Finish();
  if (!chosen) WrongType(name, "one of " + all + ", set to true");
  return chosen;
}

std::optional<StructReader> StructReader::Nested(std::string_view name, std::string what) {
  const Value* field = Find(name);
  if (field == nullptr) return std::nullopt;
  StructReader inner(eval_, *field, ExprOf(name), SpanOf(name), std::move(what));
  if (!inner.valid()) return std::nullopt;
  return inner;
}

void StructReader::Finish() {
  if (!valid_) return;
  std::vector<std::string> candidates(known_.begin(), known_.end());
  for (const Field& field : eval_.types()[value_->type].fields) {
    if (known_.contains(field.name)) continue;
    eval_.Report(DiagKind::kConfigUnknownField, SpanOf(field.name), field.name, what_,
                 DidYouMean(field.name, candidates));
  }
}

}  // namespace szarena::csl
