// SPDX-License-Identifier: Apache-2.0
// The function builder and the pools.
#include "bytecode/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace szarena::bytecode {

FunctionBuilder::FunctionBuilder(CodeClass& code_class, std::string name,
                                 std::vector<ScalarType> params, bool returns_value)
    : class_(code_class) {
  f_.name = std::move(name);
  f_.params = std::move(params);
  f_.returns_value = returns_value;
  next_reg_ = static_cast<uint32_t>(f_.params.size());
  max_reg_ = std::max(next_reg_, 1u);
}

Reg FunctionBuilder::NewReg() { return NewRegs(1); }

Reg FunctionBuilder::NewRegs(int count) {
  const uint32_t first = next_reg_;
  next_reg_ += static_cast<uint32_t>(count);
  max_reg_ = std::max(max_reg_, next_reg_);
  return static_cast<Reg>(std::min(first, 0xffffu));  // too many registers: reported by Finish
}

uint16_t FunctionBuilder::NewLocal(uint32_t bytes, uint32_t align) {
  frame_ = (frame_ + align - 1) / align * align;
  const uint32_t at = frame_;
  frame_ += bytes;
  return static_cast<uint16_t>(std::min(at, 0xffffu));
}

uint16_t FunctionBuilder::NewDescriptorLocal(uint32_t bytes) {
  const uint32_t at = descriptor_frame_;
  descriptor_frame_ += (bytes + 1) & ~1u;
  return static_cast<uint16_t>(std::min(at, 0xffffu));
}

void FunctionBuilder::At(uint32_t file, uint32_t line) {
  if (!f_.lines.empty()) {
    LineEntry& last = f_.lines.back();
    if (last.file == file && last.line == line) return;
    if (last.pc == pc()) {
      last.file = file;
      last.line = line;
      return;
    }
  }
  f_.lines.push_back({pc(), file, line});
}

void FunctionBuilder::Emit(Instr i) { f_.code.push_back(i); }

void FunctionBuilder::Const(Reg dest, int64_t value) {
  if (value == static_cast<int32_t>(value)) {
    EmitWide(Op::kConstI, dest, static_cast<uint32_t>(value));
  } else {
    EmitWide(Op::kConstP, dest, InternConstant(class_, static_cast<uint64_t>(value)));
  }
}

Reg FunctionBuilder::Const(int64_t value) {
  const Reg r = NewReg();
  Const(r, value);
  return r;
}

Label FunctionBuilder::NewLabel() {
  label_pc_.push_back(kNoIndex);
  return {static_cast<uint32_t>(label_pc_.size() - 1)};
}

void FunctionBuilder::Bind(Label l) {
  SZARENA_CHECK(label_pc_[l.id] == kNoIndex, "a label is bound once");
  label_pc_[l.id] = pc();
  last_bound_ = pc();
}

void FunctionBuilder::Jump(Label l) {
  fixes_.push_back({pc(), l.id, FixKind::kWide});
  Emit(Op::kJump);
}
void FunctionBuilder::JumpIf(Reg cond, Label l) {
  fixes_.push_back({pc(), l.id, FixKind::kWide});
  Emit(Op::kJumpIf, cond);
}
void FunctionBuilder::JumpIfNot(Reg cond, Label l) {
  fixes_.push_back({pc(), l.id, FixKind::kWide});
  Emit(Op::kJumpIfNot, cond);
}
void FunctionBuilder::JumpCompare(Op jump_op, Reg a, Reg b, Label l) {
  SZARENA_CHECK(jump_op >= Op::kJumpEq && jump_op <= Op::kJumpLeU,
                "a fused compare-and-branch instruction");
  fixes_.push_back({pc(), l.id, FixKind::kShortC});
  Emit(jump_op, a, b);
}
void FunctionBuilder::MapNext(Reg window, uint16_t map, Label exhausted) {
  fixes_.push_back({pc(), exhausted.id, FixKind::kShortB});
  Emit(Op::kMapNext, window, 0, map);
}
void FunctionBuilder::Switch(Reg value, std::vector<std::pair<int64_t, Label>> cases,
                             Label otherwise) {
  EmitWide(Op::kSwitch, value, static_cast<uint32_t>(switches_.size()));
  switches_.emplace_back(std::move(cases), otherwise);
}

