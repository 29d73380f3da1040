// SPDX-License-Identifier: Apache-2.0
// Writes a trace while the fabric runs: a Lane for each host thread collects, the Recorder writes a
// chunk whenever a window of time is over. Memory and file stay bounded: big fabrics are summed
// over cells (blocks of PEs), long runs over bins that double in width, and details (spans) are
// kept for one PE of each cell, up to a limit. The file is the same for any number of host threads.
#pragma once

#include <array>
#include <compare>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "bytecode/program.h"
#include "fabric/model/cost.h"
#include "fabric/model/pe.h"
#include "fabric/trace/format.h"

namespace szarena::fabric::trace {

// A label before it has its text.
struct Key {
  uint32_t code_class = bytecode::kNoIndex;
  uint32_t function = bytecode::kNoIndex;
  uint32_t pc = 0;
  LabelKind kind = LabelKind::kTask;
  uint8_t detail = 0;  // RunKind, DsdOp, or number of the queue, FIFO or microthread
  uint8_t color = 0xff;
  auto operator<=>(const Key&) const = default;
};

// How time and space are cut.
struct Layout {
  uint32_t width = 0, height = 0;
  uint32_t block_width = 1, block_height = 1;
  uint32_t cells_x = 0, cells_y = 0;
  uint32_t spans_per_pe = 0;
  uint32_t bins_per_level = 0;  // then the bins double in width
  uint64_t window_begin = 0;
  uint64_t bin_width = 1;
  static constexpr uint32_t kBins = 32;  // bins of a window
  uint64_t window_end() const { return window_begin + bin_width * kBins; }
  uint32_t CellOf(uint32_t pe) const {
    return pe / width / block_height * cells_x + pe % width / block_width;
  }
  bool IsDetailed(uint32_t pe) const {
    return pe / width % block_height == 0 && pe % width % block_width == 0;
  }
};

struct RawSpan {
  uint64_t begin, end;
  uint32_t pe;
  uint8_t lane;
  Key key;
};

class Recorder;

class Lane {
 public:
  // A wavelet left PE `pe`'s router on `color` to the directions in `tx`, in the present cycle.
  void Hop(uint32_t pe, uint32_t color, uint32_t tx);
  // The main thread ran from cycle `begin` to pe.main_ready; `task` is the function at the bottom
  // of its stack.
  void Ran(const Pe& pe, uint64_t begin, const bytecode::Function* task);
  // A task that has not ended when the run does.
  void StillRuns(const Pe& pe, uint64_t end);
  // The state of a PE's operations and waits at the end of cycle t. To be called in each cycle in
  // which the PE is visited.
  void Visit(const Pe& pe, uint64_t t);

 private:
  friend class Recorder;
  struct Slot {
    uint8_t lane = 0;
    bool waits = false;
    uint64_t since = 0;
    uint64_t mark = 0;  // counted up to here
    uint64_t wait_since = 0;
    Key operation;
    Key reason;
  };
  struct PeTrace {
    std::vector<Slot> slots;
    uint32_t spans = 0;
  };
  struct Later {
    uint32_t cell;
    Activity activity;
    uint64_t begin, end;
  };
  struct Total {
    uint64_t cycles = 0, count = 0;
  };
  struct LinkCount {
    std::array<uint32_t, 5> wavelets = {};
    std::array<uint32_t, 5> colors = {};
  };

  void Count(uint32_t cell, Activity activity, uint64_t begin, uint64_t end);
  void AddTask(const Pe& pe, const bytecode::Function* task, uint64_t end);
  void Add(uint32_t pe, uint8_t lane, const Key& key, uint64_t begin, uint64_t end);
  void Settle(const Pe& pe, Slot& slot, uint64_t t);
  void EndWait(uint32_t pe, Slot& slot, uint64_t t);
  PeTrace& TraceOf(uint32_t pe);
  void StartWindow();
  void SettleAll(uint64_t t);

  const Layout* layout_ = nullptr;
  const bytecode::Program* program_ = nullptr;
  uint32_t first_ = 0;
  uint32_t bin_ = 0;  // of the present cycle
  std::vector<std::unique_ptr<PeTrace>> pes_;
  std::vector<LinkCount> links_;                             // a PE
  std::vector<std::array<uint32_t, kActivities>> activity_;  // bin * cells + cell
  std::unordered_map<uint64_t, uint32_t>
      link_bins_;  // ((bin * cells + cell) * 5 + direction) * 32 + colour
  std::vector<Later> later_;
  std::vector<RawSpan> spans_;
  std::map<Key, Total> waits_;
  uint64_t dropped_ = 0;
};

class Recorder {
 public:
  // Begins `path`.part, which becomes `path` in Finish. `first_of_lane`: first PE of each host
  // thread.
  static Result<std::unique_ptr<Recorder>> Create(const std::string& path,
                                                  const bytecode::Program& program,
                                                  const CostModel& cost,
                                                  const std::vector<uint32_t>& first_of_lane);
  ~Recorder();
  Lane& lane(size_t i) { return lanes_[i]; }
  // Before cycle `now` is stepped.
  void Advance(uint64_t now);
  struct Ending {
    uint64_t cycles = 0;
    std::vector<TrapNote> traps;
    std::vector<HostNote> host;
    std::vector<OpenNote> open;
  };
  // Writes the rest and gives the file its name. Reports any failure to write since the beginning.
  Result<void> Finish(const Ending& ending);

 private:
  Recorder() = default;
  void Flush();
  void Chunk(ChunkKind kind, const std::string& payload);
  uint32_t LabelOf(const Key& key, std::string& fresh, uint64_t& count);

  std::string path_;
  std::FILE* file_ = nullptr;
  bool failed_ = false;
  const bytecode::Program* program_ = nullptr;
  Layout layout_;
  uint32_t level_bins_ = 0;
  std::vector<Lane> lanes_;
  std::map<Key, uint32_t> labels_;
};

}  // namespace szarena::fabric::trace
