// SPDX-License-Identifier: Apache-2.0
// The table of builtins: name, arity, where it may stand, handler. See README.md for how to write
// one.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "csl/sema/operand.h"
#include "csl/syntax/ast.h"

namespace szarena::csl {

class Evaluator;

// Where the evaluation stands. Bits, so that an entry can name several.
enum Context : uint8_t {
  kInLayout = 1,    // the layout block and what it calls
  kInComptime = 2,  // top-level comptime blocks of PE code and what they call
  kInGlobal = 4,    // initialisers of globals
  kInRuntime = 8,   // bodies of functions and tasks
  kAnywhere = 15,
};

struct BuiltinEntry;

// One call of a builtin while it is evaluated.
struct BuiltinCall {
  Evaluator& eval;
  const BuiltinEntry& entry;
  std::span<const ExprId> args;
  Span span;      // of the whole call
  TypeId expect;  // type that the surroundings ask for; error type where they do not
};

using BuiltinHandler = Operand (*)(BuiltinCall& call);

struct BuiltinEntry {
  std::string_view name;  // without the @
  int min_args = 0;
  int max_args = 0;  // -1: any number
  uint8_t contexts = kAnywhere;
  BuiltinHandler handler = nullptr;
  std::string_view usage;  // "@get_color(id)": shown as the remedy of a wrong call
  bool wse3_only = false;
};

// All families. Each builtin_*.cpp defines one of these.
std::span<const BuiltinEntry> TypeBuiltins();
std::span<const BuiltinEntry> ValueBuiltins();
std::span<const BuiltinEntry> HandleBuiltins();
std::span<const BuiltinEntry> DsdBuiltins();
std::span<const BuiltinEntry> DsdOpBuiltins();
std::span<const BuiltinEntry> DsrBuiltins();
std::span<const BuiltinEntry> TaskBuiltins();
std::span<const BuiltinEntry> MapBuiltins();
std::span<const BuiltinEntry> NativeBuiltins();

// The builtins of a compilation: sema's own families, and what other rooms add (layout,
// configuration).
class BuiltinTable {
 public:
  BuiltinTable();  // with sema's families
  // Entries must outlive the table. A later entry with the same name replaces an earlier one.
  void Add(std::span<const BuiltinEntry> entries);
  // Null where no builtin has that name.
  const BuiltinEntry* Find(std::string_view name) const;
  std::vector<std::string_view> Names() const;

 private:
  std::unordered_map<std::string_view, const BuiltinEntry*> entries_;
};

}  // namespace szarena::csl
