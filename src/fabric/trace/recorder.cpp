// SPDX-License-Identifier: Apache-2.0
#include "fabric/trace/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace szarena::fabric::trace {
using namespace bytecode;
namespace {

constexpr uint32_t kMaxCellsAlong = 64;
constexpr uint32_t kSpanBudget = 1u << 20;  // all PEs together
constexpr uint32_t kBinBudget = 1u << 18;   // cells times bins of one width
constexpr size_t kHotLinks = 512;

void Put(std::string& out, uint64_t v) {
  while (v >= 0x80) {
    out.push_back(static_cast<char>(v | 0x80));
    v >>= 7;
  }
  out.push_back(static_cast<char>(v));
}
void Put(std::string& out, std::string_view text) {
  Put(out, static_cast<uint64_t>(text.size()));
  out.append(text);
}

}  // namespace

// ---------------------------------------------------------------- collecting
void Lane::Count(uint32_t cell, Activity activity, uint64_t begin, uint64_t end) {
  begin = std::max(begin, layout_->window_begin);
  if (begin >= end) return;
  const uint64_t window_end = layout_->window_end();
  if (end > window_end) {
    later_.push_back({cell, activity, std::max(begin, window_end), end});
    end = window_end;
  }
  const size_t cells = size_t{layout_->cells_x} * layout_->cells_y;
  while (begin < end) {
    const uint64_t bin = (begin - layout_->window_begin) / layout_->bin_width;
    const uint64_t next = std::min(end, layout_->window_begin + (bin + 1) * layout_->bin_width);
    activity_[bin * cells + cell][static_cast<size_t>(activity)] +=
        static_cast<uint32_t>(next - begin);
    begin = next;
  }
}

void Lane::Hop(uint32_t pe, uint32_t color, uint32_t tx) {
  const uint64_t base =
      (uint64_t{bin_} * layout_->cells_x * layout_->cells_y + layout_->CellOf(pe)) * 5;
  LinkCount& total = links_[pe - first_];
  for (; tx != 0; tx &= tx - 1) {
    const auto d = static_cast<uint32_t>(std::countr_zero(tx));
    ++total.wavelets[d];
    total.colors[d] |= 1u << color;
    ++link_bins_[(base + d) * 32 + color];
  }
}

Lane::PeTrace& Lane::TraceOf(uint32_t pe) {
  auto& trace = pes_[pe - first_];
  if (trace == nullptr) trace = std::make_unique<PeTrace>();
  return *trace;
}

void Lane::Add(uint32_t pe, uint8_t lane, const Key& key, uint64_t begin, uint64_t end) {
  if (!layout_->IsDetailed(pe) || begin >= end) return;
  PeTrace& trace = TraceOf(pe);
  if (trace.spans >= layout_->spans_per_pe) {
    ++dropped_;
    return;
  }
  ++trace.spans;
  spans_.push_back({begin, end, pe, lane, key});
}

void Lane::Ran(const Pe& pe, uint64_t begin, const Function* task) {
  Count(layout_->CellOf(pe.index), Activity::kBusy, begin, pe.main_ready);
  if (pe.state != MainState::kIdle && pe.state != MainState::kHalted) return;
  AddTask(pe, task, pe.main_ready);
}

void Lane::AddTask(const Pe& pe, const Function* task, uint64_t end) {
  const auto function = static_cast<uint32_t>(task - pe.cls->code->functions.data());
  Add(pe.index, kTaskLane,
      {program_->pes[pe.index].code_class, function, 0, LabelKind::kTask,
       static_cast<uint8_t>(pe.running)},
      pe.task_since, end);
}

void Lane::StillRuns(const Pe& pe, uint64_t end) {
  if (pe.state == MainState::kIdle || pe.state == MainState::kHalted || pe.thread == nullptr ||
      pe.thread->frames.empty())
    return;
  AddTask(pe, pe.thread->frames.front().function, std::max(end, pe.main_ready));
}

// Counts what the slot did since it was last looked at.
void Lane::Settle(const Pe& pe, Slot& slot, uint64_t t) {
  if (t <= slot.mark) return;
  const bool main = slot.lane >= kMainOperationLane;
  const Activity activity = slot.waits ? (main ? Activity::kStalled : Activity::kWaiting)
                                       : (main ? Activity::kBusy : Activity::kMoving);
  Count(layout_->CellOf(pe.index), activity, slot.mark, t);
  slot.mark = t;
}

