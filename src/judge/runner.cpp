// SPDX-License-Identifier: Apache-2.0
#include "judge/runner.h"

#include <fmt/format.h>

#include <algorithm>
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
  const std::string function = FunctionName(subject, kind);
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
  for (size_t i = 0; i < calls.size(); ++i) {
    Call& call = calls[i];
    const std::string where = " (" + call.name + ")";
    std::optional<Bytes> first;
    uint64_t first_offset = 0;
    const uint64_t seed = DrawSecretSeed();
    for (const bool inverted : {false, true}) {
      const PoisonKey key{seed, inverted};
      SZARENA_TRY(const Outcome prepared,
                  worker.Prepare(call.problem, {&slots[i], 1}, inverted, kPrepareTimeout));
      if (prepared.ending != Ending::kDone) {
        report.findings.push_back({Stage::kFinished, std::string(subject.backend->prefix) +
                                                         "workspace_bytes: " + prepared.message +
                                                         where});
        end(false);
        return report;
      }
      if (!prepared.ok) {
        report.findings.push_back({Stage::kOutputProduced, prepared.message + where});
        break;
      }
      if (!call.input.empty())
        std::memcpy(worker.input(0).data(), call.input.data(), call.input.size());
      Poison(worker.guard_before(0), key);
      Poison(worker.guard_after(0), key);
      Poison(worker.output(0), key);
      SZARENA_TRY(const Outcome outcome, worker.Call(kind, call_timeout));
      if (outcome.ending != Ending::kDone) {
        report.findings.push_back({Stage::kFinished, function + ": " + outcome.message + where});
        end(false);
        return report;
      }
      if (!outcome.ok) {
        // It answered before its calls had returned: what it does now is not what it is asked.
        report.findings.push_back({Stage::kFinished, function + ": " + outcome.message + where});
        end(true);
        return report;
      }
      std::optional<Bytes> got;
      if (const auto fault = Examine(worker, kind, call, slots[i].output, key, function, got)) {
        report.findings.push_back({Stage::kOutputProduced, *fault + where});
        break;
      }
      const uint64_t offset = kind == CallKind::kForward ? worker.answer(0).payload.offset : 0;
      if (!inverted) {
        first = std::move(got);
        first_offset = offset;
        continue;
      }
      if (got->size() == first->size() && offset == first_offset) {
        const bool forward = kind == CallKind::kForward;
        const uint64_t width = forward ? 1 : ElementWidth(task, call.problem);
        const auto at = FirstUnwritten(*first, *got, offset, width, seed);
        if (at) {
          report.findings.push_back(
              {Stage::kOutputProduced,
               (call.hidden ? fmt::format("{}: {} were never written", function,
                                          forward ? "payload bytes" : "elements")
                            : fmt::format("{}: {} {} was never written", function,
                                          forward ? "payload byte" : "element", *at)) +
                   where});
          break;
        }
      }
      if (*got != *first) {
        report.deterministic = false;
        call.other = std::move(got);
      }
      call.got = std::move(first);
    }
  }
  SZARENA_TRY(const double idle, worker.IdleSeconds(kIdleTime));
  report.left_running = idle > kIdleSecondsAllowed;
  end(worker.alive());
  return report;
}

}  // namespace szarena::judge
