// SPDX-License-Identifier: Apache-2.0
// Compile-time values of CSL and the places that compile-time code can point to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "csl/sema/type.h"

namespace szarena::csl {

struct ModuleInstance;  // sema/program.h
struct Global;          // sema/program.h
struct FnTemplate;      // sema/program.h
struct Value;

// A variable of compile-time code: a `comptime var`, a local of a function that is evaluated at
// compile time, or a constant that somebody took the address of.
struct Cell;

// Data of an array, struct or tuple. Shared between copies; copied on the first write.
using Aggregate = std::shared_ptr<std::vector<Value>>;
using Text = std::shared_ptr<const std::string>;

// Where a compile-time pointer points: a variable, then element or field indices from the outside
// in, then a byte offset (only after @ptrcast and many-pointer arithmetic across types).
struct PointerValue {
  Global* global = nullptr;
  std::shared_ptr<Cell> cell;
  std::vector<uint32_t> path;
  int64_t byte_offset = 0;
  // A pointer made from an integer (neither global nor cell): the address itself is `byte_offset`.
  bool IsAbsolute() const { return global == nullptr && cell == nullptr; }
  friend bool operator==(const PointerValue&, const PointerValue&) = default;
};

struct RangeValue {
  Int128 start = 0;
  Int128 stop = 0;
  Int128 step = 1;
  // Number of values; see docs/csl/decisions.md for negative steps.
  Int128 Count() const;
  friend bool operator==(const RangeValue&, const RangeValue&) = default;
};

// A DSD known at compile time: the bytes of its descriptor (see bytecode/descriptor.h).
struct DsdBytes {
  std::vector<uint8_t> bytes;
  friend bool operator==(const DsdBytes&, const DsdBytes&) = default;
};

struct Value {
  // `Undefined` is the content of a variable without initialiser.
  struct Undefined {
    friend bool operator==(Undefined, Undefined) = default;
  };
  struct Void {
    friend bool operator==(Void, Void) = default;
  };
  using Data = std::variant<Undefined, Void,
                            Int128,  // bool, int, comptime_int, enum, handle, DSR, FIFO number
                            double,  // every float format, exactly representable in it
                            Text, Aggregate, TypeId, ModuleInstance*, FnTemplate*,
                            std::shared_ptr<const PointerValue>, std::shared_ptr<const RangeValue>,
                            std::shared_ptr<const DsdBytes>>;

  TypeId type;
  Data data;

  bool is_error() const { return type.is_error(); }
  bool is_undefined() const { return std::holds_alternative<Undefined>(data); }
  const Int128* as_int() const { return std::get_if<Int128>(&data); }
  const double* as_float() const { return std::get_if<double>(&data); }
  const std::string* as_text() const;
  const std::vector<Value>* as_elements() const;
  const TypeId* as_type() const { return std::get_if<TypeId>(&data); }
  ModuleInstance* as_module() const;
  FnTemplate* as_fn() const;
  const PointerValue* as_pointer() const;
  const RangeValue* as_range() const;
  const DsdBytes* as_dsd() const;
  // Elements for writing: makes this value their only owner first. Only for aggregates.
  std::vector<Value>& MutableElements();
};

struct Cell {
  Value value;
  bool is_const = false;
  uint32_t runtime_depth = 0;  // number of run-time branches around its declaration
  Global* spilled = nullptr;   // the constant in memory that holds it at run time, once needed
};

// Constructors.
Value MakeInt(TypeId type, Int128 value);
Value MakeFloat(TypeId type, double value);
Value MakeText(TypeId string_type, std::string text);
Value MakeType(TypeId type_type, TypeId value);
Value MakeVoid(TypeId void_type);
Value MakeUndefined(TypeId type);
Value MakeAggregate(TypeId type, std::vector<Value> elements);
Value MakePointer(TypeId type, PointerValue pointer);
Value MakeRange(TypeId type, RangeValue range);

// Equality of type and data; modules, functions and cells by identity.
bool SameValue(const Value& a, const Value& b);

// A text that two values share iff SameValue holds: the key of memo tables and PE groups. Values of
// two evaluations (layout and a PE class) are comparable unless they hold modules or functions.
std::string ValueKey(const Value& value);

// For diagnostics, @comptime_print and messages: `3`, `1.5`, `"text"`, `.{ .x = 1 }`, `f32`.
std::string FormatValue(const TypeTable& types, const Value& value);

}  // namespace szarena::csl
