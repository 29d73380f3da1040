// SPDX-License-Identifier: Apache-2.0
#include "judge/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "judge/cases.h"
#include "judge/checks.h"

namespace szarena::judge {
namespace {

using std::chrono::milliseconds;
using target::CallKind;
using target::Ending;
using target::Outcome;
using target::SlotSizes;
using target::Worker;

constexpr milliseconds kPrepareTimeout{10000};
constexpr milliseconds kDeviceLoadTimeout{60000};  // a driver that starts its device
// After the last call the process may run on with nothing to do; more processor time than this is
// work.
constexpr milliseconds kIdleTime{30};
constexpr double kIdleSecondsAllowed = 0.005;

const char* CodeName(int code) {
  switch (code) {
    case SZARENA_UNSUPPORTED:
      return "SZARENA_UNSUPPORTED";
    case SZARENA_CAPACITY:
      return "SZARENA_CAPACITY";
    case SZARENA_CORRUPT:
      return "SZARENA_CORRUPT";
    case SZARENA_FAILED:
      return "SZARENA_FAILED";
    default:
      return "no value of the contract";
  }
}

uint64_t ElementWidth(const TaskSpec& task, const szarena_problem& problem) {
  return problem.n == 0 ? 1 : InputBytes(task, problem) / problem.n;
}

// The checks on one finished call that need no right answer; fills `got`.
std::optional<std::string> Examine(const Worker& worker, CallKind kind, const Call& call,
                                   uint64_t capacity, PoisonKey key, const std::string& function,
                                   std::optional<Bytes>& got) {
  const target::Slot& answer = worker.answer(0);
  if (std::memcmp(worker.input(0).data(), call.input.data(), call.input.size()) != 0 ||
      worker.input_changed()) {
    return "the input was changed";
  }
  if (const auto at = FirstTouched(worker.guard_after(0), key)) {
    return fmt::format("{} wrote outside its output buffer: {} bytes past its end ({} bytes)",
                       function, *at, capacity);
  }
  if (FirstTouched(worker.guard_before(0), key))
    return function + " wrote outside its output buffer: before its beginning";
  if (answer.code != SZARENA_OK)
    return fmt::format("{} returned {} ({})", function, answer.code, CodeName(answer.code));
  const std::span<std::byte> output = worker.output(0);
  if (kind == CallKind::kForward) {
    if (const auto fault = PayloadFault(answer.payload, capacity)) return function + ": " + *fault;
    const auto begin = output.begin() + static_cast<std::ptrdiff_t>(answer.payload.offset);
    got.emplace(begin, begin + static_cast<std::ptrdiff_t>(answer.payload.size));
  } else {
    got.emplace(output.begin(), output.end());
  }
  return std::nullopt;
}

// What a call gave: a payload or elements, and where it lies in the buffer.
struct Output {
  Bytes bytes;
  uint64_t offset = 0;
};

// A byte that a program writes looks unwritten in one pair of rounds with probability 2^-8 at most
// (checks.h). A place is blamed where it looks so in the first pair and in as many more, each with
// a seed of its own: one of d bytes with probability d 2^-64 at most, below 2^-34 for a GiB. A
// place that is really never written looks so in all of them.
constexpr int kConfirmingPairs = 7;

enum class Went : uint8_t { kWell, kFinding, kUnusable };  // unusable: the process, for other calls

class CallRunner {
 public:
  const Subject& subject;
  const CallKind kind;
  const milliseconds timeout;
  Worker& worker;
  RunReport& report;

  // Both rounds of one call, with its findings.
  Result<Went> Run(Call& call, const SlotSizes& slot) {
    std::array<std::optional<Output>, 2> outputs;
    const uint64_t seed = DrawSecretSeed();
    SZARENA_TRY(const Went went, RunPair(call, slot, seed, outputs));
    if (went != Went::kWell) return went;
    SZARENA_TRY(const Went written,
                CheckWritten(call, slot, PairOf(call, outputs, seed), outputs[0]->offset));
    if (written != Went::kWell) return written;
    if (outputs[0]->bytes != outputs[1]->bytes) {
      report.deterministic = false;
      call.other = std::move(outputs[1]->bytes);
    }
    call.got = std::move(outputs[0]->bytes);
    return Went::kWell;
  }

