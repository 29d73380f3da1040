// SPDX-License-Identifier: Apache-2.0
#include "judge/evaluate.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <tuple>

#include "base/bytes.h"
#include "base/utc.h"
#include "judge/cases.h"
#include "judge/cerebras.h"
#include "judge/checks.h"
#include "judge/library.h"
#include "judge/platform.h"
#include "judge/random.h"
#include "judge/split.h"
#include "target/cpu/build.h"
#include "target/cuda/build.h"

namespace szarena::judge {
namespace {

using Clock = os::Clock;
using target::CallKind;

constexpr size_t kEvidenceBytes = 2000;
// Blocks from which on a case lends its shape to a payload of another encoder.
constexpr uint64_t kForeignBlocks = 8;
constexpr const char* kForeignName = "hidden: any valid payload";

double Since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

int AvailableProcessors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

std::string DescribeMachine() {
  std::string processor = "unknown processor";
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (line.starts_with("model name")) {
      processor = line.substr(std::min(line.size(), line.find(": ") + 2));
      break;
    }
  }
  utsname name;
  const bool known = uname(&name) == 0;
  return fmt::format("{}, {} processors, {} {}", processor, AvailableProcessors(),
                     known ? name.sysname : "?", known ? name.release : "?");
}

// Where two payloads of a primitive differ, for a case that is shown.
std::string DescribeDifference(const Case& item, const Bytes& got, const Bytes& right) {
  if (item.split.parts > 0) {
    const auto own = PartsOf(item.split, got);
    const auto wanted = PartsOf(item.split, right);
    for (uint32_t i = 0; own && wanted && i < item.split.parts; ++i) {
      const ByteView a = (*own)[i];
      const ByteView b = (*wanted)[i];
      if (a.size() != b.size())
        return fmt::format("first on {}: {} words, {} are right", PartName(item.split, i),
                           a.size() / 4, b.size() / 4);
      const auto at =
          static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin()) / 4;
      if (at * 4 == a.size()) continue;
      return fmt::format("first on {}: word {} is 0x{:08x} instead of 0x{:08x}",
                         PartName(item.split, i), at, LoadLe<uint32_t>(a.data() + at * 4),
                         LoadLe<uint32_t>(b.data() + at * 4));
    }
  }
  if (got.size() != right.size())
    return fmt::format("it has {} bytes, {} are right", got.size(), right.size());
  const auto at = std::mismatch(got.begin(), got.end(), right.begin()).first - got.begin();
  return fmt::format("first at byte {}: {} instead of {}", at,
                     static_cast<int>(got[static_cast<size_t>(at)]),
                     static_cast<int>(right[static_cast<size_t>(at)]));
}

// Of a hidden case, where no element is shown.
std::string WorstOf(const FieldError& error) {
  return error.max_error_over_bound >= 1
             ? fmt::format("worst error {:.6g} bounds", error.max_error_over_bound)
             : "where values are not finite, and must come back bit for bit";
}

// One evaluation in progress.
class Ladder {
 public:
  explicit Ladder(const EvaluateOptions& options) : options_(options), task_(options.task) {}

  Result<Evaluation> Run();

 private:
  struct CaseState {
    const Case* item = nullptr;
    std::optional<Bytes> own;    // the candidate's payload
    std::optional<Bytes> other;  // and that of the second call on the same data, where it differs
    std::optional<Bytes> reference;  // ours
    std::optional<Bytes> foreign;    // another right encoder's, of other values; few cases have one
    bool own_decoded = false;
    CaseResult result;
  };

  Result<void> Begin(Stage stage) {
    if (options_.stop.stop_requested()) return Fail(ErrorCode::kCancelled, "stopped on request");
    if (options_.on_stage) options_.on_stage(stage);
    stage_begin_ = Clock::now();
    return {};
  }
  void Spent(Stage stage) { verdict_.at(stage).seconds += Since(stage_begin_); }
  // Evidence may hold words of the candidate: one line, nothing that a terminal obeys.
  void Find(Stage stage, const std::string& detail) {
    findings_.push_back({stage, Printable(detail, kEvidenceBytes, Lines::kOne)});
  }
  // The finding that decides: of the lowest stage, the first.
  const Finding* Lowest() const;
  bool FailedBelow(Stage stage) const;
  // Fills the statuses: everything below `until` that has no finding is ok.
  void Settle(Stage until);
  bool forward_only() const { return !task_.has_backward; }

