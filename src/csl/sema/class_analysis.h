// SPDX-License-Identifier: Apache-2.0
// The analysis of one class of PEs: from a file and its params to a bytecode::CodeClass.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "csl/emit/class_builder.h"
#include "csl/sema/evaluator.h"
#include "csl/sema/unit.h"

namespace szarena::csl {

class ClassAnalysis {
 public:
  // `extension`: state of configuration builtins, may be null. width x height: the program
  // rectangle.
  ClassAnalysis(Session& session, std::unique_ptr<UnitExtension> extension, int width, int height);

  Unit& unit() { return unit_; }
  Evaluator& evaluator() { return evaluator_; }

  // Instantiates the file, runs its comptime blocks and those of its imports, compiles what they
  // bind and export, and writes the memory image. `params`: a struct, or null. False after a
  // diagnostic.
  bool Run(const Ast& ast, const std::string& path, const Value* params, Span origin);

  // Variables of the file itself that got memory. Given to another analysis of the same class
  // before its Run, they lie in the order of declaration there.
  std::set<std::string> PlacedVariables() const;
  void PlaceFirst(std::set<std::string> variables) { first_ = std::move(variables); }

  // The result; call once, after Run.
  bytecode::CodeClass Take() { return std::move(builder_.code()); }

 private:
  void CompileExports(ModuleInstance& root);
  void GiveTaskIds();
  void WriteImage();
  bool Serialize(const Value& value, std::vector<uint8_t>& out);
  void AddSymbols();

  ClassBuilder builder_;
  Unit unit_;
  Evaluator evaluator_;
  std::set<std::string> first_;
};

}  // namespace szarena::csl