 private:
  Went Found(Stage stage, const std::string& detail, const Call& call, Went went) {
    report.findings.push_back({stage, detail + " (" + call.name + ")"});
    return went;
  }

  PoisonedPair PairOf(const Call& call, const std::array<std::optional<Output>, 2>& outputs,
                      uint64_t seed) const {
    const auto end = [](const Output& output) { return output.offset + output.bytes.size(); };
    PoisonedPair pair;
    pair.seed = seed;
    if (kind == CallKind::kBackward) pair.width = ElementWidth(*subject.task, call.problem);
    pair.begin = std::max(outputs[0]->offset, outputs[1]->offset);
    const uint64_t both = std::min(end(*outputs[0]), end(*outputs[1]));
    if (both <= pair.begin) return pair;
    const auto part = [&](const Output& output) {
      return ByteView(output.bytes).subspan(pair.begin - output.offset, both - pair.begin);
    };
    pair.first = part(*outputs[0]);
    pair.second = part(*outputs[1]);
    return pair;
  }

  Result<Went> CheckWritten(const Call& call, const SlotSizes& slot, const PoisonedPair& pair,
                            uint64_t offset) {
    Unwritten unwritten = FindUnwritten(pair);
    for (int i = 0; i < kConfirmingPairs && !unwritten.doubtful.empty(); ++i) {
      std::array<std::optional<Output>, 2> outputs;
      const uint64_t seed = DrawSecretSeed();
      SZARENA_TRY(const Went went, RunPair(call, slot, seed, outputs));
      if (went != Went::kWell) return went;
      const PoisonedPair again = PairOf(call, outputs, seed);
      std::erase_if(unwritten.doubtful, [&](uint64_t at) { return !LooksUnwritten(again, at); });
    }
    if (!unwritten.certain && unwritten.doubtful.empty()) return Went::kWell;
    const uint64_t at = unwritten.certain ? *unwritten.first : unwritten.doubtful.front();
    const bool forward = kind == CallKind::kForward;
    const std::string function = FunctionName(subject, kind);
    return Found(
        Stage::kOutputProduced,
        call.hidden ? fmt::format("{}: {} were never written", function,
                                  forward ? "payload bytes" : "elements")
                    : fmt::format("{}: {} {} was never written", function,
                                  forward ? "payload byte" : "element", (at - offset) / pair.width),
        call, Went::kFinding);
  }

  // Over the pattern and over the inverted one, with the data at the end and at the front of their
  // pages.
  Result<Went> RunPair(const Call& call, const SlotSizes& slot, uint64_t seed,
                       std::array<std::optional<Output>, 2>& outputs) {
    for (const bool inverted : {false, true}) {
      SZARENA_TRY(const Went went,
                  RunOnce(call, slot, {seed, inverted}, outputs[inverted ? 1 : 0]));
      if (went != Went::kWell) return went;
    }
    return Went::kWell;
  }

