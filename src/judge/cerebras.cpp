// SPDX-License-Identifier: Apache-2.0
#include "judge/cerebras.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>

#include "base/bytes.h"
#include "base/check.h"
#include "codec/core/bound.h"
#include "fabric/model/accuracy.h"
#include "fabric/model/cost.h"
#include "judge/checks.h"
#include "judge/free_host.h"
#include "judge/random.h"
#include "judge/records.h"
#include "judge/split.h"
#include "target/cerebras/sdk.h"
#include "target/cerebras/wafer.h"

namespace szarena::judge {
namespace {

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
constexpr int kCheckSide = 16;
constexpr uint32_t kCheckElemsPerPe = 2048;  // the most that the contract allows
constexpr uint64_t kPublicElements = 32768;  // of a public field: the rest is cut off
constexpr uint64_t kHiddenElements = 12288;
// Wavelets are simulated one by one: a stream costs more time than an array.
constexpr uint64_t kStreamedPublicElements = 16384;
constexpr uint64_t kStreamedHiddenElements = 6144;
// A second geometry, so that nothing is built for the first alone.
constexpr int kOtherWidth = 5;
constexpr int kOtherHeight = 3;
constexpr uint32_t kOtherElemsPerPe = 512;
constexpr uint32_t kChunkBlocks = 4;
constexpr uint32_t kOtherChunkBlocks = 8;
// Rows' rate bytes, when their payload is put together.
constexpr uint32_t kRowPadBlocks = 4;

constexpr uint64_t kTimedBytes = 1u << 20;
constexpr int kVariations = 3;  // of the timed data; cycles on one input are exact
constexpr int kManyPes = 4096;  // from here on a run is long: one variation
constexpr double kLongRunSeconds = 1200;
constexpr double kLinkBytesPerSecond = 1.2e12 / 8;
constexpr double kOnePeShare = 0.9;  // of all work: then the others do not count
constexpr double kScalarsPerOperation =
    16;  // a copying loop takes some six instructions an element, a scalar compressor hundreds
// The vendor's simulator is slow, and each of its runs is a process: few cases, small ones.
constexpr int kSdkSide = 4;
constexpr uint64_t kSdkPublicElements = 4096;
constexpr uint64_t kSdkHiddenElements = 1024;
constexpr size_t kSdkHiddenCases = 8;
constexpr milliseconds kSdkTimeout{600000};
constexpr size_t kDiagnosisBytes = 3000;

struct Program {
  Geometry geometry;
  uint32_t max_elems = 0;
  uint32_t chunk_blocks = 0;
  uint32_t in_color = 1;
  uint32_t out_color = 2;
  uint32_t pes() const { return static_cast<uint32_t>(geometry.width * geometry.height); }
};

uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

std::vector<uint32_t> ToWords(ByteView bytes) {
  std::vector<uint32_t> words((bytes.size() + 3) / 4);
  if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}
Bytes ToBytes(std::span<const uint32_t> words) {
  const auto bytes = std::as_bytes(words);
  return {bytes.begin(), bytes.end()};
}
std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

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
  void Deal(Case& item, uint32_t program, uint64_t most, Random* random) const;
  Split MakeSplit(uint32_t program, uint64_t chunk) const;
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
  std::optional<std::string> VerifyTimed(CallKind kind, const Call& call,
                                         const LaunchResult& result, const Timed& timed,
                                         size_t i) const;
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

target::cerebras::Params CerebrasPlatform::ParamsOf(const Program& program) const {
  if (streaming()) return {{"in_color_id", program.in_color}, {"out_color_id", program.out_color}};
  target::cerebras::Params params = {{"max_elems_per_pe", program.max_elems},
                                     {"chunk_blocks", program.chunk_blocks}};
  if (!task_.compressor) params.emplace_back("bins", task_.bins);
  return params;
}

// ---------------------------------------------------------------- data
Split CerebrasPlatform::MakeSplit(uint32_t index, uint64_t chunk) const {
  const Program& program = programs_[index];
  Split split;
  split.program = index;
  split.chunk = chunk;
  split.parts = streaming() ? static_cast<uint32_t>(program.geometry.height) : program.pes();
  split.pad_blocks = streaming() ? kRowPadBlocks : program.chunk_blocks;
  split.width = streaming() ? 0 : static_cast<uint32_t>(program.geometry.width);
  return split;
}

void CerebrasPlatform::Deal(Case& item, uint32_t index, uint64_t most, Random* random) const {
  const Program& program = programs_[index];
  const uint64_t n = std::min({item.problem.n, most, Capacity(program)});
  if (n < item.problem.n) {
    const uint64_t width = item.input.size() / item.problem.n;
    // The middle: a field's beginning is often a border.
    const uint64_t first = (item.problem.n - n) / 2;
    item.input = Bytes(item.input.begin() + static_cast<std::ptrdiff_t>(first * width),
                       item.input.begin() + static_cast<std::ptrdiff_t>((first + n) * width));
  }
  item.problem.n = n;
  item.problem.dims[0] = item.problem.dims[1] = 1;
  item.problem.dims[2] = n;
  item.counts_for_ratio = task_.compressor && n >= kRatioFromElements;
  if (streaming()) {
    const auto rows = static_cast<uint64_t>(program.geometry.height);
    uint64_t blocks = ((n + rows - 1) / rows + task_.block_size - 1) / task_.block_size;
    // Sometimes some rows at the end have nothing.
    if (random != nullptr && random->Below(2) == 0) blocks += 1 + random->Below(blocks + 1);
    item.split = MakeSplit(index, std::max<uint64_t>(1, blocks) * task_.block_size);
    return;
  }
  const uint64_t least = std::max<uint64_t>(1, (n + program.pes() - 1) / program.pes());
  uint64_t chunk = std::min<uint64_t>(
      program.max_elems, RoundUp(std::max(least, PublicElements() / program.pes()), 128));
  if (random != nullptr) {
    // Anything that fits; odd more often than not.
    chunk =
        least + random->Below(std::min<uint64_t>(2 * least + 64, program.max_elems - least + 1));
    if (chunk % 2 == 0 && chunk < program.max_elems && random->Below(3) > 0) ++chunk;
  }
  item.split = MakeSplit(index, chunk);
}

Result<std::vector<Case>> CerebrasPlatform::Cases(std::optional<uint64_t> hidden_seed) {
  SZARENA_TRY(std::vector<Case> cases, PublicCases(task_, threads_));
  std::erase_if(cases, [](const Case& item) { return item.problem.dtype != SZARENA_F32; });
  for (Case& item : cases) Deal(item, 0, PublicElements(), nullptr);
  if (!hidden_seed) return cases;
  SZARENA_TRY(std::vector<Case> hidden, HiddenCases(task_, *hidden_seed, threads_));
  Random random(Mix64(*hidden_seed ^ 0x77616665));
  if (sdk_) {
    for (size_t i = hidden.size(); i > 1; --i) std::swap(hidden[i - 1], hidden[random.Below(i)]);
    hidden.resize(std::min(hidden.size(), kSdkHiddenCases));
  }
  for (size_t i = 0; i < hidden.size(); ++i) {
    const auto index = static_cast<uint32_t>(random.Below(2));
    Deal(hidden[i], index, (HiddenElements() + random.Below(512)) | 1, &random);
    cases.push_back(std::move(hidden[i]));
  }
  return cases;
}

// ---------------------------------------------------------------- build
Result<Built> CerebrasPlatform::Build(const target::Candidate& candidate) {
  Built built;
  candidate_ = candidate;
  if (sdk_) return BuildWithSdk(candidate);
  images_.clear();
  for (const Program& program : programs_) {
    SZARENA_TRY(
        CompileResult compiled,
        target::cerebras::Compile(sandbox_, candidate, program.geometry, ParamsOf(program)));
    if (!compiled.ok) {
      built.reason = compiled.reason;
      built.log = Printable(compiled.log, 8000, Lines::kAny);
      return built;
    }
    images_.push_back(compiled.image);
    if (images_.size() == 1) compiled_ = std::move(compiled);
  }
  built.ok = true;
  built.log = Printable(compiled_.log, 8000, Lines::kAny);
  built.summary = fmt::format("{}, {} x {} PEs of {}, {} of {} bytes of a PE's memory",
                              VariantName(variant_), programs_[0].geometry.width,
                              programs_[0].geometry.height, options_.wafer.wse3 ? "wse3" : "wse2",
                              compiled_.memory_bytes, bytecode::kSramBytes);
  return built;
}

Result<Built> CerebrasPlatform::BuildWithSdk(const target::Candidate& candidate) {
  Built built;
  for (const Program& program : programs_) {
    SZARENA_TRY(SdkProgram compiled, target::cerebras::CompileWithSdk(
                                         *sdk_, candidate, program.geometry, ParamsOf(program)));
    built.log = Printable(compiled.log, 8000, Lines::kAny);
    built.reason = compiled.reason;
    if (!compiled.ok) return built;
    sdk_programs_.push_back(std::move(compiled));
  }
  built.ok = true;
  built.summary =
      fmt::format("resident, {} x {} PEs, by the SDK at {}", programs_[0].geometry.width,
                  programs_[0].geometry.height, sdk_->cslc);
  return built;
}

// ---------------------------------------------------------------- calls
Result<Launch> CerebrasPlatform::MakeLaunch(CallKind kind, const Call& call,
                                            const Program& program) const {
  const bool forward = kind == CallKind::kForward;
  Launch launch;
  launch.program = call.split.program;
  launch.streaming = streaming();
  launch.forward = forward;
  launch.function = NameOf(kind);
  launch.eb = codec::RoundBoundDown<float>(call.problem.abs_bound);
  // Unbiased exponent field of the f64 form.
  launch.eb_exponent =
      static_cast<int32_t>(std::bit_cast<uint64_t>(static_cast<double>(launch.eb)) >> 52 & 0x7ff) -
      1023;
  for (uint32_t i = 0; i < call.split.parts; ++i)
    launch.n.push_back(static_cast<uint32_t>(PartOf(call.problem, call.split, i).count));
  launch.in_color = program.in_color;
  launch.out_color = program.out_color;
  if (!streaming()) {
    launch.in_capacity = forward ? program.max_elems : MaxWords(program);
    launch.out_capacity = forward ? MaxWords(program) : program.max_elems;
    launch.answer_words = uint64_t{program.pes()} * launch.out_capacity;
    if (forward) {
      launch.counts = launch.n;
      launch.data = ToWords(call.input);
    } else {
      SZARENA_TRY(const std::vector<ByteView> parts, PartsOf(call.split, call.input));
      for (const ByteView part : parts)
        launch.counts.push_back(static_cast<uint32_t>(part.size() / 4));
      launch.data = ToWords(call.input.subspan(uint64_t{call.split.parts} * 4));
    }
    return launch;
  }
  std::vector<ByteView> parts;
  if (!forward) {
    SZARENA_TRY(parts, PartsOf(call.split, call.input));
  }
  for (uint32_t row = 0; row < call.split.parts; ++row) {
    const Part part = PartOf(call.problem, call.split, row);
    const uint64_t blocks = (part.count + task_.block_size - 1) / task_.block_size;
    std::vector<uint32_t> words;
    if (forward) {
      words = ToWords(call.input.subspan(part.first * 4, part.count * 4));
      words.resize(blocks * task_.block_size);
    } else {
      SZARENA_TRY(words, ToRecords(task_, part.count, call.split.pad_blocks, parts[row]));
    }
    launch.counts.push_back(static_cast<uint32_t>(words.size()));
    launch.data.insert(launch.data.end(), words.begin(), words.end());
    launch.answer_words += blocks * (forward ? MaxRecordWords(task_) : 1 + task_.block_size) + 16;
  }
  return launch;
}

Result<Launch> CerebrasPlatform::EmptyLaunch(CallKind kind, const Split& split,
                                             szarena_problem problem,
                                             const Program& program) const {
  problem.n = problem.dims[2] = 0;
  problem.dims[0] = problem.dims[1] = 1;
  const Bytes nothing = JoinParts(std::vector<Bytes>(split.parts));
  return MakeLaunch(kind,
                    {"empty", true, problem, split,
                     kind == CallKind::kForward ? ByteView() : ByteView(nothing), std::nullopt},
                    program);
}

Result<Bytes> CerebrasPlatform::Convert(CallKind kind, const Call& call,
                                        const LaunchResult& result) const {
  const bool forward = kind == CallKind::kForward;
  std::vector<Bytes> parts;
  Bytes values(forward ? 0 : InputBytes(task_, call.problem));
  uint64_t at = 0;
  for (uint32_t i = 0; i < call.split.parts; ++i) {
    const Part part = PartOf(call.problem, call.split, i);
    const uint32_t count = result.counts[i];
    if (count > result.words.size() - at) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("{}: {} words came out, far more than its {} values can need",
                              PartName(call.split, i), count, part.count));
    }
    const std::span<const uint32_t> words(result.words.data() + at, count);
    at += count;
    if (!streaming()) {
      if (part.count == 0 && forward && task_.compressor && count != 0) {
        return Fail(ErrorCode::kCorrupt,
                    fmt::format("{} has no element: its word count must be 0, not {}",
                                PartName(call.split, i), count));
      }
      if (forward)
        parts.push_back(ToBytes(words));
      else
        std::memcpy(values.data() + part.first * 4, words.data(), words.size_bytes());
      continue;
    }
    if (forward) {
      Result<Bytes> payload = FromRecords(task_, part.count, call.split.pad_blocks, words);
      if (!payload) return WithContext(payload.error(), PartName(call.split, i));
      parts.push_back(*std::move(payload));
    } else {
      const Result<void> status = FromValueRecords(
          task_, part.count, words, std::span(values).subspan(part.first * 4, part.count * 4));
      if (!status) return WithContext(status.error(), PartName(call.split, i));
    }
  }
  return forward ? JoinParts(parts) : values;
}

