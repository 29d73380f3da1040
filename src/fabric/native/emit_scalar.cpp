// SPDX-License-Identifier: Apache-2.0
// Arithmetic, and what is done with each instruction. Registers are 64 bits wide; a typed result is
// extended to them.
#include "fabric/native/emitter.h"

namespace szarena::fabric::native {
using namespace bytecode;

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
      ir_.Store(op == Op::kReturn ? Get(i.a) : ir_.C64(0), Slot(0), 8);
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

}  // namespace szarena::fabric::native
