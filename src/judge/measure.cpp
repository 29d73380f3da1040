// SPDX-License-Identifier: Apache-2.0
#include "judge/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <iterator>
#include <thread>

#include "judge/cases.h"
#include "judge/checks.h"
#include "judge/device_clock.h"
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

// Calls per command: several fresh inputs each, so that stopping and resuming (some 0.1 ms) weighs
// little. On a device there are more, with more data; those with transfers have data of their own,
// since what has been seen once can be kept.
constexpr size_t kSlots = 2;
constexpr size_t kDeviceSlots = 4;
constexpr size_t kTransferSlots = 2;
// So many further runs are made before it is said that they miss more: on a busy machine the least
// of many is needed.
constexpr int kMoreRuns = 30;
constexpr int kWarmUps = 2;
// Further runs on a device, in processes of their own, whose kernels are traced; the first warms
// up.
constexpr int kTracedRuns = 3;
constexpr milliseconds kTimedTimeout{30000};
constexpr milliseconds kIdleTime{60};
constexpr double kIdleSecondsAllowed = 0.008;

// One timed command of every worker. Its data are made anew from the seeds for each direction.
struct Round {
  std::vector<uint64_t> seeds;
  std::vector<Bytes> own;  // the candidate's payloads, kept with --format free
};

// The data of one call of the present round, and what a right answer is. The memory serves all
// rounds: taking it from the system each time costs more than filling it.
struct CallData {
  Bytes input;     // elements
  Bytes room;      // our payload, and behind it room for the longest
  Bytes restored;  // what our decoder makes of it, where that is asked for
  Bytes decoded;   // and of the worker's payload, where that is another
  size_t payload_size = 0;
  ByteView payload() const { return ByteView(room).first(payload_size); }
};

// Runs f(0) .. f(count - 1), each on a thread of its own.
template <typename F>
void ForEachSlot(size_t count, F f) {
  std::vector<std::jthread> workers;
  for (size_t k = 1; k < count; ++k) workers.emplace_back([&f, k] { f(k); });
  f(0);
}

// Runs f(begin, end) on parts of [0, size) that begin at multiples of a page, on at most `threads`
// threads.
template <typename F>
void ForEachPart(size_t size, size_t threads, F f) {
  constexpr size_t kLeast = size_t{4} << 20;  // less is not worth a thread
  constexpr size_t kPage = 4096;
  const size_t parts = std::clamp<size_t>(size / kLeast, 1, threads);
  const size_t step = (size / parts + kPage - 1) / kPage * kPage;
  ForEachSlot(parts, [&](size_t k) {
    const size_t begin = std::min(size, k * step);
    f(begin, k + 1 == parts ? size : std::min(size, begin + step));
  });
}

bool Same(ByteView a, ByteView b, size_t threads) {
  if (a.size() != b.size()) return false;
  std::atomic<bool> same = true;
  ForEachPart(a.size(), threads, [&](size_t begin, size_t end) {
    if (end > begin && std::memcmp(a.data() + begin, b.data() + begin, end - begin) != 0)
      same = false;
  });
  return same;
}

bool BoundHeld(const szarena_problem& problem, ByteView original, ByteView got, size_t threads) {
  std::atomic<bool> held = true;
  ForEachPart(original.size(), threads, [&](size_t begin, size_t end) {
    if (CompareFields(problem.dtype, original.subspan(begin, end - begin),
                      got.subspan(begin, end - begin), problem.abs_bound)
            .violations > 0)
      held = false;
  });
  return held;
}

