// SPDX-License-Identifier: Apache-2.0
// Operations on queues and FIFOs: what can move in this cycle, and moving it.
#include <fmt/format.h>

#include <algorithm>

#include "fabric/interp/operand.h"
#include "fabric/model/vector.h"

namespace szarena::fabric {
using namespace bytecode;

bool IsHalf(Core& core, Pe& pe, const Operand& operand, const uint64_t* regs) {
  static_cast<void>(core);
  switch (operand.kind) {
    case OperandKind::kScalar:
    case OperandKind::kPointer:
      return SizeOf(operand.type) == 2;
    case OperandKind::kDescriptor:
      return ReadDescriptor(pe.memory, static_cast<uint32_t>(regs[operand.value]) & 0xffff)
                 .elem_size == 2;
    case OperandKind::kDescriptorConst:
      return ReadDescriptor(pe.memory, operand.value).elem_size == 2;
    case OperandKind::kDsr:
      return DsrOf(pe, operand.value).d.elem_size == 2;
    default:
      return false;
  }
}

Ready CanRead(Core& core, Pe& pe, OperandState& o) {
  switch (o.cls) {
    case OperandClass::kFabIn: {
      if (o.half_valid) return Ready::kYes;
      const Ring& ring = pe.comm->in[o.queue].ring;
      if (ring.empty() || ring.front().ready > core.now) return Ready::kNo;
      return ring.front().control ? Ready::kControl : Ready::kYes;
    }
    case OperandClass::kFifo:
      return FifoOf(pe, o.fifo).count > 0 ? Ready::kYes : Ready::kNo;
    default:
      return Ready::kYes;
  }
}

bool CanWrite(Core&, Pe& pe, const OperandState& o, bool last) {
  switch (o.cls) {
    case OperandClass::kFabOut: {
      if (o.packed && !o.half_valid && !last) return true;
      const OutputQueue& q = pe.comm->out[o.queue];
      return q.ring.size() < q.capacity;
    }
    case OperandClass::kFifo:
      return FifoOf(pe, o.fifo).count < pe.cls->code->fifos[o.fifo].capacity;
    default:
      return true;
  }
}

namespace {

void PopInput(Core& core, Pe& pe, uint32_t queue) {
  InputQueue& q = pe.comm->in[queue];
  const bool was_full = q.ring.size() >= q.capacity;
  q.ring.pop();
  ++pe.count.wavelets_in;
  if (was_full) core.around->WakeRouter(pe, core.now + 1);
}

}  // namespace

// control_transform: the two highest bits of the index tell control wavelets (10) from data (00),
// so that they pass through memory.
namespace {
constexpr uint32_t kTransformBits = 3u << 30;
constexpr uint32_t kTransformControl = 2u << 30;
}  // namespace

uint32_t ReadOne(Core& core, Pe& pe, OperandState& o, Place place) {
  switch (o.cls) {
    case OperandClass::kScalar:
      return o.scalar;
    case OperandClass::kFabIn: {
      if (o.half_valid) {
        o.half_valid = false;
        return o.half;
      }
      const QueueEntry& head = pe.comm->in[o.queue].ring.front();
      uint32_t data = head.data;
      if (o.d.control_transform) {
        data &= ~kTransformBits;
        if (head.control) data = (data | kTransformControl) ^ uint32_t { pe.control_mask } << 16;
      }
      PopInput(core, pe, o.queue);
      if (o.packed) {
        o.half = static_cast<uint16_t>(data >> 16);
        o.half_valid = true;
      }
      return o.size == 2 ? data & 0xffff : data;
    }
    case OperandClass::kFifo: {
      FifoState& f = FifoOf(pe, o.fifo);
      const FifoInfo& info = pe.cls->code->fifos[o.fifo];
      const uint32_t address = info.address + uint32_t{f.head} * info.elem_size;
      const uint32_t v = o.size == 4 && info.elem_size == 4 ? pe.memory.Read<uint32_t>(address)
                                                            : pe.memory.Read<uint16_t>(address);
      f.head = static_cast<uint16_t>((f.head + 1) % info.capacity);
      --f.count;
      if (f.hit_full) {
        f.hit_full = false;
        Fire(core, pe, info.on_pop);
      }
      return v;
    }
    case OperandClass::kMemory: {
      const uint32_t at = o.address();
      if (core.check_uninitialised && !pe.memory.IsWritten(at, o.size)) {
        core.around->Report(pe, TrapKind::kUninitialisedRead, core.now, place.function, place.pc,
                            fmt::format("a DSD operation reads 0x{:04x}, which nobody wrote", at));
      }
      const uint32_t v = o.size == 4 ? pe.memory.Read<uint32_t>(at) : pe.memory.Read<uint16_t>(at);
      o.Advance();
      return v;
    }
    default:
      return 0;
  }
}

namespace {
void Send(Core& core, Pe& pe, OperandState& o, uint32_t data, bool advance) {
  QueueEntry e;
  e.data = data;
  e.color = o.color;
  e.control = o.d.control;
  if (o.d.control_transform) {
    e.control = e.control || (data & kTransformBits) == kTransformControl;
    e.data = data & ~kTransformBits;
  }
  e.advance = advance;
  e.ready = core.now + core.cost->ramp_latency;
  pe.comm->out[o.queue].ring.push(e);
  ++pe.count.wavelets_out;
  core.around->WakeRouter(pe, e.ready);
}
}  // namespace

void WriteOne(Core& core, Pe& pe, OperandState& o, uint32_t value, bool last, uint16_t index) {
  switch (o.cls) {
    case OperandClass::kMemory:
      if (o.size == 4)
        pe.memory.Write<uint32_t>(o.address(), value);
      else
        pe.memory.Write<uint16_t>(o.address(), static_cast<uint16_t>(value));
      o.Advance();
      return;
    case OperandClass::kFifo: {
      FifoState& f = FifoOf(pe, o.fifo);
      const FifoInfo& info = pe.cls->code->fifos[o.fifo];
      const uint32_t slot = (uint32_t{f.head} + f.count) % info.capacity;
      const uint32_t address = info.address + slot * info.elem_size;
      if (o.size == 4 && info.elem_size == 4)
        pe.memory.Write<uint32_t>(address, value);
      else
        pe.memory.Write<uint16_t>(address, static_cast<uint16_t>(value));
      ++f.count;
      if (f.hit_empty) {
        f.hit_empty = false;
        Fire(core, pe, info.on_push);
      }
      return;
    }
    case OperandClass::kFabOut: {
      uint32_t data = value;
      if (o.packed) {
        if (!o.half_valid && !last) {
          o.half = static_cast<uint16_t>(value);
          o.half_valid = true;
          return;
        }
        data = o.half_valid ? o.half | value << 16 : value;
        o.half_valid = false;
      } else if (o.d.wavelet_index_offset) {
        data = (value & 0xffff) | static_cast<uint32_t>(index) << 16;
      }
      Send(core, pe, o, data, last && o.d.advance_switch);
      return;
    }
    default:
      return;
  }
}

void FifoHitFull(Pe& pe, uint32_t fifo) { FifoOf(pe, fifo).hit_full = true; }
void FifoHitEmpty(Pe& pe, uint32_t fifo) { FifoOf(pe, fifo).hit_empty = true; }

namespace {

void ZeroSources(Pe& pe, const DsdState& s) {
  const OperandState* which = s.dest.d.zero_first_source    ? &s.src[0]
                              : s.dest.d.zero_second_source ? &s.src[s.source_count == 1 ? 0 : 1]
                                                            : nullptr;
  if (s.dest.cls != OperandClass::kFabOut || which == nullptr ||
      which->cls != OperandClass::kMemory)
    return;
  OperandState walk = *which;
  walk.index = {};
  walk.offset = 0;
  for (uint32_t i = 0; i < s.length; ++i) {
    if (walk.size == 4)
      pe.memory.Write<uint32_t>(walk.address(), 0);
    else
      pe.memory.Write<uint16_t>(walk.address(), 0);
    walk.Advance();
  }
}

void Finish(Core& core, Pe& pe, DsdState& s, bool by_control, bool value) {
  Comm& comm = *pe.comm;
  if (s.dest.half_valid) {  // ended early, with half a wavelet to send
    Send(core, pe, s.dest, s.dest.half, false);
    s.dest.half_valid = false;
  }
  s.live = false;
  comm.live &= static_cast<uint16_t>(~(1u << s.slot));
  SaveDsr(pe, s.dest);
  for (int i = 0; i < s.source_count; ++i) SaveDsr(pe, s.src[i]);
  ZeroSources(pe, s);
  if (s.slot == kMainSlot) {
    pe.thread->regs[s.result_register] = value ? 1 : 0;
    pe.state = MainState::kRunning;
    const uint64_t width = 1;
    const uint64_t end = core.now + width + core.cost->dsd_drain;
    pe.main_ready = std::max(pe.main_ready, end);
    return;
  }
  if (pe.state == MainState::kWaitMicrothread && pe.wait_slot == s.slot) {
    pe.state = MainState::kRunning;
    pe.main_ready = core.now + 1;
  }
  const Signal& signal = by_control && s.settings.on_control.kind != SignalKind::kNone
                             ? s.settings.on_control
                             : s.settings.on_done;
  Fire(core, pe, signal);
}

enum class Step : uint8_t { kMoved, kStuck };

// Does an operation end where a FIFO with this action is empty or full? Else it waits.
bool EndsAtFifo(FifoAction action, bool async) {
  return action == FifoAction::kTerminate || (!async && action != FifoAction::kSuspend);
}

// May it end early? Half a wavelet that it has yet to send needs room.
bool CanEnd(Core& core, Pe& pe, OperandState& dest) {
  return !dest.half_valid || CanWrite(core, pe, dest, true);
}

// One element, or a SIMD group where no queue is involved.
Step StepOne(Core& core, Pe& pe, DsdState& s) {
  const Place place{s.function, s.pc};
  if (!s.infinite && s.length == 0) {
    Finish(core, pe, s, false, true);
    return Step::kMoved;
  }
  bool fabric = s.dest.cls == OperandClass::kFabOut;
  for (int i = 0; i < s.source_count; ++i) fabric |= s.src[i].cls == OperandClass::kFabIn;
  uint32_t group = 1;
  if (!fabric)
    group = s.async ? core.cost->simd[static_cast<size_t>(s.op)] : ~0u;
  else if (s.dest.packed || s.src[0].packed)
    group = 2;
  Step result = Step::kStuck;
  for (uint32_t k = 0; k < group; ++k) {
    const bool last = !s.infinite && s.done + 1 == s.length;
    if (!CanWrite(core, pe, s.dest, last)) {
      if (s.dest.cls == OperandClass::kFifo) {
        FifoHitFull(pe, s.dest.fifo);
        if (pe.cls->code->fifos[s.dest.fifo].full_action == FifoAction::kFault) {
          core.around->Report(
              pe, TrapKind::kFifoFault, core.now, s.function, s.pc,
              fmt::format("FIFO '{}' is full", pe.cls->code->fifos[s.dest.fifo].name));
        }
        if (EndsAtFifo(pe.cls->code->fifos[s.dest.fifo].full_action, s.async)) {
          Finish(core, pe, s, false, false);
          return Step::kMoved;
        }
      }
      return result;
    }
    for (int i = 0; i < s.source_count; ++i) {
      const Ready ready = CanRead(core, pe, s.src[i]);
      if (ready == Ready::kYes) continue;
      if (ready == Ready::kNo) {
        if (s.src[i].cls == OperandClass::kFifo) {
          FifoHitEmpty(pe, s.src[i].fifo);
          if (pe.cls->code->fifos[s.src[i].fifo].empty_action == FifoAction::kFault) {
            core.around->Report(
                pe, TrapKind::kFifoFault, core.now, s.function, s.pc,
                fmt::format("FIFO '{}' is empty", pe.cls->code->fifos[s.src[i].fifo].name));
          }
          if (EndsAtFifo(pe.cls->code->fifos[s.src[i].fifo].empty_action, s.async)) {
            if (!CanEnd(core, pe, s.dest)) return result;
            Finish(core, pe, s, false, false);
            return Step::kMoved;
          }
        }
        return result;
      }
      // A control wavelet.
      if (s.op == DsdOp::kDfilt) {
        PopInput(core, pe, s.src[i].queue);
        ++s.done;
        s.last_progress = core.now;
        if (s.done == s.length) Finish(core, pe, s, false, true);
        return Step::kMoved;
      }
      if (s.settings.on_control_terminate || s.settings.on_control.kind != SignalKind::kNone) {
        if (!CanEnd(core, pe, s.dest)) return result;
        PopInput(core, pe, s.src[i].queue);
        Finish(core, pe, s, true, true);
        return Step::kMoved;
      }
    }
    uint32_t v[3] = {};
    for (int i = 0; i < s.source_count; ++i) v[i] = ReadOne(core, pe, s.src[i], place);
    s.last_progress = core.now;
    result = Step::kMoved;
    if (s.op == DsdOp::kDfilt) return result;  // a data wavelet is dropped
    ++pe.count.elements;
    if (!IsMove(s.op)) ++pe.count.arithmetic;
    WriteOne(core, pe, s.dest, Compute(s.op, core.program->fp16, v[0], v[1], v[2], s.carry), last,
             s.index);
    if (!s.infinite && ++s.done == s.length) {
      Finish(core, pe, s, false, true);
      return result;
    }
  }
  return result;
}

}  // namespace

bool StepOperations(Core& core, Pe& pe) {
  Comm* comm = pe.comm.get();
  if (comm == nullptr || comm->live == 0) return false;
  // One operation moves in a cycle: those of the highest level first, in turn among equals.
  const uint32_t runnable = comm->live & ~uint32_t{comm->blocked};
  // Levels: low microthreads (the default) 1, medium 3, high 5; the main thread between (2, its
  // default, or 4) or equal (3, 5).
  const auto level = [&](uint32_t slot) {
    if (slot == kMainSlot) return int{pe.main_priority};
    const Priority p = comm->ops[slot].settings.priority;
    return p == Priority::kHigh ? 5 : p == Priority::kMedium ? 3 : 1;
  };
  for (int wanted = 5; wanted >= 1; --wanted) {
    for (uint32_t i = 0; i < 9; ++i) {
      const uint32_t slot = (comm->next_op + i) % 9;
      if ((runnable >> slot & 1) == 0 || level(slot) != wanted) continue;
      if (StepOne(core, pe, comm->ops[slot]) == Step::kMoved) {
        comm->next_op = static_cast<uint8_t>((slot + 1) % 9);
        return true;
      }
    }
  }
  return false;
}

}  // namespace szarena::fabric
