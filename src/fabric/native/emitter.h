// SPDX-License-Identifier: Apache-2.0
// The emitter of one function: what emit.cpp (control, calls, memory) and emit_scalar.cpp
// (arithmetic, the list of instructions) share.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "fabric/native/emit.h"

namespace szarena::fabric::native {

constexpr uint64_t kPageWritten = offsetof(Page, written);

struct TypeFacts {
  unsigned bits;
  bool is_signed;
};
// Of a family's member: I8 I16 I32 I64 U8 U16 U32 U64.
inline TypeFacts FactsOf(uint32_t index) { return {8u << (index & 3), index < 4}; }

// Writes into a builder; used once.
class Emitter {
 public:
  Emitter(Ir& ir, LLVMModuleRef module, const Settings& settings, const bytecode::CodeClass& code,
          uint32_t function, const Liveness& live, const std::vector<std::vector<uint16_t>>& zeroed)
      : ir_(ir),
        module_(module),
        settings_(settings),
        code_(code),
        index_(function),
        f_(code.functions[function]),
        live_(live),
        zeroed_(zeroed) {}
  void Run(const std::string& name);

 private:
  // ---- registers and the run's state
  Value Get(uint16_t r) const { return LLVMBuildLoad2(ir_.builder, ir_.i64, regs_.at(r), ""); }
  void Set(uint16_t r, Value v) const {  // the result of the instruction at hand
    LLVMBuildStore(ir_.builder, v, regs_.at(r));
    if (here_ + 1 < f_.code.size() && live_.IsObserved(here_ + 1, r)) ir_.Store(v, Slot(r), 8);
  }
  // Its place in memory.
  Value Slot(uint32_t r) const {
    return ir_.At(LLVMBuildLoad2(ir_.builder, ir_.ptr, window_, ""), uint64_t{r} * 8);
  }
  void TakeWindow() const {  // calls may have moved the register stack
    Value stack = ir_.Load(ir_.ptr, Field(offsetof(Context, regs)), 8);
    LLVMBuildStore(ir_.builder, ir_.At(stack, LLVMBuildShl(ir_.builder, base64_, ir_.C64(3), "")),
                   window_);
  }
  void Spill(uint16_t r) const { ir_.Store(Get(r), Slot(r), 8); }
  void Spill(const std::vector<uint16_t>& regs) const {
    for (const uint16_t r : regs) Spill(r);
  }
  void Reload(uint16_t r) const {
    LLVMBuildStore(ir_.builder, ir_.Load(ir_.i64, Slot(r), 8), regs_.at(r));
  }
  Value Field(size_t offset) const { return ir_.At(context_, offset); }
  Value Clock() const {
    return ir_.Add(LLVMBuildLoad2(ir_.builder, ir_.i64, clock_, ""), ir_.C64(pending_clock_));
  }
  Value Count() const {
    return ir_.Add(LLVMBuildLoad2(ir_.builder, ir_.i64, count_, ""), ir_.C64(pending_count_));
  }
  void Settle() {  // what straight code has summed up
    if (pending_clock_ != 0) LLVMBuildStore(ir_.builder, Clock(), clock_);
    if (pending_count_ != 0) LLVMBuildStore(ir_.builder, Count(), count_);
    pending_clock_ = pending_count_ = 0;
  }
  void Publish() const {  // to the context, for C++ code
    ir_.Store(Clock(), Field(offsetof(Context, run) + offsetof(RunState, clock)), 8);
    ir_.Store(Count(), Field(offsetof(Context, run) + offsetof(RunState, count)), 8);
  }
  void TakeClock() const {
    LLVMBuildStore(ir_.builder,
                   ir_.Load(ir_.i64, Field(offsetof(Context, run) + offsetof(RunState, clock)), 8),
                   clock_);
  }
  void TakeCount() const {
    LLVMBuildStore(ir_.builder,
                   ir_.Load(ir_.i64, Field(offsetof(Context, run) + offsetof(RunState, count)), 8),
                   count_);
  }

