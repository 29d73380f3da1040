// SPDX-License-Identifier: Apache-2.0
// See execute.h.
#include "fabric/interp/execute.h"

#include <fmt/format.h>

#include <algorithm>

#include "fabric/interp/interp.h"

namespace szarena::fabric {
using namespace bytecode;
namespace {

constexpr uint64_t kSliceAlone =
    200'000;  // cycles before the main thread lets the others have a look
constexpr uint64_t kSliceWithOthers = 500;

// An instruction on its way, with its operands at hand.
struct Step {
  Core& core;
  Pe& pe;
  const Function& function;
  uint32_t pc;
  uint64_t* r;
  uint32_t base;
  RunState& s;
  const Instr& i;

  uint64_t& a() const { return r[i.a]; }
  uint64_t& b() const { return r[i.b]; }
  uint64_t& c() const { return r[i.c]; }
  uint32_t a16() const { return static_cast<uint16_t>(a()); }
  uint32_t b16() const { return static_cast<uint16_t>(b()); }
  Place place() const { return {FunctionIndexOf(pe, &function), pc}; }

  bool Report(TrapKind kind, std::string detail) const {
    return core.around->Report(pe, kind, s.clock, FunctionIndexOf(pe, &function), pc,
                               std::move(detail));
  }
  Outcome Halt() const {
    pe.state = MainState::kHalted;
    return Outcome::kHalt;
  }
  Outcome Fatal(TrapKind kind, std::string detail) const {
    Report(kind, std::move(detail));
    return Halt();
  }
  Outcome Again() const {
    s.clock -= core.cost->op[i.op];
    --s.count;
    return Outcome::kAgain;
  }
  // Others change task bits and DSRs only while operations are live: then in global order.
  bool TooEarly() const { return s.clock > core.now && pe.comm != nullptr && pe.comm->live != 0; }
  uint64_t BlockCycles(uint64_t bytes) const {
    return core.cost->copy_start +
           (bytes + core.cost->copy_bytes_per_cycle - 1) / core.cost->copy_bytes_per_cycle;
  }
  // Blocks and vectors reach no registers.
  bool ReachesRegisters(uint32_t address, uint32_t bytes) const {
    if (uint64_t{address} + bytes <= kRegisterBase) return false;
    Fatal(TrapKind::kRawRegister,
          fmt::format("{} bytes at 0x{:04x} reach the configuration registers", bytes, address));
    return true;
  }

  uint32_t Address(AddressForm form, uint32_t size) const {
    switch (form) {
      case AddressForm::kOffset:
        return static_cast<uint32_t>(b() + i.c) & 0xffff;
      case AddressForm::kAbsolute:
        return i.b;
      case AddressForm::kIndexed:
        return static_cast<uint32_t>(b() + c() * size) & 0xffff;
    }
    return 0;
  }
  // A configuration register instead of memory: others see it, so it happens in global order.
  Outcome Register(uint32_t address, uint32_t size, bool write, uint16_t& value) const {
    if (s.clock > core.now) return Again();
    const std::string why = size == 2 ? core.around->Register(pe, address, write, value)
                                      : std::string("accesses of 16 bits only");
    if (why.empty()) return Outcome::kNext;
    return Fatal(TrapKind::kRawRegister,
                 fmt::format("{} of byte address 0x{:04x} (word 0x{:04x}): {}",
                             write ? "a store" : "a load", address, address / 2, why));
  }
  template <typename T>
  Outcome Load(AddressForm form) const {
    const uint32_t address = Address(form, sizeof(T));
    if (sizeof(T) > 1 && (address & 1) != 0)
      return Fatal(TrapKind::kMisaligned,
                   fmt::format("{} bytes at address 0x{:04x}", sizeof(T), address));
    T value = 0;
    if (address >= kRegisterBase) {
      auto word = static_cast<uint16_t>(a());
      const Outcome outcome = Register(address, sizeof(T), false, word);
      if (outcome != Outcome::kNext) return outcome;
      value = static_cast<T>(word);
    } else {
      if (core.check_uninitialised && !pe.memory.IsWritten(address, sizeof(T)) &&
          Report(TrapKind::kUninitialisedRead,
                 fmt::format("a load from 0x{:04x}, which nobody wrote", address))) {
        return Halt();
      }
      value = pe.memory.Read<T>(address);
    }
    a() = std::is_signed_v<T> ? static_cast<uint64_t>(static_cast<int64_t>(value))
                              : static_cast<uint64_t>(value);
    return Outcome::kNext;
  }
  template <typename T>
  Outcome Store(AddressForm form) const {
    const uint32_t address = Address(form, sizeof(T));
    if (sizeof(T) > 1 && (address & 1) != 0)
      return Fatal(TrapKind::kMisaligned,
                   fmt::format("{} bytes at address 0x{:04x}", sizeof(T), address));
    if (address >= kRegisterBase) {
      auto word = static_cast<uint16_t>(a());
      return Register(address, sizeof(T), true, word);
    }
    pe.memory.Write<T>(address, static_cast<T>(a()));
    return Outcome::kNext;
  }