void Lane::EndWait(uint32_t pe, Slot& slot, uint64_t t) {
  if (!slot.waits) return;
  slot.waits = false;
  if (t <= slot.wait_since) return;
  Total& total = waits_[slot.reason];
  total.cycles += t - slot.wait_since;
  ++total.count;
  Add(pe, slot.lane, slot.reason, slot.wait_since, t);
}

namespace {

// Why a live operation did not move in cycle t.
Key ReasonOf(const Pe& pe, const DsdState& s, uint64_t t, uint32_t code_class) {
  Key key{code_class, s.function, s.pc};
  const auto because = [&](LabelKind kind, uint32_t number, uint8_t color) {
    key.kind = kind;
    key.detail = static_cast<uint8_t>(number);
    key.color = color;
    return key;
  };
  const Comm& comm = *pe.comm;
  for (int i = 0; i < s.source_count; ++i) {
    const OperandState& o = s.src[i];
    if (o.cls == OperandClass::kFabIn && !o.half_valid &&
        (comm.in[o.queue].ring.empty() || comm.in[o.queue].ring.front().ready > t))
      return because(LabelKind::kInputEmpty, o.queue, o.color);
    if (o.cls == OperandClass::kFifo && pe.fifos[o.fifo].count == 0)
      return because(LabelKind::kFifoEmpty, o.fifo, 0xff);
  }
  if (s.dest.cls == OperandClass::kFabOut &&
      comm.out[s.dest.queue].ring.size() >= comm.out[s.dest.queue].capacity)
    return because(LabelKind::kOutputFull, s.dest.queue, s.dest.color);
  if (s.dest.cls == OperandClass::kFifo &&
      pe.fifos[s.dest.fifo].count >= pe.cls->code->fifos[s.dest.fifo].capacity)
    return because(LabelKind::kFifoFull, s.dest.fifo, 0xff);
  return because(LabelKind::kDatapath, 0, 0xff);
}

}  // namespace

void Lane::Visit(const Pe& pe, uint64_t t) {
  const bool main_waits =
      pe.state == MainState::kWaitMicrothread || pe.state == MainState::kWaitQueue;
  const uint32_t live = pe.comm == nullptr ? 0 : pe.comm->live;
  if (live == 0 && !main_waits &&
      (pes_[pe.index - first_] == nullptr || pes_[pe.index - first_]->slots.empty()))
    return;
  const uint32_t code_class = program_->pes[pe.index].code_class;
  PeTrace& trace = TraceOf(pe.index);
  // What has ended.
  std::erase_if(trace.slots, [&](Slot& slot) {
    const bool goes_on =
        slot.lane == kMainWaitLane
            ? main_waits
            : (live >> slot.lane & 1) != 0 && pe.comm->ops[slot.lane].since == slot.since;
    if (goes_on) return false;
    // An operation ends in the cycle of its last move, a wait of the main thread before it.
    const uint64_t end = slot.lane == kMainWaitLane ? t : t + 1;
    if (slot.waits) {
      Settle(pe, slot, t);
      EndWait(pe.index, slot, t);
    }
    Settle(pe, slot, end);
    if (slot.lane != kMainWaitLane) Add(pe.index, slot.lane, slot.operation, slot.since, end);
    return true;
  });
  const auto find = [&](uint8_t lane) -> Slot* {
    for (Slot& s : trace.slots) {
      if (s.lane == lane) return &s;
    }
    return nullptr;
  };
  for (uint32_t bits = live; bits != 0; bits &= bits - 1) {
    const auto lane = static_cast<uint8_t>(std::countr_zero(bits));
    const DsdState& s = pe.comm->ops[lane];
    Slot* slot = find(lane);
    if (slot == nullptr) {
      slot = &trace.slots.emplace_back();
      slot->lane = lane;
      slot->since = s.since;
      slot->mark = lane == kMainOperationLane ? std::max(s.since, pe.main_ready)
                                              : s.since;  // its start is counted as work
      slot->operation = {code_class, s.function, s.pc, LabelKind::kOperation,
                         static_cast<uint8_t>(s.op)};
    }
    if (s.last_progress >= t || s.since >= t) {
      if (slot->waits) {
        Settle(pe, *slot, t);
        EndWait(pe.index, *slot, t);
      }
      continue;
    }
    const Key reason = ReasonOf(pe, s, t, code_class);
    if (slot->waits && slot->reason == reason) continue;
    Settle(pe, *slot, t);
    EndWait(pe.index, *slot, t);
    slot->waits = true;
    slot->wait_since = std::max(t, slot->mark);
    slot->reason = reason;
  }
  if (main_waits && find(kMainWaitLane) == nullptr) {
    Slot& slot = trace.slots.emplace_back();
    slot.lane = kMainWaitLane;
    slot.waits = true;
    slot.since = slot.mark = slot.wait_since = std::max(t, pe.main_ready);
    const Frame& frame = pe.thread->frames.back();
    slot.reason = {code_class,
                   static_cast<uint32_t>(frame.function - pe.cls->code->functions.data()), frame.pc,
                   pe.state == MainState::kWaitQueue ? LabelKind::kMap : LabelKind::kMicrothread,
                   pe.state == MainState::kWaitQueue ? uint8_t{0} : pe.wait_slot};
  }
}

