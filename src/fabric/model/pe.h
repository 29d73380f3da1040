// SPDX-License-Identifier: Apache-2.0
// The state of one PE: memory, task table, main thread, queues, microthreads, DSRs, FIFOs. Plain
// data; interp/ and sim/ act on it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bytecode/program.h"
#include "fabric/model/memory.h"

namespace szarena::fabric {

inline constexpr uint64_t kNever = ~uint64_t{0};
inline constexpr int kMainSlot =
    8;  // ops[0..7] are microthreads, ops[8] the main thread's synchronous operation

// ---------------------------------------------------------------- what a class looks like once
// loaded
struct LoadedClass {
  const bytecode::CodeClass* code = nullptr;
  std::unique_ptr<ClassImage> image;
  std::array<int32_t, bytecode::kTaskIdCount> data_task;  // index in code->tasks, -1 none
  std::array<int32_t, bytecode::kTaskIdCount> local_task;
  std::array<int32_t, bytecode::kTaskIdCount> control_task;
  uint64_t high_priority = 0;
  explicit LoadedClass(const bytecode::CodeClass& c);
};

// ---------------------------------------------------------------- queues
struct QueueEntry {
  uint32_t data = 0;
  uint8_t color = 0;
  bool control = false;
  bool advance = false;  // after this wavelet the sender's own switch advances
  uint64_t ready = 0;    // first cycle in which the reader sees it
};

class Ring {
 public:
  bool empty() const { return count_ == 0; }
  uint32_t size() const { return count_; }
  QueueEntry& front() { return entries_[head_]; }
  const QueueEntry& front() const { return entries_[head_]; }
  const QueueEntry& at(uint32_t i) const { return entries_[(head_ + i) % kCapacity]; }
  void push(const QueueEntry& e) { entries_[(head_ + count_++) % kCapacity] = e; }
  void pop() { head_ = static_cast<uint8_t>((head_ + 1) % kCapacity), --count_; }
  static constexpr uint32_t kCapacity = 16;  // deepest queue and the ramp's stages fit

