// SPDX-License-Identifier: Apache-2.0
// The cycle loop: the next cycle in which anything happens, all tiles step it, what crosses tiles
// is handed over, repeat. Quiet cycles run on the calling thread alone; the result is the same
// either way.
#include <fmt/format.h>

#include <algorithm>

#include "fabric/sim/impl.h"

namespace szarena::fabric {
using namespace bytecode;
namespace {
constexpr size_t kParallelEvents = 256;  // fewer are not worth waking threads for
}

void Tile::WakePe(uint32_t id, uint64_t at) {
  if (Pe* pe = fabric->PeIf(id)) {
    if (pe->next_wake == at) return;
    pe->next_wake = at;
  }
  wheel.Add(at, Wheel::kPe, id);
}

void Tile::WakeRouterId(uint32_t id, uint64_t at) {
  if (fabric->loading) at = 1;
  if (id < first || id >= end) {
    outbox[fabric->tile_of_row[id / fabric->width]].push_back({at, id, 0xff});
    return;
  }
  Router& r = fabric->RouterAt(id);
  if (r.next_wake == at) return;
  r.next_wake = at;
  wheel.Add(at, Wheel::kRouter, id);
}

void Tile::WakeRouter(Pe& pe, uint64_t at) { WakeRouterId(pe.index, at); }

void Tile::Step(uint64_t t) {
  core.now = t;
  for (const uint32_t id : routers_now) {
    Router& r = fabric->RouterAt(id);
    if (r.last_step == t) continue;
    r.last_step = t;
    StepRouter(id, t);
  }
  for (const uint32_t id : pes_now) StepPe(fabric->PeAt(id), t);
}

void Tile::Merge() {
  for (auto& other : fabric->tiles) {
    for (const Wake& w : other->outbox[index]) {
      if (w.color != 0xff) fabric->RouterAt(w.id).maybe |= 1u << w.color;
      WakeRouterId(w.id, w.at);
    }
    other->outbox[index].clear();
  }
}

void Fabric::Impl::StartWorkers() {
  for (size_t i = 1; i < tiles.size(); ++i) {
    workers.emplace_back([this, i] {
      uint64_t seen = 0;
      while (true) {
        int spins = 0;
        uint64_t g = generation.load(std::memory_order_acquire);
        while (g == seen) {
          if (++spins < 2000) {
            __builtin_ia32_pause();
          } else {
            generation.wait(seen);
          }
          g = generation.load(std::memory_order_acquire);
        }
        seen = g;
        if (quit.load()) return;
        tiles[i]->Step(work_cycle);
        busy.fetch_sub(1, std::memory_order_release);
      }
    });
  }
}

void Fabric::Impl::StopWorkers() {
  quit = true;
  generation.fetch_add(1);
  generation.notify_all();
  for (std::thread& w : workers) w.join();
  workers.clear();
}

size_t Fabric::Impl::StepAll(uint64_t t) {
  size_t events = 0;
  for (auto& tile : tiles) {
    tile->wheel.Take(t, tile->routers_now, tile->pes_now);
    events += tile->routers_now.size() + tile->pes_now.size();
  }
  if (workers.empty() || events < kParallelEvents) {
    for (auto& tile : tiles) tile->Step(t);
  } else {
    work_cycle = t;
    busy.store(static_cast<uint32_t>(workers.size()), std::memory_order_relaxed);
    generation.fetch_add(1, std::memory_order_release);
    generation.notify_all();
    tiles[0]->Step(t);
    for (int spins = 0; busy.load(std::memory_order_acquire) != 0; ++spins) {
      if (spins > 1000)
        std::this_thread::yield();
      else
        __builtin_ia32_pause();
    }
  }
  return events;
}

void Fabric::Impl::AfterCycle() {
  for (auto& tile : tiles) tile->Merge();
  IssueDeferred();
  bool any = false;
  for (auto& tile : tiles) any |= !tile->printed.empty();
  if (!any) return;
  std::vector<PrintedLine> lines;
  for (auto& tile : tiles) {
    std::move(tile->printed.begin(), tile->printed.end(), std::back_inserter(lines));
    tile->printed.clear();
  }
  std::stable_sort(lines.begin(), lines.end(), [](const PrintedLine& a, const PrintedLine& b) {
    return std::pair(a.cycle, a.pe) < std::pair(b.cycle, b.pe);
  });
  for (PrintedLine& l : lines) {
    if (options.print)
      options.print(l.text);
    else
      printed.push_back(std::move(l.text));
  }
}

bool Fabric::Impl::AnyFatal() const {
  return std::any_of(tiles.begin(), tiles.end(), [](const auto& t) { return t->fatal; });
}

bool Fabric::Impl::EndsEarly() {
  constexpr std::chrono::milliseconds kAsk{100};
  const auto clock = std::chrono::steady_clock::now();
  late = late || (options.deadline && clock > *options.deadline);
  if (options.stop && clock - asked > kAsk) {
    cancelled = options.stop();
    asked = clock;
  }
  return late || cancelled;
}

void Fabric::Impl::RunCycles(const std::function<bool()>& done, uint64_t until) {
  constexpr size_t kLookAtClock = 64;  // visits of PEs and routers between two looks, at least
  AfterCycle();
  size_t visits = 0;
  cancelled = false;
  while (!done() && !AnyFatal()) {
    if (visits >= kLookAtClock) {
      visits = 0;
      if (EndsEarly()) return;
    }
    uint64_t next = kNever;
    for (const auto& tile : tiles) next = std::min(next, tile->wheel.Next());
    if (next == kNever) return;
    if (next > until) {
      now = until;
      return;
    }
    now = next;
    if (recorder != nullptr) recorder->Advance(now);
    visits += 1 + StepAll(now);
    AfterCycle();
  }
}

Result<void> Fabric::Impl::Stopped(const std::function<bool()>& done, uint64_t until) {
  if (AnyFatal()) {
    CollectTraps();
    for (const Trap& t : traps) {
      if (t.fatal) return Fail(ErrorCode::kInvalidArgument, t.ToString());
    }
  }
  if (done()) return {};
  if (late)
    return Fail(
        ErrorCode::kTimeout,
        fmt::format("the simulation took too long; it had come to cycle {}; {}", now, WhoMoves()));
  if (cancelled)
    return Fail(ErrorCode::kCancelled, fmt::format("the run was interrupted at cycle {}", now));
  FindRouteLoops();
  uint64_t next = kNever;
  for (const auto& tile : tiles) next = std::min(next, tile->wheel.Next());
  if (next != kNever && next > until) {
    return Fail(
        ErrorCode::kTimeout,
        fmt::format("the program still runs after {} cycles, the limit that was given; {}{}", until,
                    WhoMoves(), LoopsFound()));
  }
  return Fail(ErrorCode::kUnavailable, "deadlock");
}

Result<void> Fabric::RunUntil(Ticket ticket) {
  Command& c = impl_->commands[ticket];
  const auto done = [&c] { return c.remaining.load(std::memory_order_relaxed) == 0; };
  impl_->RunCycles(done, impl_->options.max_cycles);
  auto r = impl_->Stopped(done, impl_->options.max_cycles);
  if (!r && r.error().message == "deadlock") r.error().message = DeadlockReport();
  return r;
}

Result<void> Fabric::RunUntilIdle() {
  const auto never = [] { return false; };
  impl_->RunCycles(never, impl_->options.max_cycles);
  const auto all = [this] {
    return AtRest() && std::all_of(impl_->commands.begin(), impl_->commands.end(),
                                   [](const Command& c) { return c.remaining.load() == 0; });
  };
  auto r = impl_->Stopped(all, impl_->options.max_cycles);
  if (!r && r.error().message == "deadlock") r.error().message = DeadlockReport();
  return r;
}

Result<void> Fabric::RunFor(uint64_t cycles) {
  const uint64_t until = impl_->now + cycles;
  impl_->RunCycles([] { return false; }, until);
  if (!impl_->late && !impl_->cancelled) impl_->now = std::max(impl_->now, until);
  if (impl_->AnyFatal() || impl_->late || impl_->cancelled)
    return impl_->Stopped([] { return false; }, until);
  return {};
}

bool Fabric::AtRest() const {
  return std::all_of(impl_->tiles.begin(), impl_->tiles.end(),
                     [](const auto& tile) { return tile->wheel.Next() == kNever; });
}

Result<bool> Fabric::Settle(uint64_t cycles) {
  const auto never = [] { return false; };
  const uint64_t until = std::min(impl_->now + cycles, impl_->options.max_cycles);
  impl_->RunCycles(never, until);
  if (impl_->AnyFatal() || impl_->late || impl_->cancelled)
    SZARENA_TRY_VOID(impl_->Stopped(never, until));
  return AtRest();
}

}  // namespace szarena::fabric
