// SPDX-License-Identifier: Apache-2.0
// What a trace holds, and its file: magic, version, then chunks (kind, length, FNV-1a checksum,
// payload of varints). docs/csl/trace.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace szarena::fabric::trace {

inline constexpr std::string_view kMagic{"SZTRACE\0", 8};
inline constexpr uint32_t kVersion = 1;

enum class ChunkKind : uint8_t {
  kHeader = 1,
  kLabels,
  kSpans,
  kBins,
  kLinks,
  kWaits,
  kTraps,
  kHost,
  kOpen,
  kEnd
};

// How a cycle of a PE is counted. What is left of a time bin is idle.
enum class Activity : uint8_t {
  kBusy,     // the main thread works
  kStalled,  // the main thread waits: for a queue, a FIFO, a microthread
  kMoving,   // microthreads move data (a cycle for each)
  kWaiting,  // microthreads wait (a cycle for each)
};
inline constexpr int kActivities = 4;

enum class LabelKind : uint8_t {
  kTask,        // text: name of the function; detail: what started it
  kOperation,   // text: "@fadds"
  kInputEmpty,  // waits for a wavelet
  kOutputFull,  // waits for the router
  kFifoEmpty,
  kFifoFull,
  kDatapath,     // another operation of the PE moves
  kMicrothread,  // the main thread waits for the end of a microthread
  kMap,          // the main thread waits in @map
};
constexpr bool IsWait(LabelKind k) { return k >= LabelKind::kInputEmpty; }

struct Label {
  LabelKind kind = LabelKind::kTask;
  std::string text;  // a sentence
  std::string file;  // empty: no source position
  uint32_t line = 0;
  uint8_t color = 0xff;  // of the queue concerned; 0xff none
};

// Where on a PE: 0..7 microthreads, 8 the main thread's operation, 9 the main thread's wait for
// something else, 10 its tasks.
inline constexpr uint8_t kMainOperationLane = 8;
inline constexpr uint8_t kMainWaitLane = 9;
inline constexpr uint8_t kTaskLane = 10;
inline constexpr int kLanes = 11;

// Cycles [begin, end) of one lane of a PE that is recorded in detail.
struct Span {
  uint32_t pe = 0;  // y * width + x
  uint8_t lane = 0;
  uint32_t label = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Sums over one cell (a block of PEs) and one stretch of time.
struct BinActivity {
  uint32_t cell = 0;
  uint64_t begin = 0;  // first cycle; the length is that of the Window
  uint64_t cycles[kActivities] = {};
};
struct BinLink {
  uint32_t cell = 0;
  uint64_t begin = 0;
  uint8_t direction = 0;  // bytecode::Direction: where the wavelets went
  uint8_t color = 0;
  uint64_t wavelets = 0;
};
struct Window {  // bins of `width` cycles from `begin` on
  uint64_t begin = 0;
  uint64_t width = 1;
  uint32_t bins = 0;
  std::vector<BinActivity> activity;
  std::vector<BinLink> links;
};

struct LinkTotal {
  uint32_t pe = 0;
  uint8_t direction = 0;
  uint32_t colors = 0;  // bit a colour
  uint64_t wavelets = 0;
};
struct WaitTotal {  // over all PEs
  uint32_t label = 0;
  uint64_t cycles = 0;
  uint64_t count = 0;
};
struct TrapNote {
  uint64_t cycle = 0;
  uint32_t x = 0;
  uint32_t y = 0;
  uint64_t count = 0;
  std::string text;
};
struct HostNote {
  std::string what;  // "launch main"
  uint32_t x = 0, y = 0, width = 0, height = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  bool done = true;
};
struct OpenNote {  // who waits when the run ends
  uint32_t x = 0;
  uint32_t y = 0;
  uint64_t since = 0;
  uint64_t pes = 0;
  std::string text;
};

struct Header {
  std::string program;
  std::string arch;
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t clock_mhz = 0;
  uint32_t block_width = 1;  // PEs of a cell
  uint32_t block_height = 1;
  uint32_t cells_x = 0;
  uint32_t cells_y = 0;
  uint32_t spans_per_pe =
      0;  // detail is recorded for the first PE of each cell, up to so many spans
  std::vector<std::string> class_of_cell;  // of each cell's first PE
  uint32_t cells() const { return cells_x * cells_y; }
};

struct Trace {
  Header header;
  std::vector<Label> labels;
  std::vector<Span> spans;
  std::vector<Window> windows;
  std::vector<LinkTotal> links;  // the busiest, in falling order
  std::vector<WaitTotal> waits;
  std::vector<TrapNote> traps;
  std::vector<HostNote> host;
  std::vector<OpenNote> open;
  uint64_t cycles = 0;
  uint64_t dropped_spans = 0;  // beyond spans_per_pe
  bool complete = false;       // false: the run was cut short, and what came last is missing
};

constexpr uint32_t Fnv1a(std::string_view bytes) {
  uint32_t h = 2166136261u;
  for (const char c : bytes) h = (h ^ static_cast<uint8_t>(c)) * 16777619u;
  return h;
}

}  // namespace szarena::fabric::trace