void Lane::SettleAll(uint64_t t) {
  for (size_t i = 0; i < pes_.size(); ++i) {
    if (pes_[i] == nullptr) continue;
    const uint32_t cell = layout_->CellOf(first_ + static_cast<uint32_t>(i));
    for (Slot& slot : pes_[i]->slots) {
      if (t <= slot.mark) continue;
      const bool main = slot.lane >= kMainOperationLane;
      Count(cell,
            slot.waits ? (main ? Activity::kStalled : Activity::kWaiting)
                       : (main ? Activity::kBusy : Activity::kMoving),
            slot.mark, t);
      slot.mark = t;
    }
  }
}

void Lane::StartWindow() {
  std::fill(activity_.begin(), activity_.end(), std::array<uint32_t, kActivities>{});
  link_bins_.clear();
  spans_.clear();
  std::vector<Later> due;
  due.swap(later_);
  for (const Later& l : due) Count(l.cell, l.activity, l.begin, l.end);
}

// ---------------------------------------------------------------- writing
Result<std::unique_ptr<Recorder>> Recorder::Create(const std::string& path, const Program& program,
                                                   const CostModel& cost,
                                                   const std::vector<uint32_t>& first_of_lane) {
  auto r = std::unique_ptr<Recorder>(new Recorder);
  r->path_ = path;
  r->program_ = &program;
  r->file_ = std::fopen((path + ".part").c_str(), "wb");
  if (r->file_ == nullptr)
    return Fail(ErrorCode::kIo,
                fmt::format("cannot write the trace '{}.part': {}", path, std::strerror(errno)));
  Layout& l = r->layout_;
  l.width = program.width;
  l.height = program.height;
  l.block_width = (l.width + kMaxCellsAlong - 1) / kMaxCellsAlong;
  l.block_height = (l.height + kMaxCellsAlong - 1) / kMaxCellsAlong;
  l.block_width = l.block_height = std::max({l.block_width, l.block_height, 1u});
  l.cells_x = (l.width + l.block_width - 1) / l.block_width;
  l.cells_y = (l.height + l.block_height - 1) / l.block_height;
  const uint32_t cells = l.cells_x * l.cells_y;
  l.spans_per_pe = std::clamp(kSpanBudget / std::max(cells, 1u), 256u, 1u << 16);
  l.bins_per_level =
      std::clamp(kBinBudget / std::max(cells, 1u), 64u, 4096u) / Layout::kBins * Layout::kBins;
  r->lanes_.resize(first_of_lane.size());
  for (size_t i = 0; i < r->lanes_.size(); ++i) {
    Lane& lane = r->lanes_[i];
    const uint32_t end = i + 1 < first_of_lane.size() ? first_of_lane[i + 1] : l.width * l.height;
    lane.layout_ = &l;
    lane.program_ = &program;
    lane.first_ = first_of_lane[i];
    lane.pes_.resize(end - lane.first_);
    lane.links_.resize(end - lane.first_);
    lane.activity_.resize(size_t{cells} * Layout::kBins);
  }
  std::string h(kMagic);
  const uint32_t version = kVersion;
  h.append(reinterpret_cast<const char*>(&version), 4);
  if (std::fwrite(h.data(), 1, h.size(), r->file_) != h.size()) r->failed_ = true;
  std::string p;
  Put(p, program.name);
  Put(p, program.arch == Arch::kWse2 ? "wse2" : "wse3");
  for (const uint32_t v : {l.width, l.height, cost.clock_mhz, l.block_width, l.block_height,
                           l.cells_x, l.cells_y, l.spans_per_pe})
    Put(p, uint64_t{v});
  Put(p, static_cast<uint64_t>(program.classes.size()));
  for (const CodeClass& c : program.classes) Put(p, c.name);
  for (uint32_t cell = 0; cell < cells; ++cell) {
    const uint32_t c = program
                           .pes[size_t{cell / l.cells_x * l.block_height} * l.width +
                                cell % l.cells_x * l.block_width]
                           .code_class;
    Put(p, c == kNoIndex ? uint64_t{0} : uint64_t{c} + 1);
  }
  r->Chunk(ChunkKind::kHeader, p);
  return r;
}