std::optional<Finding> CerebrasPlatform::FindingOf(CallKind kind,
                                                   const LaunchResult& result) const {
  const JobAnswer& answer = result.answer;
  const std::string function = NameOf(kind);
  switch (answer.state) {
    case CallState::kBadProgram:
      return Finding{Stage::kStarted, FirstLine(answer.message)};
    case CallState::kNotRun:
    case CallState::kRunning:
    case CallState::kFailed:
      return Finding{Stage::kFinished, function + ": " + FirstLine(answer.message)};
    case CallState::kDone:
      break;
  }
  if (answer.count_fault != 0)
    return Finding{Stage::kOutputProduced, function + ": " + answer.message};
  if (answer.bounds_traps != 0) {
    std::string text = answer.traps;
    const size_t at = text.find("out-of-bounds");
    if (at != std::string::npos) text = text.substr(text.rfind('\n', at) + 1);
    return Finding{Stage::kOutputProduced,
                   function + " reaches outside of an array: " + FirstLine(text)};
  }
  if (answer.changed_symbol != 0) {
    return Finding{Stage::kOutputProduced,
                   fmt::format("{} changed a symbol that the judge sets (n_local or n_row, eb_f32, "
                               "eb_exponent) on PE number {}",
                               function, answer.changed_symbol - 1)};
  }
  return std::nullopt;
}