 private:
  std::array<QueueEntry, kCapacity> entries_;
  uint8_t head_ = 0;
  uint8_t count_ = 0;
};

struct InputQueue {
  Ring ring;
  uint8_t color = bytecode::kNoColor;
  uint8_t capacity = 0;                                        // depth + ramp stages
  bytecode::Priority priority = bytecode::Priority::kDefault;  // WSE-2
  bool flush = false;                                          // WSE-3 @queue_flush
  bool flushed = false;
};
struct OutputQueue {
  Ring ring;
  uint8_t color = bytecode::kNoColor;  // WSE-3
  uint8_t capacity = 0;
  bool flush = false;
  bool flushed = false;
};

// ---------------------------------------------------------------- DSD operations under way
enum class OperandClass : uint8_t { kNone, kScalar, kMemory, kFabIn, kFabOut, kFifo };

struct OperandState {
  OperandClass cls = OperandClass::kNone;
  char letter = 'w';
  uint8_t size = 2;         // bytes of an element as the operation sees it
  bool packed = false;      // two 16-bit elements a wavelet
  bool pointer = false;     // a scalar in memory, not a DSD
  bool half_valid = false;  // packed fabric operand with one half left (in) or collected (out)
  uint8_t queue = 0;
  uint8_t color = bytecode::kNoColor;
  uint16_t half = 0;
  uint32_t fifo = 0;
  uint32_t dsr = bytecode::kNoIndex;  // handle, where it came from one
  uint32_t scalar = 0;
  bytecode::Descriptor d;
  std::array<uint16_t, 4> index = {};
  int64_t offset = 0;  // in elements: strides count elements of the operation, whatever array the
                       // DSD was made from
  uint32_t length() const {
    return cls == OperandClass::kScalar || cls == OperandClass::kNone ? 0
           : cls == OperandClass::kFifo                               ? scalar
                                                                      : d.length();
  }
  uint32_t address() const { return static_cast<uint32_t>(d.base + offset * size) & 0xffff; }
  void Advance();  // memory: to the next element
};

struct DsdState {
  bytecode::DsdOp op = bytecode::DsdOp::kMov16;
  bool live = false;
  bool async = false;
  bool infinite = false;
  bool terminated = false;  // sync FIFO operation that hit empty or full
  uint8_t source_count = 0;
  uint32_t length = 0;  // dfilt: control wavelets to see
  uint32_t done = 0;
  uint32_t carry = 0;
  uint16_t index = 0;
  bool has_index = false;
  OperandState dest;
  OperandState src[3];
  bytecode::AsyncSettings settings;
  uint8_t slot = 0;
  uint32_t result_register = 0;  // absolute index in the register stack (synchronous)
  uint64_t since = 0;            // started
  uint64_t last_progress = 0;
  uint32_t function = bytecode::kNoIndex;  // where the operation stands
  uint32_t pc = 0;
};

struct DsrState {
  bool loaded = false;
  bool save_address = false;
  bytecode::AsyncSettings settings;
  bytecode::Descriptor d;
  std::array<uint16_t, 4> index = {};
  int64_t offset = 0;
};

struct FifoState {
  uint16_t head = 0;
  uint16_t count = 0;
  bool hit_full = false;  // a push waited or failed since the last on_pop
  bool hit_empty = false;
  uint16_t read_length = 0;
  uint16_t write_length = 0;
};

// ---------------------------------------------------------------- main thread
struct Frame {
  const bytecode::Function* function = nullptr;
  uint32_t pc = 0;
  uint32_t base = 0;  // of its registers
  uint32_t sp = 0;    // of its SRAM frame
  uint32_t dsp = 0;   // of its descriptor frame
};
struct MapState {
  uint32_t map = 0;
  std::vector<OperandState> inputs;
  OperandState output;
  uint32_t done = 0;
  uint32_t length = 0;
};
struct Thread {
  std::vector<uint64_t> regs;
  std::vector<Frame> frames;
  std::vector<MapState> maps;
};

enum class MainState : uint8_t {
  kIdle,
  kRunning,
  kOperation,
  kWaitMicrothread,
  kWaitQueue,
  kHalted
};
enum class RunKind : uint8_t { kNone, kLocal, kData, kControl, kHost, kTeardown, kInit };

// ---------------------------------------------------------------- statistics and debug output
struct PeCounters {
  uint64_t busy = 0;  // cycles in tasks, waiting excluded
  uint64_t stalled =
      0;  // cycles of the main thread in synchronous fabric operations beyond one an element
  uint64_t tasks = 0;
  uint64_t instructions = 0;
  uint64_t elements = 0;    // DSD elements
  uint64_t arithmetic = 0;  // of these, elements of operations other than moves
  uint64_t wavelets_in = 0;
  uint64_t wavelets_out = 0;
};
struct TraceRecord {
  bytecode::ScalarType type = bytecode::ScalarType::kU16;
  enum class Kind : uint8_t { kValue, kString, kTimestamp } kind = Kind::kValue;
  uint64_t value = 0;  // bits, string index, or cycle
};
struct PeDebug {
  std::map<std::string, std::vector<TraceRecord>> traces;  // by key
  std::string line;                                        // simprint, until a newline
};

// What only a PE that uses the fabric needs.
struct Comm {
  std::vector<InputQueue> in;  // 0..7 real; beyond: one for a colour without a queue
  std::array<OutputQueue, 8> out;
  std::array<uint8_t, bytecode::kColorCount> queue_of_color;  // input queue, 0xff none
  std::array<DsdState, 9> ops;
  uint16_t live = 0;     // bit a slot of ops
  uint8_t blocked = 0;   // bit a microthread: @block(ut_id), its operation stands still
  uint8_t next_op = 0;   // round robin among ops
  uint8_t next_out = 0;  // round robin among output queues at the ramp
};

struct Pe {
  Memory memory;
  const LoadedClass* cls = nullptr;
  uint32_t index = 0;
  uint16_t x = 0;
  uint16_t y = 0;
  uint64_t active = 0;
  uint64_t blocked = 0;
  uint64_t control_enabled =
      0;  // colour (WSE-2) or input queue (WSE-3) ids whose control wavelets may start tasks
  uint64_t high_priority = 0;
  uint8_t main_priority =
      2;  // level of the main thread's operations among the microthreads': StepOperations
  uint8_t control_mask = 0;  // control_transform.set_mask
  MainState state = MainState::kIdle;
  RunKind running = RunKind::kNone;
  uint8_t task_id = 0;
  uint8_t last_id = 63;       // id that the picker chose last
  uint8_t wait_slot = 0;      // kWaitMicrothread
  bool command_busy = false;  // a launched function has not yet called unblock_cmd_stream
  uint64_t main_ready = 0;    // the main thread's own clock: it does nothing visible before
  uint64_t task_since = 0;
  uint64_t next_wake = kNever;  // the event scheduled last, to leave out doubles
  uint64_t last_step = 0;
  uint64_t picks = 0;
  uint32_t next_command = 0;      // in the host's list
  uint32_t teardown_pending = 0;  // bit a colour: in teardown, not yet exited
  uint32_t teardown_todo = 0;     // bit a colour: handler not yet dispatched
  uint16_t flush_todo = 0;  // bit a queue (output: + 8): empty-queue handler not yet dispatched
  std::unique_ptr<Thread> thread;
  std::unique_ptr<Comm> comm;
  std::vector<DsrState> dsrs;  // file * kDsrsPerFile + index, grown on demand
  std::vector<FifoState> fifos;
  std::vector<uint16_t> rotating;  // counters
  bool tsc_on = false;
  uint64_t tsc_base = 0;
  uint64_t tsc_held = 0;  // value while switched off
  uint16_t prng = 0;      // selected generator
  std::vector<uint32_t> prng_state;
  PeCounters count;
  std::unique_ptr<PeDebug> debug;
};

}  // namespace szarena::fabric
