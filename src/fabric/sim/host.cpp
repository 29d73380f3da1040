// SPDX-License-Identifier: Apache-2.0
// Host commands and streams. Transfers are placed at the PEs directly; what the halo and the link
// would take is charged by the cost model (estimated).
#include <fmt/format.h>

#include <algorithm>

#include "fabric/interp/interp.h"
#include "fabric/sim/impl.h"

namespace szarena::fabric {
using namespace bytecode;
namespace {

void AtLeast(std::atomic<uint64_t>& v, uint64_t t) {
  uint64_t old = v.load();
  while (old < t && !v.compare_exchange_weak(old, t)) {
  }
}
void AtMost(std::atomic<uint64_t>& v, uint64_t t) {
  uint64_t old = v.load();
  while (old > t && !v.compare_exchange_weak(old, t)) {
  }
}

uint64_t PesOf(const Rect& r) {
  return static_cast<uint64_t>(r.width) * static_cast<uint64_t>(r.height);
}

}  // namespace

// ---------------------------------------------------------------- on a PE
bool Tile::TakeCommand(Pe& pe, uint64_t t) {
  Fabric::Impl& f = *fabric;
  bool did = false;
  while (!pe.command_busy && pe.next_command < f.stream.size()) {
    Command& c = f.commands[f.stream[pe.next_command]];
    if (!c.Contains(pe.x, pe.y)) {
      ++pe.next_command;
      continue;
    }
    if (c.available > t) {
      WakePe(pe.index, c.available);
      return did;
    }
    ++pe.next_command;
    AtMost(c.begin, t);
    const uint32_t cls = f.program->pes[pe.index].code_class;
    const ExportBinding* binding = cls == kNoIndex ? nullptr : f.export_of[cls][c.export_id];
    const auto done = [&] {
      AtLeast(c.end, t);
      const bool last = c.remaining.fetch_sub(1) == 1;
      if (last && c.kind == CommandKind::kCopyIn) std::vector<uint32_t>().swap(c.words);
      did = true;
    };
    if (binding == nullptr || binding->is_function != (c.kind == CommandKind::kLaunch)) {
      if (c.kind == CommandKind::kCopyOut) {
        Report(pe, TrapKind::kHostSymbol, t, kNoIndex, 0,
               fmt::format("a copy from '{}': {} does not export it; copy from the PEs that do",
                           f.program->exports[c.export_id].name,
                           cls == kNoIndex ? std::string("a PE without code")
                                           : fmt::format("class '{}'", pe.cls->code->name)));
        done();
        continue;
      }
      if (cls != kNoIndex) {
        Report(pe, TrapKind::kUnknownFunction, t, kNoIndex, 0,
               fmt::format("class '{}' does not export '{}'; the command is skipped",
                           pe.cls->code->name, f.program->exports[c.export_id].name));
      }
      done();
      continue;
    }
    if (c.kind == CommandKind::kLaunch) {
      pe.command_busy = true;
      pe.running = RunKind::kHost;
      pe.task_id = 0;
      pe.task_since = t;
      pe.main_ready = t + core.cost->task_switch;
      ++pe.count.tasks;
      StartFunction(core, pe, binding->function, c.args.data(),
                    static_cast<uint32_t>(c.args.size()));
      return true;
    }
    const Export& exported = f.program->exports[c.export_id];
    uint32_t address = binding->address;
    if (exported.is_pointer)
      address = binding->constant ? binding->value : pe.memory.Read<uint16_t>(binding->address);
    const uint32_t size = c.bits == 16 ? 2 : 4;
    const uint64_t bytes = uint64_t{c.count} * size;
    uint64_t limit = binding->constant && binding->target_bytes != 0
                         ? binding->value + uint64_t{binding->target_bytes}
                         : kSramBytes;
    if (!binding->constant) {  // a pointer variable: the array that it points into
      uint64_t array_end = kSramBytes;
      for (const Symbol& symbol : f.program->classes[cls].symbols) {
        if (address >= symbol.address && address < symbol.address + symbol.size)
          array_end = symbol.address + symbol.size;
      }
      if (c.kind == CommandKind::kCopyIn) {
        limit = array_end;
      } else if (address + bytes > array_end &&
                 address + bytes <= limit) {  // public programs do this; it harms nobody
        Report(pe, TrapKind::kHostOverread, t, kNoIndex, 0,
               fmt::format(
                   "a copy of {} elements of {} bytes from 0x{:04x} ('{}') reads beyond 0x{:04x}",
                   c.count, size, address, exported.name, array_end));
      }
    }
    if (address + bytes > limit) {
      Report(pe, TrapKind::kHostRange, t, kNoIndex, 0,
             fmt::format(
                 "a copy of {} elements of {} bytes at 0x{:04x} ('{}') reaches beyond 0x{:04x}",
                 c.count, size, address, exported.name, limit));
      done();
      continue;
    }
    uint32_t* words = c.words.data() + c.OffsetOf(pe.x, pe.y);
    if (c.kind == CommandKind::kCopyIn) {
      if (size == 4) {
        pe.memory.WriteBytes(address, words, c.count * 4);
      } else {
        for (uint32_t i = 0; i < c.count; ++i)
          pe.memory.Write<uint16_t>(address + 2 * i, static_cast<uint16_t>(words[i]));
      }
    } else if (size == 4) {
      pe.memory.ReadBytes(address, words, c.count * 4);
    } else {
      for (uint32_t i = 0; i < c.count; ++i) words[i] = pe.memory.Read<uint16_t>(address + 2 * i);
    }
    done();
  }
  return did;
}

void Tile::CommandDone(Pe& pe, uint64_t cycle) {
  if (!pe.command_busy)
    return;  // a program that starts by itself may call it with no command under way
  pe.command_busy = false;
  for (uint32_t i = pe.next_command; i-- > 0;) {  // the launch that this PE took last
    Command& c = fabric->commands[fabric->stream[i]];
    if (c.kind != CommandKind::kLaunch || !c.Contains(pe.x, pe.y)) continue;
    AtLeast(c.end, cycle);
    c.remaining.fetch_sub(1);
    break;
  }
  WakePe(pe.index, core.now + 1);
}

uint32_t Tile::SymbolValue(Pe& pe, uint32_t export_id) {
  const uint32_t cls = fabric->program->pes[pe.index].code_class;
  if (cls == kNoIndex || export_id >= fabric->program->exports.size()) return 0;
  const ExportBinding* b = fabric->export_of[cls][export_id];
  if (b == nullptr) return 0;
  if (b->constant) return b->value;
  const Export& e = fabric->program->exports[export_id];
  return e.is_pointer || e.elem_size == 2 ? pe.memory.Read<uint16_t>(b->address)
                                          : pe.memory.Read<uint32_t>(b->address);
}

void Tile::Deliver(PortOut& port, uint32_t data, uint64_t t) {
  if (port.wants.empty()) {
    port.words.push_back(data);
    return;
  }
  PortOut::Want& want = port.wants.front();
  AtMost(want.command->begin, t);
  want.command->words[want.offset++] = data;
  if (--want.left > 0) return;
  AtLeast(want.command->end, t);
  want.command->remaining.fetch_sub(1);
  port.wants.pop_front();
}

// ---------------------------------------------------------------- from the host
Result<void> Fabric::Impl::CheckRegion(const Rect& r) const {
  if (r.x < 0 || r.y < 0 || r.width < 1 || r.height < 1 ||
      int64_t{r.x} + r.width > int64_t{width} || int64_t{r.y} + r.height > int64_t{height}) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("the region of {}x{} PEs at ({}, {}) does not lie in the program's {}x{}",
                    r.width, r.height, r.x, r.y, width, height));
  }
  return {};
}