Recorder::~Recorder() {
  if (file_ != nullptr) std::fclose(file_);
}

void Recorder::Chunk(ChunkKind kind, const std::string& payload) {
  std::string head(9, '\0');
  head[0] = static_cast<char>(kind);
  const auto size = static_cast<uint32_t>(payload.size());
  const uint32_t sum = Fnv1a(payload);
  std::memcpy(head.data() + 1, &size, 4);
  std::memcpy(head.data() + 5, &sum, 4);
  if (failed_ || std::fwrite(head.data(), 1, head.size(), file_) != head.size() ||
      std::fwrite(payload.data(), 1, size, file_) != size)
    failed_ = true;
}

void Recorder::Advance(uint64_t now) {
  while (now >= layout_.window_end()) {
    Flush();
    layout_.window_begin = layout_.window_end();
    level_bins_ += Layout::kBins;
    if (level_bins_ == layout_.bins_per_level) {
      level_bins_ = 0;
      layout_.bin_width *= 2;
    }
    for (Lane& lane : lanes_) lane.StartWindow();
  }
  const auto bin = static_cast<uint32_t>((now - layout_.window_begin) / layout_.bin_width);
  for (Lane& lane : lanes_) lane.bin_ = bin;
}

uint32_t Recorder::LabelOf(const Key& key, std::string& fresh, uint64_t& count) {
  const auto [it, is_new] = labels_.try_emplace(key, static_cast<uint32_t>(labels_.size()));
  if (!is_new) return it->second;
  ++count;
  static constexpr const char* kRunNames[] = {
      "",    "local task", "data task", "control task", "launched by the host", "teardown handler",
      "load"};
  std::string text;
  LineEntry line{0, kNoIndex, 0};
  const CodeClass* code = key.code_class == kNoIndex ? nullptr : &program_->classes[key.code_class];
  const bool known = code != nullptr && key.function < code->functions.size();
  if (known) line = LineAt(code->functions[key.function], key.pc);
  switch (key.kind) {
    case LabelKind::kTask:
      text = fmt::format("{} ({})", known ? code->functions[key.function].name : "?",
                         kRunNames[std::min<size_t>(key.detail, 6)]);
      break;
    case LabelKind::kOperation:
      text = fmt::format("@{}", FactsOf(static_cast<DsdOp>(key.detail)).name);
      break;
    case LabelKind::kInputEmpty:
      text = fmt::format("input queue {} (colour {}) is empty", key.detail, key.color);
      break;
    case LabelKind::kOutputFull:
      text = fmt::format("output queue {} (colour {}) is full", key.detail, key.color);
      break;
    case LabelKind::kFifoEmpty:
      text = fmt::format("FIFO '{}' is empty", code->fifos[key.detail].name);
      break;
    case LabelKind::kFifoFull:
      text = fmt::format("FIFO '{}' is full", code->fifos[key.detail].name);
      break;
    case LabelKind::kDatapath:
      text = "another operation of the PE moves";
      break;
    case LabelKind::kMicrothread:
      text = fmt::format("microthread {} has not ended", key.detail);
      break;
    case LabelKind::kMap:
      text = "@map waits for a wavelet or for room";
      break;
  }
  Put(fresh, static_cast<uint64_t>(key.kind));
  Put(fresh, text);
  Put(fresh, line.file < program_->files.size() ? std::string_view(program_->files[line.file])
                                                : std::string_view());
  Put(fresh, uint64_t{line.line});
  Put(fresh, uint64_t{key.color});
  return it->second;
}

