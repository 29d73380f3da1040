// SPDX-License-Identifier: Apache-2.0
#include "judge/free_host.h"

#include <fmt/format.h>

#include <algorithm>

#include "fabric/model/accuracy.h"
#include "fabric/model/cost.h"
#include "judge/checks.h"
#include "judge/random.h"
#include "target/cerebras/free_host.h"

namespace szarena::judge {
namespace {

using std::chrono::milliseconds;
using target::CallKind;
using target::cerebras::FreeHostCall;
using target::cerebras::FreeHostResult;

// Each call starts a Python interpreter and simulates: few cases, small ones.
constexpr uint64_t kPublicElements = 8192;
constexpr uint64_t kHiddenElements = 2048;
constexpr size_t kHiddenCases = 8;
constexpr uint64_t kTimedElements = 32768;
constexpr int kVariations = 3;
constexpr milliseconds kLeastTimeout{30000};
// The host link takes at most so many words a cycle (16 channels of 0.868): with fewer cycles the
// values never came to the wafer.
constexpr double kLinkWordsPerCycle = 14;

class FreeHostPlatform final : public Platform {
 public:
  FreeHostPlatform(const EvaluateOptions& options, const sandbox::Sandbox& sandbox,
                   target::cerebras::HostTools tools, int threads)
      : options_(options),
        sandbox_(sandbox),
        tools_(std::move(tools)),
        threads_(threads),
        task_(options.task) {
    task_.dtypes = {SZARENA_F32};
    task_.modes.resize(1);
    // One bound a field.
    std::vector<FieldCase> fields;
    for (const FieldCase& field : task_.public_fields) {
      const bool known = std::any_of(fields.begin(), fields.end(),
                                     [&](const FieldCase& f) { return f.field == field.field; });
      if (field.mode == task_.modes.front() && !known) fields.push_back(field);
    }
    task_.public_fields = std::move(fields);
    arch_ = options.wafer.wse3 ? bytecode::Arch::kWse3 : bytecode::Arch::kWse2;
    clock_mhz_ = static_cast<int>(fabric::CostModelOf(arch_).clock_mhz);
  }

  Result<std::vector<Case>> Cases(std::optional<uint64_t> hidden_seed) override {
    SZARENA_TRY(std::vector<Case> cases, PublicCases(task_, threads_));
    std::erase_if(cases, [](const Case& item) { return item.problem.dtype != SZARENA_F32; });
    for (Case& item : cases) Cut(item, kPublicElements);
    if (!hidden_seed) return cases;
    SZARENA_TRY(std::vector<Case> hidden, HiddenCases(task_, *hidden_seed, threads_));
    Random random(Mix64(*hidden_seed ^ 0x686f7374));
    for (size_t i = hidden.size(); i > 1; --i) std::swap(hidden[i - 1], hidden[random.Below(i)]);
    hidden.resize(std::min(hidden.size(), kHiddenCases));
    for (Case& item : hidden) {
      Cut(item, kHiddenElements | 1);
      cases.push_back(std::move(item));
    }
    return cases;
  }

  Result<Built> Build(const target::Candidate& candidate) override {
    SZARENA_TRY(program_, target::cerebras::CompileFreeHost(sandbox_, tools_, candidate, arch_));
    return Built{program_.ok, "free-host: the candidate's own run.py", program_.reason,
                 Printable(program_.log, 8000, Lines::kAny)};
  }

  Result<RunReport> Run(CallKind kind, std::vector<Call>& calls,
                        milliseconds call_timeout) override {
    RunReport report;
    for (Call& call : calls) {
      const std::string where = " (" + call.name + ")";
      SZARENA_TRY(FreeHostResult result, Once(kind, call.problem, call.input, call_timeout));
      if (report.output.empty()) report.output = Printable(result.printed, 2000, Lines::kAny);
      if (!result.finished) {
        report.findings.push_back({Stage::kFinished, result.message + where});
        return report;
      }
      if (!result.output) {
        report.findings.push_back({Stage::kOutputProduced, result.fault + where});
        continue;
      }
      if (kind == CallKind::kBackward && result.output->size() != InputBytes(task_, call.problem)) {
        report.findings.push_back(
            {Stage::kOutputProduced,
             fmt::format("decompress gave {} bytes, {} are right", result.output->size(),
                         InputBytes(task_, call.problem)) +
                 where});
        continue;
      }
      const auto bytes = std::as_bytes(std::span(*result.output));
      call.got.emplace(bytes.begin(), bytes.end());
    }
    return report;
  }