Command& Fabric::Impl::NewCommand(CommandKind kind, const Rect& region) {
  Command& c = commands.emplace_back();
  c.kind = kind;
  c.region = region;
  c.remaining = PesOf(region);
  return c;
}

void Fabric::Impl::Wake(const Rect& region, uint64_t at) {
  for (int y = region.y; y < region.y + region.height; ++y) {
    Tile& tile = *tiles[tile_of_row[static_cast<size_t>(y)]];
    for (int x = region.x; x < region.x + region.width; ++x)
      tile.WakePe(static_cast<uint32_t>(y) * width + static_cast<uint32_t>(x), at);
  }
}

namespace {
uint64_t LinkCycles(uint64_t words, uint32_t words_per_kcycle, uint32_t channels) {
  return words * 1000 / (uint64_t{words_per_kcycle} * std::max(channels, 1u));
}
}  // namespace

// The host works in order: a copy or launch is issued when the streams before it have been
// delivered.
Ticket Fabric::Impl::Enqueue(Ticket ticket) {
  deferred.push_back(ticket);
  IssueDeferred();
  return ticket;
}

void Fabric::Impl::IssueDeferred() {
  if (deferred.empty()) return;
  std::erase_if(open_streams, [&](Ticket t) { return commands[t].remaining.load() == 0; });
  while (!deferred.empty() && (open_streams.empty() || deferred.front() < open_streams.front())) {
    Issue(deferred.front());
    deferred.pop_front();
  }
}

