// SPDX-License-Identifier: Apache-2.0
// What an expression evaluates to: a compile-time value or something that exists at run time.
#pragma once

#include <cstdint>
#include <vector>

#include "csl/sema/value.h"

namespace szarena::csl {

// Base of a run-time memory address.
enum class AddressBase : uint8_t { kAbsolute, kFrame, kDescriptorFrame, kRegister };

struct Operand {
  enum class Kind : uint8_t {
    kError,     // a diagnostic was reported; consumers stay silent
    kNoReturn,  // control left the expression: return, break, continue
    kValue,     // known at compile time
    kPath,  // a place named at compile time: a global, or a compile-time variable, and a path into
            // it
    kReg,   // a scalar in a virtual register (`is_place`: the register of a variable)
    kMemory,  // a place in PE memory whose address is computed at run time
    kParts,   // a struct, tuple or array literal with run-time parts that has no memory yet
  };

  Kind kind = Kind::kError;
  TypeId type;
  bool is_const = true;                       // as a place: cannot be written
  bool is_place = false;                      // can be assigned or have its address taken
  bool is_temp = false;                       // kMemory: nobody else refers to this memory
  AddressBase base = AddressBase::kAbsolute;  // kMemory
  uint16_t reg = 0;                           // kReg; kMemory with a register base
  bool has_index = false;                     // kMemory: plus index_reg * size of the scalar
  uint16_t index_reg = 0;
  int64_t offset = 0;           // kMemory: bytes
  uint8_t bit_offset = 0;       // kMemory: a field of a packed struct of `container_bytes` bytes
  uint8_t container_bytes = 0;  // 0: not such a field
  Value value;                  // kValue
  PointerValue path;            // kPath
  std::vector<Operand> parts;   // kParts

  bool IsError() const { return kind == Kind::kError; }
  // True where there is no result to go on with.
  bool Stops() const { return kind == Kind::kError || kind == Kind::kNoReturn; }
  bool IsValue() const { return kind == Kind::kValue; }

  static Operand Error() { return {}; }
  static Operand NoReturn(TypeId no_return_type) {
    Operand operand;
    operand.kind = Kind::kNoReturn;
    operand.type = no_return_type;
    return operand;
  }
  static Operand Of(Value v) {
    Operand operand;
    operand.kind = v.is_error() ? Kind::kError : Kind::kValue;
    operand.type = v.type;
    operand.value = std::move(v);
    return operand;
  }
  static Operand Register(TypeId type, uint16_t reg, bool is_variable = false,
                          bool is_const = true) {
    Operand operand;
    operand.kind = Kind::kReg;
    operand.type = type;
    operand.reg = reg;
    operand.is_place = is_variable;
    operand.is_const = is_const;
    return operand;
  }
  static Operand Path(TypeId type, PointerValue path, bool is_const) {
    Operand operand;
    operand.kind = Kind::kPath;
    operand.type = type;
    operand.path = std::move(path);
    operand.is_const = is_const;
    operand.is_place = true;
    return operand;
  }
  static Operand Memory(TypeId type, AddressBase base, uint16_t reg, int64_t offset,
                        bool is_const) {
    Operand operand;
    operand.kind = Kind::kMemory;
    operand.type = type;
    operand.base = base;
    operand.reg = reg;
    operand.offset = offset;
    operand.is_const = is_const;
    operand.is_place = true;
    return operand;
  }
};

}  // namespace szarena::csl
