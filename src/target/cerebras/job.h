// SPDX-License-Identifier: Apache-2.0
// What the judge and the wafer driver share: a job in the driver's input memory (sealed), answers
// in its output memory. Offsets are in bytes from the memory's beginning; data are 32-bit words.
#pragma once

#include <cstdint>

namespace szarena::target::cerebras {

// Descriptors that the driver is started with.
inline constexpr int kInputFd = 3;
inline constexpr int kOutputFd = 4;
inline constexpr char kDriverPath[] = "/run/driver";
inline constexpr char kSourcePath[] = "/src";

inline constexpr uint32_t kMaxPrograms = 4;
inline constexpr uint32_t kMaxCalls = 1024;
inline constexpr uint32_t kMessageBytes = 6000;

// ---- driver compile ARGUMENTS OF CSLC
struct CompileAnswer {
  uint32_t done = 0;           // 1 when everything below is written
  uint32_t ok = 0;             // an image was made
  uint64_t message_bytes = 0;  // diagnostics, right behind this struct
  uint64_t image_bytes = 0;    // behind them, from the next multiple of 8
  uint64_t memory_bytes = 0;   // of the PE that needs most: data, stack, estimated code
  uint32_t width = 0;          // of the rectangle that the layout asks for
  uint32_t height = 0;
  uint32_t classes = 0;  // kinds of PE code
  uint32_t memory_text_bytes =
      0;  // behind the image: what takes the memory of that PE, a line each
};

// ---- driver run
struct JobCall {
  uint32_t program = 0;    // index in Job::programs
  uint32_t streaming = 0;  // 0: symbols on the PEs; 1: rows over the edges
  uint32_t forward = 0;    // 1: elements in, payload out; 0: the other way round
  char function[16] = {};  // what is launched
  uint64_t max_cycles = 0;
  double max_seconds = 0;  // of simulation
  uint32_t eb_bits = 0;    // eb_f32
  int32_t eb_exponent = 0;
  uint32_t in_capacity =
      0;  // resident: words of the symbol that is filled on each PE; what the data leave is poison
  uint32_t out_capacity = 0;  // resident: words of the symbol that is read back
  uint32_t in_color = 0;      // streaming
  uint32_t out_color = 0;
  uint64_t poison_seed = 0;
  uint32_t poison_inverted = 0;
  uint32_t float_values = 1;    // resident: the elements' symbol is f32, else u32
  uint32_t written_wanted = 0;  // resident, forward: counts of written words are wanted, too
  uint32_t reserved = 0;
  uint64_t n_offset = 0;       // u32 a part (PE, or row): n_local, or n_row
  uint64_t counts_offset = 0;  // u32 a part: words of data
  uint64_t data_offset = 0;    // the parts' words back to back
  uint64_t answer_offset = 0;  // output memory: u32 a part, the words that came back; u32 a part,
                               // up to where words were written; then the words back to back
  uint64_t answer_words = 0;   // room there, for these
};

struct Job {
  uint32_t threads = 1;  // of the host, for all calls that run at once
  uint32_t at_once = 1;  // calls that may run side by side, each with its share of the threads
  uint32_t program_count = 0;
  uint32_t call_count = 0;
  uint32_t check_uninitialised = 1;
  uint32_t reserved = 0;
  double total_seconds = 0;  // of simulation, all calls together
  uint64_t program_offset[kMaxPrograms] = {};
  uint64_t program_bytes[kMaxPrograms] = {};
  JobCall calls[];  // NOLINT: flexible, call_count of them
};

enum class CallState : uint32_t {
  kNotRun = 0,
  kRunning,  // begun, and then the process ended
  kDone,
  kBadProgram,  // cannot be loaded, or a symbol is missing or too small
  kFailed,      // deadlock, fatal trap, too many cycles or seconds: `message` says
};

struct JobAnswer {
  CallState state = CallState::kNotRun;
  uint32_t limit_exceeded = 0;  // kFailed by max_cycles or max_seconds
  uint32_t bounds_traps = 0;    // accesses outside of an array
  uint32_t count_fault = 0;     // 1 + the part whose count is beyond the capacity
  uint32_t changed_symbol =
      0;  // 1 + PE on which a symbol that the judge sets was changed: `message`
  uint32_t pes = 0;
  uint32_t pes_active = 0;       // with at least a tenth of the work of the busiest
  uint32_t changed_pointer = 0;  // 1 + PE on which an exported pointer was changed: `message`
  uint64_t launch_cycles = 0;    // the clock of docs/contracts/cerebras.md
  uint64_t copy_in_cycles = 0;   // host link by the cost model
  uint64_t copy_out_cycles = 0;
  uint64_t busy_cycles = 0;  // sums over the PEs
  uint64_t stalled_cycles = 0;
  uint64_t idle_cycles = 0;
  uint64_t largest_work = 0;  // of one PE: instructions, elements and wavelets
  uint64_t total_work = 0;
  uint64_t scalar_instructions = 0;
  uint64_t vector_elements = 0;
  uint64_t vector_arithmetic = 0;
  uint64_t wavelets = 0;  // over links and ramps
  uint64_t bytes_in = 0;  // copied or streamed to the wafer
  uint64_t bytes_out = 0;
  uint64_t memory_pages = 0;
  uint64_t peak_memory_bytes = 0;    // of the driver process so far
  double load_seconds = 0;           // wall time of the simulator: placing the program
  double run_seconds = 0;            // launch to rest
  char message[kMessageBytes] = {};  // why it failed
  char traps[kMessageBytes] = {};    // everything that the machine reported, a line each, cut
};

}  // namespace szarena::target::cerebras
