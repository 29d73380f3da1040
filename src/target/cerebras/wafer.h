// SPDX-License-Identifier: Apache-2.0
// Compiles a CSL candidate and runs it on the simulated wafer, in the sandbox, as
// docs/contracts/cerebras.md says. Words in, words out: what they mean is the judge's business.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bytecode/program.h"
#include "sandbox/sandbox.h"
#include "target/candidate.h"
#include "target/cerebras/job.h"

namespace szarena::target::cerebras {

using Params = std::vector<std::pair<std::string, int64_t>>;

struct Geometry {
  bytecode::Arch arch = bytecode::Arch::kWse2;
  int width = 0;
  int height = 0;
};
// The largest rectangle of PEs that a program with host connections can have on the machine.
Geometry WholeWafer(bytecode::Arch arch);

// Whether a CSL text declares `param name`: read by the compiler's own lexer, so that comments and
// strings do not count.
bool DeclaresParam(const std::string& source, std::string_view name);

struct CompileResult {
  bool ok = false;
  std::string image;        // the compiled program, where ok
  std::string log;          // what the compiler said
  std::string reason;       // one line, where not ok
  std::string memory_text;  // what takes the memory of the PE that needs most
  uint64_t memory_bytes = 0;
  double seconds = 0;
};
// Compiles layout.csl for one geometry, which the program has to have; `width` and `height` are
// added to the params. An Error is the environment's or our own fault. Beyond the limits of time
// and memory the candidate has failed.
Result<CompileResult> Compile(const sandbox::Sandbox& sandbox, const Candidate& candidate,
                              const Geometry& geometry, const Params& params);

// One launch on a machine of its own.
struct Launch {
  uint32_t program = 0;  // index of the image
  bool streaming = false;
  bool forward = true;
  std::string function;
  float eb = 0;
  int32_t eb_exponent = 0;
  uint32_t in_capacity = 0;  // resident: words of the symbol filled and of the one read back, a PE
  uint32_t out_capacity = 0;
  bool float_values = true;     // resident: the elements are exported as f32, else as u32
  bool written_wanted = false;  // resident, forward: fill LaunchResult::written
  uint32_t in_color = 0;
  uint32_t out_color = 0;
  uint64_t poison_seed = 0;
  bool poison_inverted = false;
  uint64_t max_cycles = 200'000'000;
  double max_seconds = 10;
  uint64_t answer_words = 0;     // room for all that comes back
  std::vector<uint32_t> n;       // a part (PE, or row): n_local, or n_row
  std::vector<uint32_t> counts;  // a part: words of data
  std::vector<uint32_t> data;    // the parts' words back to back
};
struct LaunchResult {
  JobAnswer answer;              // state, evidence, counters
  std::vector<uint32_t> counts;  // a part; kDone only
  // A part, where wanted: up to which of the output's words the program wrote something.
  std::vector<uint32_t> written;
  std::vector<uint32_t>
      words;  // back to back; fewer than the counts say where the room was too small
};

struct RunLimits {
  int threads = 1;
  int at_once = 1;  // launches side by side, each with its share of the threads; cycles and results
                    // do not depend on it
  uint64_t memory_bytes = 4ull << 30;
  bool check_uninitialised = true;
  double total_seconds = 120;  // of simulation, all launches together
};
// Runs the launches in one process, begun in order; begins none behind one that is no usable
// program or takes too long (the states of the rest are kNotRun). At most kMaxCalls launches.
Result<std::vector<LaunchResult>> RunLaunches(const sandbox::Sandbox& sandbox,
                                              std::span<const std::string> images,
                                              std::span<const Launch> launches,
                                              const RunLimits& limits);

}  // namespace szarena::target::cerebras
