// SPDX-License-Identifier: Apache-2.0
// Bytecode to LLVM IR. A register is a local variable of 64 bits, which LLVM's passes turn into
// values; who writes it writes it to the thread's register stack too where a shared instruction or
// a callee may look there before the next write; rarer exits save what is live. The function has an
// entry for pc 0 and for each place at which a run may end. Cycles and instructions are summed up
// over straight code.
#include "fabric/native/emit.h"

#include <algorithm>
#include <cstddef>
#include <map>

namespace szarena::fabric::native {
using namespace bytecode;
namespace {

constexpr uint64_t kPageWritten = offsetof(Page, written);

struct TypeFacts {
  unsigned bits;
  bool is_signed;
};
TypeFacts FactsOf(uint32_t index) {
  return {8u << (index & 3), index < 4};
}  // of a family's member: I8 I16 I32 I64 U8 U16 U32 U64

class Emitter {
 public:
  Emitter(Ir& ir, LLVMModuleRef module, const Settings& settings, const CodeClass& code,
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
  Value Slot(uint32_t r) const {
    return ir_.At(LLVMBuildLoad2(ir_.builder, ir_.ptr, window_, ""), uint64_t{r} * 8);
  }                          // its place in memory
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
  void Integer(const Instr& i);
  bool Arithmetic(const Instr& i);
  void Divide(uint32_t pc, const Instr& i, TypeFacts t, bool remainder);
  void Float(const Instr& i);
  void FromFloat(const Instr& i, TypeFacts t);
  void Memory(uint32_t pc, const Instr& i, AddressForm form, bool store, unsigned bits,
              bool is_signed);
  void SlowPath(uint32_t pc, Block from, Block to, bool may_wait);
  void Shared(uint32_t pc, const Instr& i);
  void Jump(uint32_t pc, Value condition, uint32_t target);
  void Call(uint32_t pc, const Instr& i);
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
  const CodeClass& code_;
  const uint32_t index_;
  const Function& f_;
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

// ---------------------------------------------------------------- control
void Emitter::FindEntries() {
  is_entry_.assign(f_.code.size() + 1, false);
  is_entry_[0] = true;
  for (uint32_t pc = 0; pc < f_.code.size(); ++pc) {
    switch (static_cast<Op>(f_.code[pc].op)) {
      case Op::kDsd:
        is_entry_[pc] = is_entry_[pc + 1] = true;
        break;
      case Op::kActivate:
      case Op::kBlock:
      case Op::kUnblock:
      case Op::kActivateR:
      case Op::kBlockR:
      case Op::kUnblockR:
      case Op::kDsrLoad:
      case Op::kMapNext:
      case Op::kMapPut:
      case Op::kNative:
        is_entry_[pc] = true;
        break;
      case Op::kCall:
      case Op::kCallIndirect:
        is_entry_[pc + 1] = true;
        break;
      default:
        break;
    }
    for (const uint32_t to : SuccessorsOf(f_, pc)) {
      if (to <= pc) is_entry_[to] = true;
      if (to != pc + 1) BlockAt(to);
    }
  }
}

void Emitter::Run(const std::string& name) {
  LLVMTypeRef params[] = {ir_.ptr, ir_.i32, ir_.i32, ir_.i32, ir_.i32, ir_.i32};
  llvm_function_ = LLVMAddFunction(module_, name.c_str(), LLVMFunctionType(ir_.i32, params, 6, 0));
  Block entry = New();
  ir_.Begin(entry);
  context_ = LLVMGetParam(llvm_function_, 0);
  depth_ = LLVMGetParam(llvm_function_, 2);
  base_ = LLVMGetParam(llvm_function_, 3);
  sp_ = LLVMGetParam(llvm_function_, 4);
  dsp_ = LLVMGetParam(llvm_function_, 5);
  for (uint32_t pc = 0; pc < f_.code.size(); ++pc) {
    const Effects e = EffectsOf(code_, f_.code[pc]);
    for (const auto* list : {&e.uses, &e.defs}) {
      for (const uint16_t r : *list) {
        Value& local = regs_[r];
        if (local == nullptr) local = LLVMBuildAlloca(ir_.builder, ir_.i64, "");
      }
    }
  }
  window_ = LLVMBuildAlloca(ir_.builder, ir_.ptr, "");
  clock_ = LLVMBuildAlloca(ir_.builder, ir_.i64, "");
  count_ = LLVMBuildAlloca(ir_.builder, ir_.i64, "");
  pc_ = LLVMBuildAlloca(ir_.builder, ir_.i32, "");
  status_ = LLVMBuildAlloca(ir_.builder, ir_.i32, "");
  base64_ = ir_.Zext(base_, ir_.i64);
  limit_ = ir_.LoadInvariant(ir_.i64, Field(offsetof(Context, run) + offsetof(RunState, limit)));
  read_ = ir_.LoadInvariant(ir_.ptr, Field(offsetof(Context, read)));
  write_ = ir_.LoadInvariant(ir_.ptr, Field(offsetof(Context, write)));
  TakeClock();
  TakeCount();
  TakeWindow();
  leave_ = New();
  leave_outer_ = New();

  FindEntries();
  Block no_entry = New();
  Value ways = LLVMBuildSwitch(ir_.builder, LLVMGetParam(llvm_function_, 1), no_entry, 8);
  ir_.Begin(no_entry);
  LLVMBuildRet(ir_.builder, ir_.C32(static_cast<uint32_t>(Status::kNoEntry)));
  for (uint32_t pc = 0; pc < f_.code.size(); ++pc) {
    if (!is_entry_[pc]) continue;
    Block way = New();
    LLVMAddCase(ways, ir_.C32(pc), way);
    ir_.Begin(way);
    for (const uint16_t r : live_.LiveAt(pc)) Reload(r);
    ir_.Go(BlockAt(pc));
  }
  bool open = false;
  for (uint32_t pc = 0; pc < f_.code.size(); ++pc) {
    if (const auto b = blocks_.find(pc); b != blocks_.end()) {
      if (open) {
        Settle();
        ir_.Go(b->second);
      }
      ir_.Begin(b->second);
      open = true;
    }
    if (!open) continue;  // nothing leads here
    Emit(pc);
    open = LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(ir_.builder)) == nullptr;
  }
  FinishBlocks();
}

void Emitter::WriteFrame(Value pc) const {
  Value frames = ir_.Load(ir_.ptr, Field(offsetof(Context, frames)), 8);
  Value at = ir_.At(
      frames, LLVMBuildMul(ir_.builder, ir_.Zext(depth_, ir_.i64), ir_.C64(sizeof(LeftFrame)), ""));
  ir_.Store(ir_.C32(index_), ir_.At(at, offsetof(LeftFrame, function)), 4);
  ir_.Store(pc, ir_.At(at, offsetof(LeftFrame, pc)), 4);
  ir_.Store(base_, ir_.At(at, offsetof(LeftFrame, base)), 4);
  ir_.Store(sp_, ir_.At(at, offsetof(LeftFrame, sp)), 4);
  ir_.Store(dsp_, ir_.At(at, offsetof(LeftFrame, dsp)), 4);
}

void Emitter::FinishBlocks() {
  for (const auto& [target, block] : back_) {
    ir_.Begin(block);
    Block out = New();
    ir_.Unlikely(ir_.Cmp(LLVMIntUGE, Clock(), limit_), out, BlockAt(target));
    ir_.Begin(out);
    Publish();
    Spill(live_.LiveAt(target));
    LeaveHere(target);
  }
  ir_.Begin(leave_);
  WriteFrame(LLVMBuildLoad2(ir_.builder, ir_.i32, pc_, ""));
  ir_.Store(depth_, Field(offsetof(Context, top)), 4);
  LLVMBuildRet(ir_.builder, ir_.C32(static_cast<uint32_t>(Status::kLeft)));
  ir_.Begin(leave_outer_);
  WriteFrame(LLVMBuildLoad2(ir_.builder, ir_.i32, pc_, ""));
  LLVMBuildRet(ir_.builder, LLVMBuildLoad2(ir_.builder, ir_.i32, status_, ""));
}

void Emitter::Jump(uint32_t pc, Value condition, uint32_t target) {
  Settle();
  ir_.If(condition, TargetOf(pc, target), BlockAt(pc + 1));
}

void Emitter::Call(uint32_t pc, const Instr& i) {
  const bool direct = static_cast<Op>(i.op) == Op::kCall;
  Settle();
  Publish();
  const Value window = ir_.Add(base_, ir_.C32(i.a));
  const Value sp = ir_.Add(sp_, ir_.C32(f_.frame_bytes));
  const Value dsp = ir_.Add(dsp_, ir_.C32(f_.descriptor_frame_bytes));
  const Value depth = ir_.Add(depth_, ir_.C32(1));
  Block slow = New();
  Block go = New();
  Block fast = nullptr;
  Value fast_entry = nullptr;
  const auto entry_at = [&](Value table, uint64_t index) {
    Value entry = ir_.Load(ir_.ptr, ir_.At(table, index * sizeof(std::atomic<Entry>)), 8);
    LLVMSetOrdering(entry, LLVMAtomicOrderingAcquire);
    return entry;
  };
  if (direct) {
    const Function& callee = code_.functions[i.c];
    Value problem =
        ir_.Cmp(LLVMIntUGE, depth, ir_.Load(ir_.i32, Field(offsetof(Context, depth_limit)), 4));
    Value top = ir_.Add(base64_, ir_.C64(uint64_t{i.a} + callee.register_count));
    problem = ir_.Or(problem, ir_.Cmp(LLVMIntUGT, top,
                                      ir_.Load(ir_.i64, Field(offsetof(Context, regs_size)), 8)));
    problem = ir_.Or(problem, ir_.Cmp(LLVMIntUGE, Clock(), limit_));
    fast_entry = entry_at(ir_.LoadInvariant(ir_.ptr, Field(offsetof(Context, entries))), i.c);
    problem = ir_.Or(problem, LLVMBuildIsNull(ir_.builder, fast_entry, ""));
    fast = New();
    ir_.Unlikely(problem, slow, fast);
    ir_.Begin(fast);
    for (const uint16_t r : zeroed_[i.c]) ir_.Store(ir_.C64(0), Slot(uint32_t{i.a} + r), 8);
    if (callee.frame_bytes > 0) {
      LLVMTypeRef types[] = {ir_.ptr, ir_.i32, ir_.i32};
      ir_.Call(LLVMFunctionType(LLVMVoidTypeInContext(ir_.context), types, 3, 0),
               ir_.Address(reinterpret_cast<const void*>(settings_.helpers->mark_unwritten)),
               {context_, sp, ir_.C32(callee.frame_bytes)});
    }
    ir_.Go(go);
  } else {
    ir_.Go(slow);
  }
  // With a look at everything.
  ir_.Begin(slow);
  LLVMTypeRef types[] = {ir_.ptr, ir_.i64, ir_.i32, ir_.i32, ir_.i32, ir_.i32};
  Value slow_entry = ir_.Call(LLVMFunctionType(ir_.ptr, types, 6, 0),
                              ir_.Address(reinterpret_cast<const void*>(settings_.helpers->call)),
                              {context_, ir_.C64(Where(pc)), depth_, base_, sp_, dsp_});
  Block stuck = New();
  ir_.Unlikely(LLVMBuildIsNull(ir_.builder, slow_entry, ""), stuck, go);
  ir_.Begin(stuck);  // the frames are written already
  LLVMBuildRet(ir_.builder, ir_.Load(ir_.i32, Field(offsetof(Context, call_status)), 4));

  ir_.Begin(go);
  Value entry = LLVMBuildPhi(ir_.builder, ir_.ptr, "");
  Value from_values[] = {slow_entry, fast_entry};
  Block from_blocks[] = {slow, fast};
  LLVMAddIncoming(entry, from_values, from_blocks, direct ? 2 : 1);
  LLVMTypeRef entry_types[] = {ir_.ptr, ir_.i32, ir_.i32, ir_.i32, ir_.i32, ir_.i32};
  Value status = ir_.Call(LLVMFunctionType(ir_.i32, entry_types, 6, 0), entry,
                          {context_, ir_.C32(0), depth, window, sp, dsp});
  Block left = New();
  Block back = New();
  ir_.Unlikely(ir_.Cmp(LLVMIntNE, status, ir_.C32(static_cast<uint32_t>(Status::kReturned))), left,
               back);
  ir_.Begin(left);
  LLVMBuildStore(ir_.builder, ir_.C32(pc + 1), pc_);
  LLVMBuildStore(ir_.builder, status, status_);
  ir_.Go(leave_outer_);
  ir_.Begin(back);
  TakeClock();
  TakeCount();
  TakeWindow();
  if (live_.IsLive(pc + 1, i.a)) Reload(i.a);
}

// ---------------------------------------------------------------- shared instructions
Value Emitter::Execute(uint32_t pc) const {
  LLVMTypeRef types[] = {ir_.ptr, ir_.i64, ir_.i32};
  return ir_.Call(LLVMFunctionType(ir_.i32, types, 3, 0),
                  ir_.Address(reinterpret_cast<const void*>(settings_.helpers->execute)),
                  {context_, ir_.C64(Where(pc)), base_});
}

// Block `from`: the instruction by Execute, then on at `to`. `may_wait`: it may have to be run
// again later, so all registers must be in memory.
void Emitter::SlowPath(uint32_t pc, Block from, Block to, bool may_wait) {
  ir_.Begin(from);
  const Effects effects = EffectsOf(code_, f_.code[pc]);
  Spill(may_wait ? live_.LiveAt(pc) : effects.uses);
  Publish();
  Block out = New();
  Block good = New();
  ir_.Unlikely(ir_.Cmp(LLVMIntNE, Execute(pc), ir_.C32(static_cast<uint32_t>(Outcome::kNext))), out,
               good);
  ir_.Begin(out);
  LeaveHere(pc);
  ir_.Begin(good);
  for (const uint16_t r : effects.defs) Reload(r);
  ir_.Go(to);
}

void Emitter::Shared(uint32_t pc, const Instr& i) {
  const Op op = static_cast<Op>(i.op);
  const Effects effects = EffectsOf(code_, i);
  Settle();
  Publish();
  Value outcome = Execute(pc);
  const auto is = [&](Outcome o) {
    return ir_.Cmp(LLVMIntEQ, outcome, ir_.C32(static_cast<uint32_t>(o)));
  };
  if (op != Op::kTrap) {
    Block other = New();
    Block good = New();
    ir_.Unlikely(ir_.Cmp(LLVMIntNE, outcome, ir_.C32(static_cast<uint32_t>(Outcome::kNext))), other,
                 good);
    ir_.Begin(other);
    if (op == Op::kDsd) {
      Block done = New();
      Block rest = New();
      ir_.If(is(Outcome::kLeave), done, rest);
      ir_.Begin(done);
      LeaveHere(pc + 1);
      ir_.Begin(rest);
    }
    if (op == Op::kMapNext) {
      Block rest = New();
      Block exhausted = New();
      ir_.If(is(Outcome::kJump), exhausted, rest);
      ir_.Begin(exhausted);
      TakeClock();
      ir_.Go(BlockAt(SuccessorsOf(f_, pc)[1]));
      ir_.Begin(rest);
    }
    LeaveHere(pc);
    ir_.Begin(good);
    TakeClock();
    for (const uint16_t r : effects.defs) Reload(r);
  } else {
    LeaveHere(pc);
  }
}

// ---------------------------------------------------------------- memory
void Emitter::Memory(uint32_t pc, const Instr& i, AddressForm form, bool store, unsigned bits,
                     bool is_signed) {
  const unsigned bytes = bits / 8;
  Value address = nullptr;
  switch (form) {
    case AddressForm::kOffset:
      address = ir_.Add(Get(i.b), ir_.C64(i.c));
      break;
    case AddressForm::kAbsolute:
      address = ir_.C64(i.b);
      break;
    case AddressForm::kIndexed:
      address = ir_.Add(Get(i.b), LLVMBuildMul(ir_.builder, Get(i.c), ir_.C64(bytes), ""));
      break;
  }
  address = ir_.Trunc(address, ir_.i16);
  const auto c16 = [&](unsigned v) { return LLVMConstInt(ir_.i16, v, 0); };
  Value word = LLVMBuildLShr(ir_.builder, address, c16(1), "");
  Value odd_or_register = ir_.Cmp(LLVMIntUGE, address, c16(kRegisterBase));
  if (bytes > 1) {  // an odd address turns into a large one
    word = ir_.Or(word, LLVMBuildShl(ir_.builder, address, c16(15), ""));
    odd_or_register = ir_.Cmp(LLVMIntUGE, word, c16(kRegisterBase / 2));
  }
  Value problem = odd_or_register;
  Value bit = ir_.And(word, c16(63));
  if (bytes > 2)
    problem = ir_.Or(
        problem, ir_.Cmp(LLVMIntUGT, bit, c16(64 - bytes / 2)));  // over the end of a word of marks
  Block slow = New();
  Block plain = New();
  Block next = New();
  ir_.Unlikely(problem, slow, plain);
  ir_.Begin(plain);
  const auto wide = [&](Value v) { return ir_.Zext(v, ir_.i64); };
  Value page =
      ir_.Load(ir_.ptr,
               ir_.At(store ? write_ : read_,
                      LLVMBuildShl(ir_.builder, wide(LLVMBuildLShr(ir_.builder, word, c16(9), "")),
                                   ir_.C64(3), "")),
               8);
  Value offset = wide(ir_.And(address, c16(kPageBytes - 1)));
  Value marks_offset =
      LLVMBuildShl(ir_.builder, wide(ir_.And(LLVMBuildLShr(ir_.builder, word, c16(6), ""), c16(7))),
                   ir_.C64(3), "");
  Value mask = LLVMBuildShl(ir_.builder,
                            ir_.C64(bytes <= 2   ? 1
                                    : bytes == 4 ? 3
                                                 : 15),
                            wide(bit), "");
  LLVMTypeRef type = ir_.Int(bits);
  if (!store) {
    if (settings_.check_uninitialised) {
      Value marks = ir_.Load(ir_.i64, ir_.At(ir_.At(page, kPageWritten), marks_offset), 8);
      Block written = New();
      ir_.Unlikely(ir_.Cmp(LLVMIntNE, ir_.And(marks, mask), mask), slow, written);
      ir_.Begin(written);
    }
    Value v = ir_.Load(type, ir_.At(page, offset), 1);
    if (bits < 64) v = is_signed ? ir_.Sext(v, ir_.i64) : ir_.Zext(v, ir_.i64);
    Set(i.a, v);
    ir_.Go(next);
  } else {
    Block own = New();
    ir_.Unlikely(LLVMBuildIsNull(ir_.builder, page, ""), slow, own);
    ir_.Begin(own);
    Value at = ir_.At(ir_.At(page, kPageWritten), marks_offset);
    Value marks = ir_.Load(ir_.i64, at, 8);
    Block mark = New();
    Block write = New();
    ir_.Unlikely(ir_.Cmp(LLVMIntNE, ir_.And(marks, mask), mask), mark, write);
    ir_.Begin(mark);
    ir_.Store(ir_.Or(marks, mask), at, 8);
    ir_.Go(write);
    ir_.Begin(write);
    ir_.Store(ir_.Trunc(Get(i.a), type), ir_.At(page, offset), 1);
    ir_.Go(next);
  }
  SlowPath(pc, slow, next, true);
  ir_.Begin(next);
}

// ---------------------------------------------------------------- arithmetic
void Emitter::Divide(uint32_t pc, const Instr& i, TypeFacts t, bool remainder) {
  Value a = Get(i.b);
  Value b = Get(i.c);
  Block zero = New();
  Block good = New();
  ir_.Unlikely(ir_.Cmp(LLVMIntEQ, b, ir_.C64(0)), zero, good);
  SlowPath(pc, zero, good, false);
  ir_.Begin(good);
  if (!t.is_signed) {
    Set(i.a,
        remainder ? LLVMBuildURem(ir_.builder, a, b, "") : LLVMBuildUDiv(ir_.builder, a, b, ""));
    return;
  }
  Value minus_one = ir_.Cmp(LLVMIntEQ, b, ir_.C64(~uint64_t{0}));
  Value divisor = ir_.Select(minus_one, ir_.C64(1), b);
  if (remainder)
    Set(i.a,
        ir_.Select(minus_one, ir_.C64(0), Extend(LLVMBuildSRem(ir_.builder, a, divisor, ""), t)));
  else
    Set(i.a, Extend(ir_.Select(minus_one, ir_.Sub(ir_.C64(0), a),
                               LLVMBuildSDiv(ir_.builder, a, divisor, "")),
                    t));
}

// Families with a member for each integer type. False: the instruction is of another kind.
bool Emitter::Arithmetic(const Instr& i) {
  const auto member = [&](Op first) { return i.op - static_cast<uint32_t>(first); };
  const auto in = [&](Op first) { return member(first) < 8; };
  if (in(Op::kAddI8))
    Set(i.a, Extend(ir_.Add(Get(i.b), Get(i.c)), FactsOf(member(Op::kAddI8))));
  else if (in(Op::kSubI8))
    Set(i.a, Extend(ir_.Sub(Get(i.b), Get(i.c)), FactsOf(member(Op::kSubI8))));
  else if (in(Op::kMulI8))
    Set(i.a,
        Extend(LLVMBuildMul(ir_.builder, Get(i.b), Get(i.c), ""), FactsOf(member(Op::kMulI8))));
  else if (in(Op::kShlI8)) {
    const TypeFacts t = FactsOf(member(Op::kShlI8));
    Value amount = Get(i.c);
    Value shifted =
        Extend(LLVMBuildShl(ir_.builder, Get(i.b), ir_.And(amount, ir_.C64(63)), ""), t);
    Set(i.a, ir_.Select(ir_.Cmp(LLVMIntUGE, amount, ir_.C64(t.bits)), ir_.C64(0), shifted));
  } else if (in(Op::kShrI8)) {
    const TypeFacts t = FactsOf(member(Op::kShrI8));
    Value amount = Get(i.c);
    if (t.is_signed) {
      Set(i.a, LLVMBuildAShr(
                   ir_.builder, Get(i.b),
                   ir_.Select(ir_.Cmp(LLVMIntUGT, amount, ir_.C64(63)), ir_.C64(63), amount), ""));
    } else {
      Value shifted = LLVMBuildLShr(ir_.builder, Get(i.b), ir_.And(amount, ir_.C64(63)), "");
      Set(i.a, ir_.Select(ir_.Cmp(LLVMIntUGE, amount, ir_.C64(t.bits)), ir_.C64(0), shifted));
    }
  } else if (in(Op::kNegI8))
    Set(i.a, Extend(ir_.Sub(ir_.C64(0), Get(i.b)), FactsOf(member(Op::kNegI8))));
  else if (in(Op::kNotI8))
    Set(i.a, Extend(LLVMBuildNot(ir_.builder, Get(i.b), ""), FactsOf(member(Op::kNotI8))));
  else if (in(Op::kAddImmI8))
    Set(i.a, Extend(ir_.Add(Get(i.b),
                            ir_.C64(static_cast<uint64_t>(int64_t{static_cast<int16_t>(i.c)}))),
                    FactsOf(member(Op::kAddImmI8))));
  else if (in(Op::kConvertI8))
    Set(i.a, Extend(Get(i.b), FactsOf(member(Op::kConvertI8))));
  else if (in(Op::kFromF32I8))
    FromFloat(i, FactsOf(member(Op::kFromF32I8)));
  else
    return false;
  return true;
}

void Emitter::FromFloat(const Instr& i, TypeFacts t) {  // towards zero, saturating, NaN gives 0
  const char* name = t.is_signed ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
  LLVMTypeRef types[] = {ir_.Int(t.bits), ir_.f32};
  const unsigned id = LLVMLookupIntrinsicID(name, 15);
  Value intrinsic = LLVMGetIntrinsicDeclaration(module_, id, types, 2);
  Value v = ir_.Call(LLVMIntrinsicGetType(ir_.context, id, types, 2), intrinsic,
                     {AsFloat(Get(i.b))}, true);
  Set(i.a, t.bits == 64 ? v : t.is_signed ? ir_.Sext(v, ir_.i64) : ir_.Zext(v, ir_.i64));
}

void Emitter::Float(const Instr& i) {
  const auto compare = [&](LLVMRealPredicate p) {
    Set(i.a, Bool(LLVMBuildFCmp(ir_.builder, p, AsFloat(Get(i.b)), AsFloat(Get(i.c)), "")));
  };
  switch (static_cast<Op>(i.op)) {
    case Op::kEqF32:
      compare(LLVMRealOEQ);
      break;
    case Op::kNeF32:
      compare(LLVMRealUNE);
      break;
    case Op::kLtF32:
      compare(LLVMRealOLT);
      break;
    case Op::kLeF32:
      compare(LLVMRealOLE);
      break;
    case Op::kAddF32:
      Set(i.a, FloatBits(LLVMBuildFAdd(ir_.builder, AsFloat(Get(i.b)), AsFloat(Get(i.c)), "")));
      break;
    case Op::kSubF32:
      Set(i.a, FloatBits(LLVMBuildFSub(ir_.builder, AsFloat(Get(i.b)), AsFloat(Get(i.c)), "")));
      break;
    case Op::kMulF32:
      Set(i.a, FloatBits(LLVMBuildFMul(ir_.builder, AsFloat(Get(i.b)), AsFloat(Get(i.c)), "")));
      break;
    case Op::kDivF32:
      Set(i.a, FloatBits(LLVMBuildFDiv(ir_.builder, AsFloat(Get(i.b)), AsFloat(Get(i.c)), "")));
      break;
    case Op::kF32FromS:
      Set(i.a, FloatBits(LLVMBuildSIToFP(ir_.builder, Get(i.b), ir_.f32, "")));
      break;
    case Op::kF32FromU:
      Set(i.a, FloatBits(LLVMBuildUIToFP(ir_.builder, Get(i.b), ir_.f32, "")));
      break;
    case Op::kBoolFromF32:
      Set(i.a, Bool(LLVMBuildFCmp(ir_.builder, LLVMRealUNE, AsFloat(Get(i.b)),
                                  LLVMConstReal(ir_.f32, 0.0), "")));
      break;
    default:
      break;
  }
}

// ---------------------------------------------------------------- one instruction
void Emitter::Emit(uint32_t pc) {
  const Instr& i = f_.code[pc];
  const Op op = static_cast<Op>(i.op);
  here_ = pc;
  pending_clock_ += settings_.cost->op[i.op];
  ++pending_count_;
  if (settings_.helpers->pure[i.op] != nullptr) {
    LLVMTypeRef types[] = {ir_.i64, ir_.i64, ir_.i64};
    const bool binary = InfoOf(op).operands[2] == 's';
    Set(i.a, ir_.Call(LLVMFunctionType(ir_.i64, types, 3, 0),
                      ir_.Address(reinterpret_cast<const void*>(settings_.helpers->pure[i.op])),
                      {ir_.C64(static_cast<uint64_t>(settings_.program->fp16)), Get(i.b),
                       binary ? Get(i.c) : ir_.C64(0)},
                      true));
    return;
  }
  if (Arithmetic(i)) return;
  const auto compare = [&](LLVMIntPredicate p) { Set(i.a, Bool(ir_.Cmp(p, Get(i.b), Get(i.c)))); };
  const auto jump_if = [&](LLVMIntPredicate p) {
    Jump(pc, ir_.Cmp(p, Get(i.a), Get(i.b)), SuccessorsOf(f_, pc)[1]);
  };
  switch (op) {
    case Op::kNop:
      break;
    case Op::kConstI:
      Set(i.a, ir_.C64(static_cast<uint64_t>(int64_t{static_cast<int32_t>(i.bc())})));
      break;
    case Op::kConstP:
      Set(i.a, ir_.C64(code_.constants[i.bc()]));
      break;
    case Op::kMove:
      Set(i.a, Get(i.b));
      break;
    case Op::kSelect:
      Set(i.a, ir_.Select(ir_.Cmp(LLVMIntNE, Get(i.a), ir_.C64(0)), Get(i.b), Get(i.c)));
      break;
    case Op::kAnd:
      Set(i.a, ir_.And(Get(i.b), Get(i.c)));
      break;
    case Op::kOr:
      Set(i.a, ir_.Or(Get(i.b), Get(i.c)));
      break;
    case Op::kXor:
      Set(i.a, LLVMBuildXor(ir_.builder, Get(i.b), Get(i.c), ""));
      break;
    case Op::kLogicalNot:
      Set(i.a, Bool(ir_.Cmp(LLVMIntEQ, Get(i.b), ir_.C64(0))));
      break;
    case Op::kSignExtend:
      Set(i.a, Extend(Get(i.b), {i.c, true}));
      break;
    case Op::kZeroExtend:
      Set(i.a, Extend(Get(i.b), {i.c, false}));
      break;
    case Op::kEq:
      compare(LLVMIntEQ);
      break;
    case Op::kNe:
      compare(LLVMIntNE);
      break;
    case Op::kLtS:
      compare(LLVMIntSLT);
      break;
    case Op::kLeS:
      compare(LLVMIntSLE);
      break;
    case Op::kLtU:
      compare(LLVMIntULT);
      break;
    case Op::kLeU:
      compare(LLVMIntULE);
      break;
    case Op::kNegF32:
      Set(i.a, ir_.And(LLVMBuildXor(ir_.builder, Get(i.b), ir_.C64(0x80000000u), ""),
                       ir_.C64(0xffffffffu)));
      break;
    case Op::kNegF16:
      Set(i.a,
          ir_.And(LLVMBuildXor(ir_.builder, Get(i.b), ir_.C64(0x8000u), ""), ir_.C64(0xffffu)));
      break;
    case Op::kEqF32:
    case Op::kNeF32:
    case Op::kLtF32:
    case Op::kLeF32:
    case Op::kAddF32:
    case Op::kSubF32:
    case Op::kMulF32:
    case Op::kDivF32:
    case Op::kF32FromS:
    case Op::kF32FromU:
    case Op::kBoolFromF32:
      Float(i);
      break;
#define DIVISION(name, remainder)                                                     \
  case Op::k##name##I8:                                                               \
  case Op::k##name##I16:                                                              \
  case Op::k##name##I32:                                                              \
  case Op::k##name##I64:                                                              \
  case Op::k##name##U8:                                                               \
  case Op::k##name##U16:                                                              \
  case Op::k##name##U32:                                                              \
  case Op::k##name##U64:                                                              \
    Divide(pc, i, FactsOf(i.op - static_cast<uint32_t>(Op::k##name##I8)), remainder); \
    break;
      DIVISION(Div, false)
      DIVISION(Rem, true)
#undef DIVISION
#define ACCESS(name, form)                                                          \
  case Op::kLoad##name##I8:                                                         \
  case Op::kLoad##name##I16:                                                        \
  case Op::kLoad##name##I32:                                                        \
  case Op::kLoad##name##I64:                                                        \
  case Op::kLoad##name##U8:                                                         \
  case Op::kLoad##name##U16:                                                        \
  case Op::kLoad##name##U32:                                                        \
  case Op::kLoad##name##U64: {                                                      \
    const TypeFacts t = FactsOf(i.op - static_cast<uint32_t>(Op::kLoad##name##I8)); \
    Memory(pc, i, AddressForm::form, false, t.bits, t.is_signed);                   \
    break;                                                                          \
  }                                                                                 \
  case Op::kStore##name##8:                                                         \
  case Op::kStore##name##16:                                                        \
  case Op::kStore##name##32:                                                        \
  case Op::kStore##name##64:                                                        \
    Memory(pc, i, AddressForm::form, true,                                          \
           8u << (i.op - static_cast<uint32_t>(Op::kStore##name##8)), false);       \
    break;
      ACCESS(, kOffset)
      ACCESS(Abs, kAbsolute)
      ACCESS(Idx, kIndexed)
#undef ACCESS
    case Op::kFrameAddr:
      Set(i.a, ir_.Zext(ir_.Add(sp_, ir_.C32(i.bc())), ir_.i64));
      break;
    case Op::kFrameAddrD:
      Set(i.a, ir_.Zext(ir_.Add(dsp_, ir_.C32(i.bc())), ir_.i64));
      break;
    case Op::kCheckIndex:
    case Op::kAssert: {
      Block slow = New();
      Block next = New();
      Value problem = op == Op::kAssert ? ir_.Cmp(LLVMIntEQ, Get(i.a), ir_.C64(0))
                                        : ir_.Cmp(LLVMIntUGE, Get(i.a), ir_.C64(i.bc()));
      ir_.Unlikely(problem, slow, next);
      SlowPath(pc, slow, next, false);
      ir_.Begin(next);
      break;
    }
    case Op::kJump:
      Settle();
      ir_.Go(TargetOf(pc, i.bc()));
      break;
    case Op::kJumpIf:
      Jump(pc, ir_.Cmp(LLVMIntNE, Get(i.a), ir_.C64(0)), i.bc());
      break;
    case Op::kJumpIfNot:
      Jump(pc, ir_.Cmp(LLVMIntEQ, Get(i.a), ir_.C64(0)), i.bc());
      break;
    case Op::kJumpEq:
      jump_if(LLVMIntEQ);
      break;
    case Op::kJumpNe:
      jump_if(LLVMIntNE);
      break;
    case Op::kJumpLtS:
      jump_if(LLVMIntSLT);
      break;
    case Op::kJumpLeS:
      jump_if(LLVMIntSLE);
      break;
    case Op::kJumpLtU:
      jump_if(LLVMIntULT);
      break;
    case Op::kJumpLeU:
      jump_if(LLVMIntULE);
      break;
    case Op::kSwitch: {
      const SwitchTable& table = f_.switches[i.bc()];
      Settle();
      Value choice = LLVMBuildSwitch(ir_.builder, Get(i.a), TargetOf(pc, table.otherwise),
                                     static_cast<unsigned>(table.cases.size()));
      for (const auto& [value, target] : table.cases)
        LLVMAddCase(choice, ir_.C64(static_cast<uint64_t>(value)), TargetOf(pc, target));
      break;
    }
    case Op::kReturn:
    case Op::kReturnVoid:
      if (op == Op::kReturn) ir_.Store(Get(i.a), Slot(0), 8);
      Publish();
      pending_clock_ = pending_count_ = 0;
      LLVMBuildRet(ir_.builder, ir_.C32(static_cast<uint32_t>(Status::kReturned)));
      break;
    case Op::kCall:
    case Op::kCallIndirect:
      Call(pc, i);
      break;
    default:
      Shared(pc, i);
      break;
  }
}

}  // namespace

bool Compilable(const Function& f, const Liveness& live) {
  if (f.code.size() > kMaxInstructions || f.register_count > kMaxRegisters) return false;
  for (uint32_t pc = 0; pc < f.code.size(); ++pc) {
    const Op op = static_cast<Op>(f.code[pc].op);
    if (op != Op::kCall && op != Op::kCallIndirect) continue;
    const std::vector<uint16_t> after = live.LiveAt(pc + 1);
    if (!after.empty() && after.back() > f.code[pc].a) return false;
  }
  return true;
}

void EmitFunction(Ir& ir, LLVMModuleRef module, const std::string& name, const Settings& settings,
                  const CodeClass& code, uint32_t function, const Liveness& live,
                  const std::vector<std::vector<uint16_t>>& zeroed) {
  Emitter(ir, module, settings, code, function, live, zeroed).Run(name);
}

}  // namespace szarena::fabric::native
