// SPDX-License-Identifier: Apache-2.0
// The interpreter loop: threaded dispatch over fixed-width instructions.
#include "fabric/interp/interp.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "fabric/interp/execute.h"

namespace szarena::fabric {
using namespace bytecode;
namespace {

template <typename T>
T As(uint64_t v) {
  return static_cast<T>(v);
}
template <typename T>
uint64_t Up(T v) {  // extended to 64 bits from its width
  if constexpr (std::is_signed_v<T>)
    return static_cast<uint64_t>(static_cast<int64_t>(v));
  else
    return static_cast<uint64_t>(v);
}
template <typename T>
using Unsigned = std::make_unsigned_t<T>;

template <typename T>
uint64_t Add(uint64_t a, uint64_t b) {
  return Up(static_cast<T>(a + b));
}
template <typename T>
uint64_t Sub(uint64_t a, uint64_t b) {
  return Up(static_cast<T>(a - b));
}
template <typename T>
uint64_t Mul(uint64_t a, uint64_t b) {
  return Up(static_cast<T>(a * b));
}
template <typename T>
uint64_t Div(uint64_t a, uint64_t b) {
  if constexpr (std::is_signed_v<T>) {
    if (static_cast<int64_t>(b) == -1) return Up(static_cast<T>(0 - a));
    return Up(static_cast<T>(static_cast<int64_t>(a) / static_cast<int64_t>(b)));
  } else {
    return a / b;
  }
}
template <typename T>
uint64_t Rem(uint64_t a, uint64_t b) {
  if constexpr (std::is_signed_v<T>) {
    if (static_cast<int64_t>(b) == -1) return 0;
    return Up(static_cast<T>(static_cast<int64_t>(a) % static_cast<int64_t>(b)));
  } else {
    return a % b;
  }
}
template <typename T>
uint64_t Shl(uint64_t a, uint64_t b) {
  return b >= sizeof(T) * 8 ? 0 : Up(static_cast<T>(a << b));
}
template <typename T>
uint64_t Shr(uint64_t a, uint64_t b) {
  if constexpr (std::is_signed_v<T>)
    return static_cast<uint64_t>(static_cast<int64_t>(a) >> std::min<uint64_t>(b, 63));
  else
    return b >= sizeof(T) * 8 ? 0 : a >> b;
}
template <typename T>
uint64_t FromDouble(double v) {
  return static_cast<uint64_t>(IntFromDouble(v, sizeof(T) * 8, std::is_signed_v<T>));
}
inline float F(uint64_t v) { return std::bit_cast<float>(static_cast<uint32_t>(v)); }
inline uint64_t FromF(float v) { return v != v ? 0x7fc00000u : std::bit_cast<uint32_t>(v); }

}  // namespace

uint32_t FunctionIndexOf(const Pe& pe, const Function* f) {
  if (f == nullptr || pe.cls == nullptr) return kNoIndex;
  return static_cast<uint32_t>(f - pe.cls->code->functions.data());
}

void StartFunction(Core& core, Pe& pe, uint32_t index, const uint64_t* args, uint32_t count) {
  if (pe.thread == nullptr) pe.thread = std::make_unique<Thread>();
  Thread& t = *pe.thread;
  const Function& f = pe.cls->code->functions[index];
  if (t.regs.size() < f.register_count) t.regs.resize(f.register_count);
  for (uint32_t i = 0; i < f.register_count; ++i)
    t.regs[i] = i < count && i < f.params.size() ? args[i] : 0;
  t.frames.clear();
  t.maps.clear();
  t.frames.push_back({&f, 0, 0, pe.cls->code->stack_base, pe.cls->code->descriptor_stack_base});
  pe.state = MainState::kRunning;
  const uint32_t sp = pe.cls->code->stack_base;
  if (sp + f.frame_bytes > kSramBytes ||
      pe.cls->code->descriptor_stack_base + uint32_t{f.descriptor_frame_bytes} > kRegisterBase) {
    core.around->Report(pe, TrapKind::kStackOverflow, std::max(pe.main_ready, core.now), index, 0,
                        fmt::format("'{}' begins with the stack at 0x{:04x}", f.name, sp));
    pe.state = MainState::kHalted;
    return;
  }
  if (f.frame_bytes > 0) pe.memory.MarkUnwritten(sp, f.frame_bytes);
}

void RunMain(Core& core, Pe& pe) {
  RunState s = BeginRun(pe);
  RunBytecode(core, pe, s);
  EndRun(pe, s);
}

void RunBytecode(Core& core, Pe& pe, RunState& s) {
  Thread& t = *pe.thread;
  const CodeClass& code = *pe.cls->code;
  const uint16_t* const cost = core.cost->op.data();
  const FloatFormat f16 = core.program->fp16;
  Memory& memory = pe.memory;
  const bool check = core.check_uninitialised;
  Frame* frame = &t.frames.back();
  const Instr* base = frame->function->code.data();
  const Instr* ip = base + frame->pc;
  uint64_t* r = t.regs.data() + frame->base;
  uint64_t clock = s.clock;
  uint64_t count = s.count;
  const uint64_t limit = s.limit;
  Outcome outcome = Outcome::kNext;

  static const void* const kLabels[] = {
#define OP(name, fmt, group) &&l_##name,
#include "bytecode/op.def"
  };

// The instruction at ip, its cost, and dispatch.
#define NEXT()             \
  do {                     \
    clock += cost[ip->op]; \
    ++count;               \
    goto* kLabels[ip->op]; \
  } while (false)
#define DONE() \
  do {         \
    ++ip;      \
    NEXT();    \
  } while (false)
#define A r[ip->a]
#define B r[ip->b]
#define C r[ip->c]
#define PC() static_cast<uint32_t>(ip - base)
// The instruction at ip by the function that all back ends share.
#define SHARED()                                                            \
  do {                                                                      \
    s.clock = clock;                                                        \
    s.count = count;                                                        \
    outcome = Execute(core, pe, *frame->function, PC(), r, frame->base, s); \
    clock = s.clock;                                                        \
    count = s.count;                                                        \
    if (outcome != Outcome::kNext) [[unlikely]]                             \
      goto stopped;                                                         \
    DONE();                                                                 \
  } while (false)

#define BIN8(name, fn)                    \
  l_##name##I8 : A = fn<int8_t>(B, C);    \
  DONE();                                 \
  l_##name##I16 : A = fn<int16_t>(B, C);  \
  DONE();                                 \
  l_##name##I32 : A = fn<int32_t>(B, C);  \
  DONE();                                 \
  l_##name##I64 : A = fn<int64_t>(B, C);  \
  DONE();                                 \
  l_##name##U8 : A = fn<uint8_t>(B, C);   \
  DONE();                                 \
  l_##name##U16 : A = fn<uint16_t>(B, C); \
  DONE();                                 \
  l_##name##U32 : A = fn<uint32_t>(B, C); \
  DONE();                                 \
  l_##name##U64 : A = fn<uint64_t>(B, C); \
  DONE();
#define DIV1(label, fn, T) \
  label:                   \
  if (C == 0) [[unlikely]] \
    SHARED();              \
  A = fn<T>(B, C);         \
  DONE();
#define DIV8(name, fn)                                                    \
  DIV1(l_##name##I8, fn, int8_t)                                          \
  DIV1(l_##name##I16, fn, int16_t)                                        \
  DIV1(l_##name##I32, fn, int32_t)                                        \
  DIV1(l_##name##I64, fn, int64_t) DIV1(l_##name##U8, fn, uint8_t)        \
      DIV1(l_##name##U16, fn, uint16_t) DIV1(l_##name##U32, fn, uint32_t) \
          DIV1(l_##name##U64, fn, uint64_t)
#define EXPR8(name, EXPR) \
  l_##name##I8 : {        \
    using T = int8_t;     \
    A = EXPR;             \
  }                       \
  DONE();                 \
  l_##name##I16 : {       \
    using T = int16_t;    \
    A = EXPR;             \
  }                       \
  DONE();                 \
  l_##name##I32 : {       \
    using T = int32_t;    \
    A = EXPR;             \
  }                       \
  DONE();                 \
  l_##name##I64 : {       \
    using T = int64_t;    \
    A = EXPR;             \
  }                       \
  DONE();                 \
  l_##name##U8 : {        \
    using T = uint8_t;    \
    A = EXPR;             \
  }                       \
  DONE();                 \
  l_##name##U16 : {       \
    using T = uint16_t;   \
    A = EXPR;             \
  }                       \
  DONE();                 \
  l_##name##U32 : {       \
    using T = uint32_t;   \
    A = EXPR;             \
  }                       \
  DONE();                 \
  l_##name##U64 : {       \
    using T = uint64_t;   \
    A = EXPR;             \
  }                       \
  DONE();