  // The machine that the target names; kUnavailable where this build has none.
  Result<std::unique_ptr<Platform>> MakePlatform();
  Result<bool> Receive();
  Result<bool> BuildCandidate();
  Result<void> RunCorrectness(uint64_t hidden_seed);
  Result<void> RunForward();
  Result<void> RunOwnBackward();
  Result<void> RunCross();
  Result<void> DecodeOthers(std::vector<Call>& calls, const std::vector<CaseState*>& owners,
                            const std::string& whose);
  void MakeForeign(uint64_t seed);
  Result<void> RunTools();
  void CheckRestored(CaseState& state, const Bytes& got);
  void CheckPayload(const CaseState& state, const Bytes& own);
  void CheckRatio();
  Result<void> RunMeasurement();
  void Absorb(const RunReport& report);
  void WriteFeedback();

  const EvaluateOptions& options_;
  const TaskSpec& task_;
  Verdict verdict_;
  std::array<std::optional<target::Trace>, kDirectionCount> traces_;
  std::optional<sandbox::Sandbox> sandbox_;
  std::unique_ptr<Platform> platform_;
  target::Candidate candidate_;
  std::vector<Case> cases_;
  std::vector<CaseState> states_;
  std::vector<Finding> findings_;
  std::string build_log_;
  std::string output_;
  std::string diagnosis_;
  bool left_running_ = false;
  bool deterministic_ = true;
  Clock::time_point stage_begin_;
};

const Finding* Ladder::Lowest() const {
  const Finding* lowest = nullptr;
  for (const Finding& finding : findings_) {
    if (lowest == nullptr || finding.stage < lowest->stage) lowest = &finding;
  }
  return lowest;
}

bool Ladder::FailedBelow(Stage stage) const {
  const Finding* lowest = Lowest();
  return lowest != nullptr && lowest->stage < stage;
}

void Ladder::Settle(Stage until) {
  const Finding* lowest = Lowest();
  for (int i = 0; i < kStageCount; ++i) {
    const auto stage = static_cast<Stage>(i);
    StageResult& result = verdict_.at(stage);
    if (result.status != StageStatus::kNotReached) continue;
    if (lowest != nullptr && lowest->stage == stage) {
      result.status = StageStatus::kFailed;
      result.detail = lowest->detail;
      return;
    }
    if (stage >= until) return;
    if (stage == Stage::kBoundHeld && forward_only()) {
      result.status = StageStatus::kNotApplicable;
      result.detail = "the task has one direction";
    } else if (stage == Stage::kDecodable && options_.free_format) {
      result.status = StageStatus::kNotApplicable;
      result.detail = "own stream format: nothing of ours can read it";
    } else if (stage == Stage::kRatioOk && !task_.compressor) {
      result.status = StageStatus::kNotApplicable;
      result.detail = "the task does not compress";
    } else {
      result.status = StageStatus::kOk;
    }
  }
}

Result<std::unique_ptr<Platform>> Ladder::MakePlatform() {
  if (options_.target == "cerebras")
    return MakeCerebrasPlatform(options_, *sandbox_, candidate_, verdict_.threads);
  for (const target::Backend* backend :
       {&target::cpu::CpuBackend(), &target::cuda::CudaBackend()}) {
    if (backend->name == options_.target)
      return MakeLibraryPlatform(options_, *backend, *sandbox_, verdict_.threads);
  }
  return Fail(ErrorCode::kUnavailable,
              "target '" + options_.target +
                  "' cannot be judged by this build; 'cpu', 'cuda' and 'cerebras' can");
}

Result<bool> Ladder::Receive() {
  SZARENA_TRY_VOID(Begin(Stage::kReceived));
  std::error_code error;
  if (!std::filesystem::is_directory(options_.candidate, error)) {
    return Fail(ErrorCode::kNotFound, "candidate '" + options_.candidate + "' is no folder");
  }
  Result<target::Candidate> candidate = target::ReadCandidate(options_.candidate);
  Spent(Stage::kReceived);
  if (!candidate) {
    Find(Stage::kReceived, candidate.error().ToString());
    return false;
  }
  candidate_ = *std::move(candidate);
  verdict_.candidate_sha256 = candidate_.sha256;
  verdict_.at(Stage::kReceived).detail = fmt::format("{} files", candidate_.files.size());
  return true;
}