void Fabric::Impl::Issue(Ticket ticket) {
  Command& c = commands[ticket];
  const uint64_t start = std::max(now + 1, host_free);
  uint64_t cycles = cost->host_command;
  uint64_t after = 0;  // the link stays busy
  if (c.kind == CommandKind::kCopyIn) {
    cycles = cost->host_h2d_fixed +
             LinkCycles(c.words.size(), cost->host_h2d_words_per_kcycle, program->channels);
  } else if (c.kind == CommandKind::kCopyOut) {
    // The PEs read their memory when the command comes; the host goes on when the transfer is
    // through.
    after = cost->host_d2h_fixed +
            LinkCycles(c.words.size(), cost->host_d2h_words_per_kcycle, program->channels);
  }
  c.available = start + cycles;
  host_free = c.available + after;
  host_cycles += cycles + after;
  stream.push_back(ticket);
  Wake(c.region, c.available);
}

Result<uint32_t> Fabric::ExportId(const std::string& name) const {
  const auto& exports = impl_->program->exports;
  for (uint32_t i = 0; i < exports.size(); ++i) {
    if (exports[i].name == name) return i;
  }
  return Fail(ErrorCode::kNotFound, fmt::format("the program exports no '{}'", name));
}

namespace {
Result<void> CheckCopy(const Program& p, uint32_t export_id, int bits) {
  if (export_id >= p.exports.size() || p.exports[export_id].kind != ExportKind::kVariable) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("symbol {} is not an exported variable", export_id));
  }
  if (bits != 16 && bits != 32)
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("elements have 16 or 32 bits, not {}", bits));
  return {};
}
}  // namespace

Result<Ticket> Fabric::CopyIn(uint32_t export_id, Rect region, int bits, uint32_t count,
                              std::vector<uint32_t> words) {
  Impl& m = *impl_;
  SZARENA_TRY_VOID(m.CheckRegion(region));
  SZARENA_TRY_VOID(CheckCopy(*m.program, export_id, bits));
  if (words.size() != PesOf(region) * count) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} words are given, {} x {} PEs with {} elements each need {}", words.size(),
                    region.width, region.height, count, PesOf(region) * count));
  }
  Command& c = m.NewCommand(CommandKind::kCopyIn, region);
  c.export_id = export_id;
  c.bits = bits;
  c.count = count;
  c.words = std::move(words);
  return m.Enqueue(m.TicketOf(c));
}

Result<Ticket> Fabric::CopyOut(uint32_t export_id, Rect region, int bits, uint32_t count) {
  Impl& m = *impl_;
  SZARENA_TRY_VOID(m.CheckRegion(region));
  SZARENA_TRY_VOID(CheckCopy(*m.program, export_id, bits));
  Command& c = m.NewCommand(CommandKind::kCopyOut, region);
  c.export_id = export_id;
  c.bits = bits;
  c.count = count;
  c.words.resize(PesOf(region) * count);
  return m.Enqueue(m.TicketOf(c));
}

Result<Ticket> Fabric::Launch(uint32_t export_id, Rect region, std::vector<uint64_t> args) {
  Impl& m = *impl_;
  SZARENA_TRY_VOID(m.CheckRegion(region));
  const auto& exports = m.program->exports;
  if (export_id >= exports.size() || exports[export_id].kind != ExportKind::kFunction) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("symbol {} is not an exported function", export_id));
  }
  if (args.size() != exports[export_id].params.size()) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("function '{}' takes {} arguments, {} are given", exports[export_id].name,
                    exports[export_id].params.size(), args.size()));
  }
  Command& c = m.NewCommand(CommandKind::kLaunch, region);
  c.export_id = export_id;
  c.args = std::move(args);
  return m.Enqueue(m.TicketOf(c));
}

