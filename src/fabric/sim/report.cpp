// SPDX-License-Identifier: Apache-2.0
// What is wrong, in words: traps with source lines, who waits for what, what was left over.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "fabric/interp/interp.h"
#include "fabric/interp/operand.h"
#include "fabric/sim/impl.h"

namespace szarena::fabric {
using namespace bytecode;

std::string Fabric::Impl::FileName(uint32_t file) const {
  return file < program->files.size() ? program->files[file] : std::string();
}

LineEntry Fabric::Impl::LineOf(const Pe& pe, uint32_t function, uint32_t pc) const {
  const auto& functions = pe.cls->code->functions;
  if (function < functions.size()) return LineAt(functions[function], pc);
  if (pe.thread != nullptr && !pe.thread->frames.empty() && pe.state != MainState::kIdle) {
    const Frame& f = pe.thread->frames.back();
    return LineAt(*f.function, f.pc);
  }
  return {0, kNoIndex, 0};
}

bool Tile::Report(Pe& pe, TrapKind kind, uint64_t cycle, uint32_t function, uint32_t pc,
                  std::string detail) {
  const bool fatal_kind = TrapIsFatal(kind) || fabric->options.trap == TrapMode::kError;
  std::string key =
      function != kNoIndex
          ? fmt::format("{}/{}/{}/{}", static_cast<int>(kind), pe.cls->code->name, function, pc)
          : fmt::format("{}/{}/{}", static_cast<int>(kind), pe.cls->code->name, detail);
  Trap t;
  t.kind = kind;
  t.x = pe.x;
  t.y = pe.y;
  t.cycle = cycle;
  t.fatal = fatal_kind;
  auto [it, fresh] = traps.try_emplace(std::move(key), std::move(t));
  Trap& old = it->second;
  if (!fresh) {
    ++old.count;
    const bool earlier =
        cycle < old.cycle ||
        (cycle == old.cycle && std::pair<int, int>(pe.y, pe.x) < std::pair(old.y, old.x));
    if (!earlier) {
      fatal |= fatal_kind;
      return fatal_kind;
    }
    old.x = pe.x;
    old.y = pe.y;
    old.cycle = cycle;
  }
  old.detail = std::move(detail);
  const LineEntry line =
      function == kNoIndex ? LineEntry{0, kNoIndex, 0} : fabric->LineOf(pe, function, pc);
  old.file = fabric->FileName(line.file);
  old.line = line.line;
  fatal |= fatal_kind;
  return fatal_kind;
}

void Tile::PrintLine(Pe& pe, std::string line) {
  printed.push_back({core.now, pe.index, std::move(line)});
}

void Fabric::Impl::CollectTraps() {
  // The same finding may come from several tiles.
  std::map<std::string, Trap> all;
  for (const auto& tile : tiles) {
    for (const auto& [key, trap] : tile->traps) {
      auto [it, fresh] = all.try_emplace(key, trap);
      if (fresh) continue;
      const uint64_t count = it->second.count + trap.count;
      if (std::tuple(trap.cycle, trap.y, trap.x) <
          std::tuple(it->second.cycle, it->second.y, it->second.x))
        it->second = trap;
      it->second.count = count;
    }
  }
  traps.clear();
  for (auto& [key, trap] : all) traps.push_back(std::move(trap));
  std::stable_sort(traps.begin(), traps.end(), [](const Trap& a, const Trap& b) {
    return std::tuple(a.cycle, a.y, a.x, a.kind, a.line) <
           std::tuple(b.cycle, b.y, b.x, b.kind, b.line);
  });
}

const std::vector<Trap>& Fabric::traps() {
  impl_->CollectTraps();
  return impl_->traps;
}

namespace {

std::string TaskName(const Pe& pe) {
  if (pe.thread == nullptr || pe.thread->frames.empty()) return "the main thread";
  const Frame& f = pe.thread->frames.front();
  switch (pe.running) {
    case RunKind::kHost:
      return fmt::format("function '{}', launched by the host,", f.function->name);
    case RunKind::kTeardown:
      return fmt::format("teardown handler '{}'", f.function->name);
    default:
      return fmt::format("task '{}' (id {})", f.function->name, pe.task_id);
  }
}

std::string NameOfTask(const Pe& pe, uint32_t id) {
  const auto& cls = *pe.cls;
  for (const auto* table : {&cls.local_task, &cls.data_task, &cls.control_task}) {
    if ((*table)[id] >= 0)
      return cls.code->functions[cls.code->tasks[static_cast<size_t>((*table)[id])].function].name;
  }
  return id == kTeardownTaskId ? "teardown handler" : "?";
}

std::string SignalEffect(const Pe& pe, const AsyncSettings& s) {
  if (s.on_done.kind == SignalKind::kNone) return {};
  return fmt::format("; when done it {} '{}' (id {})",
                     s.on_done.kind == SignalKind::kActivate ? "activates" : "unblocks",
                     NameOfTask(pe, s.on_done.id & 63), s.on_done.id);
}

// What a live operation waits for; empty where it could go on.
std::string OperationWaits(const Core& core, const Pe& pe, const DsdState& s) {
  const Comm& comm = *pe.comm;
  if (s.slot != kMainSlot && (comm.blocked >> s.slot & 1) != 0)
    return fmt::format("microthread {} is blocked: @unblock it", s.slot);
  const std::string done = s.infinite ? fmt::format("{} elements done, endless", s.done)
                                      : fmt::format("{} of {} elements done", s.done, s.length);
  for (int i = 0; i < s.source_count; ++i) {
    const OperandState& o = s.src[i];
    if (o.cls == OperandClass::kFabIn && !o.half_valid && comm.in[o.queue].ring.empty()) {
      return fmt::format(
          "input queue {} (colour {}) is empty ({}): a wavelet on colour {} would wake it", o.queue,
          o.color, done, o.color);
    }
    if (o.cls == OperandClass::kFifo && pe.fifos[o.fifo].count == 0) {
      return fmt::format("FIFO '{}' is empty ({}): a push would wake it",
                         pe.cls->code->fifos[o.fifo].name, done);
    }
  }
  if (s.dest.cls == OperandClass::kFabOut &&
      comm.out[s.dest.queue].ring.size() >= comm.out[s.dest.queue].capacity) {
    return fmt::format("output queue {} (colour {}) is full ({}): the router must take a wavelet",
                       s.dest.queue, s.dest.color, done);
  }
  if (s.dest.cls == OperandClass::kFifo &&
      pe.fifos[s.dest.fifo].count >= pe.cls->code->fifos[s.dest.fifo].capacity) {
    return fmt::format("FIFO '{}' is full ({}): a pop would wake it",
                       pe.cls->code->fifos[s.dest.fifo].name, done);
  }
  static_cast<void>(core);
  return {};
}

// ".{ WEST, RAMP }" of a set of directions.
std::string Directions(uint32_t set) {
  std::vector<std::string_view> names;
  for (uint32_t d = 0; d < 5; ++d) {
    if ((set >> d & 1) != 0) names.push_back(DirectionName(static_cast<Direction>(d)));
  }
  return fmt::format(".{{ {} }}", fmt::join(names, ", "));
}

// Why wavelets on a colour that came from `d` stay in a router, and what would help.
std::string RouterWaits(const ColorState& s, uint32_t color, Direction d) {
  const std::string_view from = DirectionName(d);
  if (s.teardown) return "the colour is in teardown";
  if (!s.configured && s.rx == 0)
    return fmt::format("the PE has no configuration for colour {}: give it one with {} in .rx",
                       color, from);
  if ((s.rx >> static_cast<uint32_t>(d) & 1) == 0)
    return fmt::format(
        "the route here (switch position {}) has .rx = {}, .tx = {}, so it takes none from {}: add "
        "{} "
        "to .rx, or send the colour another way",
        s.position, Directions(s.rx), Directions(s.tx), from, from);
  return "the next router or the core's queue is full";
}

// PEs as rectangles, "(0..5, 0..1), (0, 2)", row by row; `ids` ascend.
std::string PlacesOf(const std::vector<uint32_t>& ids, uint32_t width) {
  struct Box {
    uint32_t x0, x1, y0, y1;
  };
  std::vector<Box> boxes;
  for (size_t i = 0; i < ids.size();) {
    const uint32_t y = ids[i] / width;
    const uint32_t x0 = ids[i] % width;
    size_t n = 1;
    while (i + n < ids.size() && ids[i + n] == ids[i] + n && ids[i + n] / width == y) ++n;
    const auto x1 = static_cast<uint32_t>(x0 + n - 1);
    const auto above = std::find_if(boxes.begin(), boxes.end(), [&](const Box& b) {
      return b.x0 == x0 && b.x1 == x1 && b.y1 + 1 == y;
    });
    if (above != boxes.end())
      above->y1 = y;
    else
      boxes.push_back({x0, x1, y, y});
    i += n;
  }
  constexpr size_t kShown = 12;
  const auto range = [](uint32_t a, uint32_t b) {
    return a == b ? fmt::format("{}", a) : fmt::format("{}..{}", a, b);
  };
  std::string s;
  for (size_t i = 0; i < std::min(boxes.size(), kShown); ++i) {
    const Box& b = boxes[i];
    s += fmt::format("{}({}, {})", i == 0 ? "" : ", ", range(b.x0, b.x1), range(b.y0, b.y1));
  }
  if (boxes.size() > kShown) s += fmt::format(" and {} more ranges", boxes.size() - kShown);
  return s;
}

}  // namespace

std::vector<Waiting> Fabric::WaitingPes() {
  Impl& m = *impl_;
  std::vector<Waiting> all;
  std::vector<std::vector<uint32_t>> places;  // of each
  std::map<std::string, size_t> known;
  const auto add = [&](const Pe& pe, uint64_t since, LineEntry line, std::string what) {
    const std::string key =
        fmt::format("{}|{}|{}|{}", pe.cls->code->name, line.file, line.line, what);
    const auto [it, fresh] = known.try_emplace(key, all.size());
    if (!fresh) {
      ++all[it->second].pes;
      places[it->second].push_back(pe.index);
      all[it->second].since = std::min(all[it->second].since, since);
      return;
    }
    all.push_back({pe.x, pe.y, since, m.FileName(line.file), line.line, std::move(what), 1, {}});
    places.push_back({pe.index});
  };
  const LineEntry nowhere{0, kNoIndex, 0};
  for (uint32_t id = 0; id < m.pes.size(); ++id) {
    Pe* pe = m.PeIf(id);
    if (pe != nullptr) {
      const Core& core = m.TileOf(id).core;
      if (pe->state == MainState::kWaitMicrothread) {
        add(*pe, pe->main_ready, m.LineOf(*pe, kNoIndex, 0),
            fmt::format("{} waits for microthread {} to end", TaskName(*pe), pe->wait_slot));
      }
      if (pe->state == MainState::kWaitQueue) {
        add(*pe, pe->main_ready, m.LineOf(*pe, kNoIndex, 0),
            fmt::format("{} waits in @map for a wavelet or for room", TaskName(*pe)));
      }
      if (pe->state == MainState::kHalted)
        add(*pe, pe->main_ready, m.LineOf(*pe, kNoIndex, 0),
            fmt::format("{} was halted by a trap", TaskName(*pe)));
      if (pe->comm != nullptr) {
        const uint64_t readers = QueuesRead(*pe->comm);
        for (const DsdState& s : pe->comm->ops) {
          if (!s.live) continue;
          const std::string why = OperationWaits(core, *pe, s);
          if (why.empty() || (s.infinite && s.async)) continue;
          add(*pe, s.last_progress, m.LineOf(*pe, s.function, s.pc),
              s.slot == kMainSlot
                  ? fmt::format("{} waits in @{}: {}", TaskName(*pe), FactsOf(s.op).name, why)
                  : fmt::format("microthread {} waits in @{}: {}{}", s.slot, FactsOf(s.op).name,
                                why, SignalEffect(*pe, s.settings)));
        }
        for (uint32_t q = 0; q < pe->comm->in.size(); ++q) {
          const InputQueue& queue = pe->comm->in[q];
          if (queue.ring.empty() || (readers >> q & 1) != 0) continue;
          const uint32_t task = core.cost->arch == Arch::kWse2 ? uint32_t{queue.color} : q;
          std::string why = "no task is bound and no operation reads it";
          if (queue.ring.front().control) {
            const uint32_t entry = EntryPoint(queue.ring.front().data);
            why = fmt::format("the first is a control wavelet for task id {}", entry);
            if ((pe->blocked >> (task & 63) & 1) != 0)
              why += ", but the colour or queue is blocked: unblock it";
            else if ((pe->control_enabled >> (task & 63) & 1) == 0)
              why += ", but the colour has no data task and was never unblocked: @unblock it";
            else if ((pe->blocked >> entry & 1) != 0)
              why += ", which is blocked";
            else if (pe->state != MainState::kIdle)
              why += ", and the main thread is busy";
          } else if (task < kTaskIdCount && pe->cls->data_task[task] >= 0) {
            why = (pe->blocked >> task & 1) != 0
                      ? fmt::format("its data task '{}' is blocked: @unblock would wake it",
                                    NameOfTask(*pe, task))
                      : fmt::format("its data task '{}' waits for the main thread",
                                    NameOfTask(*pe, task));
          }
          add(*pe, queue.ring.front().ready, nowhere,
              q < 8 ? fmt::format("input queue {} (colour {}) holds {} wavelets: {}", q,
                                  queue.color, queue.ring.size(), why)
                    : fmt::format("colour {} (no input queue) holds {} wavelets: {}", queue.color,
                                  queue.ring.size(), why));
        }
      }
      for (uint64_t mask = pe->active & pe->blocked; mask != 0; mask &= mask - 1) {
        const auto task = static_cast<uint32_t>(std::countr_zero(mask));
        add(*pe, pe->main_ready, nowhere,
            fmt::format("task '{}' (id {}) is active but blocked: @unblock would wake it",
                        NameOfTask(*pe, task), task));
      }
      if (pe->command_busy && pe->state == MainState::kIdle) {
        add(*pe, pe->main_ready, nowhere,
            "a launched function has returned, and nothing has called unblock_cmd_stream() since: "
            "the next host command cannot start");
      }
    }
    const Router* r = m.routers[id].load();
    if (r == nullptr) continue;
    for (uint32_t c = 0; c < kColorCount; ++c) {
      const ColorState* s = r->colors[c].load();
      if (s == nullptr) continue;
      for (uint32_t d = 0; d < 4; ++d) {
        if (s->in[d].WaitingRaw() == 0) continue;
        const std::string why = RouterWaits(*s, c, static_cast<Direction>(d));
        add(m.PeAt(id), s->blocked_since, nowhere,
            fmt::format("router: {} wavelets on colour {} from {} wait: {}", s->in[d].WaitingRaw(),
                        c, DirectionName(static_cast<Direction>(d)), why));
      }
    }
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].pes > 1) all[i].places = PlacesOf(places[i], m.width);
  }
  std::stable_sort(all.begin(), all.end(), [](const Waiting& a, const Waiting& b) {
    return std::tuple(a.y, a.x) < std::tuple(b.y, b.x);
  });
  return all;
}