Result<bool> Ladder::BuildCandidate() {
  SZARENA_TRY_VOID(Begin(Stage::kBuilt));
  SZARENA_TRY(Built built, platform_->Build(candidate_));
  Spent(Stage::kBuilt);
  build_log_ = std::move(built.log);
  if (!built.ok) {
    Find(Stage::kBuilt, built.reason);
    return false;
  }
  verdict_.at(Stage::kBuilt).detail = built.summary;
  return true;
}

void Ladder::Absorb(const RunReport& report) {
  for (const Finding& finding : report.findings) Find(finding.stage, finding.detail);
  left_running_ |= report.left_running;
  deterministic_ &= report.deterministic;
  if (report.peak_memory_bytes > verdict_.peak_memory_bytes.value_or(0)) {
    verdict_.peak_memory_bytes = report.peak_memory_bytes;
  }
  if (output_.empty()) output_ = report.output;
  if (diagnosis_.empty()) diagnosis_ = report.diagnosis;
}

Result<void> Ladder::RunForward() {
  std::vector<Call> calls;
  for (const CaseState& state : states_) {
    calls.push_back({state.item->name, state.item->hidden, state.item->problem, state.item->split,
                     state.item->input, std::nullopt});
  }
  SZARENA_TRY(const RunReport report,
              platform_->Run(CallKind::kForward, calls, options_.call_timeout));
  Absorb(report);
  for (size_t i = 0; i < calls.size(); ++i) {
    states_[i].own = std::move(calls[i].got);
    states_[i].other = std::move(calls[i].other);
  }
  return {};
}

// The candidate's decoder on the candidate's bytes: another process, nothing shared but the
// payload.
Result<void> Ladder::RunOwnBackward() {
  std::vector<Call> calls;
  std::vector<CaseState*> owners;
  for (CaseState& state : states_) {
    if (!state.own) continue;
    calls.push_back({state.item->name, state.item->hidden, state.item->problem, state.item->split,
                     *state.own, std::nullopt});
    owners.push_back(&state);
  }
  SZARENA_TRY(const RunReport report,
              platform_->Run(CallKind::kBackward, calls, options_.call_timeout));
  Absorb(report);
  for (size_t i = 0; i < calls.size(); ++i) {
    for (const std::optional<Bytes>* got : {&calls[i].got, &calls[i].other}) {
      if (*got) CheckRestored(*owners[i], **got);
    }
  }
  return {};
}

void Ladder::CheckRestored(CaseState& state, const Bytes& got) {
  const Case& item = *state.item;
  state.own_decoded = true;
  if (!task_.compressor) {
    if (got == item.input) return;
    const auto at = std::mismatch(got.begin(), got.end(), item.input.begin()).first - got.begin();
    Find(Stage::kBoundHeld,
         (item.hidden
              ? std::string("inverse does not give the input back")
              : fmt::format("inverse does not give the input back, first at element {}{}", at / 4,
                            PlaceOf(item.problem, item.split, static_cast<uint64_t>(at) / 4))) +
             " (" + item.name + ")");
    return;
  }
  const FieldError error =
      CompareFields(item.problem.dtype, item.input, got, item.problem.abs_bound);
  state.result.max_error_over_bound =
      std::max(error.max_error_over_bound, state.result.max_error_over_bound.value_or(0));
  if (std::isfinite(error.psnr)) state.result.psnr = error.psnr;
  if (std::isfinite(error.nrmse)) state.result.nrmse = error.nrmse;
  if (error.violations > 0) {
    const std::string detail =
        item.hidden
            ? fmt::format("{} of the elements break the bound, {}",
                          error.violations == 1 ? "one" : "some", WorstOf(error))
            : fmt::format("{} of {} elements break the bound; {}", error.violations, item.problem.n,
                          DescribeElement(item.problem.dtype, item.input, got,
                                          error.first_violation, item.problem.abs_bound) +
                              PlaceOf(item.problem, item.split, error.first_violation));
    Find(Stage::kBoundHeld, detail + " (" + item.name + ")");
  }
}

