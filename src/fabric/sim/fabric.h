// SPDX-License-Identifier: Apache-2.0
// The fabric: loads a program, takes host commands, runs the PEs and routers cycle by cycle, and
// says what is wrong when they stop. One instance is used from one thread; it runs on `threads`
// host threads itself, with the same result for any number.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "bytecode/program.h"
#include "fabric/model/pe.h"
#include "fabric/model/trap.h"
#include "fabric/native/native.h"

namespace szarena::fabric {

struct Options {
  int threads = 1;
  TrapMode trap = TrapMode::kWarn;
  std::optional<uint64_t> picker_seed;  // choose at random among tasks that could run, to find
                                        // programs that depend on the order
  bool check_uninitialised = true;
  uint64_t max_cycles = kNever;  // stop with an error beyond
  std::optional<std::chrono::steady_clock::time_point>
      deadline;  // the same for the time that the simulation takes
  // Asked about every 100 ms of a run, from the thread that runs it: true ends it with kCancelled.
  std::function<bool()> stop;
  std::function<void(const std::string& line)>
      print;                       // simprint lines, in order; null: kept in printed()
  std::optional<Backend> backend;  // who runs the main threads, with the same results; not set:
                                   // BackendFromEnvironment()
  std::string trace;               // file for a trace of the run (docs/csl/trace.md); empty: none
};

struct Rect {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

using Ticket = uint32_t;

// Where a stream enters or leaves: at the PE's own ramp (memcpy's host colours), or over a link at
// the edge of the rectangle.
struct PortAddress {
  int x = 0;
  int y = 0;
  bytecode::Direction side = bytecode::Direction::kRamp;
  uint8_t color = 0;
};

struct Statistics {
  uint64_t cycles = 0;
  uint64_t instructions = 0;  // scalar bytecode instructions
  uint64_t elements = 0;      // DSD elements
  uint64_t arithmetic = 0;    // of these, elements of operations other than moves
  uint64_t hops = 0;          // wavelets over a link or ramp
  uint64_t tasks = 0;
  uint64_t busy_cycles = 0;     // sum over PEs
  uint64_t stalled_cycles = 0;  // the same
  uint64_t quiet_since = 0;     // last cycle in which anything moved or a PE's main thread ran
  uint64_t wavelets_in = 0;
  uint64_t wavelets_out = 0;
  uint64_t pes_touched = 0;  // PEs with any state of their own
  uint64_t pages = 0;        // private pages of 1 KiB
  uint64_t host_cycles = 0;  // charged for host transfers by the cost model (estimated)
};
struct PeStatistics {
  PeCounters count;
  uint64_t idle_cycles = 0;  // of the cycles so far
};

// What a PE waits for, when nothing moves any more.
struct Waiting {
  int x = 0;
  int y = 0;
  uint64_t since = 0;
  std::string file;
  uint32_t line = 0;
  std::string what;  // "task 'recv' waits in @fadds for input queue 2 (colour 5), which is empty: a
                     // wavelet ... would wake it"
  uint64_t pes = 1;  // how many PEs of the same class say the same (x, y is the first)
  std::string places;  // of these, "(0..5, 0..1), (0, 2)"; empty where it is one
};

class Fabric {
 public:
  // Checks the program and loads it. Comptime activations run from cycle 1 on, when a Run function
  // is called.
  static Result<std::unique_ptr<Fabric>> Create(std::shared_ptr<const bytecode::Program> program,
                                                Options options);
  ~Fabric();
  const bytecode::Program& program() const;