void Recorder::Flush() {
  for (Lane& lane : lanes_) lane.SettleAll(layout_.window_end());
  const size_t cells = size_t{layout_.cells_x} * layout_.cells_y;
  // Spans, in an order that does not depend on the lanes.
  std::vector<RawSpan> spans;
  for (Lane& lane : lanes_) spans.insert(spans.end(), lane.spans_.begin(), lane.spans_.end());
  std::sort(spans.begin(), spans.end(), [](const RawSpan& a, const RawSpan& b) {
    return std::tie(a.begin, a.pe, a.lane, a.end, a.key) <
           std::tie(b.begin, b.pe, b.lane, b.end, b.key);
  });
  if (!spans.empty()) {
    std::string body;
    std::string fresh;
    uint64_t fresh_count = 0;
    uint64_t last = 0;
    Put(body, static_cast<uint64_t>(spans.size()));
    for (const RawSpan& s : spans) {
      Put(body, s.begin - last);
      last = s.begin;
      Put(body, s.end - s.begin);
      Put(body, uint64_t{s.pe});
      Put(body, uint64_t{s.lane});
      Put(body, uint64_t{LabelOf(s.key, fresh, fresh_count)});
    }
    if (fresh_count > 0) {
      std::string labels;
      Put(labels, fresh_count);
      Chunk(ChunkKind::kLabels, labels + fresh);
    }
    Chunk(ChunkKind::kSpans, body);
  }
  std::string rows;
  uint64_t count = 0;
  uint64_t last = 0;
  for (size_t i = 0; i < cells * Layout::kBins; ++i) {
    std::array<uint64_t, kActivities> sum = {};
    for (const Lane& lane : lanes_) {
      for (size_t k = 0; k < sum.size(); ++k) sum[k] += lane.activity_[i][k];
    }
    if (sum == std::array<uint64_t, kActivities>{}) continue;
    ++count;
    Put(rows, i - last);
    last = i;
    for (const uint64_t v : sum) Put(rows, v);
  }
  std::map<uint64_t, uint64_t> links;
  for (const Lane& lane : lanes_) {
    for (const auto& [key, n] : lane.link_bins_) links[key] += n;
  }
  if (count == 0 && links.empty()) return;
  std::string body;
  Put(body, layout_.window_begin);
  Put(body, layout_.bin_width);
  Put(body, uint64_t{Layout::kBins});
  Put(body, count);
  body += rows;
  Put(body, static_cast<uint64_t>(links.size()));
  last = 0;
  for (const auto& [key, n] : links) {
    Put(body, key - last);
    last = key;
    Put(body, n);
  }
  Chunk(ChunkKind::kBins, body);
}