// Our decoder on the candidate's bytes; primitives: exactness against our scalar code.
void Ladder::CheckPayload(const CaseState& state, const Bytes& own) {
  const Case& item = *state.item;
  const std::string where = " (" + item.name + ")";
  if (!task_.compressor) {
    if (own != *state.reference) {
      Find(Stage::kDecodable, (item.hidden ? std::string("the result differs from the definition")
                                           : "the result differs from the definition, " +
                                                 DescribeDifference(item, own, *state.reference)) +
                                  where);
    }
  }
  if (task_.compressor) {
    Bytes decoded(item.input.size());
    const Result<void> status = SplitBackward(task_, item.problem, item.split, own, decoded);
    if (!status) {
      Find(Stage::kDecodable, "our decoder refuses the payload: " + status.error().message + where);
    } else {
      const FieldError error =
          CompareFields(item.problem.dtype, item.input, decoded, item.problem.abs_bound);
      if (error.violations > 0) {
        Find(Stage::kDecodable,
             (item.hidden
                  ? "decoded by our decoder, the payload breaks the bound, " + WorstOf(error)
                  : fmt::format("decoded by our decoder, {} of {} elements break the bound; {}",
                                error.violations, item.problem.n,
                                DescribeElement(item.problem.dtype, item.input, decoded,
                                                error.first_violation, item.problem.abs_bound) +
                                    PlaceOf(item.problem, item.split, error.first_violation))) +
                 where);
      }
    }
  }
}

// Our decoder on the candidate's bytes, the candidate's on ours; primitives: exactness against our
// scalar code.
Result<void> Ladder::RunCross() {
  std::vector<Call> calls;
  std::vector<CaseState*> owners;
  for (CaseState& state : states_) {
    const Case& item = *state.item;
    for (const std::optional<Bytes>* own : {&state.own, &state.other}) {
      if (*own) CheckPayload(state, **own);
    }
    if (task_.has_backward) {
      calls.push_back(
          {item.name, item.hidden, item.problem, item.split, *state.reference, std::nullopt});
      owners.push_back(&state);
    }
  }
  if (!task_.has_backward) return {};
  SZARENA_TRY_VOID(DecodeOthers(calls, owners, "our encoder's payload"));
  calls.clear();
  owners.clear();
  for (CaseState& state : states_) {
    if (!state.foreign) continue;
    const Case& item = *state.item;
    calls.push_back({kForeignName, true, item.problem, item.split, *state.foreign, std::nullopt});
    owners.push_back(&state);
  }
  if (calls.empty() || FailedBelow(Stage::kRatioOk)) return {};
  return DecodeOthers(calls, owners, "another encoder's payload");
}

// The candidate's decoder on payloads that are not its own: bit for bit what our decoder gives.
Result<void> Ladder::DecodeOthers(std::vector<Call>& calls, const std::vector<CaseState*>& owners,
                                  const std::string& whose) {
  SZARENA_TRY(RunReport report, platform_->Run(CallKind::kBackward, calls, options_.call_timeout));
  for (Finding& finding : report.findings) {
    // What goes wrong on our bytes is a matter of decoding, whatever the form.
    if (finding.stage > Stage::kStarted) {
      finding = {Stage::kDecodable, "on " + whose + ": " + finding.detail};
    }
  }
  Absorb(report);
  for (size_t i = 0; i < calls.size(); ++i) {
    const Case& item = *owners[i]->item;
    if (!calls[i].got) continue;
    Bytes expected(item.input.size());
    SZARENA_TRY_VOID(SplitBackward(task_, item.problem, item.split, calls[i].input, expected));
    const std::optional<Bytes>& got =
        *calls[i].got == expected && calls[i].other ? calls[i].other : calls[i].got;
    if (*got == expected) continue;
    const auto at =
        std::mismatch(expected.begin(), expected.end(), got->begin()).first - expected.begin();
    const uint64_t width = item.problem.n == 0 ? 1 : item.input.size() / item.problem.n;
    Find(Stage::kDecodable,
         (item.hidden
              ? fmt::format("on {}, the result differs from our decoder's", whose)
              : fmt::format("on {}, the result differs from our decoder's, first at element {}{}",
                            whose, static_cast<uint64_t>(at) / width,
                            PlaceOf(item.problem, item.split, static_cast<uint64_t>(at) / width))) +
             " (" + calls[i].name + ")");
  }
  return {};
}

