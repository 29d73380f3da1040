// SPDX-License-Identifier: Apache-2.0
// Platform: what the ladder needs of a target. One implementation for libraries in a driver process
// (cpu, cuda: library.h), one for the wafer (cerebras.h). Everything that decides a verdict stays
// in the ladder.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "judge/cases.h"
#include "judge/reference.h"
#include "judge/verdict.h"
#include "target/candidate.h"
#include "target/protocol.h"
#include "target/trace.h"

namespace szarena::judge {

// A fault found, with the stage that it belongs to.
struct Finding {
  Stage stage = Stage::kFinished;
  std::string detail;
};

// One call's data and what came of it.
struct Call {
  std::string name;  // the case's, for evidence
  bool hidden = false;
  szarena_problem problem = {};
  Split split;
  ByteView input;  // forward: elements; backward: payload
  std::optional<Bytes>
      got;  // forward: payload; backward: elements. Absent where the call did not succeed
  std::optional<Bytes> other =
      {};  // what the second round gave, where it differs: no less to be judged
};

struct RunReport {
  std::vector<Finding> findings;  // in order of the calls
  bool deterministic = true;      // both rounds gave the same bytes
  bool left_running = false;      // processor time was used after the last call
  uint64_t peak_memory_bytes = 0;
  std::string output;     // what the candidate printed, printable characters only, cut
  std::string diagnosis;  // what the machine itself reported, the same
};

struct Built {
  bool ok = false;
  std::string summary;  // one line, where ok
  std::string reason;   // one line, where not ok
  std::string log;      // what the compiler said, cut to the useful part
};

struct Measurement {
  std::array<DirectionResult, kDirectionCount> directions;
  std::optional<double> copy_bandwidth_gbs;
  std::string measured_field;
  std::string detail;  // of the stage: "10 timed runs"
  std::vector<Flag> flags;
  // What ran on the device in the traced runs of the candidate, where it was traced.
  std::array<std::optional<target::Trace>, kDirectionCount> traces;
  // The candidate failed in a timed run: at kMeasured, or below, where an output broke the rule of
  // that stage.
  std::optional<Finding> fault;
  uint64_t peak_memory_bytes = 0;
};

class Platform {
 public:
  virtual ~Platform() = default;
  // The public cases; then, with a seed, the hidden ones. Only what makes sense on this target.
  virtual Result<std::vector<Case>> Cases(std::optional<uint64_t> hidden_seed) = 0;
  // Builds and keeps the candidate. An Error is the environment's lack or our own fault.
  virtual Result<Built> Build(const target::Candidate& candidate) = 0;
  // Why nothing can be run here though candidates can be built: "no CUDA device: not run". Empty:
  // it can.
  virtual std::string CannotRun() { return ""; }
  // Makes every call twice, over a poison and over its inverse, in a process that shares nothing
  // with other ones.
  virtual Result<RunReport> Run(target::CallKind kind, std::vector<Call>& calls,
                                std::chrono::milliseconds call_timeout) = 0;
  // What the target's tools say of the candidate's calls on these cases, hidden ones left out;
  // empty where it has none.
  virtual Result<std::vector<ToolResult>> RunTools(const std::vector<Case>&) {
    return std::vector<ToolResult>();
  }
  // Times the candidate, and the baseline (a folder) beside it.
  virtual Result<Measurement> Measure(const std::optional<std::string>& baseline) = 0;
  // Adds what only this target has to say.
  virtual void Describe(Verdict& verdict) const = 0;
};

}  // namespace szarena::judge
