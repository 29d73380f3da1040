// SPDX-License-Identifier: Apache-2.0
// Reads the fields of a compile-time configuration struct and reports what is wrong with them.
#pragma once

#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "csl/sema/evaluator.h"

namespace szarena::csl {

// One struct. Every field must be asked for before Finish(), which reports those nobody knows.
class StructReader {
 public:
  // `expr` is the argument that gave the value: where it is a literal, faults point at its fields.
  // `what` names the struct.
  StructReader(Evaluator& eval, const Value& value, ExprId expr, Span span, std::string what);

  bool valid() const { return valid_; }  // false: not a struct, reported
  bool Has(std::string_view name) { return Find(name) != nullptr; }
  const Value* Find(std::string_view name);  // null where absent
  Span SpanOf(std::string_view name) const;
  ExprId ExprOf(std::string_view name) const;

  // Each returns the default where the field is absent, and reports and returns it where the value
  // does not fit.
  bool Bool(std::string_view name, bool otherwise = false);
  int64_t Int(std::string_view name, int64_t min, int64_t max, int64_t otherwise);
  std::optional<uint8_t> Directions(std::string_view name);  // set of bytecode::BitOf
  // Field `name` is `.{ .option = true }`: the index of the option, or nothing.
  std::optional<size_t> Choice(std::string_view name,
                               std::initializer_list<std::string_view> options);
  std::optional<StructReader> Nested(std::string_view name, std::string what);
  void WrongType(std::string_view name, std::string_view expected);
  void Finish();

 private:
  Evaluator& eval_;
  const Value* value_;
  ExprId expr_;
  Span span_;
  std::string what_;
  bool valid_ = false;
  std::set<std::string, std::less<>> known_;
};

}  // namespace szarena::csl
