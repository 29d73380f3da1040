// SPDX-License-Identifier: Apache-2.0
// Bytecode to LLVM IR. A register is a local variable of 64 bits, which LLVM's passes turn into
// values; who writes it writes it to the thread's register stack too where a shared instruction or
// a callee may look there before the next write; rarer exits save what is live. The function has an
// entry for pc 0 and for each place at which a run may end. Cycles and instructions are summed up
// over straight code.
#include "fabric/native/emitter.h"

namespace szarena::fabric::native {
using namespace bytecode;

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
