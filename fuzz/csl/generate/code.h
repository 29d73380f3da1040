// SPDX-License-Identifier: Apache-2.0
// Scalar code as trees that can be printed as CSL and run here: what the compiled program must
// give. Every variable has its own slots in one memory, since the generated code does not recurse.
// A pointer's value is the number of the slot it points to.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "number.h"

namespace szarena::csl_fuzz {

struct Function;
struct Expr;
struct Stmt;

struct Field {
  std::string name;
  Type type;
};

// A struct type, or none (no fields).
struct Shape {
  std::string name;
  std::vector<Field> fields;
  bool packed = false;
};

struct Variable {
  std::string name;
  Type type;                     // of an element; of what a pointer points to
  std::vector<int> dims;         // an array's lengths
  const Shape* shape = nullptr;  // elements are structs
  enum class Pointer : uint8_t { kNone, kOne, kMany } pointer = Pointer::kNone;
  bool is_const = false;  // of a pointer: what it points to
  bool is_global = false;
  int reach = 0;  // kMany: elements that may be used
  int bound = 0;  // an index variable: 0 <= value < bound
  int slot = 0;
  int Elements() const {
    int n = 1;
    for (const int d : dims) n *= d;
    return n;
  }
  int Slots() const {
    return Elements() * (shape != nullptr ? static_cast<int>(shape->fields.size()) : 1);
  }
  std::string TypeName() const;
};

// variable[index].field, or pointer.*, or pointer[index].
struct Place {
  const Variable* variable = nullptr;
  std::vector<const Expr*> index;
  int field = -1;
  Type type() const {
    return field >= 0 ? variable->shape->fields[static_cast<size_t>(field)].type : variable->type;
  }
};

struct Expr {
  enum class Kind : uint8_t {
    kLiteral,
    kLoad,
    kUnary,
    kNot,
    kBinary,
    kAnd,
    kOr,
    kCast,
    kIf,
    kCall,
    kAddress,
    kSwitch,
    kBlock
  } kind = Kind::kLiteral;
  Type type;
  Bits value = 0;     // literal
  std::string name;   // a literal with a name of its own (a constant, an enum's element)
  bool bare = false;  // a literal whose type is known from its place; a cast that happens by itself
  Place place;        // load, address
  Op op = Op::kAdd;   // binary; unary: kSub negates, kXor complements
  std::vector<const Expr*> kids;  // if: condition, then, else; switch: subject, case values and
                                  // results in turn, else last
  const Function* function = nullptr;
};

struct Stmt {
  enum class Kind : uint8_t {
    kAssign,
    kDeclare,
    kDeclareArray,
    kCopy,
    kIf,
    kFor,
    kForArray,
    kInlineFor,
    kWhile,
    kSwitch,
    kBreak,
    kContinue,
    kCall,
    kReturn,
    kBlock,
    kText
  } kind = Kind::kAssign;
  Place place;  // assign, copy target
  Op op = Op::kAdd;
  bool compound = false;               // place op= value
  const Expr* value = nullptr;         // assign, declare, condition, return, call, switch subject
  std::vector<const Expr*> values;     // elements of an array; values of switch branches
  const Variable* variable = nullptr;  // declared, loop variable, copy source
  const Variable* second = nullptr;    // index of kForArray; the array of kForArray is `source`
  const Variable* source = nullptr;
  int start = 0, stop = 0, step = 1;             // kFor, kInlineFor; kWhile: stop
  bool plain_range = true;                       // @range(T, stop)
  std::string label;                             // of a loop or block; of break and continue
  std::vector<std::vector<const Stmt*>> bodies;  // if: then, else; switch: one a value, else last
  std::string text;                              // kText: without meaning for the result
};

struct Function {
  std::string name;
  std::vector<const Variable*> params;
  bool returns = false;
  Type result;
  std::vector<const Stmt*> body;
  bool is_inline = false;
  bool is_closed = false;  // reads and writes no globals: may run at compile time
  enum class Generic : uint8_t {
    kNone,
    kType,
    kAnytype,
    kComptimeParam
  } generic = Generic::kNone;  // of the first parameter
  uint64_t cost = 1;           // steps, at most
};

// Owns the trees.
struct Code {
  std::deque<Expr> exprs;
  std::deque<Stmt> stmts;
  std::deque<Variable> variables;
  std::deque<Shape> shapes;
  std::deque<Function> functions;
  std::vector<Bits> memory;  // by slot
};

std::string Print(const Expr& e);
std::string Initialiser(const Variable& v,
                        const std::vector<const Expr*>& values);  // one value a slot
std::string Print(const Function& f, int indent);
std::string PrintBody(const std::vector<const Stmt*>& body, int indent);

// Runs the tree on `memory`.
Bits Evaluate(const Expr& e, std::vector<Bits>& memory);
Bits Call(const Function& f, const std::vector<Bits>& arguments, std::vector<Bits>& memory);

}  // namespace szarena::csl_fuzz