void Ladder::CheckRatio() {
  uint64_t raw_bytes = 0;
  uint64_t own_bytes = 0;
  uint64_t reference_bytes = 0;
  for (CaseState& state : states_) {
    const Case& item = *state.item;
    if (!task_.compressor || !state.own) continue;
    const auto size = static_cast<double>(item.input.size());
    const uint64_t own = PayloadSize(item.split, *state.own);
    const uint64_t reference = PayloadSize(item.split, *state.reference);
    if (own > 0) state.result.ratio = size / static_cast<double>(own);
    if (reference > 0) state.result.reference_ratio = size / static_cast<double>(reference);
    if (!item.hidden) {
      raw_bytes += item.input.size();
      own_bytes += own;
      reference_bytes += reference;
    }
    if (!item.counts_for_ratio) continue;
    if (static_cast<double>(own) >
        static_cast<double>(reference) / task_.ratio_rule.min_of_reference) {
      Find(
          Stage::kRatioOk,
          fmt::format("ratio {:.4g}, our encoder's is {:.4g}, at least {:.2f} of it is wanted ({})",
                      state.result.ratio.value_or(0), state.result.reference_ratio.value_or(0),
                      task_.ratio_rule.min_of_reference, item.name));
    }
    if (options_.free_format) continue;
    const double blocks = std::ceil(static_cast<double>(item.problem.n) / task_.block_size);
    const Result<uint64_t> own_raw = SplitRawBlocks(task_, item.problem, item.split, *state.own);
    const Result<uint64_t> reference_raw =
        SplitRawBlocks(task_, item.problem, item.split, *state.reference);
    if (own_raw && reference_raw &&
        static_cast<double>(*own_raw) >
            static_cast<double>(*reference_raw) + task_.ratio_rule.raw_block_margin * blocks) {
      Find(Stage::kRatioOk,
           fmt::format("{} blocks are stored raw, {} in our encoder's payload ({})", *own_raw,
                       *reference_raw, item.name));
    }
  }
  if (own_bytes > 0)
    verdict_.ratio = static_cast<double>(raw_bytes) / static_cast<double>(own_bytes);
  if (reference_bytes > 0)
    verdict_.reference_ratio =
        static_cast<double>(raw_bytes) / static_cast<double>(reference_bytes);
}

// Of the shapes of the first hidden cases that have some blocks, one for each type, mode and
// compiled program.
void Ladder::MakeForeign(uint64_t seed) {
  Random seeds(Mix64(seed ^ 0x666f726569676e));
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> have;
  for (CaseState& state : states_) {
    const Case& item = *state.item;
    if (!item.hidden || item.problem.n < kForeignBlocks * task_.block_size) continue;
    if (!have.insert({item.problem.dtype, item.problem.mode, item.split.program}).second) continue;
    state.foreign = SplitForeign(task_, item.problem, item.split, seeds.Next());
  }
}

Result<void> Ladder::RunCorrectness(uint64_t hidden_seed) {
  SZARENA_TRY_VOID(Begin(Stage::kStarted));
  for (const Case& item : cases_) {
    CaseState state;
    state.item = &item;
    state.result.name = item.name;
    state.result.hidden = item.hidden;
    // A hidden case's size and bound would help to recognise it.
    state.result.n = item.hidden ? 0 : item.problem.n;
    state.result.abs_bound = item.hidden ? 0 : item.problem.abs_bound;
    SZARENA_TRY(state.reference, SplitForward(task_, item.problem, item.split, item.input));
    states_.push_back(std::move(state));
  }
  if (task_.compressor && !options_.free_format) MakeForeign(hidden_seed);
  SZARENA_TRY_VOID(Begin(Stage::kFinished));
  SZARENA_TRY_VOID(RunForward());
  if (!FailedBelow(Stage::kOutputProduced) && task_.has_backward)
    SZARENA_TRY_VOID(RunOwnBackward());
  Spent(Stage::kFinished);
  if (!options_.free_format && !FailedBelow(Stage::kDecodable)) {
    SZARENA_TRY_VOID(Begin(Stage::kDecodable));
    SZARENA_TRY_VOID(RunCross());
    Spent(Stage::kDecodable);
  }
  if (!FailedBelow(Stage::kRatioOk)) {
    SZARENA_TRY_VOID(Begin(Stage::kRatioOk));
    CheckRatio();
    Spent(Stage::kRatioOk);
  }
  for (CaseState& state : states_) {
    CaseResult& result = state.result;
    if (result.max_error_over_bound) {
      verdict_.max_error_over_bound =
          std::max(verdict_.max_error_over_bound.value_or(0), *result.max_error_over_bound);
    }
    if (!result.hidden && result.psnr)
      verdict_.psnr = std::min(verdict_.psnr.value_or(*result.psnr), *result.psnr);
    if (!result.hidden && result.nrmse)
      verdict_.nrmse = std::max(verdict_.nrmse.value_or(0), *result.nrmse);
    verdict_.cases.push_back(result);
  }
  if (options_.full && !FailedBelow(Stage::kOutputProduced)) SZARENA_TRY_VOID(RunTools());
  if (left_running_) {
    verdict_.flags.push_back({"work-left-running", FlagKind::kCheat,
                              "the process used processor time after its last call had returned"});
  }
  if (!deterministic_) {
    verdict_.flags.push_back({"nondeterministic-output", FlagKind::kWarning,
                              "two calls on the same data gave different bytes"});
  }
  return {};
}