  Outcome Copy(uint32_t bytes, bool may_be_descriptor) const {
    if (ReachesRegisters(a16(), bytes) || ReachesRegisters(b16(), bytes)) return Outcome::kHalt;
    pe.memory.Copy(a16(), b16(), bytes);
    s.clock += may_be_descriptor && a16() >= kDescriptorBase && b16() >= kDescriptorBase
                   ? core.cost->descriptor_copy
                   : BlockCycles(bytes);
    return Outcome::kNext;
  }
  Outcome Fill(uint8_t value, uint32_t bytes) const {
    if (ReachesRegisters(a16(), bytes)) return Outcome::kHalt;
    pe.memory.Fill(a16(), value, bytes);
    s.clock += BlockCycles(bytes);
    return Outcome::kNext;
  }

  Outcome Dsd() const {
    const StartResult started =
        StartDsd(core, pe, pe.cls->code->dsd_ops[i.bc()], r, base + i.a, s.clock, place());
    switch (started.started) {
      case Started::kDone:
        a() = started.value ? 1 : 0;
        s.clock += started.cost;
        return Outcome::kNext;
      case Started::kAsync:  // others run now: come back by the clock
        a() = 1;
        s.clock += started.cost;
        return Outcome::kLeave;
      case Started::kBlocked:
        s.clock += started.cost;
        pe.state = MainState::kOperation;
        return Outcome::kLeave;
      case Started::kSlotBusy:
        pe.state = MainState::kWaitMicrothread;
        return Again();
      case Started::kLater:
        return Again();
      case Started::kHalted:
        return Halt();
    }
    return Halt();
  }
  // @map's instructions belong to the loop begun last.
  bool InMap() const {
    const auto& maps = pe.thread->maps;
    return !maps.empty() && maps.back().map == i.c;
  }
  Outcome StartMap() const {
    if (pe.thread->maps.size() >= kMaxFrames)
      return Fatal(TrapKind::kStackOverflow,
                   fmt::format("{} loops of @map in each other", kMaxFrames));
    const auto started = fabric::StartMap(core, pe, i.c, r, place()).started;
    return started == Started::kHalted ? Halt() : Outcome::kNext;
  }
  Outcome Map(MapStep step) const {
    switch (step) {
      case MapStep::kElement:
        return Outcome::kNext;
      case MapStep::kExhausted:
        return Outcome::kJump;
      case MapStep::kWait:
        pe.state = MainState::kWaitQueue;
        return Again();
      case MapStep::kLater:
        return Again();
      case MapStep::kHalted:
        return Halt();
    }
    return Halt();
  }
  Outcome NoMap() const {
    return Fatal(TrapKind::kProgramTrap, std::string("a step of a @map that was not begun"));
  }
  Outcome CallNative() const {
    if (static_cast<Native>(i.c) == Native::k_perf_read) {  // the counters up to here
      pe.count.busy += s.clock - s.begin;
      s.begin = s.clock;
    }
    uint64_t cycles = 0;
    if (!fabric::CallNative(core, pe, static_cast<Native>(i.c), &a(), s.clock, cycles,
                            FunctionIndexOf(pe, &function), pc))
      return Again();
    s.clock += cycles;
    return pe.state == MainState::kHalted ? Outcome::kHalt : Outcome::kNext;
  }
  Outcome Run() const;
};

Outcome Step::Run() const {
  const CodeClass& code = *pe.cls->code;
  Memory& memory = pe.memory;
  switch (static_cast<Op>(i.op)) {
#define LOADS(name, form)                     \
  case Op::k##name##I8:                       \
    return Load<int8_t>(AddressForm::form);   \
  case Op::k##name##I16:                      \
    return Load<int16_t>(AddressForm::form);  \
  case Op::k##name##I32:                      \
    return Load<int32_t>(AddressForm::form);  \
  case Op::k##name##I64:                      \
    return Load<int64_t>(AddressForm::form);  \
  case Op::k##name##U8:                       \
    return Load<uint8_t>(AddressForm::form);  \
  case Op::k##name##U16:                      \
    return Load<uint16_t>(AddressForm::form); \
  case Op::k##name##U32:                      \
    return Load<uint32_t>(AddressForm::form); \
  case Op::k##name##U64:                      \
    return Load<uint64_t>(AddressForm::form);
#define STORES(name, form)                     \
  case Op::k##name##8:                         \
    return Store<uint8_t>(AddressForm::form);  \
  case Op::k##name##16:                        \
    return Store<uint16_t>(AddressForm::form); \
  case Op::k##name##32:                        \
    return Store<uint32_t>(AddressForm::form); \
  case Op::k##name##64:                        \
    return Store<uint64_t>(AddressForm::form);
    LOADS(Load, kOffset)
    LOADS(LoadAbs, kAbsolute)
    LOADS(LoadIdx, kIndexed)
    STORES(Store, kOffset)
    STORES(StoreAbs, kAbsolute)
    STORES(StoreIdx, kIndexed)
#undef LOADS
#undef STORES
#define DIV8(name)       \
  case Op::k##name##I8:  \
  case Op::k##name##I16: \
  case Op::k##name##I32: \
  case Op::k##name##I64: \
  case Op::k##name##U8:  \
  case Op::k##name##U16: \
  case Op::k##name##U32: \
  case Op::k##name##U64:
    DIV8(Div)
    DIV8(Rem)
#undef DIV8
    return Fatal(TrapKind::kDivideByZero, std::string("division by zero"));
    case Op::kCheckIndex:
      if (a() >= i.bc() &&
          Report(TrapKind::kIndexOutOfBounds,
                 fmt::format("index {} of an array of {}", static_cast<int64_t>(a()), i.bc())))
        return Halt();
      return Outcome::kNext;
    case Op::kAssert:
      return a() != 0 ? Outcome::kNext : Fatal(TrapKind::kAssertionFailed, code.strings[i.bc()]);
    case Op::kTrap:
      return Fatal(TrapKind::kProgramTrap, code.strings[i.bc()]);

    case Op::kCopyMem:
      return Copy(i.c, true);
    case Op::kCopyMemR:
      return Copy(static_cast<uint32_t>(std::min<uint64_t>(c(), 0xffff)), false);
    case Op::kZeroMem:
      return Fill(0, i.bc());
    case Op::kFillMem:
      return Fill(static_cast<uint8_t>(b()), i.c);

#define TASK_OP(name, ...)          \
  case Op::k##name:                 \
    if (TooEarly()) return Again(); \
    __VA_ARGS__;                    \
    return Outcome::kNext;
      TASK_OP(Activate, ActivateId(core, pe, i.a))
      TASK_OP(ActivateR, ActivateId(core, pe, a() & 63))
      TASK_OP(Block, BlockId(core, pe, i.a, static_cast<TargetKind>(i.b)))
      TASK_OP(Unblock, UnblockId(core, pe, i.a, static_cast<TargetKind>(i.b)))
      TASK_OP(BlockR, BlockId(core, pe, a() & 63, static_cast<TargetKind>(i.b)))
      TASK_OP(UnblockR, UnblockId(core, pe, a() & 63, static_cast<TargetKind>(i.b)))
      TASK_OP(DsrLoad, LoadDsr(pe, code.dsr_loads[i.bc()], ReadDescriptor(memory, a16())))
#undef TASK_OP

    case Op::kDsdConst:
      WriteDescriptor(memory, a16(), code.descriptors[i.bc()]);
      return Outcome::kNext;
    case Op::kDsdSet: {
      const uint32_t address = a16() + uint32_t{i.c};
      if (WidthOf(static_cast<DsdField>(i.c)) == 1)
        memory.Write<uint8_t>(address, static_cast<uint8_t>(b()));
      else
        memory.Write<uint16_t>(address, static_cast<uint16_t>(b()));
      return Outcome::kNext;
    }
    case Op::kDsdSetBase: {
      Descriptor d = ReadDescriptor(memory, a16());
      d.base = static_cast<uint16_t>(b());
      d.elem_size = static_cast<uint8_t>(i.c);
      d.lo = d.hi = 0;
      WriteDescriptor(memory, a16(), d);
      return Outcome::kNext;
    }
    case Op::kDsdSetLength:
      memory.Write<uint16_t>(a16() + 6u, static_cast<uint16_t>(b()));
      return Outcome::kNext;
    case Op::kDsdSetStride:
      memory.Write<int16_t>(a16() + 14u, static_cast<int8_t>(b()));
      return Outcome::kNext;
    case Op::kDsdIncOffset: {
      const uint32_t address = a16() + 4u;
      memory.Write<uint16_t>(address, static_cast<uint16_t>(memory.Read<uint16_t>(address) +
                                                            static_cast<int16_t>(b()) * i.c));
      return Outcome::kNext;
    }
    case Op::kDsd:
      return Dsd();
    case Op::kFifoLength:
      FifoSetLength(pe, i.c, i.b != 0, static_cast<uint16_t>(a()));
      return Outcome::kNext;
    case Op::kMapStart:
      return StartMap();
    case Op::kMapNext:
      return InMap() ? Map(NextMap(core, pe, r, &a(), s.clock, place())) : NoMap();
    case Op::kMapPut:
      return InMap() ? Map(PutMap(core, pe, a(), s.clock)) : NoMap();
    case Op::kNative:
      return CallNative();
    default:
      break;  // the others never come here
  }
  return Halt();
}

}  // namespace

RunState BeginRun(const Pe& pe) {
  const bool others = pe.comm != nullptr && pe.comm->live != 0;
  return {pe.main_ready, pe.main_ready, 0,
          pe.main_ready + (others ? kSliceWithOthers : kSliceAlone)};
}

void EndRun(Pe& pe, const RunState& s) {
  pe.count.instructions += s.count;
  pe.count.busy += s.clock - s.begin;
  pe.main_ready = s.clock;
}

Outcome Execute(Core& core, Pe& pe, const Function& f, uint32_t pc, uint64_t* r, uint32_t base,
                RunState& s) {
  return Step{core, pe, f, pc, r, base, s, f.code[pc]}.Run();
}

bool PrepareCall(Core& core, Pe& pe, const Frame& caller, size_t depth, uint64_t clock,
                 Frame& callee) {
  Thread& t = *pe.thread;
  const auto& functions = pe.cls->code->functions;
  const Instr& i = caller.function->code[caller.pc];
  const auto fatal = [&](TrapKind kind, std::string detail) {
    core.around->Report(pe, kind, clock, FunctionIndexOf(pe, caller.function), caller.pc,
                        std::move(detail));
    pe.state = MainState::kHalted;
    return false;
  };
  uint64_t index = i.c;
  if (static_cast<Op>(i.op) == Op::kCallIndirect) {
    index = t.regs[caller.base + i.b];
    if (index >= functions.size())
      return fatal(TrapKind::kBadCall, fmt::format("function pointer {}", index));
    if (functions[index].params.size() != i.c) {
      return fatal(TrapKind::kBadCall,
                   fmt::format("'{}' takes {} arguments, {} are given", functions[index].name,
                               functions[index].params.size(), i.c));
    }
  }
  const Function& f = functions[index];
  const uint32_t window = caller.base + i.a;
  const uint32_t sp = caller.sp + caller.function->frame_bytes;
  const uint32_t dsp = caller.dsp + caller.function->descriptor_frame_bytes;
  if (depth >= kMaxFrames || sp + f.frame_bytes > kSramBytes ||
      dsp + f.descriptor_frame_bytes > kRegisterBase) {
    return fatal(
        TrapKind::kStackOverflow,
        fmt::format("call of '{}' at depth {} with the stack at 0x{:04x}", f.name, depth, sp));
  }
  if (t.regs.size() < window + f.register_count) {
    if (window + f.register_count > kMaxRegisters) {
      return fatal(TrapKind::kStackOverflow,
                   fmt::format("call of '{}' at depth {}: its registers are number {} and more",
                               f.name, depth, window));
    }
    t.regs.resize(std::clamp<size_t>(2 * t.regs.size(), window + f.register_count, kMaxRegisters));
  }
  const auto own = t.regs.begin() + window;
  std::fill(own + static_cast<std::ptrdiff_t>(f.params.size()), own + f.register_count, 0);
  if (f.frame_bytes > 0) pe.memory.MarkUnwritten(sp, f.frame_bytes);
  callee = {&f, 0, window, sp, dsp};
  return true;
}

}  // namespace szarena::fabric