  Result<Measurement> Measure(const std::optional<std::string>& baseline) override {
    static_cast<void>(baseline);  // compared with nothing
    Measurement out;
    TaskSpec task = task_;
    task.timed_elements = kTimedElements;
    SZARENA_TRY(const TimedData data, TimedData::Load(task, threads_));
    const szarena_problem problem = data.problem();
    std::array<std::vector<double>, kDirectionCount> cycles;
    for (int i = 0; i < kVariations; ++i) {
      Bytes input(InputBytes(task_, problem));
      data.Fill(DrawSecretSeed(), input);
      SZARENA_TRY(const Bytes reference, ReferenceForward(task_, problem, input));
      for (const CallKind kind : {CallKind::kForward, CallKind::kBackward}) {
        SZARENA_TRY(
            const FreeHostResult result,
            Once(kind, problem, kind == CallKind::kForward ? ByteView(input) : ByteView(reference),
                 kLeastTimeout));
        if (const auto fault = Verify(kind, problem, input, reference, result)) {
          out.fault = Finding{fault->stage, "in a timed run: " + fault->detail};
          return out;
        }
        cycles[static_cast<size_t>(kind)].push_back(static_cast<double>(result.cycles));
      }
    }
    // The cycles come from a process that runs the candidate's code: no figure is made of a claim.
    out.flags.push_back(
        {"free-host", FlagKind::kCheat,
         "host code of the candidate took part: nothing proves that the wafer did the work, "
         "so the result is shown and never ranked"});
    out.detail = fmt::format(
        "{} runs of {} elements; the program's own output claims {:.3g} cycles to compress, {:.3g} "
        "to decompress",
        kVariations, problem.n, MakeFigure(cycles[0]).median, MakeFigure(cycles[1]).median);
    out.measured_field = fmt::format("{}; {} elements", data.name(), problem.n);
    return out;
  }

  void Describe(Verdict& verdict) const override {
    WaferRecord record;
    record.variant = "free-host";
    record.toolchain = "ours";
    record.arch = options_.wafer.wse3 ? "wse3" : "wse2";
    record.clock_mhz = clock_mhz_;
    record.model_error = fabric::HeldOutError();
    verdict.wafer = std::move(record);
  }

 private:
  static void Cut(Case& item, uint64_t most) {
    const uint64_t n = std::min(item.problem.n, most);
    if (item.problem.n > 0) item.input.resize(item.input.size() / item.problem.n * n);
    item.problem.n = item.problem.dims[2] = n;
    item.problem.dims[0] = item.problem.dims[1] = 1;
    item.counts_for_ratio = n >= kRatioFromElements;
  }

  Result<FreeHostResult> Once(CallKind kind, const szarena_problem& problem, ByteView input,
                              milliseconds timeout) {
    FreeHostCall call;
    call.forward = kind == CallKind::kForward;
    call.n = problem.n;
    call.bound = problem.abs_bound;
    call.input = {reinterpret_cast<const char*>(input.data()), input.size()};
    if (call.forward) {
      SZARENA_TRY(call.output_limit, ForwardCapacity(task_, problem));
    } else {
      call.output_limit = InputBytes(task_, problem);
    }
    return target::cerebras::RunFreeHost(sandbox_, tools_, program_, call,
                                         std::max(timeout, kLeastTimeout));
  }

  std::optional<Finding> Verify(CallKind kind, const szarena_problem& problem, const Bytes& input,
                                const Bytes& reference, const FreeHostResult& result) const {
    if (!result.finished) return Finding{Stage::kMeasured, result.message};
    if (!result.output) return Finding{Stage::kOutputProduced, result.fault};
    const double least = static_cast<double>(problem.n) / kLinkWordsPerCycle;
    if (static_cast<double>(kind == CallKind::kForward ? result.cycles : result.cycles * 4) <
        least) {
      return Finding{
          Stage::kMeasured,
          fmt::format("{} cycles on the wafer for {} values: they cannot have come there, so the "
                      "host did the work",
                      result.cycles, problem.n)};
    }
    const auto bytes = std::as_bytes(std::span(*result.output));
    Bytes decoded(input.size());
    if (kind == CallKind::kBackward) {
      if (const auto status = ReferenceBackward(task_, problem, reference, decoded); !status)
        return Finding{Stage::kMeasured, status.error().message};
      if (std::equal(bytes.begin(), bytes.end(), decoded.begin(), decoded.end()))
        return std::nullopt;
      return Finding{Stage::kDecodable, "the output differs from our decoder's"};
    }
    if (static_cast<double>(bytes.size()) >
        static_cast<double>(reference.size()) / task_.ratio_rule.min_of_reference) {
      return Finding{Stage::kRatioOk, fmt::format("the payload has {} bytes, our encoder's {}",
                                                  bytes.size(), reference.size())};
    }
    if (const auto status = ReferenceBackward(task_, problem, bytes, decoded); !status)
      return Finding{Stage::kDecodable,
                     "our decoder refuses the payload: " + status.error().message};
    if (CompareFields(problem.dtype, input, decoded, problem.abs_bound).violations > 0)
      return Finding{Stage::kBoundHeld, "the payload breaks the bound"};
    return std::nullopt;
  }

  const EvaluateOptions& options_;
  const sandbox::Sandbox& sandbox_;
  target::cerebras::HostTools tools_;
  int threads_;
  TaskSpec task_;
  bytecode::Arch arch_ = bytecode::Arch::kWse2;
  int clock_mhz_ = 0;
  target::cerebras::FreeHostProgram program_;
};

}  // namespace

Result<std::unique_ptr<Platform>> MakeFreeHostPlatform(const EvaluateOptions& options,
                                                       const sandbox::Sandbox& sandbox,
                                                       int threads) {
  if (!options.task.compressor) {
    return Fail(ErrorCode::kInvalidArgument,
                "task '" + options.task.name + "' has the resident variant only");
  }
  SZARENA_TRY(target::cerebras::HostTools tools, target::cerebras::FindHostTools());
  SZARENA_TRY_VOID(target::cerebras::CheckHostTools(sandbox, tools));
  return std::make_unique<FreeHostPlatform>(options, sandbox, std::move(tools), threads);
}

}  // namespace szarena::judge
