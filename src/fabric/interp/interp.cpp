// SPDX-License-Identifier: Apache-2.0
// The interpreter loop: threaded dispatch over fixed-width instructions.
#include "fabric/interp/interp.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "fabric/interp/engine.h"

namespace szarena::fabric {
using namespace bytecode;
namespace {

constexpr size_t kMaxFrames = 1000;
constexpr uint64_t kSliceAlone = 200'000;     // cycles before the main thread lets the others have a look
constexpr uint64_t kSliceWithOthers = 500;

uint64_t BlockCycles(const Core& core, uint64_t bytes) {
  return core.cost->copy_start + (bytes + core.cost->copy_bytes_per_cycle - 1) / core.cost->copy_bytes_per_cycle;
}

template <typename T>
T As(uint64_t v) { return static_cast<T>(v); }
template <typename T>
uint64_t Up(T v) {  // extended to 64 bits from its width
  if constexpr (std::is_signed_v<T>) return static_cast<uint64_t>(static_cast<int64_t>(v));
  else return static_cast<uint64_t>(v);
}
template <typename T>
using Unsigned = std::make_unsigned_t<T>;

template <typename T> uint64_t Add(uint64_t a, uint64_t b) { return Up(static_cast<T>(a + b)); }
template <typename T> uint64_t Sub(uint64_t a, uint64_t b) { return Up(static_cast<T>(a - b)); }
template <typename T> uint64_t Mul(uint64_t a, uint64_t b) { return Up(static_cast<T>(a * b)); }
template <typename T> uint64_t Div(uint64_t a, uint64_t b) {
  if constexpr (std::is_signed_v<T>) {
    if (static_cast<int64_t>(b) == -1) return Up(static_cast<T>(0 - a));
    return Up(static_cast<T>(static_cast<int64_t>(a) / static_cast<int64_t>(b)));
  } else {
    return a / b;
  }
}
template <typename T> uint64_t Rem(uint64_t a, uint64_t b) {
  if constexpr (std::is_signed_v<T>) {
    if (static_cast<int64_t>(b) == -1) return 0;
    return Up(static_cast<T>(static_cast<int64_t>(a) % static_cast<int64_t>(b)));
  } else {
    return a % b;
  }
}
template <typename T> uint64_t Shl(uint64_t a, uint64_t b) { return b >= sizeof(T) * 8 ? 0 : Up(static_cast<T>(a << b)); }
template <typename T> uint64_t Shr(uint64_t a, uint64_t b) {
  if constexpr (std::is_signed_v<T>) return static_cast<uint64_t>(static_cast<int64_t>(a) >> std::min<uint64_t>(b, 63));
  else return b >= sizeof(T) * 8 ? 0 : a >> b;
}
template <typename T> uint64_t FromDouble(double v) {
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
  static_cast<void>(core);
  if (pe.thread == nullptr) pe.thread = std::make_unique<Thread>();
  Thread& t = *pe.thread;
  const Function& f = pe.cls->code->functions[index];
  if (t.regs.size() < f.register_count) t.regs.resize(f.register_count);
  for (uint32_t i = 0; i < f.params.size(); ++i) t.regs[i] = i < count ? args[i] : 0;
  t.frames.clear();
  t.maps.clear();
  t.frames.push_back({&f, 0, 0, pe.cls->code->stack_base, pe.cls->code->descriptor_stack_base});
  if (f.frame_bytes > 0) pe.memory.MarkUnwritten(pe.cls->code->stack_base, f.frame_bytes);
  pe.state = MainState::kRunning;
}

void RunMain(Core& core, Pe& pe) {
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
  uint64_t clock = pe.main_ready;
  uint64_t begin = clock;
  uint64_t count = 0;
  const bool others = pe.comm != nullptr && pe.comm->live != 0;
  const uint64_t limit = clock + (others ? kSliceWithOthers : kSliceAlone);

  static const void* const kLabels[] = {
#define OP(name, fmt, group) &&l_##name,
#include "bytecode/op.def"
  };

// The instruction at ip, its cost, and dispatch.
#define NEXT()                         \
  do {                                 \
    clock += cost[ip->op];             \
    ++count;                           \
    goto* kLabels[ip->op];             \
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
#define REPORT(kind, ...) core.around->Report(pe, TrapKind::kind, clock, FunctionIndexOf(pe, frame->function), PC(), __VA_ARGS__)
#define FATAL(kind, ...)          \
  do {                            \
    REPORT(kind, __VA_ARGS__);    \
    pe.state = MainState::kHalted;\
    goto leave;                   \
  } while (false)
// Leave before this instruction runs: its cost is taken back.
#define AGAIN()              \
  do {                       \
    clock -= cost[ip->op];   \
    --count;                 \
    goto leave;              \
  } while (false)

#define BIN8(name, fn)                                                                                                       \
  l_##name##I8 : A = fn<int8_t>(B, C); DONE(); l_##name##I16 : A = fn<int16_t>(B, C); DONE();                                  \
  l_##name##I32 : A = fn<int32_t>(B, C); DONE(); l_##name##I64 : A = fn<int64_t>(B, C); DONE();                                \
  l_##name##U8 : A = fn<uint8_t>(B, C); DONE(); l_##name##U16 : A = fn<uint16_t>(B, C); DONE();                                \
  l_##name##U32 : A = fn<uint32_t>(B, C); DONE(); l_##name##U64 : A = fn<uint64_t>(B, C); DONE();
#define DIV1(label, fn, T)                                                       \
  label : if (C == 0) FATAL(kDivideByZero, std::string("division by zero"));     \
  A = fn<T>(B, C);                                                               \
  DONE();
#define DIV8(name, fn)                                                                             \
  DIV1(l_##name##I8, fn, int8_t) DIV1(l_##name##I16, fn, int16_t) DIV1(l_##name##I32, fn, int32_t) \
  DIV1(l_##name##I64, fn, int64_t) DIV1(l_##name##U8, fn, uint8_t) DIV1(l_##name##U16, fn, uint16_t) \
  DIV1(l_##name##U32, fn, uint32_t) DIV1(l_##name##U64, fn, uint64_t)
#define EXPR8(name, EXPR)                                                                                   \
  l_##name##I8 : { using T = int8_t; A = EXPR; } DONE(); l_##name##I16 : { using T = int16_t; A = EXPR; } DONE(); \
  l_##name##I32 : { using T = int32_t; A = EXPR; } DONE(); l_##name##I64 : { using T = int64_t; A = EXPR; } DONE(); \
  l_##name##U8 : { using T = uint8_t; A = EXPR; } DONE(); l_##name##U16 : { using T = uint16_t; A = EXPR; } DONE(); \
  l_##name##U32 : { using T = uint32_t; A = EXPR; } DONE(); l_##name##U64 : { using T = uint64_t; A = EXPR; } DONE();

// Memory access at `address`: alignment, then the written bits.
#define CHECKED(address, T)                                                                                                          \
  if (sizeof(T) > 1 && (address & 1) != 0) [[unlikely]] FATAL(kMisaligned, fmt::format("{} bytes at address 0x{:04x}", sizeof(T), address));
// A configuration register instead of memory: others see it, so it happens in global order.
#define REGISTER(T, write)                                                                                                           \
  if (address >= kRegisterBase) [[unlikely]] {                                                                                       \
    if (clock > core.now) AGAIN();                                                                                                   \
    auto value = static_cast<uint16_t>(A);                                                                                           \
    {                                                                                                                                \
      const std::string why = sizeof(T) == 2 ? core.around->Register(pe, address, write, value) : std::string("accesses of 16 bits only"); \
      if (!why.empty()) FATAL(kRawRegister, fmt::format("{} of byte address 0x{:04x} (word 0x{:04x}): {}", write ? "a store" : "a load", address, address / 2, why)); \
    }                                                                                                                                \
    if (!write) A = Up(static_cast<T>(value));                                                                                       \
    DONE();                                                                                                                          \
  }
// Blocks and vectors reach no registers.
#define NO_REGISTER(address, bytes)                                                                                                  \
  if ((address) + (bytes) > kRegisterBase) [[unlikely]]                                                                              \
    FATAL(kRawRegister, fmt::format("{} bytes at 0x{:04x} reach the configuration registers", bytes, address));
#define LOAD1(label, T, ADDRESS)                                                                                                     \
  label : {                                                                                                                          \
    const uint32_t address = static_cast<uint32_t>(ADDRESS) & 0xffff;                                                                \
    CHECKED(address, T)                                                                                                              \
    REGISTER(T, false)                                                                                                               \
    if (check && !memory.IsWritten(address, sizeof(T))) [[unlikely]]                                                                 \
      if (REPORT(kUninitialisedRead, fmt::format("a load from 0x{:04x}, which nobody wrote", address))) { pe.state = MainState::kHalted; goto leave; } \
    A = Up(memory.Read<T>(address));                                                                                                 \
  }                                                                                                                                  \
  DONE();
#define STORE1(label, T, ADDRESS)                                             \
  label : {                                                                   \
    const uint32_t address = static_cast<uint32_t>(ADDRESS) & 0xffff;         \
    CHECKED(address, T)                                                       \
    REGISTER(T, true)                                                         \
    memory.Write<T>(address, As<T>(A));                                       \
  }                                                                           \
  DONE();
#define LOADS(name, ADDRESS)                                                                               \
  LOAD1(l_##name##I8, int8_t, ADDRESS(1)) LOAD1(l_##name##I16, int16_t, ADDRESS(2)) LOAD1(l_##name##I32, int32_t, ADDRESS(4)) \
  LOAD1(l_##name##I64, int64_t, ADDRESS(8)) LOAD1(l_##name##U8, uint8_t, ADDRESS(1)) LOAD1(l_##name##U16, uint16_t, ADDRESS(2)) \
  LOAD1(l_##name##U32, uint32_t, ADDRESS(4)) LOAD1(l_##name##U64, uint64_t, ADDRESS(8))
#define STORES(name, ADDRESS)                                                                             \
  STORE1(l_##name##8, uint8_t, ADDRESS(1)) STORE1(l_##name##16, uint16_t, ADDRESS(2)) STORE1(l_##name##32, uint32_t, ADDRESS(4)) \
  STORE1(l_##name##64, uint64_t, ADDRESS(8))
#define BY_OFFSET(size) B + ip->c
#define ABSOLUTE(size) ip->b
#define INDEXED(size) B + C * size

#define JUMP_TO(target)                                              \
  do {                                                               \
    const Instr* const to = (target);                                \
    if (to <= ip && clock >= limit) [[unlikely]] {                   \
      ip = to;                                                       \
      goto leave;                                                    \
    }                                                                \
    ip = to;                                                         \
    NEXT();                                                          \
  } while (false)
#define SHORT() (ip + 1 + static_cast<int16_t>(ip->c))
#define CMPJ(label, COND) \
  label : if (COND) JUMP_TO(SHORT()); DONE();

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
  EXPR8(AddImm, Up(static_cast<T>(B + static_cast<uint64_t>(static_cast<int64_t>(static_cast<int16_t>(ip->c))))))
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
  const auto it = std::lower_bound(table.cases.begin(), table.cases.end(), value, [](const auto& c, int64_t v) { return c.first < v; });
  const uint32_t target_pc = it != table.cases.end() && it->first == value ? it->second : table.otherwise;
  JUMP_TO(base + target_pc);
}
l_CallIndirect:
  if (B >= code.functions.size()) FATAL(kBadCall, fmt::format("function pointer {}", B));
  if (code.functions[B].params.size() != ip->c) {
    FATAL(kBadCall, fmt::format("'{}' takes {} arguments, {} are given", code.functions[B].name, code.functions[B].params.size(), ip->c));
  }
  goto call;
l_Call:
call: {
  const Function& callee = code.functions[static_cast<Op>(ip->op) == Op::kCall ? ip->c : B];
  frame->pc = PC() + 1;
  const uint32_t window = frame->base + ip->a;
  const uint32_t sp = frame->sp + frame->function->frame_bytes;
  const uint32_t dsp = frame->dsp + frame->function->descriptor_frame_bytes;
  if (t.frames.size() >= kMaxFrames || sp + callee.frame_bytes > kSramBytes || dsp + callee.descriptor_frame_bytes > kRegisterBase) {
    FATAL(kStackOverflow, fmt::format("call of '{}' at depth {} with the stack at 0x{:04x}", callee.name, t.frames.size(), sp));
  }
  if (t.regs.size() < window + callee.register_count) t.regs.resize(std::max<size_t>(window + callee.register_count, 2 * t.regs.size()));
  if (callee.frame_bytes > 0) memory.MarkUnwritten(sp, callee.frame_bytes);
  t.frames.push_back({&callee, 0, window, sp, dsp});
  frame = &t.frames.back();
  base = callee.code.data();
  ip = base;
  r = t.regs.data() + window;
  if (clock >= limit) [[unlikely]] goto leave;
  NEXT();
}
l_Return:
  r[0] = A;
l_ReturnVoid:
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
l_CopyMem:
  NO_REGISTER(As<uint16_t>(A), uint32_t{ip->c})
  NO_REGISTER(As<uint16_t>(B), uint32_t{ip->c})
  memory.Copy(As<uint16_t>(A), As<uint16_t>(B), ip->c);
  clock += As<uint16_t>(A) >= kDescriptorBase && As<uint16_t>(B) >= kDescriptorBase ? core.cost->descriptor_copy : BlockCycles(core, ip->c);
  DONE();
l_CopyMemR: {
  const auto bytes = static_cast<uint32_t>(std::min<uint64_t>(C, 0xffff));
  NO_REGISTER(As<uint16_t>(A), bytes)
  NO_REGISTER(As<uint16_t>(B), bytes)
  memory.Copy(As<uint16_t>(A), As<uint16_t>(B), bytes);
  clock += BlockCycles(core, bytes);
  DONE();
}
l_ZeroMem:
  NO_REGISTER(As<uint16_t>(A), ip->bc())
  memory.Fill(As<uint16_t>(A), 0, std::min(ip->bc(), 0x10000u));
  clock += BlockCycles(core, ip->bc());
  DONE();
l_FillMem:
  NO_REGISTER(As<uint16_t>(A), uint32_t{ip->c})
  memory.Fill(As<uint16_t>(A), As<uint8_t>(B), ip->c);
  clock += BlockCycles(core, ip->c);
  DONE();
l_CheckIndex:
  if (A >= ip->bc()) [[unlikely]] {
    if (REPORT(kIndexOutOfBounds, fmt::format("index {} of an array of {}", static_cast<int64_t>(A), ip->bc()))) {
      pe.state = MainState::kHalted;
      goto leave;
    }
  }
  DONE();

// Others change these bits only while operations are live: then in global order.
#define TASK_OP(label, ID, KIND, FN)                                                 \
  label : if (clock > core.now && pe.comm != nullptr && pe.comm->live != 0) AGAIN(); \
  FN(core, pe, static_cast<uint32_t>(ID) KIND);                                      \
  DONE();
  TASK_OP(l_Activate, ip->a, , ActivateId)
  TASK_OP(l_ActivateR, A & 63, , ActivateId)
#define KIND_B , static_cast<TargetKind>(ip->b)
  TASK_OP(l_Block, ip->a, KIND_B, BlockId)
  TASK_OP(l_Unblock, ip->a, KIND_B, UnblockId)
  TASK_OP(l_BlockR, A & 63, KIND_B, BlockId)
  TASK_OP(l_UnblockR, A & 63, KIND_B, UnblockId)

l_DsdConst:
  WriteDescriptor(memory, As<uint16_t>(A), code.descriptors[ip->bc()]);
  DONE();
l_DsdSet: {
  const auto field = static_cast<DsdField>(ip->c);
  const uint32_t address = As<uint16_t>(A) + uint32_t{ip->c};
  if (WidthOf(field) == 1) memory.Write<uint8_t>(address, As<uint8_t>(B));
  else memory.Write<uint16_t>(address, As<uint16_t>(B));
  DONE();
}
l_DsdSetBase: {
  Descriptor d = ReadDescriptor(memory, As<uint16_t>(A));
  d.base = As<uint16_t>(B);
  d.elem_size = static_cast<uint8_t>(ip->c);
  d.lo = d.hi = 0;
  WriteDescriptor(memory, As<uint16_t>(A), d);
  DONE();
}
l_DsdSetLength:
  memory.Write<uint16_t>(As<uint16_t>(A) + 6u, As<uint16_t>(B));
  DONE();
l_DsdSetStride:
  memory.Write<int16_t>(As<uint16_t>(A) + 14u, As<int8_t>(B));
  DONE();
l_DsdIncOffset: {
  const uint32_t address = As<uint16_t>(A) + 4u;
  memory.Write<uint16_t>(address, static_cast<uint16_t>(memory.Read<uint16_t>(address) + As<int16_t>(B) * ip->c));
  DONE();
}
l_Dsd: {
  const Place place{FunctionIndexOf(pe, frame->function), PC()};
  const StartResult s = StartDsd(core, pe, code.dsd_ops[ip->bc()], r, frame->base + ip->a, clock, place);
  switch (s.started) {
    case Started::kDone: A = s.value ? 1 : 0; clock += s.cost; break;
    case Started::kAsync: A = 1; clock += s.cost; ++ip; goto leave;  // others run now: come back by the clock
    case Started::kBlocked: clock += s.cost; pe.state = MainState::kOperation; ++ip; goto leave;
    case Started::kSlotBusy: pe.state = MainState::kWaitMicrothread; AGAIN();
    case Started::kLater: AGAIN();
    case Started::kHalted: pe.state = MainState::kHalted; goto leave;
  }
  DONE();
}
l_DsrLoad: {
  if (clock > core.now && pe.comm != nullptr && pe.comm->live != 0) AGAIN();
  LoadDsr(pe, code.dsr_loads[ip->bc()], ReadDescriptor(memory, As<uint16_t>(A)));
  DONE();
}
l_FifoLength:
  FifoSetLength(pe, ip->c, ip->b != 0, As<uint16_t>(A));
  DONE();
l_MapStart: {
  frame->pc = PC();
  if (StartMap(core, pe, ip->c, r, {FunctionIndexOf(pe, frame->function), PC()}).started == Started::kHalted) {
    pe.state = MainState::kHalted;
    goto leave;
  }
  DONE();
}
l_MapNext:
  frame->pc = PC();
  switch (NextMap(core, pe, &A, clock)) {
    case MapStep::kElement: DONE();
    case MapStep::kExhausted: ip += 1 + static_cast<int16_t>(ip->b); NEXT();
    case MapStep::kWait: pe.state = MainState::kWaitQueue; AGAIN();
    case MapStep::kLater: AGAIN();
    case MapStep::kHalted: pe.state = MainState::kHalted; goto leave;
  }
l_MapPut:
  frame->pc = PC();
  switch (PutMap(core, pe, A, clock)) {
    case MapStep::kWait: pe.state = MainState::kWaitQueue; AGAIN();
    case MapStep::kLater: AGAIN();
    default: DONE();
  }
l_Native: {
  uint64_t cycles = 0;
  frame->pc = PC();
  if (static_cast<Native>(ip->c) == Native::k_perf_read) {  // the counters up to here
    pe.count.busy += clock - begin;
    begin = clock;
  }
  if (!CallNative(core, pe, static_cast<Native>(ip->c), &A, clock, cycles, FunctionIndexOf(pe, frame->function), PC())) AGAIN();
  clock += cycles;
  if (pe.state == MainState::kHalted) goto leave;
  DONE();
}
l_Assert:
  if (A == 0) FATAL(kAssertionFailed, code.strings[ip->bc()]);
  DONE();
l_Trap:
  FATAL(kProgramTrap, code.strings[ip->bc()]);

leave:
  frame->pc = PC();
done:
  pe.count.instructions += count;
  pe.count.busy += clock - begin;
  pe.main_ready = clock;
}

}  // namespace szarena::fabric