  // ---- host commands: each PE takes its commands in order; one ends with unblock_cmd_stream
  // (launch) or the copy. They only queue. Export id by name; fails where the program exports no
  // such name.
  Result<uint32_t> ExportId(const std::string& name) const;
  // `words`: one u32 an element, for PE (x, y) of the region at ((y * width) + x) * count; 16-bit
  // elements (bits 16) use the low half.
  Result<Ticket> CopyIn(uint32_t export_id, Rect region, int bits, uint32_t count,
                        std::vector<uint32_t> words);
  Result<Ticket> CopyOut(uint32_t export_id, Rect region, int bits, uint32_t count);
  // Arguments as raw values, one a parameter, extended as registers are.
  Result<Ticket> Launch(uint32_t export_id, Rect region, std::vector<uint64_t> args);
  Result<Ticket> Launch(uint32_t export_id, std::vector<uint64_t> args);  // on the whole rectangle

  // ---- streams: beside the command stream, with back-pressure
  Result<Ticket> StreamIn(uint8_t color, Rect region, uint32_t count,
                          std::vector<uint32_t> words);  // at the PEs' ramps
  Result<Ticket> StreamOut(uint8_t color, Rect region, uint32_t count);
  // Over the edge of the rectangle. `control`: a bit a word, empty for none.
  Result<Ticket> SendInto(PortAddress port, std::vector<uint32_t> words,
                          std::vector<bool> control = {});
  Result<Ticket> ReceiveFrom(PortAddress port, uint32_t count);
  // Where the length is not known: opens the port for whatever leaves there, to be taken at any
  // time. 4 Mi words wait there at most; then the colour stands still until some are taken.
  Result<void> OpenPort(PortAddress port);
  std::vector<uint32_t> TakeArrived(PortAddress port);

  // ---- running
  bool IsDone(Ticket ticket) const;
  // Until the command is done. Fails on a fatal trap, at max_cycles, or when nothing moves any
  // more: then the message is DeadlockReport().
  Result<void> RunUntil(Ticket ticket);
  Result<void>
  RunUntilIdle();  // until nothing moves any more and every command is done, else the same errors
  Result<void> RunFor(uint64_t cycles);
  // Runs at most `cycles` for a machine without open commands to come to rest: nothing is ready,
  // running or on its way any more, and nothing will be until the host does something. (What waits
  // for a wavelet rests.) Returns whether it does; fails on a fatal trap and where time is over.
  Result<bool> Settle(uint64_t cycles);
  bool AtRest() const;
  // Where AtRest() does not hold: a PE that is not at rest and what it does there, with the line.
  std::string WhoMoves() const;
  // What came back, in the order of CopyIn's words; only once, after RunUntil.
  std::vector<uint32_t> TakeOutput(Ticket ticket);
  // First cycle in which the command was running on a PE, and the one in which its last PE was
  // done.
  struct Span {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t available = 0;  // from then on a PE could take it; 0: not yet known
  };
  Span SpanOf(Ticket ticket) const;
  // Looks for what was left over (unconsumed wavelets, blocked tasks) and adds the findings to
  // traps(). Call when the host is done.
  void Stop();
  // Ends the trace and gives its file its name; later cycles are not traced. Fails where it could
  // not be written. The destructor does it too, silently.
  Result<void> FinishTrace();

  // ---- looking
  uint64_t now() const;
  const std::vector<Trap>& traps();   // sorted by cycle and place
  std::vector<Waiting> WaitingPes();  // summarised
  std::string DeadlockReport();       // "" where nobody waits
  Result<std::vector<uint8_t>> ReadSymbol(int x, int y, const std::string& name);
  Result<void> WriteSymbol(int x, int y, const std::string& name, std::span<const uint8_t> bytes);
  std::vector<uint8_t> ReadMemory(int x, int y, uint32_t address, uint32_t bytes);
  Statistics statistics() const;
  PeStatistics StatisticsOf(int x, int y) const;
  uint64_t CompiledFunctions()
      const;  // by the native back end, so far; each function of each class counts
  const std::vector<std::string>& printed() const;  // simprint, where Options::print is null
  // <debug> traces of a PE by key, and the value of a string record.
  const PeDebug* DebugOf(int x, int y) const;
  std::string StringOf(int x, int y, uint64_t index) const;

  struct Impl;  // see impl.h

 private:
  explicit Fabric(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace szarena::fabric