std::string Fabric::WhoMoves() const { return AtRest() ? std::string() : impl_->WhoMoves(); }

std::string Fabric::Impl::WhoMoves() const {
  const auto text = [&](const Pe& pe, LineEntry line, const std::string& what) {
    const std::string file = FileName(line.file);
    return fmt::format("PE ({}, {}): {}{}", pe.x, pe.y, what,
                       file.empty() ? std::string() : fmt::format(", at {}:{}", file, line.line));
  };
  const LineEntry nowhere{0, kNoIndex, 0};
  for (const auto& pe : pes) {
    if (pe == nullptr || pe->next_wake == kNever) continue;
    if (pe->state != MainState::kIdle)
      return text(*pe, LineOf(*pe, kNoIndex, 0), TaskName(*pe) + " runs");
    for (uint64_t mask = pe->active & ~pe->blocked; mask != 0; mask &= mask - 1) {
      const auto task = static_cast<uint32_t>(std::countr_zero(mask));
      return text(*pe, nowhere,
                  fmt::format("task '{}' (id {}) is active", NameOfTask(*pe, task), task));
    }
    for (uint32_t i = 0; pe->comm != nullptr && i < pe->comm->ops.size(); ++i) {
      const DsdState& s = pe->comm->ops[i];
      if (!s.live) continue;
      return text(*pe, LineOf(*pe, s.function, s.pc),
                  fmt::format("microthread {} runs @{}", s.slot, FactsOf(s.op).name));
    }
    return text(*pe, nowhere, "a task has just run, or a wavelet arrives");
  }
  return "wavelets are on their way";
}

