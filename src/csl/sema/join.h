// SPDX-License-Identifier: Apache-2.0
// The value of an expression that several run-time paths reach: if, switch, labelled block, inlined
// call.
#pragma once

#include <vector>

#include "bytecode/builder.h"
#include "csl/sema/operand.h"
#include "csl/source/source_map.h"

namespace szarena::csl {

class Evaluator;

// Does the value become `expect` without a cast? Others keep their type: the code around the
// expression may convert the joined result (`@as(f32, if (c) i else j)`).
bool TakesExpected(Evaluator& eval, const Operand& operand, TypeId expect);

class ResultJoin {
 public:
  // `expect`: the type of the result; void: values are dropped; error type: the peer type of all.
  // At run time reserves the result's register now, so that releases inside a path spare it.
  ResultJoin(Evaluator& eval, TypeId expect);

  // One path's value (loaded): emits what brings it to the result's place. False after a
  // diagnostic.
  bool Add(Operand operand, Span span);

  // The result after all paths met. Constants of paths are patched to the final type here.
  Operand Finish(Span span);

 private:
  struct Pending {  // a constant whose final type was not known
    uint32_t pc;
    Value value;
    Span span;
  };

  Evaluator& eval_;
  TypeId expect_;
  TypeId type_;
  bool drops_ = false;
  bool failed_ = false;
  bytecode::Reg reg_ = 0;
  Operand memory_;
  std::vector<Pending> pending_;
};

}  // namespace szarena::csl
