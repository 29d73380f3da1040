// SPDX-License-Identifier: Apache-2.0
// Inside of the Cerebras platform: its class, and the numbers that decide what is run. cerebras.cpp
// has data and building, cerebras_calls.cpp the calls, cerebras_measure.cpp time and what a program
// did, cerebras_sdk.cpp the same under the vendor's SDK.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "fabric/model/cost.h"
#include "judge/cerebras.h"
#include "judge/random.h"
#include "judge/split.h"
#include "target/cerebras/sdk.h"
#include "target/cerebras/wafer.h"

namespace szarena::judge::wafer {

using std::chrono::milliseconds;
using target::CallKind;
using target::cerebras::CallState;
using target::cerebras::CompileResult;
using target::cerebras::Geometry;
using target::cerebras::JobAnswer;
using target::cerebras::Launch;
using target::cerebras::LaunchResult;
using target::cerebras::SdkProgram;
using target::cerebras::SdkTools;
using Variant = WaferOptions::Variant;

// Everything but the timed run happens on at most so many PEs a side; more would prove nothing
// more.
inline constexpr int kCheckSide = 16;
inline constexpr uint32_t kCheckElemsPerPe = 2048;  // the most that the contract allows
inline constexpr uint64_t kPublicElements = 32768;  // of a public field: the rest is cut off
inline constexpr uint64_t kHiddenElements = 12288;
// Wavelets are simulated one by one: a stream costs more time than an array.
inline constexpr uint64_t kStreamedPublicElements = 16384;
inline constexpr uint64_t kStreamedHiddenElements = 6144;
// A second geometry, so that nothing is built for the first alone.
inline constexpr int kOtherWidth = 5;
inline constexpr int kOtherHeight = 3;
inline constexpr uint32_t kOtherElemsPerPe = 512;
// Of the histogram: room for more values in one bin than 16 bits count, which are reached on the
// way along a column, and in a third geometry along a row.
inline constexpr int kCountsWidth = 9;
inline constexpr int kCountsHeight = 8;
inline constexpr uint32_t kCountsElemsPerPe = 1024;
inline constexpr int kCountsRow = 35;
inline constexpr uint32_t kChunkBlocks = 4;
inline constexpr uint32_t kOtherChunkBlocks = 8;
// Rows' rate bytes, when their payload is put together.
inline constexpr uint32_t kRowPadBlocks = 4;

inline constexpr uint64_t kTimedBytes = 1u << 20;
inline constexpr int kVariations = 3;  // of the timed data; cycles on one input are exact
inline constexpr int kManyPes = 4096;  // from here on a run is long: one variation
inline constexpr double kLongRunSeconds = 1200;
inline constexpr double kLinkBytesPerSecond = 1.2e12 / 8;
inline constexpr double kOnePeShare = 0.9;  // of all work: then the others do not count
inline constexpr double kScalarsPerOperation =
    32;  // a copying loop takes 10 to 25 instructions an element, a scalar compressor some 200
// The vendor's simulator is slow, and each of its runs is a process: few cases, small ones.
inline constexpr int kSdkSide = 4;
inline constexpr uint64_t kSdkPublicElements = 4096;
inline constexpr uint64_t kSdkHiddenElements = 1024;
inline constexpr size_t kSdkHiddenCases = 8;
inline constexpr milliseconds kSdkTimeout{600000};
inline constexpr size_t kDiagnosisBytes = 3000;

struct Program {
  Geometry geometry;
  uint32_t max_elems = 0;
  uint32_t chunk_blocks = 0;
  uint32_t in_color = 1;
  uint32_t out_color = 2;
  uint32_t pes() const { return static_cast<uint32_t>(geometry.width * geometry.height); }
};

inline uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

class CerebrasPlatform final : public Platform {
 public:
  CerebrasPlatform(const EvaluateOptions& options, const sandbox::Sandbox& sandbox, Variant variant,
                   std::optional<SdkTools> sdk, int threads)
      : options_(options),
        sandbox_(sandbox),
        threads_(threads),
        variant_(variant),
        sdk_(std::move(sdk)),
        task_(options.task) {
    // One type, one mode.
    task_.dtypes = {SZARENA_F32};
    task_.modes.resize(1);
    std::erase_if(task_.public_fields,
                  [&](const FieldCase& field) { return field.mode != task_.modes.front(); });
    if (sdk_) {
      // One bound a field.
      std::vector<FieldCase> fields;
      for (const FieldCase& field : task_.public_fields) {
        if (std::none_of(fields.begin(), fields.end(),
                         [&](const FieldCase& f) { return f.field == field.field; }))
          fields.push_back(field);
      }
      task_.public_fields = std::move(fields);
    }
    std::erase_if(task_.timed_fields,
                  [&](const FieldCase& field) { return field.mode != task_.modes.front(); });
    const bytecode::Arch arch = options.wafer.wse3 ? bytecode::Arch::kWse3 : bytecode::Arch::kWse2;
    const WaferOptions& wafer = options.wafer;
    const int side = sdk_ ? kSdkSide : kCheckSide;
    programs_ = {{{arch, std::min(wafer.width, side), std::min(wafer.height, side)},
                  kCheckElemsPerPe,
                  kChunkBlocks},
                 {{arch, kOtherWidth, kOtherHeight}, kOtherElemsPerPe, kOtherChunkBlocks, 5, 3}};
    if (task_.kind == TaskKind::kHistogram && !sdk_) {
      programs_[1].geometry = {arch, kCountsWidth, kCountsHeight};
      programs_[1].max_elems = kCountsElemsPerPe;
      programs_.push_back({{arch, kCountsRow, 1}, kCheckElemsPerPe, kChunkBlocks});
    }
    clock_mhz_ = static_cast<int>(fabric::CostModelOf(arch).clock_mhz);
  }

