// SPDX-License-Identifier: Apache-2.0
// Verdict: how far a candidate came, why it stopped, and what was measured. JSON form:
// docs/verdict.schema.json.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/json.h"
#include "judge/wafer_record.h"

namespace szarena::judge {

// The ladder, in order. A candidate reaches a stage when it and all before it hold.
enum class Stage : uint8_t {
  kReceived,        // the directory was read: files, sizes, names are acceptable
  kBuilt,           // the compiler made something loadable
  kStarted,         // the library was loaded and exports what the task needs
  kFinished,        // every call returned, in time, without a crash
  kOutputProduced,  // OK returned, sizes within capacity, everything written, guards and inputs
                    // untouched
  kBoundHeld,  // the candidate's decoder, in a fresh process, on its own bytes: within the bound
  kDecodable,  // our decoder on its bytes, its decoder on ours
  kRatioOk,    // real compression happened
  kMeasured,   // timed, timed outputs verified
};
inline constexpr int kStageCount = 9;
std::string_view StageName(Stage stage);  // "output-produced"
std::optional<Stage> ParseStage(std::string_view name);

enum class StageStatus : uint8_t {
  kOk,
  kFailed,
  kNotApplicable,  // has no meaning for this task or setting
  kNotReached,     // an earlier stage failed, or it was not asked for
};
std::string_view StageStatusName(StageStatus status);  // "ok", "failed", "n/a", "not-reached"

struct StageResult {
  StageStatus status = StageStatus::kNotReached;
  double seconds = 0;  // wall time the judge spent in this stage
  std::string detail;  // evidence: what held, or what failed where; fit to be shown to whoever
                       // wrote the candidate
};

// A measured quantity: median and quartiles of `samples` timed runs.
struct Figure {
  double median = 0;
  double q1 = 0;
  double q3 = 0;
  int samples = 0;
  bool operator==(const Figure&) const = default;
};

enum class Basis : uint8_t {
  kMeasured,
  kEstimated,
  kSynthetic,  // made up with known properties, to prove the statistics
};
std::string_view BasisName(Basis basis);
std::optional<Basis> ParseBasis(std::string_view name);

// What stands behind whatever is printed of that basis: " (estimated)"; nothing behind a
// measurement.
std::string BasisNote(Basis basis);
// A speed with its basis, wherever one is printed: "43.62 GB/s (estimated)".
std::string RateText(double gbs, Basis basis);

// GB/s (1e9) of uncompressed bytes; a figure without meaning on the target is absent.
struct Throughput {
  std::optional<Figure> kernel;
  std::optional<Figure> device;
  std::optional<Figure> host;
  Basis basis = Basis::kMeasured;
};

// What a line of text shows: of device, kernel and host the first that the target has; null where
// there is none.
const Figure* ShownFigure(const std::optional<Throughput>& throughput);

// The directions of a task: a compressor's compress and decompress, a primitive's run and inverse.
enum class Direction : uint8_t { kForward, kBackward };
inline constexpr int kDirectionCount = 2;

struct DirectionResult {
  std::optional<Throughput> candidate;
  std::optional<Throughput> baseline;  // our own implementation, interleaved in the same run
  std::optional<Figure> speedup;       // candidate's speed over the baseline's, paired run by run
  std::optional<double>
      floor_fraction;  // time of a plain copy of the bytes that must move / median time
};

enum class FlagKind : uint8_t {
  kCheat,    // the result cannot be ranked
  kWarning,  // worth knowing; the result stands
};
struct Flag {
  std::string name;  // stable, kebab-case: "work-left-running"
  FlagKind kind = FlagKind::kWarning;
  std::string detail;
};

// One field or case of the run. Hidden ones carry a kind instead of a name that would give the data
// away.
struct CaseResult {
  std::string name;
  bool hidden = false;
  uint64_t n = 0;
  double abs_bound = 0;
  std::optional<double> ratio = std::nullopt;            // uncompressed / payload bytes
  std::optional<double> reference_ratio = std::nullopt;  // our encoder's, same field and mode
  std::optional<double> max_error_over_bound = std::nullopt;
  std::optional<double> psnr = std::nullopt;
  std::optional<double> nrmse = std::nullopt;
};

// What a tool that watches a program said of a candidate, at full checks.
struct ToolResult {
  enum class Status : uint8_t { kClean, kFindings, kNotRun };
  std::string tool;  // "compute-sanitizer memcheck"
  Status status = Status::kNotRun;
  std::string detail;  // what was found, or why it was not run
  bool operator==(const ToolResult&) const = default;
};
std::string_view ToolStatusName(ToolResult::Status status);  // "clean", "findings", "not-run"

struct Verdict {
  std::string task;
  std::string target;
  std::string format =
      "strict";  // or "free": own stream format, never in one table with strict results
  std::string bound_policy = "strict";
  std::string candidate_sha256;  // of the received files, names included
  std::array<StageResult, kStageCount> stages;
  std::vector<CaseResult> cases;