Result<Ticket> Fabric::Launch(uint32_t export_id, std::vector<uint64_t> args) {
  return Launch(export_id, {0, 0, static_cast<int>(impl_->width), static_cast<int>(impl_->height)},
                std::move(args));
}

namespace {
Result<void> CheckColor(uint8_t color) {
  if (color < kColorCount) return {};
  return Fail(ErrorCode::kInvalidArgument, fmt::format("colour {} does not exist (0..23)", color));
}
template <typename T>
void AddOnce(std::vector<T>& v, const T& value) {
  if (std::find(v.begin(), v.end(), value) == v.end()) v.push_back(value);
}
}  // namespace

Result<Ticket> Fabric::StreamIn(uint8_t color, Rect region, uint32_t count,
                                std::vector<uint32_t> words) {
  Impl& m = *impl_;
  SZARENA_TRY_VOID(m.CheckRegion(region));
  SZARENA_TRY_VOID(CheckColor(color));
  if (words.size() != PesOf(region) * count) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} words are given, {} x {} PEs with {} elements each need {}", words.size(),
                    region.width, region.height, count, PesOf(region) * count));
  }
  Command& c = m.NewCommand(CommandKind::kStreamIn, region);
  c.color = color;
  c.count = count;
  c.available = std::max(m.now + 1, m.host_free) + m.cost->host_command;
  m.host_cycles += m.cost->host_command;
  if (count == 0) c.remaining = 0;
  for (int y = region.y; y < region.y + region.height; ++y) {
    for (int x = region.x; x < region.x + region.width && count > 0; ++x) {
      const uint32_t id = static_cast<uint32_t>(y) * m.width + static_cast<uint32_t>(x);
      Tile& tile = m.TileOf(id);
      PortIn& port = tile.ports_in[PortKey(id, Direction::kRamp, color)];
      const size_t from = c.OffsetOf(static_cast<uint32_t>(x), static_cast<uint32_t>(y));
      for (uint32_t i = 0; i < count; ++i)
        port.words.push_back({words[from + i], false, c.available});
      port.owners.emplace_back(&c, count);
      AddOnce(tile.host_in_of[id], color);
      tile.WakePe(id, c.available);
    }
  }
  c.begin = c.available;
  if (count > 0) m.open_streams.push_back(m.TicketOf(c));
  return m.TicketOf(c);
}

Result<Ticket> Fabric::StreamOut(uint8_t color, Rect region, uint32_t count) {
  Impl& m = *impl_;
  SZARENA_TRY_VOID(m.CheckRegion(region));
  SZARENA_TRY_VOID(CheckColor(color));
  Command& c = m.NewCommand(CommandKind::kStreamOut, region);
  c.color = color;
  c.count = count;
  c.words.resize(PesOf(region) * count);
  m.host_cycles += m.cost->host_command;
  if (count == 0) c.remaining = 0;
  for (int y = region.y; y < region.y + region.height; ++y) {
    for (int x = region.x; x < region.x + region.width && count > 0; ++x) {
      const uint32_t id = static_cast<uint32_t>(y) * m.width + static_cast<uint32_t>(x);
      Tile& tile = m.TileOf(id);
      PortOut& port = tile.ports_out[PortKey(id, Direction::kRamp, color)];
      std::deque<uint32_t> arrived;
      arrived.swap(port.words);
      port.wants.push_back(
          {&c, c.OffsetOf(static_cast<uint32_t>(x), static_cast<uint32_t>(y)), count});
      for (const uint32_t w : arrived) tile.Deliver(port, w, m.now);
    }
  }
  return m.TicketOf(c);
}