// Copies every call's input to `to` on `threads` threads; seconds.
double TimeCopy(const std::vector<CallData>& calls, Bytes& to, int threads) {
  const auto begin = Clock::now();
  std::vector<std::jthread> workers;
  const auto copy = [&](size_t k) {
    for (size_t slot = 0; slot < calls.size(); ++slot) {
      const Bytes& from = calls[slot].input;
      const size_t share =
          (from.size() + static_cast<size_t>(threads) - 1) / static_cast<size_t>(threads);
      const size_t first = std::min(from.size(), k * share);
      const size_t last = std::min(from.size(), first + share);
      if (last > first)
        std::memcpy(to.data() + slot * from.size() + first, from.data() + first, last - first);
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
      : candidate_(candidate),
        baseline_(baseline),
        options_(options),
        task_(*candidate.task),
        device_(candidate.device),
        slots_(device_ != nullptr ? kDeviceSlots : kSlots),
        transfer_slots_(device_ != nullptr ? kTransferSlots : 0),
        threads_(std::max<size_t>(1, static_cast<size_t>(candidate.threads) / slots_)) {}

  Result<Measurement> Run();

 private:
  Result<void> Prepare();
  Result<void> Fill(CallKind kind, const Round& round);
  double CopyBandwidth() const {  // bytes read and written per second
    if (device_ != nullptr) return device_->copy_gbs * 1e9;
    return 2 * static_cast<double>(copy_to_.size()) / MakeFigure(copy_seconds_).median;
  }
  struct Sides {
    Worker ours;
    std::optional<Worker> theirs;
  };
  Result<Sides> StartSides(CallKind kind, bool trace) const;
  Result<void> RunDirection(CallKind kind);
  // The kernels' own durations. An Error is why there are none, whoever's fault it is.
  Result<void> TraceDirection(CallKind kind);
  void TraceKernels();
  // One command of one side, on a device a second one with the transfers; nothing where the
  // candidate failed (fault is set).
  Result<std::optional<Times>> RunSide(Worker& worker, CallKind kind, Round& round,
                                       bool is_candidate);
  Result<std::optional<Times>> RunCommand(Worker& worker, CallKind kind, Round& round,
                                          bool is_candidate, bool with_transfers);
  // `place`: of the worker's slots, with the data of `slot`.
  std::optional<Finding> Verify(const Worker& worker, CallKind kind, Round& round, size_t place,
                                size_t slot, bool is_candidate);
  // What a worker's call is given.
  ByteView Source(CallKind kind, const Round& round, size_t slot, bool is_candidate) const {
    if (kind == CallKind::kForward) return calls_[slot].input;
    if (is_candidate && options_.free_format) return round.own[slot];
    return calls_[slot].payload();
  }
  DirectionResult Summarise(const Series& series) const;
  // The device's events against the keeper's clock, after Summarise.
  void CheckDevice(CallKind kind, const Series& series, double idle_seconds);

  const Subject& candidate_;
  const Subject* baseline_;
  const MeasureOptions& options_;
  TaskSpec task_;
  const target::DeviceAccess* device_;
  size_t slots_;
  size_t transfer_slots_;  // further ones, of the calls with transfers
  size_t threads_;         // that make and look at the data of one slot
  TimedData data_;
  szarena_problem problem_ = {};
  std::vector<Round> rounds_;
  size_t rounds_made_ = 0;  // in the direction before
  std::vector<Round> traced_rounds_;
  std::vector<CallData> calls_;  // of the present round
  std::vector<double> copy_seconds_;
  bool pinned_ = true;
  std::vector<std::string> clock_notes_;
  Bytes copy_to_;
  Measurement result_;
};

Result<void> Timing::Prepare() {
  if (device_ != nullptr) task_.timed_elements = task_.timed_elements_on_device;
  SZARENA_TRY(data_, TimedData::Load(task_, candidate_.threads));
  problem_ = data_.problem();
  const size_t all = slots_ + transfer_slots_;
  calls_.resize(all);
  rounds_.resize(static_cast<size_t>(options_.trials + kWarmUps) +
                 (device_ != nullptr ? kMoreRuns : 0));
  if (device_ != nullptr) traced_rounds_.resize(kTracedRuns + 1);
  const auto draw = [](std::vector<Round>& rounds, size_t slots) {
    for (Round& round : rounds) {
      round.own.resize(slots);
      for (size_t slot = 0; slot < slots; ++slot) round.seeds.push_back(DrawSecretSeed());
    }
  };
  draw(rounds_, all);
  draw(traced_rounds_, slots_);  // no transfers there
  if (device_ == nullptr) copy_to_.resize(slots_ * InputBytes(task_, problem_));
  return {};
}

Result<void> Timing::Fill(CallKind kind, const Round& round) {
  SZARENA_TRY(const uint64_t capacity, ForwardCapacity(task_, problem_));
  const uint64_t elements = InputBytes(task_, problem_);
  const auto fill = [&](size_t slot) -> Result<void> {
    CallData& call = calls_[slot];
    call.input.resize(elements);
    call.room.resize(capacity);
    data_.Fill(round.seeds[slot], call.input);
    SZARENA_TRY(call.payload_size, ReferenceForwardInto(task_, problem_, call.input, call.room));
    const bool forward = kind == CallKind::kForward;
    if (forward && !task_.compressor) return {};
    call.restored.resize(elements);
    if (const auto status = ReferenceBackward(task_, problem_, call.payload(), call.restored);
        !status) {
      return Fail(ErrorCode::kInternal,
                  "our own payload cannot be decoded: " + status.error().message);
    }
    // The way back has the same data again.
    if (forward && !BoundHeld(problem_, call.input, call.restored, threads_)) {
      return Fail(ErrorCode::kInternal, "our own payload breaks the bound");
    }
    return {};
  };
  std::vector<Result<void>> filled(round.seeds.size());
  ForEachSlot(filled.size(), [&](size_t slot) { filled[slot] = fill(slot); });
  for (const Result<void>& result : filled) SZARENA_TRY_VOID(result);
  return {};
}

std::optional<Finding> Timing::Verify(const Worker& worker, CallKind kind, Round& round,
                                      size_t place, size_t slot, bool is_candidate) {
  const target::Slot& answer = worker.answer(place);
  CallData& call = calls_[slot];
  const std::string function = FunctionName(candidate_, kind);
  if (answer.code != SZARENA_OK)
    return Finding{Stage::kFinished,
                   fmt::format("{} returned {} in a timed run", function, answer.code)};
  const std::span<std::byte> output = worker.output(place);
  if (kind == CallKind::kForward) {
    if (const auto fault = PayloadFault(answer.payload, output.size()))
      return Finding{Stage::kOutputProduced, *fault + " in a timed run"};
    const ByteView payload = output.subspan(answer.payload.offset, answer.payload.size);
    const ByteView reference = call.payload();
    const bool same = Same(payload, reference, threads_);
    if (!task_.compressor) {
      if (!same)
        return Finding{Stage::kBoundHeld, "the result of a timed run differs from the definition"};
      return std::nullopt;
    }
    if (static_cast<double>(payload.size()) >
        static_cast<double>(reference.size()) / task_.ratio_rule.min_of_reference) {
      return Finding{Stage::kRatioOk, fmt::format("a timed payload has {} bytes, our encoder's {}",
                                                  payload.size(), reference.size())};
    }
    if (is_candidate && options_.free_format) {
      round.own[slot].assign(payload.begin(), payload.end());
      return std::nullopt;  // judged when its own decoder has read it
    }
    if (same) return std::nullopt;  // our own payload was decoded and compared when it was made
    call.decoded.resize(call.input.size());
    if (const auto status = ReferenceBackward(task_, problem_, payload, call.decoded); !status) {
      return Finding{Stage::kDecodable,
                     "our decoder refuses a timed payload: " + status.error().message};
    }
    if (!BoundHeld(problem_, call.input, call.decoded, threads_)) {
      return Finding{Stage::kBoundHeld, "a timed payload breaks the bound"};
    }
    return std::nullopt;
  }
  if (is_candidate && options_.free_format) {
    if (!BoundHeld(problem_, call.input, output, threads_)) {
      return Finding{Stage::kBoundHeld, "the output of a timed run breaks the bound"};
    }
    return std::nullopt;
  }
  if (!Same(call.restored, output, threads_)) {
    return Finding{Stage::kDecodable, "the output of a timed run differs from our decoder's"};
  }
  return std::nullopt;
}

Result<std::optional<Times>> Timing::RunSide(Worker& worker, CallKind kind, Round& round,
                                             bool is_candidate) {
  SZARENA_TRY(std::optional<Times> times, RunCommand(worker, kind, round, is_candidate, false));
  if (!times || device_ == nullptr) return times;
  SZARENA_TRY(const std::optional<Times> with_transfers,
              RunCommand(worker, kind, round, is_candidate, true));
  if (!with_transfers) return with_transfers;
  if (!worker.pinned()) pinned_ = false;
  times->host = with_transfers->host;
  return times;
}

Result<std::optional<Times>> Timing::RunCommand(Worker& worker, CallKind kind, Round& round,
                                                bool is_candidate, bool with_transfers) {
  std::vector<SlotSizes> slots;
  SZARENA_TRY(const uint64_t capacity, OutputCapacity(task_, problem_, kind));
  const size_t count = with_transfers ? transfer_slots_ : slots_;
  const auto slot_at = [&](size_t place) { return with_transfers ? slots_ + place : place; };
  for (size_t place = 0; place < count; ++place)
    slots.push_back({Source(kind, round, slot_at(place), is_candidate).size(), capacity});
  const auto failed = [&](const std::string& why,
                          Stage stage = Stage::kMeasured) -> Result<std::optional<Times>> {
    if (!is_candidate) return Fail(ErrorCode::kInternal, "the baseline failed while timed: " + why);
    result_.fault = Finding{stage, why};
    return std::optional<Times>();
  };
  SZARENA_TRY(const Outcome prepared, worker.Prepare(problem_, slots, false, kTimedTimeout));
  if (!prepared.ok) return failed(prepared.message);
  const PoisonKey key{DrawSecretSeed(), false};
  ForEachSlot(count, [&](size_t place) {
    const ByteView source = Source(kind, round, slot_at(place), is_candidate);
    const std::span<std::byte> input = worker.input(place);
    const std::span<std::byte> output = worker.output(place);
    ForEachPart(source.size(), threads_, [&](size_t begin, size_t end) {
      std::memcpy(input.data() + begin, source.data() + begin, end - begin);
    });
    Poison(worker.guard_before(place), key);
    Poison(worker.guard_after(place), key);
    ForEachPart(output.size(), threads_, [&](size_t begin, size_t end) {
      Poison(output.subspan(begin, end - begin), key, begin);
    });
  });
  SZARENA_TRY(const Outcome outcome, worker.Call(kind, kTimedTimeout, with_transfers));
  if (!outcome.ok) return failed("in a timed run: " + outcome.message);
  if (worker.input_changed())
    return failed("a timed run changed its input", Stage::kOutputProduced);
  std::vector<std::optional<Finding>> faults(count);
  ForEachSlot(count, [&](size_t place) {
    if (FirstTouched(worker.guard_before(place), key) ||
        FirstTouched(worker.guard_after(place), key)) {
      faults[place] =
          Finding{Stage::kOutputProduced, "a timed run wrote outside its output buffer"};
    } else {
      faults[place] = Verify(worker, kind, round, place, slot_at(place), is_candidate);
    }
  });
  for (const std::optional<Finding>& fault : faults) {
    if (fault) return failed(fault->detail, fault->stage);
  }
  Times times{.host = outcome.seconds};
  for (size_t place = 0; place < count; ++place) {
    const target::Slot& answer = worker.answer(place);
    times.device += answer.device_seconds;
    times.payload_bytes +=
        static_cast<double>(kind == CallKind::kForward ? answer.payload.size : slots[place].input);
  }
  if (device_ == nullptr) return std::optional(times);
  times.unseen = worker.window_seconds() - times.device;
  times.keeper_wait = worker.keeper_wait_seconds();
  return std::optional(times);
}

DirectionResult Timing::Summarise(const Series& series) const {
  DirectionResult direction;
  const double bytes = static_cast<double>(slots_ * InputBytes(task_, problem_));
  // What the target is measured by: the device's time where there is one.
  const auto main = [this](const Times& times) {
    return device_ != nullptr ? times.device : times.host;
  };
  const auto figure = [&](const std::vector<Times>& all, size_t slots, auto seconds) {
    const double moved = static_cast<double>(slots * InputBytes(task_, problem_));
    std::vector<double> speeds;
    for (const Times& times : all) speeds.push_back(moved / seconds(times) * 1e-9);
    return MakeFigure(std::move(speeds));
  };
  const auto throughput = [&](const std::vector<Times>& all) {
    Throughput result;
    result.host = figure(all, device_ != nullptr ? transfer_slots_ : slots_,
                         [](const Times& times) { return times.host; });
    if (device_ != nullptr) result.device = figure(all, slots_, main);
    return result;
  };
  direction.candidate = throughput(series.candidate);
  if (!series.baseline.empty()) {
    direction.baseline = throughput(series.baseline);
    std::vector<double> speedups;
    for (size_t i = 0; i < series.candidate.size(); ++i)
      speedups.push_back(main(series.baseline[i]) / main(series.candidate[i]));
    direction.speedup = MakeFigure(speedups);
  }
  std::vector<double> seconds;
  std::vector<double> payloads;
  for (const Times& times : series.candidate) {
    seconds.push_back(main(times));
    payloads.push_back(times.payload_bytes);
  }
  const double floor_seconds = (bytes + MakeFigure(payloads).median) / CopyBandwidth();
  direction.floor_fraction = floor_seconds / MakeFigure(seconds).median;
  return direction;
}

void Timing::CheckDevice(CallKind kind, const Series& series, double idle_seconds) {
  DirectionResult& direction = result_.directions[kind == CallKind::kForward ? 0 : 1];
  DeviceClaim claim;
  claim.function = FunctionName(candidate_, kind);
  claim.floor_fraction = direction.floor_fraction;
  claim.input_bytes = slots_ * InputBytes(task_, problem_);
  claim.idle_seconds = idle_seconds;
  ClockReport report = CheckDeviceClock(series, claim);
  if (!report.proven) {
    direction.candidate->device.reset();
    direction.floor_fraction.reset();
  }
  std::ranges::move(report.flags, std::back_inserter(result_.flags));
  clock_notes_.push_back(std::move(report.note));
}

Result<Timing::Sides> Timing::StartSides(CallKind kind, bool trace) const {
  // Room for the longest payload; pages that are not touched cost nothing.
  SZARENA_TRY(const uint64_t longest, ForwardCapacity(task_, problem_));
  const uint64_t elements = InputBytes(task_, problem_);
  const bool forward = kind == CallKind::kForward;
  const std::vector<SlotSizes> room(
      slots_, SlotSizes{forward ? elements : longest, forward ? longest : elements});
  const size_t input_bytes = target::InputBytesFor(room);
  const size_t output_bytes = target::OutputBytesFor(room);
  SZARENA_TRY(Worker ours, StartWorker(candidate_, input_bytes, output_bytes, trace));
  Sides sides{std::move(ours), std::nullopt};
  if (baseline_ == nullptr || !sides.ours.loaded().ok) return sides;
  SZARENA_TRY(sides.theirs, StartWorker(*baseline_, input_bytes, output_bytes, trace));
  if (!sides.theirs->loaded().ok) {
    return Fail(ErrorCode::kInternal,
                "the baseline cannot be loaded: " + sides.theirs->loaded().message);
  }
  return sides;
}

Result<void> Timing::RunDirection(CallKind kind) {
  SZARENA_TRY(Sides sides, StartSides(kind, /*trace=*/false));
  auto& [ours, theirs] = sides;
  if (!ours.loaded().ok) {
    result_.fault = Finding{Stage::kMeasured,
                            "the library could not be loaded again: " + ours.loaded().message};
    return {};
  }
  Series series;
  const size_t usual_rounds = static_cast<size_t>(options_.trials + kWarmUps);
  // With a format of its own the way back needs the payloads of the way there.
  const size_t most =
      kind == CallKind::kBackward && options_.free_format ? rounds_made_ : rounds_.size();
  size_t i = 0;
  for (; i < most; ++i) {
    if (i >= usual_rounds && (device_ == nullptr || ViewClock(series).agrees)) break;
    const bool counts = i >= static_cast<size_t>(kWarmUps);
    Round& round = rounds_[i];
    SZARENA_TRY_VOID(Fill(kind, round));
    // Candidate first, baseline first, in turn: what drifts hits both alike.
    for (const bool is_candidate : {i % 2 == 0, i % 2 != 0}) {
      if (!is_candidate && !theirs) continue;
      SZARENA_TRY(const std::optional<Times> times,
                  RunSide(is_candidate ? ours : *theirs, kind, round, is_candidate));
      if (!times) return {};
      if (counts) (is_candidate ? series.candidate : series.baseline).push_back(*times);
    }
    if (counts && device_ == nullptr)
      copy_seconds_.push_back(TimeCopy(calls_, copy_to_, candidate_.threads));
  }
  rounds_made_ = i;
  result_.peak_memory_bytes = std::max(result_.peak_memory_bytes, ours.PeakMemoryBytes());
  SZARENA_TRY(const double idle, ours.IdleSeconds(kIdleTime));
  if (idle > kIdleSecondsAllowed) {
    result_.flags.push_back(
        {"work-left-running", FlagKind::kCheat,
         fmt::format("{:.0f} ms of processor time were used in the {} ms after the last timed call",
                     idle * 1e3, kIdleTime.count())});
  }
  result_.directions[kind == CallKind::kForward ? 0 : 1] = Summarise(series);
  if (device_ != nullptr) CheckDevice(kind, series, ours.idle_seconds());
  return {};
}

Result<void> Timing::TraceDirection(CallKind kind) {
  if (device_->tracer.empty()) return Fail(ErrorCode::kUnavailable, device_->no_tracer);
  DirectionResult& direction = result_.directions[kind == CallKind::kForward ? 0 : 1];
  if (!direction.candidate->device)
    return Fail(ErrorCode::kUnavailable, "nothing proves the device's own times here");
  SZARENA_TRY(Sides sides, StartSides(kind, /*trace=*/true));
  if (!sides.ours.loaded().ok)
    return Fail(ErrorCode::kUnavailable, "it cannot be loaded: " + sides.ours.loaded().message);
  const double bytes = static_cast<double>(slots_ * InputBytes(task_, problem_));
  std::vector<double> speeds[2];  // candidate's, baseline's
  target::Trace sum;
  for (size_t i = 0; i < traced_rounds_.size(); ++i) {
    Round& round = traced_rounds_[i];
    SZARENA_TRY_VOID(Fill(kind, round));
    for (const bool is_candidate : {i % 2 == 0, i % 2 != 0}) {
      if (!is_candidate && !sides.theirs) continue;
      Worker& worker = is_candidate ? sides.ours : *sides.theirs;
      SZARENA_TRY(const std::optional<Times> times,
                  RunCommand(worker, kind, round, is_candidate, /*with_transfers=*/false));
      if (!times) {
        const std::string why = result_.fault->detail;
        result_.fault.reset();  // no timed run: nothing of this decides a verdict
        return Fail(ErrorCode::kUnavailable, "while it was traced: " + why);
      }
      const target::Trace trace = worker.TakeTrace();
      if (!trace.failure.empty()) {
        return Fail(ErrorCode::kUnavailable, (is_candidate ? "" : "of the baseline: ") +
                                                 Printable(trace.failure, 300, Lines::kOne));
      }
      if (i == 0) continue;
      speeds[is_candidate ? 0 : 1].push_back(bytes / trace.seconds * 1e-9);
      if (is_candidate) target::AddTrace(sum, trace);
    }
  }
  direction.candidate->kernel = MakeFigure(speeds[0]);
  if (sides.theirs) direction.baseline->kernel = MakeFigure(speeds[1]);
  result_.traces[kind == CallKind::kForward ? 0 : 1] = std::move(sum);
  return {};
}

// After all timed runs, so that none of them has a tracer beside it.
void Timing::TraceKernels() {
  std::string reasons;
  for (const CallKind kind : {CallKind::kForward, CallKind::kBackward}) {
    if (kind == CallKind::kBackward && !task_.has_backward) continue;
    const Result<void> traced = TraceDirection(kind);
    if (traced) continue;
    if (!reasons.empty()) reasons += "; ";
    reasons += FunctionName(candidate_, kind) + ": " + traced.error().message;
  }
  if (!reasons.empty())
    result_.flags.push_back({"kernel-not-measured", FlagKind::kWarning, reasons});
}

Result<Measurement> Timing::Run() {
  SZARENA_TRY_VOID(Prepare());
  SZARENA_TRY_VOID(RunDirection(CallKind::kForward));
  if (!result_.fault && task_.has_backward) SZARENA_TRY_VOID(RunDirection(CallKind::kBackward));
  if (!result_.fault && device_ != nullptr) TraceKernels();
  if (!copy_seconds_.empty() || device_ != nullptr)
    result_.copy_bandwidth_gbs = CopyBandwidth() * 1e-9;
  if (device_ != nullptr && !pinned_) {
    result_.flags.push_back({"transfers-not-pinned", FlagKind::kWarning,
                             "this system does not page-lock memory inside the sandbox: 'host' "
                             "figures are with pageable transfers"});
  }
  result_.detail = fmt::format("{} timed runs", options_.trials);
  for (const std::string& note : clock_notes_) result_.detail += "; " + note;
  if (result_.traces[0]) result_.detail += fmt::format(", {} more to trace kernels", kTracedRuns);
  result_.measured_field = fmt::format(
      "{}; {} elements, a few of them exceptional, {} calls a run, every one on data of its own",
      data_.name(), problem_.n, slots_);
  return std::move(result_);
}

}  // namespace

Result<Measurement> Measure(const Subject& candidate, const Subject* baseline,
                            const MeasureOptions& options) {
  return Timing(candidate, baseline, options).Run();
}

}  // namespace szarena::judge
