// SPDX-License-Identifier: Apache-2.0
// Loading a program, and the small questions about its state.
#include "fabric/sim/fabric.h"

#include <fmt/format.h>

#include <algorithm>

#include "bytecode/verify.h"
#include "fabric/interp/engine.h"
#include "fabric/interp/interp.h"
#include "fabric/sim/impl.h"

namespace szarena::fabric {
using namespace bytecode;

namespace {
constexpr uint64_t kLoadCycles =
    10'000'000;  // load-time code sets up the PE; it has nothing to compute
}

std::string_view DirectionName(Direction d) {
  static constexpr std::string_view kNames[] = {"EAST", "WEST", "SOUTH", "NORTH", "RAMP"};
  return kNames[static_cast<size_t>(d)];
}

// ---------------------------------------------------------------- state on demand
Pe& Fabric::Impl::PeAt(uint32_t id) {
  if (pes[id] != nullptr) return *pes[id];
  Tile& tile = TileOf(id);
  pes[id] = std::make_unique<Pe>();
  Pe& pe = *pes[id];
  const uint32_t c = program->pes[id].code_class;
  pe.cls = c == kNoIndex ? empty_class.get() : &classes[c];
  pe.index = id;
  pe.x = static_cast<uint16_t>(id % width);
  pe.y = static_cast<uint16_t>(id / width);
  pe.memory.Init(*pe.cls->image, tile.core.pages);
  const CodeClass& code = *pe.cls->code;
  pe.active = code.initially_active;
  pe.blocked = code.initially_blocked;
  pe.high_priority = pe.cls->high_priority;
  for (const TaskBinding& t : code.tasks) {
    // On WSE-2 a local task of the same id opens a colour too: one table for both.
    if (t.kind == TaskKind::kData || (t.kind == TaskKind::kLocal && program->arch == Arch::kWse2))
      pe.control_enabled |= uint64_t{1} << t.id;
  }
  for (const RotatingTasks& r : code.rotating) pe.rotating.push_back(r.init);
  for (const DsrInit& d : code.dsr_inits) LoadDsr(pe, d.load, d.descriptor);
  ++tile.pes_touched;
  return pe;
}

Router& Fabric::Impl::MakeRouter(uint32_t id) {
  const std::lock_guard lock(router_mutex);
  Router* r = routers[id].load(std::memory_order_relaxed);
  if (r == nullptr) {
    r = new Router;
    routers[id].store(r, std::memory_order_release);
  }
  return *r;
}

const ColorRoute* Fabric::Impl::RouteOf(uint32_t id, uint32_t color) const {
  const uint32_t config = program->pes[id].router;
  const int entry = router_index[config][color];
  return entry < 0 ? nullptr : &program->routers[config].colors[static_cast<size_t>(entry)];
}

ColorState* Fabric::Impl::StateIf(uint32_t id, uint32_t color) const {
  const Router* r = routers[id].load(std::memory_order_acquire);
  return r == nullptr ? nullptr : r->colors[color].load(std::memory_order_acquire);
}

ColorState& Fabric::Impl::MakeState(uint32_t id, uint32_t color) {
  Router& r = RouterAt(id);
  auto fresh = std::make_unique<ColorState>();
  if (const ColorRoute* route = RouteOf(id, color)) {
    fresh->config = *route;
    fresh->configured = true;
    fresh->position = route->current_position;
    fresh->teardown = route->teardown;
    fresh->counter = route->filter.init_counter;
    fresh->limit = route->filter.limit1;
  }
  fresh->config.color = static_cast<uint8_t>(color);
  fresh->Apply();
  const std::lock_guard lock(router_mutex);
  ColorState* s = r.colors[color].load(std::memory_order_relaxed);
  if (s == nullptr) {
    s = fresh.release();
    r.colors[color].store(s, std::memory_order_release);
  }
  return *s;
}

bool Fabric::Impl::Neighbour(uint32_t id, Direction d, uint32_t& other) const {
  const uint32_t x = id % width;
  const uint32_t y = id / width;
  switch (d) {
    case Direction::kEast:
      other = id + 1;
      return x + 1 < width;
    case Direction::kWest:
      other = id - 1;
      return x > 0;
    case Direction::kSouth:
      other = id + width;
      return y + 1 < height;
    case Direction::kNorth:
      other = id - width;
      return y > 0;
    case Direction::kRamp:
      return false;
  }
  return false;
}

// ---------------------------------------------------------------- life
Fabric::Fabric(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Fabric::~Fabric() {
  if (impl_ == nullptr) return;
  static_cast<void>(FinishTrace());
  impl_->StopWorkers();
  for (auto& r : impl_->routers) delete r.load();
}

const Program& Fabric::program() const { return *impl_->program; }

Result<std::unique_ptr<Fabric>> Fabric::Create(std::shared_ptr<const Program> program,
                                               Options options) {
  SZARENA_TRY_VOID(Verify(*program));
  auto impl = std::make_unique<Impl>();
  Impl& m = *impl;
  m.program = program;
  m.options = std::move(options);
  m.cost = &CostModelOf(program->arch);
  m.width = program->width;
  m.height = program->height;
  m.empty_code = std::make_unique<CodeClass>();
  m.empty_code->name = "(no code)";
  m.empty_class = std::make_unique<LoadedClass>(*m.empty_code);
  m.classes.reserve(program->classes.size());
  for (const CodeClass& c : program->classes) {
    m.classes.emplace_back(c);
    auto& exports = m.export_of.emplace_back(program->exports.size(), nullptr);
    for (const ExportBinding& e : c.exports) exports[e.export_id] = &e;
  }
  for (const RouterConfig& r : program->routers) {
    auto& table = m.router_index.emplace_back();
    table.fill(-1);
    for (size_t i = 0; i < r.colors.size(); ++i) table[r.colors[i].color] = static_cast<int8_t>(i);
  }
  if (!m.options.backend) {
    SZARENA_TRY(m.options.backend, BackendFromEnvironment());
  }
  SZARENA_TRY(m.native,
              MakeNative(*m.options.backend, *program, *m.cost, m.options.check_uninitialised));
  const size_t n = program->pes.size();
  m.pes.resize(n);
  m.routers = std::vector<std::atomic<Router*>>(n);
  const uint32_t tile_count = std::clamp<uint32_t>(
      static_cast<uint32_t>(std::max(m.options.threads, 1)), 1, std::max(m.height, 1u));
  m.tile_of_row.resize(m.height);
  for (uint32_t t = 0; t < tile_count; ++t) {
    auto tile = std::make_unique<Tile>();
    const uint32_t row = m.height * t / tile_count;
    const uint32_t row_end = m.height * (t + 1) / tile_count;
    for (uint32_t y = row; y < row_end; ++y) m.tile_of_row[y] = t;
    tile->fabric = &m;
    tile->index = t;
    tile->first = row * m.width;
    tile->end = row_end * m.width;
    tile->core.program = program.get();
    tile->core.cost = m.cost;
    tile->core.around = tile.get();
    tile->core.check_uninitialised = m.options.check_uninitialised;
    if (m.native != nullptr) tile->runner = m.native->NewRunner();
    tile->outbox.resize(tile_count);
    m.tiles.push_back(std::move(tile));
  }
  // Only PEs that begin by themselves get any state now: a task activated at compile time, or a
  // load-time function.
  for (uint32_t id = 0; id < n; ++id) {
    const uint32_t c = program->pes[id].code_class;
    if (c == kNoIndex) continue;
    const CodeClass& code = program->classes[c];
    if (code.init_function == kNoIndex && code.initially_active == 0) continue;
    Pe& pe = m.PeAt(id);
    Tile& tile = m.TileOf(id);
    if (code.init_function != kNoIndex) {
      m.loading = true;
      StartFunction(tile.core, pe, code.init_function, nullptr, 0);
      while (pe.state == MainState::kRunning && pe.main_ready < kLoadCycles) {
        tile.core.now = pe.main_ready;  // nobody else runs: everything is visible at once
        RunMain(tile.core, pe);
      }
      tile.core.now = 0;
      m.loading = false;
      if (pe.state != MainState::kIdle)
        return Fail(
            ErrorCode::kInvalidArgument,
            fmt::format("the load-time code of PE ({}, {}) does not come to an end", pe.x, pe.y));
      pe.main_ready = 0;
      pe.count = {};
    }
    tile.WakePe(id, 1);
  }
  for (size_t c = 0; c < program->classes.size(); ++c) {
    uint64_t total = 0;
    std::string text;
    const CodeClass& code = program->classes[c];
    for (const MemoryItem& i : code.memory) total += i.bytes;
    if (total <= kSramBytes) continue;
    for (const MemoryItem& i : code.memory)
      text += fmt::format("\n  {:>6} bytes  {} ({})", i.bytes, i.name, i.what);
    uint32_t id = 0;
    while (program->pes[id].code_class != c) {
      if (++id == n) break;
    }
    if (id == n) continue;
    m.TileOf(id).Report(m.PeAt(id), TrapKind::kMemoryOverflow, 0, kNoIndex, 0,
                        fmt::format("class '{}' needs {} bytes, a PE has {}:{}", code.name, total,
                                    kSramBytes, text));
    if (m.options.trap == TrapMode::kError)
      return Fail(ErrorCode::kCapacity, fmt::format("class '{}' needs {} bytes, a PE has {}:{}",
                                                    code.name, total, kSramBytes, text));
  }
  if (!m.options.trace.empty()) {
    std::vector<uint32_t> first;
    for (const auto& tile : m.tiles) first.push_back(tile->first);
    SZARENA_TRY(m.recorder, trace::Recorder::Create(m.options.trace, *program, *m.cost, first));
    for (auto& tile : m.tiles) tile->lane = &m.recorder->lane(tile->index);
  }
  m.StartWorkers();
  return std::unique_ptr<Fabric>(new Fabric(std::move(impl)));
}

// ---------------------------------------------------------------- looking
uint64_t Fabric::now() const { return impl_->now; }

namespace {
const Symbol* FindSymbol(const CodeClass& code, const std::string& name) {
  for (const Symbol& s : code.symbols) {
    if (s.name == name) return &s;
  }
  return nullptr;
}
}  // namespace

std::vector<uint8_t> Fabric::ReadMemory(int x, int y, uint32_t address, uint32_t bytes) {
  std::vector<uint8_t> out(bytes);
  impl_->PeAt(static_cast<uint32_t>(y) * impl_->width + static_cast<uint32_t>(x))
      .memory.ReadBytes(address, out.data(), bytes);
  return out;
}

Result<std::vector<uint8_t>> Fabric::ReadSymbol(int x, int y, const std::string& name) {
  SZARENA_TRY_VOID(impl_->CheckRegion({x, y, 1, 1}));
  const uint32_t c = impl_->program->At(x, y).code_class;
  const Symbol* s = c == kNoIndex ? nullptr : FindSymbol(impl_->program->classes[c], name);
  if (s == nullptr)
    return Fail(ErrorCode::kNotFound, fmt::format("PE ({}, {}) has no symbol '{}'", x, y, name));
  return ReadMemory(x, y, s->address, s->size);
}

Result<void> Fabric::WriteSymbol(int x, int y, const std::string& name,
                                 std::span<const uint8_t> bytes) {
  SZARENA_TRY_VOID(impl_->CheckRegion({x, y, 1, 1}));
  const uint32_t c = impl_->program->At(x, y).code_class;
  const Symbol* s = c == kNoIndex ? nullptr : FindSymbol(impl_->program->classes[c], name);
  if (s == nullptr)
    return Fail(ErrorCode::kNotFound, fmt::format("PE ({}, {}) has no symbol '{}'", x, y, name));
  if (bytes.size() > s->size)
    return Fail(ErrorCode::kCapacity,
                fmt::format("symbol '{}' has {} bytes, {} are given", name, s->size, bytes.size()));
  impl_->PeAt(static_cast<uint32_t>(y) * impl_->width + static_cast<uint32_t>(x))
      .memory.WriteBytes(s->address, bytes.data(), static_cast<uint32_t>(bytes.size()));
  return {};
}

Statistics Fabric::statistics() const {
  Statistics s;
  s.cycles = impl_->now;
  s.quiet_since = impl_->now;
  s.host_cycles = impl_->host_cycles;
  for (const auto& tile : impl_->tiles) {
    s.hops += tile->hops;
    s.pes_touched += tile->pes_touched;
    s.pages += tile->core.pages.count();
  }
  for (const auto& pe : impl_->pes) {
    if (pe == nullptr) continue;
    s.instructions += pe->count.instructions;
    s.elements += pe->count.elements;
    s.arithmetic += pe->count.arithmetic;
    s.tasks += pe->count.tasks;
    s.busy_cycles += pe->count.busy;
    s.stalled_cycles += pe->count.stalled;
    s.quiet_since = std::max(s.quiet_since, pe->main_ready);
    s.wavelets_in += pe->count.wavelets_in;
    s.wavelets_out += pe->count.wavelets_out;
  }
  return s;
}

PeStatistics Fabric::StatisticsOf(int x, int y) const {
  PeStatistics s;
  s.idle_cycles = impl_->now;
  const auto& pe = impl_->pes[static_cast<size_t>(y) * impl_->width + static_cast<size_t>(x)];
  if (pe != nullptr) {
    s.count = pe->count;
    s.idle_cycles -= std::min(impl_->now, pe->count.busy + pe->count.stalled);
  }
  return s;
}

uint64_t Fabric::CompiledFunctions() const {
  return impl_->native == nullptr ? 0 : impl_->native->compiled_functions();
}

const std::vector<std::string>& Fabric::printed() const { return impl_->printed; }

const PeDebug* Fabric::DebugOf(int x, int y) const {
  const auto& pe = impl_->pes[static_cast<size_t>(y) * impl_->width + static_cast<size_t>(x)];
  return pe == nullptr ? nullptr : pe->debug.get();
}

std::string Fabric::StringOf(int x, int y, uint64_t index) const {
  const uint32_t c = impl_->program->At(x, y).code_class;
  if (c == kNoIndex || index >= impl_->program->classes[c].strings.size()) return {};
  return impl_->program->classes[c].strings[index];
}

}  // namespace szarena::fabric