// An access outside the buffers breaks the contract; hazards and words read before they were
// written may be harmless, so they are told and decide nothing.
Result<void> Ladder::RunTools() {
  SZARENA_TRY(verdict_.tools, platform_->RunTools(cases_));
  for (const ToolResult& result : verdict_.tools) {
    if (result.status != ToolResult::Status::kFindings) continue;
    const std::string what = result.tool + ": " + result.detail;
    if (result.tool.ends_with("memcheck")) {
      Find(Stage::kOutputProduced, what);
    } else {
      verdict_.flags.push_back(
          {"tool-findings", FlagKind::kWarning, Printable(what, kEvidenceBytes, Lines::kOne)});
    }
  }
  return {};
}

Result<void> Ladder::RunMeasurement() {
  SZARENA_TRY_VOID(Begin(Stage::kMeasured));
  SZARENA_TRY(Measurement measured, platform_->Measure(options_.baseline));
  Spent(Stage::kMeasured);
  verdict_.directions = std::move(measured.directions);
  traces_ = std::move(measured.traces);
  verdict_.copy_bandwidth_gbs = measured.copy_bandwidth_gbs;
  verdict_.measured_field = std::move(measured.measured_field);
  verdict_.flags.insert(verdict_.flags.end(), measured.flags.begin(), measured.flags.end());
  if (measured.peak_memory_bytes > verdict_.peak_memory_bytes.value_or(0)) {
    verdict_.peak_memory_bytes = measured.peak_memory_bytes;
  }
  if (measured.fault) {
    Find(Stage::kMeasured, measured.fault->detail);
    if (measured.fault->stage < Stage::kMeasured) verdict_.timed_fault = measured.fault->stage;
  }
  verdict_.at(Stage::kMeasured).detail = std::move(measured.detail);
  return {};
}

void Ladder::WriteFeedback() {
  std::string& text = verdict_.feedback;
  if (const std::optional<Stage> failed = verdict_.Failed()) {
    text = fmt::format("failed at '{}': {}\n", StageName(*failed), verdict_.at(*failed).detail);
    // Others of the same stage help; later ones are likely its consequences.
    int shown = 0;
    for (const Finding& finding : findings_) {
      if (finding.stage != *failed || finding.detail == verdict_.at(*failed).detail || shown == 4)
        continue;
      text += "also: " + finding.detail + "\n";
      ++shown;
    }
    if (*failed == Stage::kBuilt && !build_log_.empty()) text += build_log_;
  } else if (!verdict_.not_run.empty()) {
    text = "it was built; " + verdict_.not_run + "\n";
  } else {
    text = "all stages hold\n";
    if (verdict_.ratio) {
      text += fmt::format("ratio {:.4g}, our encoder's {:.4g}\n", *verdict_.ratio,
                          verdict_.reference_ratio.value_or(0));
    }
  }
  for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
    const DirectionResult& result = verdict_.directions[static_cast<size_t>(direction)];
    const Figure* const figure = ShownFigure(result.candidate);
    if (figure == nullptr) continue;
    text += fmt::format("{}: {}", DirectionName(task_.name, direction),
                        RateText(figure->median, result.candidate->basis));
    if (const Figure* const baseline = ShownFigure(result.baseline)) {
      text += ", baseline " + RateText(baseline->median, result.baseline->basis);
    }
    if (result.candidate->kernel && figure != &*result.candidate->kernel)
      text += ", its kernels alone " +
              RateText(result.candidate->kernel->median, result.candidate->basis);
    if (result.floor_fraction)
      text += fmt::format(", {:.3g} of what {} allows", *result.floor_fraction,
                          verdict_.wafer ? "the edge of the wafer" : "a plain copy");
    text += "\n";
  }
  for (const ToolResult& result : verdict_.tools) {
    if (result.status != ToolResult::Status::kFindings)
      text += fmt::format("{}: {}, {}\n", result.tool,
                          result.status == ToolResult::Status::kClean ? "clean" : "not run",
                          result.detail);
  }
  for (const Flag& flag : verdict_.flags) text += "flag " + flag.name + ": " + flag.detail + "\n";
  if (!diagnosis_.empty())
    text += "the machine reported:\n" + diagnosis_ + (diagnosis_.ends_with('\n') ? "" : "\n");
  if (!output_.empty()) text += "the candidate printed (untrusted):\n" + output_ + "\n";
}

