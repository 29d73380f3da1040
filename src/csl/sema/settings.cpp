// SPDX-License-Identifier: Apache-2.0
// Reading of struct arguments field by field.
#include "csl/sema/settings.h"

#include <algorithm>

#include "csl/sema/suggest.h"

namespace szarena::csl {

Settings::Settings(Evaluator& eval, ExprId expr, std::string what,
                   std::initializer_list<std::string_view> kept)
    : eval_(eval), what_(std::move(what)) {
  const auto* literal = eval.ast().As<InitExpr>(expr);
  if (literal == nullptr || !literal->type.IsNone()) {
    const Operand operand = eval.EvalLoaded(expr);
    if (operand.Stops()) {
      valid_ = false;
      return;
    }
    AddFields(operand, eval.SpanOf(expr));
    return;
  }
  for (const FieldInit& init : eval.ast().Get(literal->fields)) {
    if (init.name.IsNone()) {
      eval.Report(DiagKind::kSettingsNotNamed, init.span, what_);
      valid_ = false;
      continue;
    }
    Entry entry;
    entry.name = std::string(eval.TextOf(init.name));
    entry.expr = init.value;
    entry.span = init.span;
    if (std::find(kept.begin(), kept.end(), entry.name) == kept.end()) {
      entry.operand = eval.Detach(eval.EvalLoaded(init.value));
      if (entry.operand.Stops()) valid_ = false;
    }
    entries_.push_back(std::move(entry));
  }
}

Settings::Settings(Evaluator& eval, const Operand& operand, Span span, std::string what)
    : eval_(eval), what_(std::move(what)) {
  AddFields(operand, span);
}

void Settings::AddFields(const Operand& operand, Span span) {
  const TypeInfo info = eval_.types()[operand.type];
  if (info.kind != TypeKind::kStruct || (info.is_tuple && !info.fields.empty())) {
    eval_.Report(DiagKind::kSettingsNotStruct, span, what_, info.name);
    valid_ = false;
    return;
  }
  for (const Field& field : info.fields) {
    Entry entry;
    entry.name = field.name;
    entry.span = span;
    entry.operand = eval_.Load(eval_.FieldOf(operand, field.name, span, span), span);
    if (entry.operand.Stops()) valid_ = false;
    entries_.push_back(std::move(entry));
  }
}

Settings::Entry* Settings::Find(std::string_view name) {
  asked_.emplace_back(name);
  for (Entry& entry : entries_) {
    if (entry.name != name) continue;
    entry.used = true;
    return &entry;
  }
  return nullptr;
}

bool Settings::Bool(std::string_view name, bool otherwise) {
  Entry* entry = Find(name);
  if (entry == nullptr || !valid_) return otherwise;
  const Operand operand = eval_.Coerce(entry->operand, eval_.types().bool_type(), entry->span);
  const std::optional<Value> value = eval_.RequireValue(operand, entry->span);
  if (!value || value->as_int() == nullptr) {
    valid_ = false;
    return otherwise;
  }
  return *value->as_int() != 0;
}

std::optional<size_t> Settings::Choice(std::string_view name,
                                       std::initializer_list<std::string_view> options) {
  Entry* entry = Find(name);
  if (entry == nullptr || !valid_) return std::nullopt;
  Settings nested(eval_, entry->operand, entry->span, "." + std::string(name));
  std::optional<size_t> chosen;
  for (size_t i = 0; i < options.size(); ++i) {
    if (!nested.Bool(options.begin()[i], false)) continue;
    if (chosen) {
      eval_.Report(DiagKind::kSettingChoice, entry->span, name);
      valid_ = false;
    }
    chosen = i;
  }
  if (!nested.Finish()) valid_ = false;
  return chosen;
}

bool Settings::Finish() {
  for (const Entry& entry : entries_) {
    if (entry.used) continue;
    eval_.Report(DiagKind::kUnknownSetting, entry.span, entry.name, what_,
                 DidYouMean(entry.name, asked_));
    valid_ = false;
  }
  return valid_;
}

}  // namespace szarena::csl