Result<RunReport> CerebrasPlatform::Run(CallKind kind, std::vector<Call>& calls,
                                        milliseconds call_timeout) {
  if (sdk_) return RunWithSdk(kind, calls);
  RunReport report;
  std::vector<Launch> launches;
  for (const Call& call : calls) {
    SZARENA_TRY(Launch launch, MakeLaunch(kind, call, programs_[call.split.program]));
    launch.max_seconds = std::chrono::duration<double>(call_timeout).count();
    launch.poison_seed = DrawSecretSeed();
    launches.push_back(launch);
    launch.poison_inverted = true;
    launches.push_back(std::move(launch));
  }
  if (!streaming() && !calls.empty()) {
    SZARENA_TRY(Launch launch,
                EmptyLaunch(kind, MakeSplit(0, 1), calls.front().problem, programs_[0]));
    launch.max_seconds = std::chrono::duration<double>(call_timeout).count();
    launches.push_back(std::move(launch));
  }
  target::cerebras::RunLimits limits;
  limits.threads = threads_;
  SZARENA_TRY(const std::vector<LaunchResult> results,
              target::cerebras::RunLaunches(sandbox_, images_, launches, limits));
  if (results.size() > 2 * calls.size() && results.back().answer.state == CallState::kDone) {
    kept_[static_cast<size_t>(kind)].empty_cycles = results.back().answer.launch_cycles;
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    Call& call = calls[i];
    const std::string where = " (" + call.name + ")";
    std::optional<Bytes> first;
    for (const bool second : {false, true}) {
      const LaunchResult& result = results[2 * i + (second ? 1 : 0)];
      report.peak_memory_bytes =
          std::max(report.peak_memory_bytes, result.answer.peak_memory_bytes);
      if (report.diagnosis.empty()) {
        std::string text = result.answer.state == CallState::kFailed
                               ? std::string(result.answer.message) + "\n"
                               : std::string();
        text += result.answer.traps;
        if (!text.empty()) report.diagnosis = Printable(text, kDiagnosisBytes, Lines::kAny);
      }
      if (call.split.program == 0) Keep(kind, result.answer, call.problem.n);
      if (const auto finding = FindingOf(kind, result)) {
        report.findings.push_back({finding->stage, finding->detail + where});
        if (result.answer.state == CallState::kBadProgram || result.answer.limit_exceeded != 0)
          return report;
        break;
      }
      Result<Bytes> got = Convert(kind, call, result);
      if (!got) {
        report.findings.push_back(
            {Stage::kOutputProduced, NameOf(kind) + ": " + got.error().message + where});
        break;
      }
      if (!second) {
        first = *std::move(got);
        continue;
      }
      if (got->size() == first->size()) {
        // What a program writes cannot follow both poisons.
        for (size_t at = 0; at + 4 <= got->size() && !streaming(); at += 4) {
          if (LoadLe<uint32_t>(first->data() + at) != ~LoadLe<uint32_t>(got->data() + at)) continue;
          const bool forward = kind == CallKind::kForward;
          report.findings.push_back(
              {Stage::kOutputProduced, fmt::format("{}: {} {} was never written", NameOf(kind),
                                                   forward ? "payload word" : "element",
                                                   forward ? at / 4 - call.split.parts : at / 4) +
                                           where});
          got = Fail(ErrorCode::kCorrupt, "");
          break;
        }
        if (!got) break;
      }
      if (*got != *first) {
        report.deterministic = false;
        call.other = *std::move(got);
      }
      call.got = std::move(first);
    }
  }
  return report;
}

