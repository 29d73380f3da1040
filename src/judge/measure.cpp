// SPDX-License-Identifier: Apache-2.0
#include "judge/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

#include "judge/cases.h"
#include "judge/checks.h"
#include "judge/random.h"

namespace szarena::judge {
namespace {

using std::chrono::milliseconds;
using Clock = os::Clock;
using target::CallKind;
using target::Ending;
using target::Outcome;
using target::SlotSizes;
using target::Worker;

// Calls per command: several fresh inputs each, so that stopping and resuming (some 0.1 ms) weighs little.
constexpr size_t kSlots = 2;
constexpr int kWarmUps = 2;
constexpr milliseconds kTimedTimeout{30000};
constexpr milliseconds kIdleTime{60};
constexpr double kIdleSecondsAllowed = 0.008;

// The data of one timed command, and what a right answer is. Made anew from its seeds for each direction.
struct Round {
  std::vector<uint64_t> seeds;
  std::vector<Bytes> inputs;      // elements
  std::vector<Bytes> references;  // our payloads
  std::vector<Bytes> own;         // the candidate's payloads, kept with --format free
};

struct Series {
  std::vector<double> candidate;  // seconds
  std::vector<double> baseline;
  std::vector<double> payload_bytes;
};

// Copies every input of a round to `to` on `threads` threads; seconds.
double TimeCopy(const std::vector<Bytes>& inputs, Bytes& to, int threads) {
  const auto begin = Clock::now();
  std::vector<std::jthread> workers;
  const auto copy = [&](size_t k) {
    for (size_t slot = 0; slot < inputs.size(); ++slot) {
      const Bytes& from = inputs[slot];
      const size_t share = (from.size() + static_cast<size_t>(threads) - 1) / static_cast<size_t>(threads);
      const size_t first = std::min(from.size(), k * share);
      const size_t last = std::min(from.size(), first + share);
      if (last > first) std::memcpy(to.data() + slot * from.size() + first, from.data() + first, last - first);
    }
  };
  for (int k = 1; k < threads; ++k) workers.emplace_back(copy, static_cast<size_t>(k));
  copy(0);
  workers.clear();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Timing {
 public:
  Timing(const Subject& candidate, const Subject* baseline, const MeasureOptions& options)
      : candidate_(candidate), baseline_(baseline), options_(options), task_(*candidate.task) {}

  Result<Measurement> Run();

 private:
  Result<void> Prepare();
  Result<void> Fill(Round& round) const;
  double CopyBandwidth() const {  // bytes read and written per second
    return 2 * static_cast<double>(copy_to_.size()) / MakeFigure(copy_seconds_).median;
  }
  Result<void> RunDirection(CallKind kind);
  // One command of one side; seconds, or nothing where the candidate failed (fault is set).
  Result<std::optional<double>> RunSide(Worker& worker, CallKind kind, Round& round, bool is_candidate);
  std::optional<std::string> Verify(const Worker& worker, CallKind kind, Round& round, size_t slot, bool is_candidate);
  const std::vector<Bytes>& Payloads(const Round& round, bool is_candidate) const {
    return is_candidate && options_.free_format ? round.own : round.references;
  }
  DirectionResult Summarise(const Series& series) const;

  const Subject& candidate_;
  const Subject* baseline_;
  const MeasureOptions& options_;
  const TaskSpec& task_;
  TimedData data_;
  szarena_problem problem_ = {};
  std::vector<Round> rounds_;
  std::vector<double> copy_seconds_;
  Bytes copy_to_;
  Measurement result_;
};

Result<void> Timing::Prepare() {
  SZARENA_TRY(data_, TimedData::Load(task_, candidate_.threads));
  problem_ = data_.problem();
  rounds_.resize(static_cast<size_t>(options_.trials + kWarmUps));
  for (Round& round : rounds_) {
    round.own.resize(kSlots);
    for (size_t slot = 0; slot < kSlots; ++slot) round.seeds.push_back(DrawSecretSeed());
  }
  copy_to_.resize(kSlots * InputBytes(task_, problem_));
  return {};
}

Result<void> Timing::Fill(Round& round) const {
  for (const uint64_t seed : round.seeds) {
    Bytes input(InputBytes(task_, problem_));
    data_.Fill(seed, input);
    SZARENA_TRY(Bytes reference, ReferenceForward(task_, problem_, input));
    round.inputs.push_back(std::move(input));
    round.references.push_back(std::move(reference));
  }
  return {};
}

std::optional<std::string> Timing::Verify(const Worker& worker, CallKind kind, Round& round, size_t slot,
                                          bool is_candidate) {
  const target::Slot& answer = worker.answer(slot);
  const std::string function = FunctionName(task_, kind);
  if (answer.code != SZARENA_OK) return fmt::format("{} returned {} in a timed run", function, answer.code);
  const std::span<std::byte> output = worker.output(slot);
  if (kind == CallKind::kForward) {
    if (const auto fault = PayloadFault(answer.payload, output.size())) return *fault + " in a timed run";
    const ByteView payload = output.subspan(answer.payload.offset, answer.payload.size);
    const Bytes& reference = round.references[slot];
    if (!task_.compressor) {
      if (!std::equal(payload.begin(), payload.end(), reference.begin(), reference.end())) {
        return "the result of a timed run differs from the definition";
      }
      return std::nullopt;
    }
    if (static_cast<double>(payload.size()) > static_cast<double>(reference.size()) / task_.ratio_rule.min_of_reference) {
      return fmt::format("a timed payload has {} bytes, our encoder's {}", payload.size(), reference.size());
    }
    if (is_candidate && options_.free_format) {
      round.own[slot].assign(payload.begin(), payload.end());
      return std::nullopt;  // judged when its own decoder has read it
    }
    Bytes decoded(round.inputs[slot].size());
    if (const auto status = ReferenceBackward(task_, problem_, payload, decoded); !status) {
      return "our decoder refuses a timed payload: " + status.error().message;
    }
    if (CompareFields(problem_.dtype, round.inputs[slot], decoded, problem_.abs_bound).violations > 0) {
      return "a timed payload breaks the bound";
    }
    return std::nullopt;
  }
  if (is_candidate && options_.free_format) {
    if (CompareFields(problem_.dtype, round.inputs[slot], output, problem_.abs_bound).violations > 0) {
      return "the output of a timed run breaks the bound";
    }
    return std::nullopt;
  }
  Bytes expected(output.size());
  if (const auto status = ReferenceBackward(task_, problem_, round.references[slot], expected); !status) {
    return "our own payload cannot be decoded: " + status.error().message;
  }
  if (std::memcmp(expected.data(), output.data(), expected.size()) != 0) {
    return "the output of a timed run differs from our decoder's";
  }
  return std::nullopt;
}

Result<std::optional<double>> Timing::RunSide(Worker& worker, CallKind kind, Round& round, bool is_candidate) {
  const std::vector<Bytes>& sources = kind == CallKind::kForward ? round.inputs : Payloads(round, is_candidate);
  std::vector<SlotSizes> slots;
  SZARENA_TRY(const uint64_t capacity, OutputCapacity(task_, problem_, kind));
  for (const Bytes& source : sources) slots.push_back({source.size(), capacity});
  const auto failed = [&](const std::string& why) -> Result<std::optional<double>> {
    if (!is_candidate) return Fail(ErrorCode::kInternal, "the baseline failed while timed: " + why);
    result_.fault = why;
    return std::optional<double>();
  };
  SZARENA_TRY(const Outcome prepared, worker.Prepare(problem_, slots, false, kTimedTimeout));
  if (!prepared.ok) return failed(prepared.message);
  const PoisonKey key{DrawSecretSeed(), false};
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    std::memcpy(worker.input(slot).data(), sources[slot].data(), sources[slot].size());
    Poison(worker.guard_before(slot), key);
    Poison(worker.guard_after(slot), key);
    Poison(worker.output(slot), key);
  }
  SZARENA_TRY(const Outcome outcome, worker.Call(kind, kTimedTimeout));
  if (!outcome.ok) return failed("in a timed run: " + outcome.message);
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    if (FirstTouched(worker.guard_before(slot), key) || FirstTouched(worker.guard_after(slot), key)) {
      return failed("a timed run wrote outside its output buffer");
    }
    if (const auto fault = Verify(worker, kind, round, slot, is_candidate)) return failed(*fault);
  }
  return std::optional(outcome.seconds);
}

DirectionResult Timing::Summarise(const Series& series) const {
  DirectionResult direction;
  const double bytes = static_cast<double>(kSlots * InputBytes(task_, problem_));
  const auto throughput = [bytes](const std::vector<double>& seconds) {
    std::vector<double> speeds;
    for (const double s : seconds) speeds.push_back(bytes / s * 1e-9);
    Throughput result;
    result.host = MakeFigure(speeds);
    return result;
  };
  direction.candidate = throughput(series.candidate);
  if (!series.baseline.empty()) {
    direction.baseline = throughput(series.baseline);
    std::vector<double> speedups;
    for (size_t i = 0; i < series.candidate.size(); ++i) speedups.push_back(series.baseline[i] / series.candidate[i]);
    direction.speedup = MakeFigure(speedups);
  }
  const double floor_seconds = (bytes + MakeFigure(series.payload_bytes).median) / CopyBandwidth();
  direction.floor_fraction = floor_seconds / MakeFigure(series.candidate).median;
  return direction;
}

Result<void> Timing::RunDirection(CallKind kind) {
  // Room for the longest payload; pages that are not touched cost nothing.
  SZARENA_TRY(const uint64_t longest, ForwardCapacity(task_, problem_));
  const uint64_t elements = InputBytes(task_, problem_);
  const bool forward = kind == CallKind::kForward;
  const std::vector<SlotSizes> room(kSlots, SlotSizes{forward ? elements : longest, forward ? longest : elements});
  const size_t input_bytes = target::InputBytesFor(room);
  const size_t output_bytes = target::OutputBytesFor(room);
  SZARENA_TRY(Worker ours, StartWorker(candidate_, input_bytes, output_bytes));
  if (!ours.loaded().ok) {
    result_.fault = "the library could not be loaded again: " + ours.loaded().message;
    return {};
  }
  std::optional<Worker> theirs;
  if (baseline_ != nullptr) {
    SZARENA_TRY(theirs, StartWorker(*baseline_, input_bytes, output_bytes));
    if (!theirs->loaded().ok) {
      return Fail(ErrorCode::kInternal, "the baseline cannot be loaded: " + theirs->loaded().message);
    }
  }
  Series series;
  for (size_t i = 0; i < rounds_.size(); ++i) {
    const bool counts = i >= static_cast<size_t>(kWarmUps);
    Round& round = rounds_[i];
    SZARENA_TRY_VOID(Fill(round));
    // Candidate first, baseline first, in turn: what drifts hits both alike.
    for (const bool is_candidate : {i % 2 == 0, i % 2 != 0}) {
      if (!is_candidate && !theirs) continue;
      SZARENA_TRY(const std::optional<double> seconds,
                  RunSide(is_candidate ? ours : *theirs, kind, round, is_candidate));
      if (!seconds) return {};
      if (counts) (is_candidate ? series.candidate : series.baseline).push_back(*seconds);
    }
    if (counts) {
      copy_seconds_.push_back(TimeCopy(round.inputs, copy_to_, candidate_.threads));
      double payload = 0;
      for (size_t slot = 0; slot < kSlots; ++slot) {
        payload += static_cast<double>(forward ? ours.answer(slot).payload.size : Payloads(round, true)[slot].size());
      }
      series.payload_bytes.push_back(payload);
    }
    round.inputs.clear();
    round.references.clear();
  }
  result_.peak_memory_bytes = std::max(result_.peak_memory_bytes, ours.PeakMemoryBytes());
  SZARENA_TRY(const double idle, ours.IdleSeconds(kIdleTime));
  if (idle > kIdleSecondsAllowed) {
    result_.flags.push_back({"work-left-running", FlagKind::kCheat,
                             fmt::format("{:.0f} ms of processor time were used in the {} ms after the last timed call",
                                         idle * 1e3, kIdleTime.count())});
  }
  result_.directions[kind == CallKind::kForward ? 0 : 1] = Summarise(series);
  return {};
}

Result<Measurement> Timing::Run() {
  SZARENA_TRY_VOID(Prepare());
  SZARENA_TRY_VOID(RunDirection(CallKind::kForward));
  if (!result_.fault && task_.has_backward) SZARENA_TRY_VOID(RunDirection(CallKind::kBackward));
  if (!copy_seconds_.empty()) result_.copy_bandwidth_gbs = CopyBandwidth() * 1e-9;
  result_.detail = fmt::format("{} timed runs", options_.trials);
  result_.measured_field = fmt::format("{}; {} elements, a few of them exceptional, {} calls a run, every one on data of its own", data_.name(),
                                       problem_.n, kSlots);
  return std::move(result_);
}

}  // namespace

Result<Measurement> Measure(const Subject& candidate, const Subject* baseline, const MeasureOptions& options) {
  return Timing(candidate, baseline, options).Run();
}

}  // namespace szarena::judge