// Plain memory inline; what is misaligned, unwritten or a configuration register goes the shared
// way.
#define PLAIN(address, T) ((address) < kRegisterBase && (sizeof(T) == 1 || ((address) & 1) == 0))
#define LOAD1(label, T, ADDRESS)                                                             \
  label: {                                                                                   \
    const uint32_t address = static_cast<uint32_t>(ADDRESS) & 0xffff;                        \
    if (!PLAIN(address, T) || (check && !memory.IsWritten(address, sizeof(T)))) [[unlikely]] \
      SHARED();                                                                              \
    A = Up(memory.Read<T>(address));                                                         \
  }                                                                                          \
  DONE();
#define STORE1(label, T, ADDRESS)                                     \
  label: {                                                            \
    const uint32_t address = static_cast<uint32_t>(ADDRESS) & 0xffff; \
    if (!PLAIN(address, T)) [[unlikely]]                              \
      SHARED();                                                       \
    memory.Write<T>(address, As<T>(A));                               \
  }                                                                   \
  DONE();
#define LOADS(name, ADDRESS)                                                                \
  LOAD1(l_##name##I8, int8_t, ADDRESS(1))                                                   \
  LOAD1(l_##name##I16, int16_t, ADDRESS(2))                                                 \
  LOAD1(l_##name##I32, int32_t, ADDRESS(4))                                                 \
  LOAD1(l_##name##I64, int64_t, ADDRESS(8)) LOAD1(l_##name##U8, uint8_t, ADDRESS(1))        \
      LOAD1(l_##name##U16, uint16_t, ADDRESS(2)) LOAD1(l_##name##U32, uint32_t, ADDRESS(4)) \
          LOAD1(l_##name##U64, uint64_t, ADDRESS(8))
#define STORES(name, ADDRESS)                \
  STORE1(l_##name##8, uint8_t, ADDRESS(1))   \
  STORE1(l_##name##16, uint16_t, ADDRESS(2)) \
  STORE1(l_##name##32, uint32_t, ADDRESS(4)) STORE1(l_##name##64, uint64_t, ADDRESS(8))
#define BY_OFFSET(size) B + ip->c
#define ABSOLUTE(size) ip->b
#define INDEXED(size) B + C* size

#define JUMP_TO(target)                            \
  do {                                             \
    const Instr* const to = (target);              \
    if (to <= ip && clock >= limit) [[unlikely]] { \
      ip = to;                                     \
      goto leave;                                  \
    }                                              \
    ip = to;                                       \
    NEXT();                                        \
  } while (false)
#define SHORT() (ip + 1 + static_cast<int16_t>(ip->c))
#define CMPJ(label, COND)     \
  label:                      \
  if (COND) JUMP_TO(SHORT()); \
  DONE();

  NEXT();

l_Nop:
  DONE();
l_ConstI:
  A = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(ip->bc())));
  DONE();
l_ConstP:
  A = code.constants[ip->bc()];
  DONE();
l_Move:
  A = B;
  DONE();
l_Select:
  A = A != 0 ? B : C;
  DONE();
  BIN8(Add, Add)
  BIN8(Sub, Sub)
  BIN8(Mul, Mul)
  DIV8(Div, Div)
  DIV8(Rem, Rem)
  BIN8(Shl, Shl)
  BIN8(Shr, Shr)
  EXPR8(Neg, Up(static_cast<T>(0 - B)))
  EXPR8(Not, Up(static_cast<T>(~B)))
  EXPR8(AddImm, Up(static_cast<T>(
                    B + static_cast<uint64_t>(static_cast<int64_t>(static_cast<int16_t>(ip->c))))))
  EXPR8(Convert, Up(static_cast<T>(B)))
l_And:
  A = B & C;
  DONE();
l_Or:
  A = B | C;
  DONE();
l_Xor:
  A = B ^ C;
  DONE();
l_LogicalNot:
  A = B == 0;
  DONE();
l_SignExtend:
  A = static_cast<uint64_t>(SignExtend(B, ip->c));
  DONE();
l_ZeroExtend:
  A = ZeroExtend(B, ip->c);
  DONE();
l_Eq:
  A = B == C;
  DONE();
l_Ne:
  A = B != C;
  DONE();
l_LtS:
  A = static_cast<int64_t>(B) < static_cast<int64_t>(C);
  DONE();
l_LeS:
  A = static_cast<int64_t>(B) <= static_cast<int64_t>(C);
  DONE();
l_LtU:
  A = B < C;
  DONE();
l_LeU:
  A = B <= C;
  DONE();
l_EqF32:
  A = F(B) == F(C);
  DONE();
l_NeF32:
  A = F(B) != F(C);
  DONE();
l_LtF32:
  A = F(B) < F(C);
  DONE();
l_LeF32:
  A = F(B) <= F(C);
  DONE();
l_EqF16:
  A = F16Equal(f16, As<uint16_t>(B), As<uint16_t>(C));
  DONE();
l_NeF16:
  A = !F16Equal(f16, As<uint16_t>(B), As<uint16_t>(C));
  DONE();
l_LtF16:
  A = F16Less(f16, As<uint16_t>(B), As<uint16_t>(C));
  DONE();
l_LeF16:
  A = F16LessEqual(f16, As<uint16_t>(B), As<uint16_t>(C));
  DONE();
l_AddF32:
  A = FromF(F(B) + F(C));
  DONE();
l_SubF32:
  A = FromF(F(B) - F(C));
  DONE();
l_MulF32:
  A = FromF(F(B) * F(C));
  DONE();
l_DivF32:
  A = FromF(F(B) / F(C));
  DONE();
l_NegF32:
  A = (B ^ 0x80000000u) & 0xffffffffu;
  DONE();
l_AddF16:
  A = F16Add(f16, As<uint16_t>(B), As<uint16_t>(C));
  DONE();
l_SubF16:
  A = F16Sub(f16, As<uint16_t>(B), As<uint16_t>(C));
  DONE();
l_MulF16:
  A = F16Mul(f16, As<uint16_t>(B), As<uint16_t>(C));
  DONE();
l_DivF16:
  A = F16Div(f16, As<uint16_t>(B), As<uint16_t>(C));
  DONE();
l_NegF16:
  A = (B ^ 0x8000u) & 0xffffu;
  DONE();
l_F32FromS:
  A = F32FromI64(static_cast<int64_t>(B));
  DONE();
l_F32FromU:
  A = F32FromU64(B);
  DONE();
l_F16FromS:
  A = F16FromI64(f16, static_cast<int64_t>(B));
  DONE();
l_F16FromU:
  A = F16FromU64(f16, B);
  DONE();
l_F16FromF32:
  A = F16FromF32(f16, As<uint32_t>(B));
  DONE();
l_F32FromF16:
  A = F32FromF16(f16, As<uint16_t>(B));
  DONE();
  EXPR8(FromF32, FromDouble<T>(static_cast<double>(F(B))))
  EXPR8(FromF16, FromDouble<T>(F16ToDouble(f16, As<uint16_t>(B))))
l_BoolFromF32:
  A = F(B) != 0.0f;
  DONE();
l_BoolFromF16:
  A = F16ToDouble(f16, As<uint16_t>(B)) != 0.0;
  DONE();
l_Jump:
  JUMP_TO(base + ip->bc());
l_JumpIf:
  if (A != 0) JUMP_TO(base + ip->bc());
  DONE();
l_JumpIfNot:
  if (A == 0) JUMP_TO(base + ip->bc());
  DONE();
  CMPJ(l_JumpEq, A == B)
  CMPJ(l_JumpNe, A != B)
  CMPJ(l_JumpLtS, static_cast<int64_t>(A) < static_cast<int64_t>(B))
  CMPJ(l_JumpLeS, static_cast<int64_t>(A) <= static_cast<int64_t>(B))
  CMPJ(l_JumpLtU, A < B)
  CMPJ(l_JumpLeU, A <= B)
l_Switch: {
  const SwitchTable& table = frame->function->switches[ip->bc()];
  const auto value = static_cast<int64_t>(A);
  const auto it = std::lower_bound(table.cases.begin(), table.cases.end(), value,
                                   [](const auto& c, int64_t v) { return c.first < v; });
  const uint32_t target_pc =
      it != table.cases.end() && it->first == value ? it->second : table.otherwise;
  JUMP_TO(base + target_pc);
}
l_CallIndirect:
l_Call: {
  frame->pc = PC();
  Frame callee;
  if (!PrepareCall(core, pe, *frame, t.frames.size(), clock, callee)) goto leave;
  ++frame->pc;
  t.frames.push_back(callee);
  frame = &t.frames.back();
  base = callee.function->code.data();
  ip = base;
  r = t.regs.data() + callee.base;
  if (clock >= limit) [[unlikely]]
    goto leave;
  NEXT();
}
l_ReturnVoid:
  r[0] = 0;
  goto returned;
l_Return:
  r[0] = A;
returned:
  t.frames.pop_back();
  if (t.frames.empty()) {
    pe.state = MainState::kIdle;
    goto done;
  }
  frame = &t.frames.back();
  base = frame->function->code.data();
  ip = base + frame->pc;
  r = t.regs.data() + frame->base;
  NEXT();
  LOADS(Load, BY_OFFSET)
  STORES(Store, BY_OFFSET)
  LOADS(LoadAbs, ABSOLUTE)
  STORES(StoreAbs, ABSOLUTE)
  LOADS(LoadIdx, INDEXED)
  STORES(StoreIdx, INDEXED)
l_FrameAddr:
  A = frame->sp + ip->bc();
  DONE();
l_FrameAddrD:
  A = frame->dsp + ip->bc();
  DONE();
l_CheckIndex:
  if (A >= ip->bc()) [[unlikely]]
    SHARED();
  DONE();
l_Assert:
  if (A == 0) [[unlikely]]
    SHARED();
  DONE();
l_CopyMem:
l_CopyMemR:
l_ZeroMem:
l_FillMem:
l_Activate:
l_ActivateR:
l_Block:
l_Unblock:
l_BlockR:
l_UnblockR:
l_DsdConst:
l_DsdSet:
l_DsdSetBase:
l_DsdSetLength:
l_DsdSetStride:
l_DsdIncOffset:
l_Dsd:
l_DsrLoad:
l_FifoLength:
l_MapStart:
l_MapNext:
l_MapPut:
l_Native:
l_Trap:
  SHARED();

stopped:
  if (outcome == Outcome::kJump) {
    ip += 1 + static_cast<int16_t>(ip->b);
    NEXT();
  }
  if (outcome == Outcome::kLeave) ++ip;
leave:
  frame->pc = PC();
done:
  s.clock = clock;
  s.count = count;
}

}  // namespace szarena::fabric