Result<RunReport> CerebrasPlatform::RunWithSdk(CallKind kind, std::vector<Call>& calls) {
  RunReport report;
  for (Call& call : calls) {
    const Program& program = programs_[call.split.program];
    const std::string where = " (" + call.name + ")";
    SZARENA_TRY(Launch launch, MakeLaunch(kind, call, program));
    launch.poison_seed = DrawSecretSeed();
    SZARENA_TRY(const LaunchResult result,
                target::cerebras::LaunchWithSdk(*sdk_, sdk_programs_[call.split.program],
                                                program.geometry, launch, kSdkTimeout));
    if (const auto finding = FindingOf(kind, result)) {
      report.findings.push_back({finding->stage, finding->detail + where});
      if (finding->stage <= Stage::kFinished) return report;
      continue;
    }
    Result<Bytes> got = Convert(kind, call, result);
    if (got)
      call.got = *std::move(got);
    else
      report.findings.push_back(
          {Stage::kOutputProduced, NameOf(kind) + ": " + got.error().message + where});
  }
  return report;
}

// ---------------------------------------------------------------- what it did
WaferActivity CerebrasPlatform::ActivityOf(const JobAnswer& answer, uint64_t elements) const {
  WaferActivity activity;
  activity.elements = elements;
  activity.pes_active = answer.pes_active;
  activity.busy_cycles = answer.busy_cycles;
  activity.stalled_cycles = answer.stalled_cycles;
  activity.idle_cycles = answer.idle_cycles;
  activity.scalar_instructions = answer.scalar_instructions;
  activity.vector_elements = answer.vector_elements;
  activity.vector_arithmetic = answer.vector_arithmetic;
  activity.wavelets = answer.wavelets;
  activity.bytes_in = answer.bytes_in;
  activity.bytes_out = answer.bytes_out;
  activity.load_seconds = answer.load_seconds;
  activity.copy_in_seconds = Seconds(answer.copy_in_cycles);
  activity.launch_cycles = answer.launch_cycles;
  activity.launch_seconds = Seconds(answer.launch_cycles);
  activity.copy_out_seconds = Seconds(answer.copy_out_cycles);
  activity.simulation_seconds = answer.run_seconds;
  return activity;
}

