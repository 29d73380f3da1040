// SPDX-License-Identifier: Apache-2.0
// Makes random code that is valid and ends: expressions of every scalar type, arrays, structs,
// pointers, loops, switches, functions of every kind.
#pragma once

#include <string>
#include <vector>

#include "choices.h"
#include "code.h"

namespace szarena::csl_fuzz {

class CodeGen {
 public:
  // `prefix` makes names unique among the modules of a program.
  CodeGen(Choices& choices, Format half, std::string prefix);

  // A module: globals, constants, functions, and `fn <prefix>run() void`, which changes the
  // globals.
  std::string Module();
  // What the globals hold after run(). Call after Module().
  struct Result {
    std::string name;
    Type type;
    std::vector<Bits> values;
  };
  std::vector<Result> Results();

 private:
  struct Where {             // the code under construction
    bool is_closed = false;  // no globals
    bool is_inline = false;
    bool may_write_globals = false;
    Function* function = nullptr;
    uint64_t times = 1;  // how often this place runs
    int depth = 0;
    std::vector<std::string> loops;  // labels of loops that may be left from here
    bool in_loop = false;
  };
  using Body = std::vector<const Stmt*>;

  Type AnyType();
  Type AnyInt();
  Bits AnyValue(Type type);
  std::string Name(const char* what);
  Variable& Make(const char* what, Type type, std::vector<int> dims = {},
                 const Shape* shape = nullptr);

  Expr& New(Expr::Kind kind, Type type);
  const Expr* LiteralOf(Type type, Bits value);
  const Expr* AnyExpr(Type type, int depth);
  const Expr* Leaf(Type type);
  const Expr* Condition(int depth);
  const Expr* Arithmetic(Type type, int depth);
  const Expr* CallOf(const Function& f, int depth);
  const Expr* Index(int length);
  const Expr* Bare(const Expr* e);  // a literal without its type, sometimes
  const Expr* Widened(Type type, int depth);
  bool PickPlace(Type type, bool writable, Place& out);
  bool MayUse(const Variable& v) const;

  Stmt& NewStmt(Stmt::Kind kind);
  void Statement(Body& out);
  Body Block(uint64_t times, int statements);
  void Loop(Body& out);
  void DeclareLocal(Body& out);
  void CallProcedure(Body& out);

  void Globals();
  void Constants();
  void MakeFunction(bool procedure);
  const Function& Entry();

  Choices& c_;
  Format half_;
  std::string prefix_;
  Code code_;
  std::vector<const Variable*> scope_;
  std::vector<const Variable*> globals_;
  Where at_;
  int counter_ = 0;
  uint64_t spent_ = 0;  // steps of the function under construction
  std::string head_;    // declarations
  std::string bodies_;  // functions
  const Function* entry_ = nullptr;
};

}  // namespace szarena::csl_fuzz