std::string Fabric::DeadlockReport() {
  Impl& m = *impl_;
  const std::vector<Waiting> waiting = WaitingPes();
  std::string s;
  size_t open = 0;
  for (const Command& c : m.commands) {
    if (c.remaining.load() == 0) continue;
    static constexpr const char* kNames[] = {"copy to",     "copy from",     "launch of",
                                             "stream into", "stream out of", "send into",
                                             "receive from"};
    if (open++ < 8) {
      const std::string name = c.kind <= CommandKind::kLaunch
                                   ? fmt::format(" '{}'", m.program->exports[c.export_id].name)
                                   : m.StreamName(c.color);
      s += fmt::format("\n  host: {}{} is not done on {} of {} PEs",
                       kNames[static_cast<size_t>(c.kind)], name, c.remaining.load(),
                       static_cast<int64_t>(c.region.width) * c.region.height);
      if (c.kind > CommandKind::kLaunch) s += m.StreamProgress(c);
    }
  }
  if (open == 0 && waiting.empty()) return {};
  size_t shown = 0;
  for (const Waiting& w : waiting) {
    if (shown++ == 40) {
      s += fmt::format("\n  ... and {} more kinds of waiting", waiting.size() - 40);
      break;
    }
    s += fmt::format("\n  PE ({}, {}), since cycle {}", w.x, w.y, w.since);
    if (!w.file.empty()) s += fmt::format(", {}:{}", w.file, w.line);
    s += ": " + w.what;
    if (w.pes > 1) s += fmt::format(" [{} PEs of the class: {}]", w.pes, w.places);
  }
  // What was reported on the way is often the cause.
  const std::vector<Trap>& reported = traps();
  for (size_t i = 0; i < std::min<size_t>(reported.size(), 8); ++i)
    s += fmt::format("\n  before: {}", reported[i].ToString());
  return fmt::format("deadlock at cycle {}: nothing moves any more{}", m.now, s);
}