void CerebrasPlatform::Keep(CallKind kind, const JobAnswer& answer, uint64_t elements) {
  Kept& kept = kept_[static_cast<size_t>(kind)];
  if (kept.timed || kept.elements >= elements || answer.launch_cycles == 0) return;
  kept.answer = answer;
  kept.elements = elements;
}

void CerebrasPlatform::Describe(Verdict& verdict) const {
  WaferRecord record;
  record.variant = VariantName(variant_);
  record.toolchain = options_.wafer.toolchain == WaferOptions::Toolchain::kSdk ? "sdk" : "ours";
  record.arch = options_.wafer.wse3 ? "wse3" : "wse2";
  const bool timed = kept_[0].timed || kept_[1].timed;
  record.width = timed ? options_.wafer.width : programs_[0].geometry.width;
  record.height = timed ? options_.wafer.height : programs_[0].geometry.height;
  record.clock_mhz = clock_mhz_;
  record.link_gbs = kLinkBytesPerSecond * 1e-9;
  record.pe_memory_bytes = compiled_.memory_bytes;
  record.pe_memory = compiled_.memory_text;
  record.model_error = fabric::HeldOutError();
  for (const CallKind kind : {CallKind::kForward, CallKind::kBackward}) {
    const Kept& kept = kept_[static_cast<size_t>(kind)];
    if (kept.elements > 0)
      record.directions[static_cast<size_t>(kind)] = ActivityOf(kept.answer, kept.elements);
    AddFlags(kind, verdict.flags);
  }
  verdict.wafer = std::move(record);
}

// ---------------------------------------------------------------- measurement
struct CerebrasPlatform::Timed {
  szarena_problem problem = {};
  Split split;
  Program program;
  std::vector<Bytes> inputs;      // a variation
  std::vector<Bytes> references;  // our payloads
  std::vector<Call> Calls(CallKind kind) const {
    std::vector<Call> calls;
    for (size_t i = 0; i < inputs.size(); ++i) {
      calls.push_back({"timed", true, problem, split,
                       kind == CallKind::kForward ? ByteView(inputs[i]) : ByteView(references[i]),
                       std::nullopt});
    }
    return calls;
  }
};

Program CerebrasPlatform::TimedProgram() const {
  Program program = programs_[0];
  program.geometry.width = options_.wafer.width;
  program.geometry.height = options_.wafer.height;
  const uint64_t bytes = TimedBytes();
  const uint64_t per_pe = (bytes / 4 + program.pes() - 1) / program.pes();
  program.max_elems =
      static_cast<uint32_t>(std::clamp<uint64_t>(RoundUp(per_pe, 128), 128, kCheckElemsPerPe));
  return program;
}

Result<std::optional<std::string>> CerebrasPlatform::BaselineImage(
    const std::optional<std::string>& folder, const Program& program) const {
  if (!folder) return std::optional<std::string>();
  // Beside the resident baseline lies the streaming one.
  std::string path = *folder;
  SZARENA_TRY(target::Candidate baseline, target::ReadCandidate(path));
  if (VariantOf(Variant::kAuto, baseline) != variant_) {
    path += "-" + std::string(VariantName(variant_));
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) return std::optional<std::string>();
    SZARENA_TRY(baseline, target::ReadCandidate(path));
  }
  static std::mutex mutex;
  static std::map<std::string, std::string> compiled_before;
  const std::string key =
      fmt::format("{} {} {}x{} {}", baseline.sha256, static_cast<int>(program.geometry.arch),
                  program.geometry.width, program.geometry.height, program.max_elems);
  const std::lock_guard lock(mutex);
  if (const auto found = compiled_before.find(key); found != compiled_before.end())
    return std::optional(found->second);
  SZARENA_TRY(CompileResult compiled,
              target::cerebras::Compile(sandbox_, baseline, program.geometry, ParamsOf(program)));
  if (!compiled.ok)
    return Fail(ErrorCode::kInternal,
                "the baseline '" + path + "' does not build: " + compiled.reason);
  compiled_before[key] = compiled.image;
  return std::optional(std::move(compiled.image));
}