  Result<Went> RunOnce(const Call& call, const SlotSizes& slot, PoisonKey key,
                       std::optional<Output>& output) {
    const std::string function = FunctionName(subject, kind);
    SZARENA_TRY(const Outcome prepared,
                worker.Prepare(call.problem, {&slot, 1}, key.inverted, kPrepareTimeout));
    if (prepared.ending != Ending::kDone) {
      return Found(Stage::kFinished,
                   std::string(subject.backend->prefix) + "workspace_bytes: " + prepared.message,
                   call, Went::kUnusable);
    }
    if (!prepared.ok) return Found(Stage::kOutputProduced, prepared.message, call, Went::kFinding);
    if (!call.input.empty())
      std::memcpy(worker.input(0).data(), call.input.data(), call.input.size());
    Poison(worker.guard_before(0), key);
    Poison(worker.guard_after(0), key);
    Poison(worker.output(0), key);
    SZARENA_TRY(const Outcome outcome, worker.Call(kind, timeout));
    // One that answered before its calls had returned: what it does now is not what it is asked.
    if (outcome.ending != Ending::kDone || !outcome.ok)
      return Found(Stage::kFinished, function + ": " + outcome.message, call, Went::kUnusable);
    std::optional<Bytes> got;
    if (const auto fault = Examine(worker, kind, call, slot.output, key, function, got))
      return Found(Stage::kOutputProduced, *fault, call, Went::kFinding);
    output = {std::move(*got), kind == CallKind::kForward ? worker.answer(0).payload.offset : 0};
    return Went::kWell;
  }
};

}  // namespace

std::string FunctionName(const Subject& subject, CallKind kind) {
  return std::string(subject.backend->prefix) +
         std::string(DirectionName(subject.task->name, kind == CallKind::kForward
                                                           ? Direction::kForward
                                                           : Direction::kBackward));
}

std::optional<std::string> PayloadFault(const szarena_payload& payload, uint64_t capacity) {
  if (payload.offset > capacity || payload.size > capacity - payload.offset) {
    return fmt::format("the payload [{}, +{}) lies outside the buffer of {} bytes", payload.offset,
                       payload.size, capacity);
  }
  return std::nullopt;
}

Result<uint64_t> OutputCapacity(const TaskSpec& task, const szarena_problem& problem,
                                CallKind kind) {
  if (kind == CallKind::kBackward) return InputBytes(task, problem);
  return ForwardCapacity(task, problem);
}

Result<Worker> StartWorker(const Subject& subject, size_t input_bytes, size_t output_bytes,
                           bool trace) {
  target::WorkerSpec spec;
  spec.driver = subject.backend->driver();
  spec.library = subject.library;
  spec.compressor = subject.task->compressor;
  spec.need_backward = subject.task->has_backward;
  spec.input_bytes = input_bytes;
  spec.output_bytes = output_bytes;
  spec.threads = subject.threads;
  spec.cpu_seconds = subject.cpu_seconds;
  spec.device = subject.device;
  spec.trace = trace;
  if (subject.device != nullptr) spec.load_timeout = kDeviceLoadTimeout;
  return Worker::Start(*subject.sandbox, spec);
}

Result<RunReport> RunCalls(const Subject& subject, CallKind kind, std::vector<Call>& calls,
                           milliseconds call_timeout) {
  RunReport report;
  const TaskSpec& task = *subject.task;
  size_t input_bytes = 0;
  size_t output_bytes = 0;
  std::vector<SlotSizes> slots;
  for (const Call& call : calls) {
    SZARENA_TRY(const uint64_t capacity, OutputCapacity(task, call.problem, kind));
    slots.push_back({call.input.size(), capacity});
    input_bytes = std::max(input_bytes, target::InputBytesFor({&slots.back(), 1}));
    output_bytes = std::max(output_bytes, target::OutputBytesFor({&slots.back(), 1}));
  }
  SZARENA_TRY(Worker worker, StartWorker(subject, input_bytes, output_bytes));
  const auto end = [&](bool alive) {
    if (alive) report.peak_memory_bytes = worker.PeakMemoryBytes();
    worker.Kill();
    report.output = Printable(worker.TakeOutput(), 2000, Lines::kAny);
  };
  if (!worker.loaded().ok) {
    report.findings.push_back(
        {Stage::kStarted, "the library cannot be used: " + worker.loaded().message});
    end(worker.alive());
    return report;
  }
  CallRunner runner{subject, kind, call_timeout, worker, report};
  for (size_t i = 0; i < calls.size(); ++i) {
    SZARENA_TRY(const Went went, runner.Run(calls[i], slots[i]));
    if (went == Went::kUnusable) {
      end(worker.alive());
      return report;
    }
  }
  SZARENA_TRY(const double idle, worker.IdleSeconds(kIdleTime));
  report.left_running = idle > kIdleSecondsAllowed;
  end(worker.alive());
  return report;
}

}  // namespace szarena::judge