  // Over the public fields: uncompressed bytes / payload bytes; the reference's beside it.
  std::optional<double> ratio;
  std::optional<double> reference_ratio;
  std::optional<double> max_error_over_bound;  // over every case, hidden ones too
  std::optional<double> psnr;                  // worst over the public fields
  std::optional<double> nrmse;                 // worst over the public fields
  std::optional<uint64_t> peak_memory_bytes;   // of the candidate's process

  std::array<DirectionResult, kDirectionCount> directions;
  std::optional<double> copy_bandwidth_gbs;  // bytes read plus bytes written, median, same run
  std::string measured_field;                // which field, how many elements, how many threads
  int threads = 0;

  std::optional<WaferRecord> wafer;  // Cerebras only

  // The stage whose rule an output of a timed run broke, with all cases right: the verdict fails at
  // kMeasured.
  std::optional<Stage> timed_fault;

  // Why the candidate was built and then not run: what this machine lacks. Neither a failure nor a
  // success of the candidate.
  std::string not_run;

  std::vector<ToolResult> tools;  // of full checks
  std::vector<Flag> flags;
  std::string
      feedback;  // what the candidate's author may see: compiler output, failing case, figures
  std::string sandbox;     // the layers that were active
  std::string machine;     // processor and operating system
  std::string started_at;  // UTC, ISO 8601
  double seconds = 0;      // whole evaluation

  StageResult& at(Stage stage) { return stages[static_cast<size_t>(stage)]; }
  const StageResult& at(Stage stage) const { return stages[static_cast<size_t>(stage)]; }

  // The furthest stage reached: the last one that held with all before it (n/a ones are passed
  // over).
  std::optional<Stage> Reached() const;
  // The first stage that failed.
  std::optional<Stage> Failed() const;
  bool Holds(Stage stage) const;  // it and all before it are ok or n/a
  // The same, and no output of a timed run broke it or one before it.
  bool HoldsTimed(Stage stage) const {
    return Holds(stage) && !(timed_fault && *timed_fault <= stage);
  }

  bool runnable() const { return Holds(Stage::kFinished); }
  // Shown by our own decoder and encoder: never so with a stream format of its own.
  bool decodable() const {
    return HoldsTimed(Stage::kDecodable) && at(Stage::kDecodable).status == StageStatus::kOk;
  }
  bool correct() const { return HoldsTimed(Stage::kRatioOk); }
  bool ranked() const { return Holds(Stage::kMeasured) && !HasCheatFlag(); }
  bool HasCheatFlag() const;
};

// "compress"/"decompress" for compressors, "run"/"inverse" for primitives.
std::string_view DirectionName(std::string_view task, Direction direction);
bool IsCompressorTask(std::string_view task);

// The median and quartiles (linear interpolation) of at least one sample.
Figure MakeFigure(std::vector<double> samples);

data::Json VerdictToJson(const Verdict& verdict);
// Reads what VerdictToJson wrote; `name` appears in errors.
Result<Verdict> VerdictFromJson(const data::Json& json, const std::string& name);

}  // namespace szarena::judge