std::optional<std::string> CerebrasPlatform::VerifyTimed(CallKind kind, const Call& call,
                                                         const LaunchResult& result,
                                                         const Timed& timed, size_t i) const {
  if (const auto finding = FindingOf(kind, result)) return finding->detail;
  const Result<Bytes> got = Convert(kind, call, result);
  if (!got) return got.error().message;
  Bytes decoded(timed.inputs[i].size());
  if (kind == CallKind::kBackward) {
    if (const auto status =
            SplitBackward(task_, timed.problem, timed.split, timed.references[i], decoded);
        !status) {
      return "our own payload cannot be decoded: " + status.error().message;
    }
    return *got == decoded
               ? std::nullopt
               : std::optional<std::string>("the output of a timed run differs from our decoder's");
  }
  if (!task_.compressor) {
    return *got == timed.references[i]
               ? std::nullopt
               : std::optional<std::string>(
                     "the result of a timed run differs from the definition");
  }
  const uint64_t own = PayloadSize(timed.split, *got);
  const uint64_t reference = PayloadSize(timed.split, timed.references[i]);
  if (static_cast<double>(own) >
      static_cast<double>(reference) / task_.ratio_rule.min_of_reference) {
    return fmt::format("a timed payload has {} bytes, our encoder's {}", own, reference);
  }
  if (const auto status = SplitBackward(task_, timed.problem, timed.split, *got, decoded);
      !status) {
    return "our decoder refuses a timed payload: " + status.error().message;
  }
  if (CompareFields(timed.problem.dtype, timed.inputs[i], decoded, timed.problem.abs_bound)
          .violations > 0)
    return "a timed payload breaks the bound";
  return std::nullopt;
}

void CerebrasPlatform::AddFlags(CallKind kind, std::vector<Flag>& flags) const {
  const Kept& kept = kept_[static_cast<size_t>(kind)];
  if (kept.elements == 0) return;
  const JobAnswer& answer = kept.answer;
  const std::string function = NameOf(kind);
  const auto n = static_cast<double>(kept.elements);
  const auto add = [&](const char* name, std::string detail) {
    flags.push_back({name, FlagKind::kWarning, function + ": " + std::move(detail)});
  };
  if (answer.pes > 1 && static_cast<double>(answer.largest_work) >=
                            kOnePeShare * static_cast<double>(answer.total_work)) {
    add("one-pe", fmt::format("one of {} PEs did {:.0f} % of the work", answer.pes,
                              100.0 * static_cast<double>(answer.largest_work) /
                                  static_cast<double>(answer.total_work)));
  }
  const double operations = static_cast<double>(answer.vector_arithmetic) +
                            static_cast<double>(answer.scalar_instructions) / kScalarsPerOperation;
  if (task_.compressor && operations < n) {
    add("passthrough-like",
        fmt::format("{:.2f} vector operations and {:.1f} scalar instructions an element",
                    static_cast<double>(answer.vector_arithmetic) / n,
                    static_cast<double>(answer.scalar_instructions) / n));
  }
  if (kept.empty_cycles > 0 && kept.empty_cycles * 2 > answer.launch_cycles) {
    add("overhead-dominated", fmt::format("{} cycles for {} elements, and {} for none at all",
                                          answer.launch_cycles, kept.elements, kept.empty_cycles));
  }
}