  Result<std::vector<Case>> Cases(std::optional<uint64_t> hidden_seed) override;
  Result<Built> Build(const target::Candidate& candidate) override;
  Result<RunReport> Run(CallKind kind, std::vector<Call>& calls,
                        milliseconds call_timeout) override;
  Result<Measurement> Measure(const std::optional<std::string>& baseline) override;
  void Describe(Verdict& verdict) const override;

 private:
  struct Timed;
  bool streaming() const { return variant_ == Variant::kStreaming; }
  uint32_t MaxWords(const Program& program) const {
    return task_.compressor ? program.max_elems + program.max_elems / 16 + 64
                            : 2 * program.max_elems + 64;
  }
  uint64_t PublicElements() const {
    return sdk_ ? kSdkPublicElements : streaming() ? kStreamedPublicElements : kPublicElements;
  }
  uint64_t HiddenElements() const {
    return sdk_ ? kSdkHiddenElements : streaming() ? kStreamedHiddenElements : kHiddenElements;
  }
  uint64_t Capacity(const Program& program) const {
    return streaming() ? uint64_t{1} << 24 : uint64_t{program.pes()} * program.max_elems;
  }
  target::cerebras::Params ParamsOf(const Program& program) const;
  // Cuts what is too long and deals it out.
  void Deal(Case& item, uint32_t index, uint64_t most, Random* random) const;
  Split MakeSplit(uint32_t index, uint64_t chunk) const;
  // The same without any element: what a launch takes by itself.
  Result<Launch> EmptyLaunch(CallKind kind, const Split& split, szarena_problem problem,
                             const Program& program) const;
  Result<Launch> MakeLaunch(CallKind kind, const Call& call, const Program& program) const;
  // The same through the SDK's command lines.
  Result<Built> BuildWithSdk(const target::Candidate& candidate);
  Result<RunReport> RunWithSdk(CallKind kind, std::vector<Call>& calls);
  Result<Measurement> MeasureWithSdk();
  // What came back, as payload or elements; or what is wrong with it.
  Result<Bytes> Convert(CallKind kind, const Call& call, const LaunchResult& result) const;
  std::optional<Finding> FindingOf(CallKind kind, const LaunchResult& result) const;
  std::string NameOf(CallKind kind) const {
    return std::string(DirectionName(
        task_.name, kind == CallKind::kForward ? Direction::kForward : Direction::kBackward));
  }
  WaferActivity ActivityOf(const JobAnswer& answer, uint64_t elements) const;
  void Keep(CallKind kind, const JobAnswer& answer, uint64_t elements);
  double Seconds(uint64_t cycles) const { return static_cast<double>(cycles) / (clock_mhz_ * 1e6); }
  // Measure
  uint64_t TimedBytes() const {
    return options_.wafer.bytes > 0 ? options_.wafer.bytes : kTimedBytes;
  }
  Program TimedProgram() const;
  Result<std::optional<std::string>> BaselineImage(const std::optional<std::string>& folder,
                                                   const Program& program) const;
  Result<std::vector<double>> TimeDirection(CallKind kind, const std::string& image,
                                            const Timed& timed, bool is_candidate,
                                            Measurement& out);
  std::optional<Finding> VerifyTimed(CallKind kind, const Call& call, const LaunchResult& result,
                                     const Timed& timed, size_t i) const;
  void AddFlags(CallKind kind, std::vector<Flag>& flags) const;

  const EvaluateOptions& options_;
  const sandbox::Sandbox& sandbox_;
  int threads_;
  Variant variant_;
  std::optional<SdkTools> sdk_;  // instead of our toolchain
  TaskSpec task_;
  int clock_mhz_ = 0;
  std::vector<Program> programs_;
  std::vector<std::string> images_;
  target::Candidate candidate_;
  CompileResult compiled_;  // of the first geometry
  std::vector<SdkProgram> sdk_programs_;
  // Of each direction: the timed launch, or the largest that was run.
  struct Kept {
    JobAnswer answer;
    uint64_t elements = 0;
    bool timed = false;
    uint64_t empty_cycles =
        0;  // of a launch without any element, on the same geometry; 0: none was made
  };
  std::array<Kept, kDirectionCount> kept_;
};

struct CerebrasPlatform::Timed {
  szarena_problem problem = {};
  Split split;
  Program program;
  std::vector<Bytes> inputs;      // a variation
  std::vector<Bytes> references;  // our payloads
  std::vector<Call> Calls(CallKind kind) const {
    std::vector<Call> calls;
    calls.reserve(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      calls.push_back({"timed", true, problem, split,
                       kind == CallKind::kForward ? ByteView(inputs[i]) : ByteView(references[i]),
                       std::nullopt});
    }
    return calls;
  }
};

}  // namespace szarena::judge::wafer
