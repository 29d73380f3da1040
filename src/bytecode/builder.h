// SPDX-License-Identifier: Apache-2.0
// Writes one function: registers, labels, jumps of either length, line table. Used by the compiler
// and by tests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bytecode/program.h"

namespace szarena::bytecode {

using Reg = uint16_t;
struct Label {
  uint32_t id = kNoIndex;
};

class FunctionBuilder {
 public:
  // `params` take registers 0, 1, ...
  FunctionBuilder(CodeClass& code_class, std::string name, std::vector<ScalarType> params,
                  bool returns_value = false);

  // ---- registers: a stack discipline helps windows of calls; registers are never freed by
  // themselves
  Reg NewReg();
  Reg NewRegs(int count);  // consecutive: the first
  uint32_t mark() const { return next_reg_; }
  void ReleaseTo(uint32_t mark) { next_reg_ = mark; }

  // ---- frames: offset of a new local of that many bytes
  uint16_t NewLocal(uint32_t bytes, uint32_t align = 2);
  uint16_t NewDescriptorLocal(uint32_t bytes = kDescriptorBytes);

  // ---- code
  void At(uint32_t file, uint32_t line);  // source line of what follows
  uint32_t pc() const { return static_cast<uint32_t>(f_.code.size()); }
  void Emit(Instr i);
  void Emit(Op op, uint16_t a = 0, uint16_t b = 0, uint16_t c = 0) { Emit(MakeInstr(op, a, b, c)); }
  void EmitWide(Op op, uint16_t a, uint32_t bc) { Emit(MakeWide(op, a, bc)); }
  void Const(Reg dest, int64_t value);  // ConstI or ConstP
  Reg Const(int64_t value);             // into a new register

  Label NewLabel();
  void Bind(Label l);  // here
  void Jump(Label l);
  void JumpIf(Reg cond, Label l);
  void JumpIfNot(Reg cond, Label l);
  void JumpCompare(Op jump_op, Reg a, Reg b,
                   Label l);  // Op::kJumpEq ...; the distance is checked at Finish
  void MapNext(Reg window, uint16_t map, Label exhausted);
  void Switch(Reg value, std::vector<std::pair<int64_t, Label>> cases, Label otherwise);
  // Does control fall through to the next instruction?
  bool reachable() const;

  // Patches jumps. Fails where the function exceeds a limit (65535 registers, frame sizes, short
  // jump distance).
  Result<Function> Finish();
  // Finish and append to the class's functions (or fill `slot`, reserved before); the index.
  Result<uint32_t> FinishInto(uint32_t slot = kNoIndex);

  CodeClass& code_class() { return class_; }
  Function& function() { return f_; }

 private:
  enum class FixKind : uint8_t { kWide, kShortC, kShortB };
  struct Fix {
    uint32_t pc;
    uint32_t label;
    FixKind kind;
  };
  CodeClass& class_;
  Function f_;
  uint32_t next_reg_ = 0;
  uint32_t max_reg_ = 1;
  uint32_t frame_ = 0;
  uint32_t descriptor_frame_ = 0;
  std::vector<uint32_t> label_pc_;
  std::vector<Fix> fixes_;
  std::vector<std::pair<std::vector<std::pair<int64_t, Label>>, Label>> switches_;
  uint32_t last_bound_ = kNoIndex;
};

// Index of a value in a pool, added where it is new.
uint32_t InternConstant(CodeClass& c, uint64_t value);
uint32_t InternString(CodeClass& c, std::string_view text);
uint32_t InternDescriptor(CodeClass& c, const Descriptor& d);

}  // namespace szarena::bytecode