Result<void> Recorder::Finish(const Ending& ending) {
  // What is still under way counts up to the end.
  for (Lane& lane : lanes_) {
    lane.SettleAll(ending.cycles);
    for (size_t i = 0; i < lane.pes_.size(); ++i) {
      if (lane.pes_[i] == nullptr) continue;
      const uint32_t pe = lane.first_ + static_cast<uint32_t>(i);
      for (Lane::Slot& slot : lane.pes_[i]->slots) {
        lane.EndWait(pe, slot, ending.cycles);
        slot.mark = kNever;
        if (slot.lane != kMainWaitLane)
          lane.Add(pe, slot.lane, slot.operation, slot.since, ending.cycles);
      }
    }
  }
  Flush();
  // A main thread may be ahead of the clock.
  uint64_t cycles = ending.cycles;
  const auto ahead = [&] {
    return std::any_of(lanes_.begin(), lanes_.end(),
                       [](const Lane& l) { return !l.later_.empty(); });
  };
  while (ahead()) {
    for (const Lane& lane : lanes_) {
      for (const Lane::Later& l : lane.later_) cycles = std::max(cycles, l.end);
    }
    layout_.window_begin = layout_.window_end();
    level_bins_ += Layout::kBins;
    if (level_bins_ == layout_.bins_per_level) {
      level_bins_ = 0;
      layout_.bin_width *= 2;
    }
    for (Lane& lane : lanes_) lane.StartWindow();
    Flush();
  }
  std::vector<LinkTotal> links;
  std::map<Key, Lane::Total> waits;
  uint64_t dropped = 0;
  for (const Lane& lane : lanes_) {
    dropped += lane.dropped_;
    for (size_t i = 0; i < lane.links_.size(); ++i) {
      for (uint8_t d = 0; d < 5; ++d) {
        if (lane.links_[i].wavelets[d] > 0)
          links.push_back({lane.first_ + static_cast<uint32_t>(i), d, lane.links_[i].colors[d],
                           lane.links_[i].wavelets[d]});
      }
    }
    for (const auto& [key, total] : lane.waits_) {
      waits[key].cycles += total.cycles;
      waits[key].count += total.count;
    }
  }
  std::sort(links.begin(), links.end(), [](const LinkTotal& a, const LinkTotal& b) {
    return std::tuple(b.wavelets, a.pe, a.direction) < std::tuple(a.wavelets, b.pe, b.direction);
  });
  if (links.size() > kHotLinks) links.resize(kHotLinks);
  std::string body;
  Put(body, static_cast<uint64_t>(links.size()));
  for (const LinkTotal& l : links) {
    for (const uint64_t v : {uint64_t{l.pe}, uint64_t{l.direction}, uint64_t{l.colors}, l.wavelets})
      Put(body, v);
  }
  Chunk(ChunkKind::kLinks, body);
  std::string fresh;
  uint64_t fresh_count = 0;
  body.clear();
  Put(body, static_cast<uint64_t>(waits.size()));
  for (const auto& [key, total] : waits) {
    Put(body, uint64_t{LabelOf(key, fresh, fresh_count)});
    Put(body, total.cycles);
    Put(body, total.count);
  }
  if (fresh_count > 0) {
    std::string labels;
    Put(labels, fresh_count);
    Chunk(ChunkKind::kLabels, labels + fresh);
  }
  Chunk(ChunkKind::kWaits, body);
  body.clear();
  Put(body, static_cast<uint64_t>(ending.traps.size()));
  for (const TrapNote& t : ending.traps) {
    for (const uint64_t v : {t.cycle, uint64_t{t.x}, uint64_t{t.y}, t.count}) Put(body, v);
    Put(body, t.text);
  }
  Chunk(ChunkKind::kTraps, body);
  body.clear();
  Put(body, static_cast<uint64_t>(ending.host.size()));
  for (const HostNote& h : ending.host) {
    Put(body, h.what);
    for (const uint64_t v : {uint64_t{h.x}, uint64_t{h.y}, uint64_t{h.width}, uint64_t{h.height},
                             h.begin, h.end, uint64_t{h.done}})
      Put(body, v);
  }
  Chunk(ChunkKind::kHost, body);
  body.clear();
  Put(body, static_cast<uint64_t>(ending.open.size()));
  for (const OpenNote& o : ending.open) {
    for (const uint64_t v : {uint64_t{o.x}, uint64_t{o.y}, o.since, o.pes}) Put(body, v);
    Put(body, o.text);
  }
  Chunk(ChunkKind::kOpen, body);
  body.clear();
  Put(body, cycles);
  Put(body, dropped);
  Chunk(ChunkKind::kEnd, body);
  if (std::fclose(file_) != 0) failed_ = true;
  file_ = nullptr;
  if (failed_) {
    std::filesystem::remove(path_ + ".part");
    return Fail(ErrorCode::kIo,
                fmt::format("the trace '{}' could not be written: is the disk full?", path_));
  }
  std::error_code error;
  std::filesystem::rename(path_ + ".part", path_, error);
  if (error)
    return Fail(ErrorCode::kIo,
                fmt::format("cannot rename '{}.part' to '{}': {}", path_, path_, error.message()));
  return {};
}

}  // namespace szarena::fabric::trace
