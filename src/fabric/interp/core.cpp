// SPDX-License-Identifier: Apache-2.0
// Task table bits and the binding of queues.
#include "fabric/interp/core.h"

#include <fmt/format.h>

namespace szarena::fabric {
using namespace bytecode;

void ActivateId(Core& core, Pe& pe, uint32_t id) {
  id &= kTaskIdCount - 1;
  pe.active |= uint64_t{1} << id;
  if (pe.cls->local_task[id] < 0 &&
      !(id == kTeardownTaskId && !pe.cls->code->teardown_handlers.empty()) &&
      pe.cls->control_task[id] < 0) {
    core.around->Report(pe, TrapKind::kUnboundTask, core.now, kNoIndex, 0,
                        fmt::format("id {} is activated, but no local task is bound to it", id));
    pe.active &= ~(uint64_t{1} << id);
  }
}

void BlockId(Core& core, Pe& pe, uint32_t id, TargetKind kind) {
  const uint64_t bit = uint64_t{1} << (id & 63);
  if (kind == TargetKind::kMicrothread) {
    Comm& comm = CommOf(core, pe);
    comm.blocked = static_cast<uint8_t>(comm.blocked | 1u << (id & 7));
    return;
  }
  pe.blocked |= bit;
}

void UnblockId(Core& core, Pe& pe, uint32_t id, TargetKind kind) {
  const uint64_t bit = uint64_t{1} << (id & 63);
  if (kind == TargetKind::kMicrothread) {
    Comm& comm = CommOf(core, pe);
    comm.blocked = static_cast<uint8_t>(comm.blocked & ~(1u << (id & 7)));
    return;
  }
  pe.blocked &= ~bit;
  pe.control_enabled |= bit;
}

void Fire(Core& core, Pe& pe, const Signal& signal) {
  if (signal.kind == SignalKind::kActivate) ActivateId(core, pe, signal.id);
  if (signal.kind == SignalKind::kUnblock) UnblockId(core, pe, signal.id, TargetKind::kTask);
}

Comm& CommOf(Core& core, Pe& pe) {
  if (pe.comm != nullptr) return *pe.comm;
  pe.comm = std::make_unique<Comm>();
  Comm& c = *pe.comm;
  c.queue_of_color.fill(0xff);
  c.in.resize(8);
  for (int q = 0; q < 8; ++q)
    c.in[static_cast<size_t>(q)].capacity =
        static_cast<uint8_t>(core.cost->InputQueueDepth(q) + core.cost->ramp_latency);
  for (int q = 0; q < 8; ++q)
    c.out[static_cast<size_t>(q)].capacity =
        static_cast<uint8_t>(core.cost->OutputQueueDepth(q) + core.cost->ramp_latency);
  for (int s = 0; s < 9; ++s) c.ops[static_cast<size_t>(s)].slot = static_cast<uint8_t>(s);
  if (pe.cls == nullptr) return c;
  for (const QueueInit& q : pe.cls->code->queues) {
    if (q.color == kNoColor) continue;
    if (q.output) {
      c.out[q.queue].color = q.color;
    } else {
      c.in[q.queue].color = q.color;
      c.in[q.queue].priority = q.priority;
      c.queue_of_color[q.color] = q.queue;
    }
  }
  return c;
}

uint64_t QueuesRead(const Comm& comm) {
  uint64_t mask = 0;
  for (const DsdState& s : comm.ops) {
    if (!s.live) continue;
    for (int i = 0; i < s.source_count; ++i) {
      if (s.src[i].cls == OperandClass::kFabIn) mask |= uint64_t{1} << s.src[i].queue;
    }
  }
  return mask;
}

uint32_t InputQueueFor(Core& core, Pe& pe, uint32_t color) {
  Comm& c = CommOf(core, pe);
  if (c.queue_of_color[color] != 0xff) return c.queue_of_color[color];
  InputQueue q;
  q.color = static_cast<uint8_t>(color);
  q.capacity = static_cast<uint8_t>(core.cost->input_queue_depth_2 + core.cost->ramp_latency);
  // One that another colour has left and nobody reads, else a new one: so their number stays
  // below 64.
  const uint64_t read = QueuesRead(c);
  size_t at = 8;
  while (at < c.in.size() &&
         (c.in[at].color != kNoColor || !c.in[at].ring.empty() || (read >> at & 1) != 0))
    ++at;
  if (at == c.in.size()) c.in.emplace_back();
  c.in[at] = q;
  c.queue_of_color[color] = static_cast<uint8_t>(at);
  return c.queue_of_color[color];
}

}  // namespace szarena::fabric