Result<Evaluation> Ladder::Run() {
  const auto begin = Clock::now();
  if (options_.trials < 10) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{} trials are too few: at least 10 timed runs are made", options_.trials));
  }
  if (options_.free_format && !task_.compressor) {
    return Fail(ErrorCode::kInvalidArgument,
                "a stream format of its own makes sense for compressors only");
  }
  if (options_.full && options_.target != "cuda") {
    return Fail(ErrorCode::kInvalidArgument,
                "a full check has more to look at on target 'cuda' only; leave it out for '" +
                    options_.target + "'");
  }
  Evaluation evaluation;
  evaluation.hidden_seed = options_.hidden_seed.value_or(DrawSecretSeed());
  verdict_.task = task_.name;
  verdict_.target = options_.target;
  verdict_.format = options_.free_format ? "free" : "strict";
  verdict_.threads = options_.threads > 0 ? std::min(options_.threads, AvailableProcessors())
                                          : AvailableProcessors();
  verdict_.machine = DescribeMachine();
  verdict_.started_at = UtcNow();
  SZARENA_TRY(sandbox_, sandbox::Sandbox::Probe());
  // The product may be installed, or have its sources, in a folder of the system.
  SZARENA_TRY(const std::string root, task::FindRoot());
  sandbox_->Hide(root);
  verdict_.sandbox = sandbox_->description();

  SZARENA_TRY(const bool received, Receive());
  SZARENA_TRY(platform_, MakePlatform());
  SZARENA_TRY(cases_, platform_->Cases(options_.hidden ? std::optional(evaluation.hidden_seed)
                                                       : std::nullopt));
  bool built = false;
  if (received) {
    SZARENA_TRY(built, BuildCandidate());
  }
  bool run = built && options_.until > Stage::kBuilt;
  if (run) {
    verdict_.not_run = platform_->CannotRun();
    run = verdict_.not_run.empty();
    if (!run) verdict_.at(Stage::kStarted).detail = verdict_.not_run;
    if (!run && options_.full)
      verdict_.tools.push_back(
          {"compute-sanitizer", ToolResult::Status::kNotRun, verdict_.not_run});
  }
  if (run) SZARENA_TRY_VOID(RunCorrectness(evaluation.hidden_seed));
  Settle(run ? Stage::kMeasured : Stage::kStarted);
  if (options_.until == Stage::kMeasured && verdict_.correct()) {
    SZARENA_TRY_VOID(RunMeasurement());
    StageResult& measured = verdict_.at(Stage::kMeasured);
    measured.status = Lowest() == nullptr ? StageStatus::kOk : StageStatus::kFailed;
    if (Lowest() != nullptr) measured.detail = Lowest()->detail;
  }
  platform_->Describe(verdict_);
  WriteFeedback();
  verdict_.seconds = Since(begin);
  evaluation.verdict = std::move(verdict_);
  evaluation.traces = std::move(traces_);
  return evaluation;
}

}  // namespace

Result<Evaluation> Evaluate(const EvaluateOptions& options) { return Ladder(options).Run(); }

}  // namespace szarena::judge