Result<Ticket> Fabric::SendInto(PortAddress port, std::vector<uint32_t> words,
                                std::vector<bool> control) {
  Impl& m = *impl_;
  const Rect region{port.x, port.y, 1, 1};
  SZARENA_TRY_VOID(m.CheckRegion(region));
  SZARENA_TRY_VOID(CheckColor(port.color));
  if (!control.empty() && control.size() != words.size())
    return Fail(ErrorCode::kInvalidArgument, "a control bit for each word, or none");
  Command& c = m.NewCommand(CommandKind::kSend, region);
  c.color = port.color;
  c.count = static_cast<uint32_t>(words.size());
  c.available = std::max(m.now + 1, m.host_free) + m.cost->host_command;
  c.begin = c.available;
  if (words.empty()) {
    c.remaining = 0;
    return m.TicketOf(c);
  }
  const uint32_t id = static_cast<uint32_t>(port.y) * m.width + static_cast<uint32_t>(port.x);
  Tile& tile = m.TileOf(id);
  uint32_t other = 0;
  if (m.Neighbour(id, port.side, other)) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("PE ({}, {}) has a neighbour {}: streams enter at the edge of the rectangle",
                    port.x, port.y, DirectionName(port.side)));
  }
  PortIn& in = tile.ports_in[PortKey(id, port.side, port.color)];
  for (size_t i = 0; i < words.size(); ++i)
    in.words.push_back({words[i], !control.empty() && control[i], c.available});
  in.owners.emplace_back(&c, words.size());
  if (port.side == Direction::kRamp) {
    AddOnce(tile.host_in_of[id], port.color);
    tile.WakePe(id, c.available);
  } else {
    AddOnce(tile.edge_ports[id], std::pair(port.side, port.color));
    tile.WakeRouterId(id, c.available);
  }
  return m.TicketOf(c);
}

Result<Ticket> Fabric::ReceiveFrom(PortAddress port, uint32_t count) {
  Impl& m = *impl_;
  const Rect region{port.x, port.y, 1, 1};
  SZARENA_TRY_VOID(m.CheckRegion(region));
  SZARENA_TRY_VOID(CheckColor(port.color));
  Command& c = m.NewCommand(CommandKind::kReceive, region);
  c.color = port.color;
  c.count = count;
  c.words.resize(count);
  if (count == 0) c.remaining = 0;
  const uint32_t id = static_cast<uint32_t>(port.y) * m.width + static_cast<uint32_t>(port.x);
  Tile& tile = m.TileOf(id);
  PortOut& out = tile.ports_out[PortKey(id, port.side, port.color)];
  if (count > 0) {
    std::deque<uint32_t> arrived;
    arrived.swap(out.words);
    out.wants.push_back({&c, 0, count});
    for (const uint32_t w : arrived) tile.Deliver(out, w, m.now);
  }
  if (port.side != Direction::kRamp) tile.WakeRouterId(id, m.now + 1);
  return m.TicketOf(c);
}

Result<void> Fabric::OpenPort(PortAddress port) {
  Impl& m = *impl_;
  SZARENA_TRY_VOID(m.CheckRegion({port.x, port.y, 1, 1}));
  SZARENA_TRY_VOID(CheckColor(port.color));
  const uint32_t id = static_cast<uint32_t>(port.y) * m.width + static_cast<uint32_t>(port.x);
  m.TileOf(id).ports_out.try_emplace(PortKey(id, port.side, port.color));
  return {};
}

std::vector<uint32_t> Fabric::TakeArrived(PortAddress port) {
  Impl& m = *impl_;
  const uint32_t id = static_cast<uint32_t>(port.y) * m.width + static_cast<uint32_t>(port.x);
  auto& ports = m.TileOf(id).ports_out;
  const auto found = ports.find(PortKey(id, port.side, port.color));
  if (found == ports.end()) return {};
  std::deque<uint32_t> arrived;
  arrived.swap(found->second.words);
  if (arrived.size() >= kPortWords) m.TileOf(id).WakeRouterId(id, m.now + 1);
  return {arrived.begin(), arrived.end()};
}

bool Fabric::IsDone(Ticket ticket) const { return impl_->commands[ticket].remaining.load() == 0; }

std::vector<uint32_t> Fabric::TakeOutput(Ticket ticket) {
  return std::move(impl_->commands[ticket].words);
}

Fabric::Span Fabric::SpanOf(Ticket ticket) const {
  const Command& c = impl_->commands[ticket];
  return {c.begin.load(), c.end.load(), c.available};
}

}  // namespace szarena::fabric
