// SPDX-License-Identifier: Apache-2.0
// Evaluate: a candidate directory in, a verdict out. The front door of the judge.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "base/error.h"
#include "judge/task_spec.h"
#include "judge/verdict.h"
#include "target/trace.h"

namespace szarena::judge {

// How a Cerebras candidate is judged (docs/contracts/cerebras.md).
struct WaferOptions {
  enum class Variant : uint8_t { kAuto, kResident, kStreaming, kFreeHost };
  enum class Toolchain : uint8_t { kOurs, kSdk };
  Variant variant = Variant::kAuto;  // kAuto: from the candidate's files
  Toolchain toolchain = Toolchain::kOurs;
  bool wse3 = false;
  int width = 16;  // PEs of the grid that is measured and reported
  int height = 16;
  uint64_t bytes = 0;  // of the timed data; 0: 1 MiB
};

struct EvaluateOptions {
  TaskSpec task;
  std::string target = "cpu";
  std::string candidate;                // directory
  std::optional<std::string> baseline;  // directory of our implementation, run beside the candidate
  int trials = 10;                      // timed runs after warm-up, at least 10
  bool free_format = false;        // the candidate's own stream format: no cross-decoding, labelled
  Stage until = Stage::kMeasured;  // kBuilt: only build; kMeasured: everything; between: no timing
  bool full = false;   // what finds faults that results do not show, too: compute-sanitizer (cuda)
  bool hidden = true;  // false: public fields only (quick feedback, not a score)
  std::chrono::milliseconds call_timeout{10000};  // of one untimed call
  WaferOptions wafer;
  int threads = 0;                      // 0: one per processor that we may use
  std::optional<uint64_t> hidden_seed;  // replay; else drawn
  std::function<void(Stage)> on_stage;  // called when work on a stage begins; may be empty
  std::stop_token stop;  // looked at when work on a stage begins; then the error is kCancelled
};

struct Evaluation {
  Verdict verdict;
  uint64_t hidden_seed =
      0;  // to be kept out of every sandbox, and shown only after the session is closed
  // Beside the verdict, for whoever writes the candidate: what ran on the device, by direction.
  std::array<std::optional<target::Trace>, kDirectionCount> traces = {};
};

// An Error is bad usage (kInvalidArgument, kNotFound), the environment's lack (kUnavailable) or our
// own fault; whatever the candidate does is a verdict.
Result<Evaluation> Evaluate(const EvaluateOptions& options);

}  // namespace szarena::judge