// Seconds of kernel and of host of each variation, one after another; empty where the candidate
// failed (out.fault is set).
Result<std::vector<double>> CerebrasPlatform::TimeDirection(CallKind kind, const std::string& image,
                                                            const Timed& timed, bool is_candidate,
                                                            Measurement& out) {
  const std::vector<Call> calls = timed.Calls(kind);
  std::vector<Launch> launches;
  for (const Call& call : calls) {
    SZARENA_TRY(Launch launch, MakeLaunch(kind, call, timed.program));
    launch.program = 0;
    launch.poison_seed = DrawSecretSeed();
    launch.max_cycles = 2'000'000'000;
    launch.max_seconds = kLongRunSeconds;
    launches.push_back(std::move(launch));
  }
  const bool many = timed.program.pes() >= kManyPes;
  if (is_candidate && !streaming() && !many) {
    SZARENA_TRY(Launch launch, EmptyLaunch(kind, timed.split, timed.problem, timed.program));
    launch.program = 0;
    launches.push_back(std::move(launch));
  }
  target::cerebras::RunLimits limits;
  limits.threads = threads_;
  limits.memory_bytes = (4ull << 30) + uint64_t{timed.program.pes()} * (16 << 10);
  limits.check_uninitialised = !many;
  limits.total_seconds = kLongRunSeconds;
  SZARENA_TRY(const std::vector<LaunchResult> results,
              target::cerebras::RunLaunches(sandbox_, {&image, 1}, launches, limits));
  std::vector<double> seconds;
  for (size_t i = 0; i < calls.size(); ++i) {
    const JobAnswer& answer = results[i].answer;
    if (const auto fault = VerifyTimed(kind, calls[i], results[i], timed, i)) {
      if (!is_candidate)
        return Fail(ErrorCode::kInternal, "the baseline failed while timed: " + *fault);
      out.fault = "in a timed run: " + *fault;
      return std::vector<double>();
    }
    const double kernel = Seconds(answer.launch_cycles);
    const double moved = static_cast<double>(timed.inputs[i].size()) +
                         static_cast<double>(PayloadSize(timed.split, timed.references[i]));
    seconds.push_back(kernel);
    seconds.push_back(kernel + moved / kLinkBytesPerSecond);
    out.peak_memory_bytes = std::max(out.peak_memory_bytes, answer.peak_memory_bytes);
  }
  if (!is_candidate) return seconds;
  Kept& kept = kept_[static_cast<size_t>(kind)];
  kept = {results.front().answer, timed.problem.n, true, 0};
  const JobAnswer& last = results.back().answer;
  if (results.size() > calls.size() && last.state == CallState::kDone)
    kept.empty_cycles = last.launch_cycles;
  return seconds;
}

// The timed data are checked like all others; there is no clock to read.
Result<Measurement> CerebrasPlatform::MeasureWithSdk() {
  Measurement out;
  Timed timed;
  timed.program = programs_[0];
  TaskSpec task = task_;
  task.timed_elements = kSdkPublicElements;
  SZARENA_TRY(const TimedData data, TimedData::Load(task, threads_));
  timed.problem = data.problem();
  timed.split =
      MakeSplit(0, RoundUp((kSdkPublicElements + timed.program.pes() - 1) / timed.program.pes(),
                           std::max<uint32_t>(task_.block_size, 1)));
  Bytes input(InputBytes(task_, timed.problem));
  data.Fill(DrawSecretSeed(), input);
  SZARENA_TRY(Bytes reference, SplitForward(task_, timed.problem, timed.split, input));
  timed.inputs.push_back(std::move(input));
  timed.references.push_back(std::move(reference));
  for (const CallKind kind : {CallKind::kForward, CallKind::kBackward}) {
    if (kind == CallKind::kBackward && !task_.has_backward) continue;
    const Call call = timed.Calls(kind).front();
    SZARENA_TRY(const Launch launch, MakeLaunch(kind, call, timed.program));
    SZARENA_TRY(const LaunchResult result,
                target::cerebras::LaunchWithSdk(*sdk_, sdk_programs_[0], timed.program.geometry,
                                                launch, kSdkTimeout));
    if (const auto fault = VerifyTimed(kind, call, result, timed, 0)) {
      out.fault = "in a timed run: " + *fault;
      return out;
    }
  }
  out.detail = "outputs verified; cycles, traps, guards and memory are not available with the SDK";
  out.measured_field = fmt::format("{}; {} elements", data.name(), timed.problem.n);
  return out;
}

