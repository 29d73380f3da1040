// SPDX-License-Identifier: Apache-2.0
// The fields of a struct argument (`.{ .async = true, .extent = n }`), each an operand of its own:
// some may be known at compile time only, others at run time only.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "csl/sema/evaluator.h"

namespace szarena::csl {

class Settings {
 public:
  struct Entry {
    std::string name;
    Operand operand;
    ExprId expr;  // none where the struct is not a literal
    Span span;
    bool used = false;
  };

  // Evaluates the struct. `kept`: names of fields whose expression is not evaluated, but left in
  // Entry::expr (tensor_access). `what` names the struct in messages.
  Settings(Evaluator& eval, ExprId expr, std::string what,
           std::initializer_list<std::string_view> kept = {});
  // Fields of a nested struct value.
  Settings(Evaluator& eval, const Operand& operand, Span span, std::string what);

  bool valid() const { return valid_; }
  // The field, which counts as known from now on; null where absent.
  Entry* Find(std::string_view name);
  bool Has(std::string_view name) { return Find(name) != nullptr; }

  // Value of a field that must be known, or the default.
  bool Bool(std::string_view name, bool otherwise);
  // `.{ .option = true }`: the index of the option.
  std::optional<size_t> Choice(std::string_view name,
                               std::initializer_list<std::string_view> options);

  // Reports fields that nobody asked for. False where anything was wrong.
  bool Finish();
  void Fail() { valid_ = false; }

 private:
  void AddFields(const Operand& operand, Span span);

  Evaluator& eval_;
  std::string what_;
  std::vector<Entry> entries_;
  std::vector<std::string> asked_;  // names that Find looked for: for "did you mean"
  bool valid_ = true;
};

}  // namespace szarena::csl