bool FunctionBuilder::reachable() const {
  if (f_.code.empty() || last_bound_ == pc()) return true;
  switch (static_cast<Op>(f_.code.back().op)) {
    case Op::kJump:
    case Op::kReturn:
    case Op::kReturnVoid:
    case Op::kTrap:
    case Op::kSwitch:
      return false;
    default:
      return true;
  }
}

Result<Function> FunctionBuilder::Finish() {
  if (reachable()) {
    if (f_.returns_value) {
      EmitWide(
          Op::kTrap, 0,
          InternString(class_, "end of function '" + f_.name + "' reached without a return value"));
    } else {
      Emit(Op::kReturnVoid);
    }
  }
  const auto target = [&](uint32_t label) {
    SZARENA_CHECK(label_pc_[label] != kNoIndex, "every label that is used is bound");
    return label_pc_[label];
  };
  for (const Fix& fix : fixes_) {
    Instr& i = f_.code[fix.pc];
    const uint32_t to = target(fix.label);
    if (fix.kind == FixKind::kWide) {
      i.b = static_cast<uint16_t>(to);
      i.c = static_cast<uint16_t>(to >> 16);
      continue;
    }
    const int64_t distance = static_cast<int64_t>(to) - static_cast<int64_t>(fix.pc) - 1;
    if (distance != static_cast<int16_t>(distance)) {
      return Fail(
          ErrorCode::kCapacity,
          fmt::format("function '{}' is too long: a jump over {} instructions", f_.name, distance));
    }
    (fix.kind == FixKind::kShortC ? i.c : i.b) = static_cast<uint16_t>(distance);
  }
  for (auto& [cases, otherwise] : switches_) {
    SwitchTable table;
    for (const auto& [value, label] : cases) table.cases.emplace_back(value, target(label.id));
    std::sort(table.cases.begin(), table.cases.end());
    table.otherwise = target(otherwise.id);
    f_.switches.push_back(std::move(table));
  }
  if (max_reg_ > 0xffff)
    return Fail(
        ErrorCode::kCapacity,
        fmt::format("function '{}' needs {} registers; the limit is 65535", f_.name, max_reg_));
  if (frame_ > kSramBytes)
    return Fail(ErrorCode::kCapacity,
                fmt::format("the locals of function '{}' need {} bytes; a PE has {}", f_.name,
                            frame_, kSramBytes));
  if (descriptor_frame_ > 0x4000)
    return Fail(ErrorCode::kCapacity,
                fmt::format("function '{}' has too many DSD variables", f_.name));
  f_.register_count = static_cast<uint16_t>(max_reg_);
  f_.frame_bytes = static_cast<uint16_t>((frame_ + 1) & ~1u);
  f_.descriptor_frame_bytes = static_cast<uint16_t>(descriptor_frame_);
  return std::move(f_);
}

Result<uint32_t> FunctionBuilder::FinishInto(uint32_t slot) {
  SZARENA_TRY(Function f, Finish());
  if (slot == kNoIndex) {
    class_.functions.push_back(std::move(f));
    return static_cast<uint32_t>(class_.functions.size() - 1);
  }
  class_.functions[slot] = std::move(f);
  return slot;
}

namespace {
template <typename T, typename V>
uint32_t Intern(std::vector<T>& pool, const V& value) {
  // Pools are short; the newest entries are the likeliest to repeat.
  for (size_t i = pool.size(); i-- > 0;) {
    if (pool[i] == value) return static_cast<uint32_t>(i);
  }
  pool.emplace_back(value);
  return static_cast<uint32_t>(pool.size() - 1);
}
}  // namespace

uint32_t InternConstant(CodeClass& c, uint64_t value) { return Intern(c.constants, value); }
uint32_t InternString(CodeClass& c, std::string_view text) { return Intern(c.strings, text); }
uint32_t InternDescriptor(CodeClass& c, const Descriptor& d) { return Intern(c.descriptors, d); }

}  // namespace szarena::bytecode