// " colour 1 ('results')", the name where the program exports it.
std::string Fabric::Impl::StreamName(uint32_t color) const {
  for (const Export& e : program->exports) {
    if (e.kind == ExportKind::kStream && e.color == color)
      return fmt::format(" colour {} ('{}')", color, e.name);
  }
  return fmt::format(" colour {}", color);
}

// How far a stream is, at the first PE where it is not done, and what would bring it further.
std::string Fabric::Impl::StreamProgress(const Command& c) const {
  const bool in = c.kind == CommandKind::kStreamIn || c.kind == CommandKind::kSend;
  uint64_t key = ~uint64_t{0};
  uint64_t left = 0;
  const auto take = [&](uint64_t at, uint64_t words) {
    if (at >= key) return;
    key = at;
    left = words;
  };
  for (const auto& tile : tiles) {
    for (const auto& [at, port] : tile->ports_in) {
      for (const auto& [owner, words] : port.owners) {
        if (owner == &c) take(at, words);
      }
    }
    for (const auto& [at, port] : tile->ports_out) {
      for (const PortOut::Want& want : port.wants) {
        if (want.command == &c) take(at, want.left);
      }
    }
  }
  if (left == 0) return {};
  const auto pe = static_cast<uint32_t>(key >> 8);
  const std::string place = fmt::format("PE ({}, {})", pe % width, pe / width);
  const std::string done = fmt::format(": at {} {} of {} words {}", place, c.count - left, c.count,
                                       in ? "were taken" : "received");
  if (in) return done + fmt::format("; a reader of colour {} there would take the rest", c.color);
  return done + fmt::format("; {} more on colour {} would end it", left, c.color);
}