  // ---- blocks
  Block New() const { return LLVMAppendBasicBlockInContext(ir_.context, llvm_function_, ""); }
  Block BlockAt(uint32_t pc) {
    Block& b = blocks_[pc];
    if (b == nullptr) b = New();
    return b;
  }
  // Where a jump from `pc` goes: backwards, the run may end on the way.
  Block TargetOf(uint32_t pc, uint32_t target) {
    return target > pc ? BlockAt(target) : Memo(back_, target);
  }
  Block Memo(std::map<uint32_t, Block>& blocks, uint32_t pc) {
    Block& b = blocks[pc];
    if (b == nullptr) b = New();
    return b;
  }
  void LeaveHere(uint32_t pc) const {  // the registers that matter are in memory
    LLVMBuildStore(ir_.builder, ir_.C32(pc), pc_);
    ir_.Go(leave_);
  }
  void FinishBlocks();
  void WriteFrame(Value pc) const;
  void FindEntries();

  // ---- instructions
  void Emit(uint32_t pc);
  void Integer(const bytecode::Instr& i);
  bool Arithmetic(const bytecode::Instr& i);
  void Divide(uint32_t pc, const bytecode::Instr& i, TypeFacts t, bool remainder);
  void Float(const bytecode::Instr& i);
  void FromFloat(const bytecode::Instr& i, TypeFacts t);
  void Memory(uint32_t pc, const bytecode::Instr& i, bytecode::AddressForm form, bool store,
              unsigned bits, bool is_signed);
  void SlowPath(uint32_t pc, Block from, Block to, bool may_wait);
  void Shared(uint32_t pc, const bytecode::Instr& i);
  void Jump(uint32_t pc, Value condition, uint32_t target);
  void Call(uint32_t pc, const bytecode::Instr& i);
  Value Execute(uint32_t pc) const;

  Value Extend(Value v, TypeFacts t) const {  // the low bits of a 64-bit value, extended again
    if (t.bits == 64) return v;
    Value low = ir_.Trunc(v, ir_.Int(t.bits));
    return t.is_signed ? ir_.Sext(low, ir_.i64) : ir_.Zext(low, ir_.i64);
  }
  Value Bool(Value v) const { return ir_.Zext(v, ir_.i64); }
  Value AsFloat(Value v) const {
    return LLVMBuildBitCast(ir_.builder, ir_.Trunc(v, ir_.i32), ir_.f32, "");
  }
  Value FloatBits(Value v) const {  // NaN is canonical
    Value nan = LLVMBuildFCmp(ir_.builder, LLVMRealUNO, v, v, "");
    return ir_.Zext(
        ir_.Select(nan, ir_.C32(0x7fc00000u), LLVMBuildBitCast(ir_.builder, v, ir_.i32, "")),
        ir_.i64);
  }
  uint64_t Where(uint32_t pc) const { return uint64_t{index_} << 32 | pc; }

  Ir& ir_;
  LLVMModuleRef module_;
  const Settings& settings_;
  const bytecode::CodeClass& code_;
  const uint32_t index_;
  const bytecode::Function& f_;
  const Liveness& live_;
  const std::vector<std::vector<uint16_t>>& zeroed_;

  Value llvm_function_ = nullptr;
  Value context_ = nullptr;
  Value depth_ = nullptr;
  Value base_ = nullptr;
  Value sp_ = nullptr;
  Value dsp_ = nullptr;
  Value base64_ = nullptr;
  Value limit_ = nullptr;
  Value read_ = nullptr;
  Value write_ = nullptr;
  std::map<uint16_t, Value> regs_;
  Value window_ = nullptr;  // where its registers are in memory
  Value clock_ = nullptr;
  Value count_ = nullptr;
  Value pc_ = nullptr;           // where a frame is left
  Value status_ = nullptr;       // how
  Block leave_ = nullptr;        // the innermost frame
  Block leave_outer_ = nullptr;  // one whose callee was left
  uint32_t here_ = 0;            // pc of the instruction at hand
  uint64_t pending_clock_ = 0;
  uint64_t pending_count_ = 0;
  std::map<uint32_t, Block> blocks_;
  std::map<uint32_t, Block> back_;
  std::vector<bool> is_entry_;
};

}  // namespace szarena::fabric::native
