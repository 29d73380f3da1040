// SPDX-License-Identifier: Apache-2.0
// One cycle of one PE: the DSD engine, then the main thread; the task picker where it is idle.
#include <fmt/format.h>

#include <algorithm>

#include "fabric/interp/engine.h"
#include "fabric/interp/interp.h"
#include "fabric/sim/impl.h"

namespace szarena::fabric {
using namespace bytecode;
namespace {

// Mixes the picker's seed with place and count, for the fuzz mode.
uint64_t Mix(uint64_t v) {
  v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
  v = (v ^ v >> 27) * 0x94d049bb133111ebu;
  return v ^ v >> 31;
}

uint64_t Unpack(uint32_t data, uint32_t& shift, ScalarType type, bool only) {
  const int bits = SizeOf(type) * 8 >= 32 ? 32
                   : only                 ? SizeOf(type) * 8
                                          : std::max(SizeOf(type) * 8, 16);
  const uint32_t part = shift >= 32 ? 0 : data >> shift;
  shift += static_cast<uint32_t>(bits);
  const int width = std::min(SizeOf(type) * 8, 32);
  return IsSigned(type) ? static_cast<uint64_t>(SignExtend(part, width)) : ZeroExtend(part, width);
}

// The task that a control wavelet for `entry` starts, or -1. Ids of control and data tasks share a
// table, unless the program gave the control tasks one of their own (WSE-3).
int32_t EntryTask(const LoadedClass& cls, uint32_t entry) {
  if (cls.control_task[entry] >= 0) return cls.control_task[entry];
  return cls.code->control_table.instructions == 0 ? cls.data_task[entry] : -1;
}

}  // namespace

void Tile::StartTask(Pe& pe, uint32_t binding, RunKind kind, uint32_t data, uint64_t t) {
  const TaskBinding& task = pe.cls->code->tasks[binding];
  uint32_t function = task.function;
  if (kind == RunKind::kData) {
    const auto& rotating = pe.cls->code->rotating;
    for (size_t i = 0; i < rotating.size(); ++i) {
      if (rotating[i].data_id != task.id) continue;
      if (pe.rotating[i] == rotating[i].limit) {
        pe.rotating[i] = 0;
        function = rotating[i].alternate;
      } else {
        ++pe.rotating[i];
      }
    }
  }
  const std::vector<ScalarType>& params = pe.cls->code->functions[function].params;
  std::array<uint64_t, 8> args = {};
  uint32_t shift = 0;
  for (size_t i = 0; i < params.size() && i < args.size(); ++i)
    args[i] = Unpack(data, shift, params[i], params.size() == 1);
  pe.running = kind;
  pe.task_id = task.id;
  pe.task_since = t;
  pe.main_ready = t + core.cost->task_switch;
  ++pe.count.tasks;
  StartFunction(core, pe, function, args.data(),
                static_cast<uint32_t>(std::min(params.size(), args.size())));
}

// Chooses and starts what the idle main thread does next. False where nothing can run now.
bool Tile::Pick(Pe& pe, uint64_t t) {
  const LoadedClass& cls = *pe.cls;
  struct Choice {
    RunKind kind;
    uint32_t id;  // task id, or queue
    uint32_t queue;
  };
  std::array<Choice, 40> choices;
  size_t n = 0;
  const auto add = [&](RunKind kind, uint32_t id, uint32_t queue) {
    if (n < choices.size()) choices[n++] = {kind, id, queue};
  };
  if (const uint64_t ready = pe.active & ~pe.blocked; ready != 0) {
    for (uint64_t m = ready; m != 0; m &= m - 1) {
      const auto id = static_cast<uint32_t>(std::countr_zero(m));
      if (cls.local_task[id] >= 0)
        add(RunKind::kLocal, id, 0);
      else if (id == kTeardownTaskId)
        add(RunKind::kTeardown, id, 0);
      else if (cls.control_task[id] >= 0)
        add(RunKind::kControl, id, ~0u);
    }
  }
  if (Comm* comm = pe.comm.get()) {
    const uint64_t readers = comm->live != 0 ? QueuesRead(*comm) : 0;
    for (uint32_t q = 0; q < comm->in.size(); ++q) {
      InputQueue& queue = comm->in[q];
      while (!queue.ring.empty() && queue.ring.front().ready <= t && (readers >> q & 1) == 0) {
        const QueueEntry& head = queue.ring.front();
        const uint32_t id = core.cost->arch == Arch::kWse2 ? uint32_t{queue.color} : q;
        if (id >= kTaskIdCount) break;
        if ((pe.blocked >> id & 1) != 0) break;
        if (!head.control) {
          if (cls.data_task[id] >= 0) add(RunKind::kData, id, q);
          break;
        }
        if (const bytecode::ColorRoute* route = fabric->RouteOf(pe.index, head.color);
            route != nullptr && route->point_to_point) {
          if (cls.data_task[id] < 0) break;  // for the operation that will read it
          const bool was_full =
              queue.ring.size() >= queue.capacity;  // the end of a message: a task does not get it
          queue.ring.pop();
          ++pe.count.wavelets_in;
          if (was_full) WakeRouter(pe, t + 1);
          continue;
        }
        if ((pe.control_enabled >> id & 1) == 0) break;
        const uint32_t entry = EntryPoint(head.data);
        if (EntryTask(cls, entry) >= 0) {
          if ((pe.blocked >> entry & 1) == 0) add(RunKind::kControl, entry, q);
          break;
        }
        // Nobody is named, or a local task: the wavelet is gone either way.
        const bool was_full = queue.ring.size() >= queue.capacity;
        if (cls.local_task[entry] >= 0) {
          pe.active |= uint64_t{1} << entry;
          if ((pe.blocked >> entry & 1) == 0) add(RunKind::kLocal, entry, 0);
        } else if (entry != kNoEntryPoint) {
          Report(pe, TrapKind::kUnboundControlTask, t, kNoIndex, 0,
                 fmt::format("a control wavelet on colour {} names entry point {}", head.color,
                             entry));
        }
        queue.ring.pop();
        ++pe.count.wavelets_in;
        if (was_full) WakeRouter(pe, t + 1);
      }
    }
  }
  if (n == 0) return TakeCommand(pe, t);
  size_t best = 0;
  if (fabric->options.picker_seed) {
    best = Mix(*fabric->options.picker_seed ^ uint64_t{pe.index} << 32 ^ Mix(pe.picks)) % n;
  } else {
    // High priority first; among equals the next id after the one that ran last, in turn
    // (docs/csl/machine.md says why).
    const auto rank = [&](const Choice& c) {
      return ((c.id - pe.last_id - 1) & 63) + ((pe.high_priority >> c.id & 1) != 0 ? 0 : 1000);
    };
    for (size_t i = 1; i < n; ++i) {
      if (rank(choices[i]) < rank(choices[best])) best = i;
    }
  }
  ++pe.picks;
  const Choice& c = choices[best];
  pe.last_id = static_cast<uint8_t>(c.id);
  uint32_t data = 0;
  if (c.kind == RunKind::kData || (c.kind == RunKind::kControl && c.queue != ~0u)) {
    InputQueue& queue = pe.comm->in[c.queue];
    data = queue.ring.front().data;
    const bool was_full = queue.ring.size() >= queue.capacity;
    queue.ring.pop();
    ++pe.count.wavelets_in;
    if (was_full) WakeRouter(pe, t + 1);
  }
  switch (c.kind) {
    case RunKind::kLocal:
      pe.active &= ~(uint64_t{1} << c.id);
      StartTask(pe, static_cast<uint32_t>(cls.local_task[c.id]), c.kind, 0, t);
      break;
    case RunKind::kData:
      StartTask(pe, static_cast<uint32_t>(cls.data_task[c.id]), c.kind, data, t);
      break;
    case RunKind::kControl:
      pe.active &= ~(uint64_t{1} << c.id);
      StartTask(pe, static_cast<uint32_t>(EntryTask(cls, c.id)), c.kind, data, t);
      break;
    case RunKind::kTeardown: {
      // One handler at a time; the id stays active while there are more.
      uint32_t function = kNoIndex;
      if (pe.teardown_todo != 0) {
        const auto color = static_cast<uint32_t>(std::countr_zero(pe.teardown_todo));
        pe.teardown_todo &= pe.teardown_todo - 1;
        for (const HandlerBinding& h : cls.code->teardown_handlers) {
          if (h.id == color) function = h.function;
        }
      } else if (pe.flush_todo != 0) {
        const auto queue =
            static_cast<uint32_t>(std::countr_zero(static_cast<uint32_t>(pe.flush_todo)));
        pe.flush_todo = static_cast<uint16_t>(pe.flush_todo & (pe.flush_todo - 1));
        for (const HandlerBinding& h : cls.code->empty_queue_handlers) {
          if (h.id == (queue & 7) && h.output == (queue >= 8)) function = h.function;
        }
      }
      if (pe.teardown_todo == 0 && pe.flush_todo == 0)
        pe.active &= ~(uint64_t{1} << kTeardownTaskId);
      if (function == kNoIndex) break;
      pe.running = RunKind::kTeardown;
      pe.task_id = kTeardownTaskId;
      pe.task_since = t;
      pe.main_ready = t + core.cost->task_switch;
      ++pe.count.tasks;
      StartFunction(core, pe, function, nullptr, 0);
      break;
    }
    default:
      break;
  }
  return true;
}

void Tile::FeedHost(Pe& pe, uint64_t t) {
  const auto it = host_in_of.find(pe.index);
  if (it == host_in_of.end()) return;
  for (const uint8_t color : it->second) {
    PortIn& port = ports_in[PortKey(pe.index, Direction::kRamp, color)];
    if (port.words.empty()) continue;
    const PortIn::Word w = port.words.front();
    if (w.ready > t) {
      WakePe(pe.index, w.ready);
      continue;
    }
    const uint32_t q = InputQueueFor(core, pe, color);
    InputQueue& queue = pe.comm->in[q];
    if (queue.ring.size() >= queue.capacity) continue;  // fed again when the PE takes something
    QueueEntry e;
    e.data = w.data;
    e.color = color;
    e.control = w.control;
    e.ready = t + core.cost->ramp_latency;
    queue.ring.push(e);
    port.words.pop_front();
    WakePe(pe.index, e.ready);
    if (!port.words.empty()) WakePe(pe.index, t + 1);
    if (!port.owners.empty() && --port.owners.front().second == 0) {
      Command& c = *port.owners.front().first;
      port.owners.pop_front();
      uint64_t end_cycle = c.end.load();
      while (end_cycle < t && !c.end.compare_exchange_weak(end_cycle, t)) {
      }
      c.remaining.fetch_sub(1);
    }
  }
}

void Tile::RunUntraced(Pe& pe) {
  if (runner != nullptr)
    runner->Run(core, pe);
  else
    RunMain(core, pe);
}

void Tile::Run(Pe& pe) {
  if (lane == nullptr) {
    RunUntraced(pe);
    return;
  }
  const uint64_t begin = pe.main_ready;
  const Function* task = pe.thread->frames.front().function;
  RunUntraced(pe);
  lane->Ran(pe, begin, task);
}

void Tile::StepPe(Pe& pe, uint64_t t) {
  if (pe.last_step == t) return;
  pe.last_step = t;
  if (pe.next_wake <= t) pe.next_wake = kNever;
  core.now = t;
  const bool waited = pe.state == MainState::kOperation;
  const bool moved = StepOperations(core, pe);
  if (waited && pe.state != MainState::kOperation) {  // its synchronous operation is over: a cycle
                                                      // an element was work, the rest waiting
    const DsdState& s = pe.comm->ops[kMainSlot];
    const uint64_t cycles = t - s.since + 1;
    const uint64_t work = std::min<uint64_t>(cycles, s.done);
    pe.count.busy += work;
    pe.count.stalled += cycles - work;
  }
  bool ran = false;
  // The main thread, as far as its clock lets it.
  for (int turns = 0; turns < 64; ++turns) {
    if (pe.state == MainState::kWaitQueue) {
      pe.state = MainState::kRunning;
      pe.main_ready = std::max(pe.main_ready, t);
    }
    if (pe.state == MainState::kIdle) {
      if (pe.main_ready > t || !Pick(pe, t)) break;
      ran = true;
      if (pe.state == MainState::kIdle) continue;  // a host copy: at once the next
      if (pe.state == MainState::kRunning) Run(pe);
      continue;
    }
    if (pe.state != MainState::kRunning || pe.main_ready > t) break;
    const uint64_t clock = pe.main_ready;
    const uint64_t instructions = pe.count.instructions;
    Run(pe);
    ran |= pe.main_ready != clock || pe.count.instructions != instructions;
    if (pe.state == MainState::kWaitQueue) break;
    if (turns == 63) WakePe(pe.index, t + 1);
  }
  if (pe.comm != nullptr) {
    Comm& comm = *pe.comm;
    for (uint32_t q = 0; q < 8; ++q) {  // WSE-3 flush requests
      if (comm.in[q].flush && !comm.in[q].flushed && comm.in[q].ring.empty()) {
        comm.in[q].flushed = true;
        pe.flush_todo = static_cast<uint16_t>(pe.flush_todo | 1u << q);
        pe.active |= uint64_t{1} << kTeardownTaskId;
        WakePe(pe.index, t + 1);
      }
      if (comm.out[q].flush && !comm.out[q].flushed && comm.out[q].ring.empty()) {
        comm.out[q].flushed = true;
        pe.flush_todo = static_cast<uint16_t>(pe.flush_todo | 1u << (q + 8));
        pe.active |= uint64_t{1} << kTeardownTaskId;
        WakePe(pe.index, t + 1);
      }
    }
  }
  if (!host_in_of.empty()) FeedHost(pe, t);
  if (lane != nullptr) lane->Visit(pe, t);
  // When next? Whatever moved may let something else move. Wavelets on the ramp wake the PE by
  // themselves.
  if ((moved || ran) &&
      ((pe.comm != nullptr && pe.comm->live != 0) || pe.state == MainState::kWaitQueue))
    WakePe(pe.index, t + 1);
  if ((pe.state == MainState::kRunning || pe.state == MainState::kIdle) && pe.main_ready > t)
    WakePe(pe.index, pe.main_ready);
}

}  // namespace szarena::fabric
