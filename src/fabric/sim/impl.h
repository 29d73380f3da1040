// SPDX-License-Identifier: Apache-2.0
// Inside of Fabric: tiles (bands of rows, one a host thread), host commands, ports. Start reading
// at Fabric::Impl.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "fabric/interp/core.h"
#include "fabric/model/router.h"
#include "fabric/sim/fabric.h"
#include "fabric/sim/wheel.h"
#include "fabric/trace/recorder.h"

namespace szarena::fabric {

enum class CommandKind : uint8_t {
  kCopyIn,
  kCopyOut,
  kLaunch,
  kStreamIn,
  kStreamOut,
  kSend,
  kReceive
};

struct Command {
  CommandKind kind = CommandKind::kLaunch;
  uint32_t export_id = 0;
  Rect region;
  int bits = 32;
  uint8_t color = 0;            // of a stream
  uint32_t count = 0;           // elements a PE
  std::vector<uint32_t> words;  // in, or out
  std::vector<uint64_t> args;
  uint64_t available = 0;              // first cycle in which a PE may take it
  std::atomic<uint64_t> remaining{0};  // PEs that are not done
  std::atomic<uint64_t> begin{kNever};
  std::atomic<uint64_t> end{0};
  bool Contains(uint32_t x, uint32_t y) const {
    return static_cast<int>(x) >= region.x && static_cast<int>(y) >= region.y &&
           static_cast<int>(x) < region.x + region.width &&
           static_cast<int>(y) < region.y + region.height;
  }
  size_t OffsetOf(uint32_t x, uint32_t y) const {
    return (static_cast<size_t>(static_cast<int>(y) - region.y) *
                static_cast<size_t>(region.width) +
            static_cast<size_t>(static_cast<int>(x) - region.x)) *
           count;
  }
};

// A stream's end at one PE. Lives in the PE's tile.
struct PortIn {
  struct Word {
    uint32_t data;
    bool control;
    uint64_t ready;
  };
  std::deque<Word> words;
  std::deque<std::pair<Command*, uint64_t>> owners;  // command, words of it still to deliver
};
// So many words wait at a port for a host that does not ask for them; then their colour stands
// still.
inline constexpr size_t kPortWords = size_t{1} << 22;
struct PortOut {
  struct Want {
    Command* command;
    size_t offset;
    uint32_t left;
  };
  std::deque<uint32_t> words;  // arrived, not yet asked for
  std::deque<Want> wants;
};
constexpr uint64_t PortKey(uint32_t pe, bytecode::Direction side, uint8_t color) {
  return uint64_t{pe} << 8 | static_cast<uint64_t>(side) << 5 | color;
}

struct PrintedLine {
  uint64_t cycle;
  uint32_t pe;
  std::string text;
};
struct Wake {
  uint64_t at;
  uint32_t id;
  uint8_t color;
};  // router of another tile

struct Tile final : Surroundings {
  Fabric::Impl* fabric = nullptr;
  Core core;
  trace::Lane* lane = nullptr;     // null: no trace
  std::unique_ptr<Runner> runner;  // compiled code; null: bytecode
  uint32_t index = 0;
  uint32_t first = 0;  // PEs [first, end)
  uint32_t end = 0;
  Wheel wheel;
  std::vector<uint32_t> routers_now;
  std::vector<uint32_t> pes_now;
  std::vector<std::vector<Wake>> outbox;  // a tile
  std::unordered_map<uint64_t, PortIn> ports_in;
  std::unordered_map<uint64_t, PortOut> ports_out;
  std::unordered_map<uint32_t, std::vector<uint8_t>>
      host_in_of;  // colours with a PortIn at the ramp of a PE
  std::unordered_map<uint32_t, std::vector<std::pair<bytecode::Direction, uint8_t>>>
      edge_ports;                     // PortIns at links of a PE
  std::map<std::string, Trap> traps;  // by kind and place
  std::vector<PrintedLine> printed;
  bool fatal = false;
  uint64_t hops = 0;
  uint64_t pes_touched = 0;

  bool Report(Pe& pe, TrapKind kind, uint64_t cycle, uint32_t function, uint32_t pc,
              std::string detail) override;
  void WakeRouter(Pe& pe, uint64_t at) override;
  uint64_t RouterNative(Pe& pe, bytecode::Native native, const uint64_t* args) override;
  std::string Register(Pe& pe, uint32_t address, bool write, uint16_t& value) override;
  std::string QueueRegister(Pe& pe, uint32_t queue, bool write, uint16_t& value);
  void CommandDone(Pe& pe, uint64_t cycle) override;
  uint32_t SymbolValue(Pe& pe, uint32_t export_id) override;
  void PrintLine(Pe& pe, std::string line) override;

  void WakePe(uint32_t id, uint64_t at);
  void WakeRouterId(uint32_t id, uint64_t at);
  void Step(uint64_t t);
  void Merge();  // what other tiles sent in the last cycle