Result<Measurement> CerebrasPlatform::Measure(const std::optional<std::string>& baseline) {
  if (sdk_) return MeasureWithSdk();
  Measurement out;
  Timed timed;
  timed.program = TimedProgram();
  SZARENA_TRY(const CompileResult compiled,
              target::cerebras::Compile(sandbox_, candidate_, timed.program.geometry,
                                        ParamsOf(timed.program)));
  if (!compiled.ok) {
    out.fault = fmt::format("for {} x {} PEs: {}", timed.program.geometry.width,
                            timed.program.geometry.height, compiled.reason);
    return out;
  }
  SZARENA_TRY(const std::optional<std::string> baseline_image,
              BaselineImage(baseline, timed.program));
  // Every PE, or row, gets the same: whole blocks, about as much as was asked for.
  const Program measured = timed.program;
  const uint64_t parts =
      streaming() ? static_cast<uint64_t>(measured.geometry.height) : measured.pes();
  const uint64_t block = std::max<uint32_t>(task_.block_size, 1);
  uint64_t chunk =
      std::max<uint64_t>(1, (TimedBytes() / 4 + parts * block / 2) / (parts * block)) * block;
  if (!streaming()) chunk = std::min<uint64_t>(chunk, measured.max_elems);
  TaskSpec task = task_;
  task.timed_elements = parts * chunk;
  SZARENA_TRY(const TimedData data, TimedData::Load(task, threads_));
  timed.problem = data.problem();
  programs_.push_back(measured);
  timed.split = MakeSplit(static_cast<uint32_t>(programs_.size() - 1), chunk);
  // A stream has to be long, or it is all beginning and end: then one.
  const int variations = streaming() || measured.pes() >= kManyPes ? 1 : kVariations;
  for (int i = 0; i < variations; ++i) {
    Bytes input(InputBytes(task_, timed.problem));
    data.Fill(DrawSecretSeed(), input);
    SZARENA_TRY(Bytes reference, SplitForward(task_, timed.problem, timed.split, input));
    timed.inputs.push_back(std::move(input));
    timed.references.push_back(std::move(reference));
  }
  const auto bytes = static_cast<double>(timed.inputs.front().size());
  for (const CallKind kind : {CallKind::kForward, CallKind::kBackward}) {
    if (kind == CallKind::kBackward && !task_.has_backward) continue;
    SZARENA_TRY(const std::vector<double> ours,
                TimeDirection(kind, compiled.image, timed, true, out));
    if (out.fault) return out;
    std::vector<double> theirs;
    if (baseline_image && *baseline_image == compiled.image) {
      theirs = ours;  // the same program on the same data
    } else if (baseline_image) {
      SZARENA_TRY(theirs, TimeDirection(kind, *baseline_image, timed, false, out));
    }
    const auto throughput = [&](const std::vector<double>& seconds) {
      std::vector<double> kernel;
      std::vector<double> host;
      for (size_t i = 0; i < seconds.size(); i += 2) {
        kernel.push_back(bytes / seconds[i] * 1e-9);
        host.push_back(bytes / seconds[i + 1] * 1e-9);
      }
      Throughput result;
      result.kernel = MakeFigure(kernel);
      result.host = MakeFigure(host);
      result.basis = Basis::kEstimated;
      return result;
    };
    DirectionResult& direction = out.directions[static_cast<size_t>(kind)];
    direction.candidate = throughput(ours);
    if (!theirs.empty()) {
      direction.baseline = throughput(theirs);
      std::vector<double> speedups;
      for (size_t i = 0; i < ours.size(); i += 2) speedups.push_back(theirs[i] / ours[i]);
      direction.speedup = MakeFigure(speedups);
    }
    if (streaming()) {
      // A row's edges take one wavelet a cycle each.
      uint64_t most = 0;
      for (uint32_t row = 0; row < timed.split.parts; ++row) {
        most = std::max(most,
                        RoundUp(PartOf(timed.problem, timed.split, row).count, task_.block_size));
      }
      direction.floor_fraction = Seconds(most) / MakeFigure([&] {
                                                   std::vector<double> kernel;
                                                   for (size_t i = 0; i < ours.size(); i += 2)
                                                     kernel.push_back(ours[i]);
                                                   return kernel;
                                                 }())
                                                     .median;
    }
  }
  out.detail =
      fmt::format("{} runs of {} elements on {} x {} PEs, cycles {}", variations, timed.problem.n,
                  measured.geometry.width, measured.geometry.height, fabric::HeldOutError());
  out.measured_field =
      fmt::format("{}; {} elements, a few of them exceptional, {} a {}", data.name(),
                  timed.problem.n, timed.split.chunk, streaming() ? "row" : "PE");
  return out;
}

}  // namespace

std::string_view VariantName(Variant variant) {
  switch (variant) {
    case Variant::kAuto:
      return "auto";
    case Variant::kResident:
      return "resident";
    case Variant::kStreaming:
      return "streaming";
    case Variant::kFreeHost:
      return "free-host";
  }
  return "";
}

Variant VariantOf(Variant asked, const target::Candidate& candidate) {
  if (asked != Variant::kAuto) return asked;
  Variant variant = Variant::kResident;
  for (const target::CandidateFile& file : candidate.files) {
    if (file.path == "run.py") return Variant::kFreeHost;
    if (file.path == "layout.csl" && file.bytes.find("in_color_id") != std::string::npos)
      variant = Variant::kStreaming;
  }
  return variant;
}

Result<std::unique_ptr<Platform>> MakeCerebrasPlatform(const EvaluateOptions& options,
                                                       const sandbox::Sandbox& sandbox,
                                                       const target::Candidate& candidate,
                                                       int threads) {
  const Variant variant = VariantOf(options.wafer.variant, candidate);
  std::optional<SdkTools> sdk;
  if (options.wafer.toolchain == WaferOptions::Toolchain::kSdk) {
    SZARENA_TRY(sdk, target::cerebras::FindSdk());
    if (variant != Variant::kResident) {
      return Fail(ErrorCode::kInvalidArgument,
                  "--toolchain sdk has the resident variant only: the SDK's runtime has no streams "
                  "over the rectangle's edge");
    }
  }
  if (variant == Variant::kFreeHost) return MakeFreeHostPlatform(options, sandbox, threads);
  if (variant == Variant::kStreaming && !options.task.compressor) {
    return Fail(ErrorCode::kInvalidArgument,
                "task '" + options.task.name + "' has the resident variant only");
  }
  return std::make_unique<CerebrasPlatform>(options, sandbox, variant, std::move(sdk), threads);
}

}  // namespace szarena::judge