void Fabric::Stop() {
  Impl& m = *impl_;
  if (m.stopped) return;
  m.stopped = true;
  if (m.LoopsFound().empty()) m.FindRouteLoops();
  for (uint32_t id = 0; id < m.pes.size(); ++id) {
    Tile& tile = m.TileOf(id);
    uint64_t left = 0;
    std::string colors;
    if (const Router* r = m.routers[id].load()) {
      for (uint32_t c = 0; c < kColorCount; ++c) {
        const ColorState* s = r->colors[c].load();
        if (s == nullptr) continue;
        uint64_t n = 0;
        for (const LinkBuffer& b : s->in) n += b.WaitingRaw();
        if (n > 0) colors += fmt::format(" {}", c);
        left += n;
      }
    }
    Pe* pe = m.PeIf(id);
    if (pe != nullptr && pe->comm != nullptr) {
      for (const InputQueue& q : pe->comm->in) {
        if (!q.ring.empty()) colors += fmt::format(" {}", q.color);
        left += q.ring.size();
      }
      for (const OutputQueue& q : pe->comm->out) {
        if (!q.ring.empty()) colors += fmt::format(" {}", q.ring.front().color);
        left += q.ring.size();
      }
    }
    const bool fatal_before = tile.fatal;
    if (left > 0)
      tile.Report(m.PeAt(id), TrapKind::kUnconsumedWavelets, m.now, kNoIndex, 0,
                  fmt::format("wavelets that nobody took, on colours{}", colors));
    if (pe != nullptr) {
      for (uint64_t mask = pe->active & pe->blocked; mask != 0; mask &= mask - 1) {
        const auto task = static_cast<uint32_t>(std::countr_zero(mask));
        tile.Report(*pe, TrapKind::kBlockedTask, m.now, kNoIndex, 0,
                    fmt::format("task '{}' (id {}) was activated and never unblocked",
                                NameOfTask(*pe, task), task));
      }
      for (uint32_t i = 0; pe->comm != nullptr && i < pe->comm->ops.size(); ++i) {
        const DsdState& s = pe->comm->ops[i];
        const std::string why =
            s.live && !(s.infinite && s.async) ? OperationWaits(tile.core, *pe, s) : "";
        if (why.empty()) continue;
        tile.Report(*pe, TrapKind::kPendingOperation, m.now, s.function, s.pc,
                    fmt::format("@{} still waits: {}{}", FactsOf(s.op).name, why,
                                SignalEffect(*pe, s.settings)));
      }
      if (pe->debug != nullptr && !pe->debug->line.empty())
        tile.PrintLine(*pe, std::move(pe->debug->line));
    }
    tile.fatal = fatal_before;
  }
  m.AfterCycle();
}

}  // namespace szarena::fabric