  // router_step.cpp
  void StepRouter(uint32_t id, uint64_t t);
  bool Link(uint32_t id, uint32_t color, ColorState& s, uint32_t side);
  // Point to point: the input of `allowed` whose wavelet can move now and the direction that it
  // takes; 5 where none can.
  std::pair<uint32_t, uint32_t> ChooseMessage(uint32_t id, uint32_t color, ColorState& s,
                                              uint32_t allowed, uint32_t used,
                                              const QueueEntry* at_ramp, uint64_t t);
  void FeedEdge(uint32_t id, bytecode::Direction side, uint8_t color, uint64_t t);
  // pe_step.cpp
  void StepPe(Pe& pe, uint64_t t);
  bool Pick(Pe& pe, uint64_t t);
  void StartTask(Pe& pe, uint32_t binding, RunKind kind, uint32_t data, uint64_t t);
  void FeedHost(Pe& pe, uint64_t t);
  void Run(Pe& pe);  // the main thread, traced
  void RunUntraced(Pe& pe);
  // host.cpp: the PE's next command; true where it did something
  bool TakeCommand(Pe& pe, uint64_t t);
  bool HasCommand(Pe& pe, uint64_t t, uint64_t& later);
  void Deliver(PortOut& port, uint32_t data, uint64_t t);
};

struct Fabric::Impl {
  std::shared_ptr<const bytecode::Program> program;
  Options options;
  const CostModel* cost = nullptr;
  uint32_t width = 0;
  uint32_t height = 0;
  std::vector<LoadedClass> classes;
  std::unique_ptr<ClassImage> empty_image;
  std::unique_ptr<bytecode::CodeClass> empty_code;
  std::unique_ptr<LoadedClass> empty_class;  // PEs without code
  std::vector<std::array<int8_t, bytecode::kColorCount>>
      router_index;  // a router configuration: colour -> entry, -1 none
  std::vector<std::vector<const bytecode::ExportBinding*>> export_of;  // class, export
  std::vector<std::unique_ptr<Pe>> pes;                                // made on first use
  std::vector<std::atomic<Router*>> routers;                           // made on first use
  std::mutex router_mutex;
  std::unique_ptr<NativeProgram> native;  // null: bytecode
  std::vector<std::unique_ptr<Tile>> tiles;
  std::vector<uint32_t> tile_of_row;
  std::deque<Command> commands;      // ticket = index
  std::vector<uint32_t> stream;      // the PEs' command list: indices of copies and launches
  std::deque<Ticket> deferred;       // copies and launches that wait for streams before them
  std::vector<Ticket> open_streams;  // host-to-fabric streams that may not be delivered yet
  uint64_t now = 0;
  uint64_t host_free = 0;  // the host link is busy until then
  uint64_t host_cycles = 0;
  bool loading = false;  // load-time code runs: whatever it wakes wakes in the first cycle
  bool stopped = false;
  bool late = false;                            // beyond Options::deadline
  bool cancelled = false;                       // Options::stop said so in this run
  std::chrono::steady_clock::time_point asked;  // Options::stop, last
  std::unique_ptr<trace::Recorder> recorder;    // null: no trace
  std::vector<Trap> traps;
  std::vector<std::string> printed;

  Pe& PeAt(uint32_t id);  // only from the PE's tile, or between cycles
  Pe* PeIf(uint32_t id) { return pes[id].get(); }
  Router& RouterAt(uint32_t id) {
    Router* r = routers[id].load(std::memory_order_acquire);
    return r != nullptr ? *r : MakeRouter(id);
  }
  Router& MakeRouter(uint32_t id);
  ColorState& StateOf(uint32_t id, uint32_t color) {
    ColorState* s = RouterAt(id).colors[color].load(std::memory_order_acquire);
    return s != nullptr ? *s : MakeState(id, color);
  }
  ColorState& MakeState(uint32_t id, uint32_t color);
  ColorState* StateIf(uint32_t id, uint32_t color) const;
  const bytecode::ColorRoute* RouteOf(uint32_t id, uint32_t color) const;
  Tile& TileOf(uint32_t id) { return *tiles[tile_of_row[id / width]]; }
  bool Neighbour(uint32_t id, bytecode::Direction d, uint32_t& other) const;

  // run.cpp
  void RunCycles(const std::function<bool()>& done, uint64_t until);
  size_t StepAll(uint64_t t);  // how much was to do
  bool EndsEarly();            // looks at the clock, and asks Options::stop now and then
  void AfterCycle();
  bool AnyFatal() const;
  Result<void> Stopped(const std::function<bool()>& done, uint64_t until);
  void StartWorkers();
  void StopWorkers();
  std::vector<std::thread> workers;
  std::atomic<uint64_t> generation{0};
  std::atomic<uint32_t> busy{0};
  std::atomic<bool> quit{false};
  uint64_t work_cycle = 0;
  std::mutex wake_mutex;
  std::condition_variable wake_workers;

  // host.cpp
  Result<void> CheckRegion(const Rect& r) const;
  Command& NewCommand(CommandKind kind, const Rect& region);
  Ticket TicketOf(const Command&) const { return static_cast<Ticket>(commands.size() - 1); }
  void Wake(const Rect& region, uint64_t at);
  Ticket Enqueue(Ticket ticket);
  void IssueDeferred();
  void Issue(Ticket ticket);
  // report.cpp
  void CollectTraps();
  void FindRouteLoops();         // route_loops.cpp
  std::string LoopsFound();      // as lines of a message
  std::string WhoMoves() const;  // the first PE or wavelet that is not at rest; something is
  std::string StreamName(uint32_t color) const;
  std::string StreamProgress(const Command& c) const;
  bytecode::LineEntry LineOf(const Pe& pe, uint32_t function, uint32_t pc) const;
  std::string FileName(uint32_t file) const;
};

std::string_view DirectionName(bytecode::Direction d);
constexpr bytecode::Direction Opposite(bytecode::Direction d) {
  using bytecode::Direction;
  switch (d) {
    case Direction::kEast:
      return Direction::kWest;
    case Direction::kWest:
      return Direction::kEast;
    case Direction::kSouth:
      return Direction::kNorth;
    case Direction::kNorth:
      return Direction::kSouth;
    case Direction::kRamp:
      return Direction::kRamp;
  }
  return d;
}

}  // namespace szarena::fabric
