// SPDX-License-Identifier: Apache-2.0
#include "judge/profile.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "judge/cases.h"
#include "judge/checks.h"
#include "judge/runner.h"
#include "target/cpu/build.h"
#include "target/cuda/build.h"
#include "target/cuda/device.h"

namespace szarena::judge {
namespace {

using data::Json;
using std::chrono::milliseconds;
using target::CallKind;
using target::cpu::CodePlace;

// One direction is sampled until there are so many, or for so long: on a busy machine longer, so
// that there are some.
constexpr size_t kManySamples = 1000;
constexpr size_t kSomeSamples = 100;
constexpr milliseconds kLong{3000};
constexpr milliseconds kLongest{15000};
constexpr size_t kShown = 12;  // functions and lines

ProfileReport Refusal(std::string why) { return {false, {}, std::move(why)}; }

// Names with their share of `all`, the largest first.
std::vector<std::pair<std::string, double>> Shares(const std::map<std::string, size_t>& counts,
                                                   size_t all) {
  std::vector<std::pair<std::string, double>> shares;
  for (const auto& [name, count] : counts) {
    shares.emplace_back(name, static_cast<double>(count) / static_cast<double>(all));
  }
  std::ranges::stable_sort(shares, std::greater(), &std::pair<std::string, double>::second);
  if (shares.size() > kShown) shares.resize(kShown);
  return shares;
}

// One line of a candidate's file; "" where there is none.
std::string SourceLine(const target::Candidate& candidate, const std::string& location) {
  const size_t colon = location.rfind(':');
  if (colon == std::string::npos) return "";
  for (const target::CandidateFile& file : candidate.files) {
    if (file.path != location.substr(0, colon)) continue;
    size_t begin = 0;
    for (long line = std::strtol(location.c_str() + colon + 1, nullptr, 10);
         line > 1 && begin != std::string::npos; --line) {
      begin = file.bytes.find('\n', begin);
      if (begin != std::string::npos) ++begin;
    }
    if (begin == std::string::npos || begin >= file.bytes.size()) return "";
    std::string text = file.bytes.substr(begin, file.bytes.find('\n', begin) - begin);
    text.erase(0, std::min(text.size(), text.find_first_not_of(" \t")));
    return Printable(text, 120, Lines::kOne);
  }
  return "";
}

class CpuProfiler {
 public:
  explicit CpuProfiler(const EvaluateOptions& options) : options_(options), task_(options.task) {}

  Result<ProfileReport> Run() {
    SZARENA_TRY(sandbox_, sandbox::Sandbox::Probe());
    SZARENA_TRY(const std::string root, task::FindRoot());
    sandbox_->Hide(root);
    const auto candidate = target::ReadCandidate(options_.candidate);
    if (!candidate) return Refusal(candidate.error().ToString());
    candidate_ = *candidate;
    SZARENA_TRY_VOID(Begin(Stage::kBuilt));
    SZARENA_TRY(target::BuildResult built, target::cpu::BuildWithLines(*sandbox_, candidate_));
    if (!built.ok)
      return Refusal("it does not build: " + built.reason + "\n" +
                     Printable(built.log, 8000, Lines::kAny));
    library_ = std::move(built.library);

    cpu_set_t set;
    const int processors = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    threads_ = options_.threads > 0 ? std::min(options_.threads, processors) : processors;
    SZARENA_TRY(std::vector<Case> cases, PublicCases(task_, threads_));
    // The largest of the fields that are timed.
    const auto weight = [&](const Case& item) {
      const auto timed = [&](const FieldCase& shown) {
        return shown.name == item.name &&
               std::ranges::any_of(task_.timed_fields,
                                   [&](const FieldCase& one) { return one.field == shown.field; });
      };
      return std::pair(std::ranges::any_of(task_.public_fields, timed), item.input.size());
    };
    const auto largest = std::ranges::max_element(cases, {}, weight);
    if (largest == cases.end()) return Refusal("the task has no public field");
    case_ = &*largest;

    report_.ok = true;
    report_.content = Json::Of({{"target", "cpu"}, {"field", case_->name}, {"threads", threads_}});
    report_.text = fmt::format("sampled on {} with {} threads\n", case_->name, threads_);
    SZARENA_TRY_VOID(Begin(Stage::kFinished));
    SZARENA_TRY_VOID(Sample(CallKind::kForward, case_->input));
    if (report_.ok && task_.has_backward) {
      SZARENA_TRY(const Bytes payload, ReferenceForward(task_, case_->problem, case_->input));
      SZARENA_TRY_VOID(Begin(Stage::kDecodable));
      SZARENA_TRY_VOID(Sample(CallKind::kBackward, payload));
    }
    return std::move(report_);
  }

 private:
  Result<void> Begin(Stage stage) {
    if (options_.stop.stop_requested()) return Fail(ErrorCode::kCancelled, "stopped on request");
    if (options_.on_stage) options_.on_stage(stage);
    return {};
  }

  Result<void> Sample(CallKind kind, ByteView input) {
    const std::string name(DirectionName(
        task_.name, kind == CallKind::kForward ? Direction::kForward : Direction::kBackward));
    SZARENA_TRY(const uint64_t capacity, OutputCapacity(task_, case_->problem, kind));
    const target::SlotSizes slot = {input.size(), capacity};
    target::WorkerSpec spec;
    spec.driver = target::cpu::CpuBackend().driver();
    spec.library = library_;
    spec.compressor = task_.compressor;
    spec.need_backward = task_.has_backward;
    spec.input_bytes = target::InputBytesFor({&slot, 1});
    spec.output_bytes = target::OutputBytesFor({&slot, 1});
    spec.threads = threads_;
    spec.take_samples = true;
    SZARENA_TRY(target::Worker worker, target::Worker::Start(*sandbox_, spec));
    const auto fail = [&](const std::string& why) {
      report_ = Refusal(fmt::format("{}: {}", name, why.empty() ? "it did not succeed" : why));
    };
    if (!worker.loaded().ok) return fail(worker.loaded().message), Result<void>();
    SZARENA_TRY(const target::Outcome prepared,
                worker.Prepare(case_->problem, {&slot, 1}, false, milliseconds(10000)));
    if (!prepared.ok) return fail(prepared.message), Result<void>();
    if (!input.empty()) std::memcpy(worker.input(0).data(), input.data(), input.size());
    const size_t before = worker.TakeSamples().count;
    double seconds = 0;
    int calls = 0;
    const auto begin = os::Clock::now();
    const auto enough = [&] {
      const size_t count = worker.TakeSamples().count - before;
      const auto time = os::Clock::now() - begin;
      return count >= kManySamples || (count >= kSomeSamples && time > kLong) || time > kLongest;
    };
    while (!enough()) {
      SZARENA_TRY(const target::Outcome outcome, worker.Call(kind, options_.call_timeout));
      if (!outcome.ok) return fail(outcome.message), Result<void>();
      if (worker.answer(0).code != SZARENA_OK)
        return fail(fmt::format("it returned {}", worker.answer(0).code)), Result<void>();
      seconds += outcome.seconds;
      ++calls;
      if (options_.stop.stop_requested()) return Fail(ErrorCode::kCancelled, "stopped on request");
    }
    const target::Worker::Samples samples = worker.TakeSamples();
    worker.Kill();
    return Describe(name, samples, seconds / calls);
  }

  Result<void> Describe(const std::string& name, const target::Worker::Samples& samples,
                        double seconds_per_call) {
    // Many samples fall on one address: each is looked up once.
    std::map<uint64_t, size_t> counts;
    for (const uint64_t offset : samples.offsets) ++counts[offset];
    std::vector<uint64_t> offsets;
    for (const auto& [offset, count] : counts) offsets.push_back(offset);
    SZARENA_TRY(const std::vector<CodePlace> places,
                target::cpu::FindCode(*sandbox_, library_, offsets));
    std::map<std::string, size_t> functions;
    std::map<std::string, size_t> lines;
    std::map<std::string, std::string> owner;  // of a line: the function whose line it is
    for (size_t i = 0; i < offsets.size(); ++i) {
      const size_t count = counts[offsets[i]];
      functions[Printable(places[i].function, 200, Lines::kOne)] += count;
      const std::string location = Printable(places[i].location, 200, Lines::kOne);
      lines[location] += count;
      owner[location] = Printable(places[i].innermost, 200, Lines::kOne);
    }
    const size_t all = std::max<size_t>(samples.count, 1);
    const double outside =
        static_cast<double>(samples.count - samples.offsets.size()) / static_cast<double>(all);
    Json function_list = Json::MakeArray();
    Json line_list = Json::MakeArray();
    std::string& text = report_.text;
    text += fmt::format("{}: {:.4g} ms a call, {} samples, {:.1f}% of them in libraries\n", name,
                        seconds_per_call * 1e3, samples.count, outside * 100);
    for (const auto& [function, share] : Shares(functions, all)) {
      function_list.Append(Json::Of({{"function", function}, {"share", share}}));
      text += fmt::format("  {:5.1f}%  {}\n", share * 100, function);
    }
    text += "  by line:\n";
    for (const auto& [location, share] : Shares(lines, all)) {
      const std::string source = SourceLine(candidate_, location);
      line_list.Append(Json::Of({{"location", location},
                                 {"function", owner[location]},
                                 {"text", source},
                                 {"share", share}}));
      text += fmt::format("  {:5.1f}%  {}  {}\n", share * 100,
                          location.empty() ? "(unknown)" : location, source);
    }
    report_.content.Set(name, Json::Of({{"samples", samples.count},
                                        {"seconds_per_call", seconds_per_call},
                                        {"outside", outside},
                                        {"functions", std::move(function_list)},
                                        {"lines", std::move(line_list)}}));
    return {};
  }

  const EvaluateOptions& options_;
  const TaskSpec& task_;
  std::optional<sandbox::Sandbox> sandbox_;
  target::Candidate candidate_;
  std::string library_;
  int threads_ = 1;
  const Case* case_ = nullptr;
  ProfileReport report_;
};

// The judge's own record of what the program did on the wafer.
Result<ProfileReport> ProfileWafer(EvaluateOptions options) {
  options.hidden = false;
  options.until = Stage::kMeasured;
  options.baseline.reset();
  SZARENA_TRY(const Evaluation evaluation, Evaluate(options));
  const Verdict& verdict = evaluation.verdict;
  if (!verdict.wafer)
    return Refusal("it did not come far enough to be profiled\n" + verdict.feedback);
  ProfileReport report;
  report.ok = true;
  report.content = Json::Of({{"target", "cerebras"}, {"wafer", WaferRecordToJson(*verdict.wafer)}});
  const WaferRecord& wafer = *verdict.wafer;
  report.text = fmt::format(
      "{} variant on {} x {} PEs of {}, cycles estimated by the cost model\nmemory of the fullest "
      "PE: {} bytes\n{}\n",
      wafer.variant, wafer.width, wafer.height, wafer.arch, wafer.pe_memory_bytes, wafer.pe_memory);
  for (size_t d = 0; d < wafer.directions.size(); ++d) {
    const auto& activity = wafer.directions[d];
    if (!activity) continue;
    const double all =
        std::max(1.0, static_cast<double>(activity->busy_cycles + activity->stalled_cycles +
                                          activity->idle_cycles));
    report.text += fmt::format(
        "{}: {} elements, {} cycles, {} PEs active; busy {:.1f}%, stalled {:.1f}%, idle {:.1f}% of "
        "all PEs' cycles\n"
        "  {} scalar instructions, {} vector elements ({} of them arithmetic), {} wavelets\n",
        DirectionName(verdict.task, static_cast<Direction>(d)), activity->elements,
        activity->launch_cycles, activity->pes_active,
        100 * static_cast<double>(activity->busy_cycles) / all,
        100 * static_cast<double>(activity->stalled_cycles) / all,
        100 * static_cast<double>(activity->idle_cycles) / all, activity->scalar_instructions,
        activity->vector_elements, activity->vector_arithmetic, activity->wavelets);
  }
  return report;
}

// What ran on the device in one direction's traced runs, as shares of the time of all kernels.
// Figures are of one run, which is several calls.
Json DescribeTrace(const target::Trace& trace, std::string& text) {
  const auto runs = static_cast<double>(std::max<uint64_t>(trace.runs, 1));
  const auto per_run = [&](uint64_t count) { return static_cast<double>(count) / runs; };
  std::vector<target::Trace::Kernel> kernels = trace.kernels;
  std::ranges::stable_sort(kernels, std::greater(), &target::Trace::Kernel::seconds);
  if (kernels.size() > kShown) kernels.resize(kShown);
  text += fmt::format("  {:.4g} launches and {:.4g} ms in kernels a run, traced {} times\n",
                      per_run(trace.launches), trace.seconds / runs * 1e3, trace.runs);
  const auto triple = [](const std::array<uint32_t, 3>& size) {
    Json list = Json::MakeArray();
    for (const uint32_t extent : size) list.Append(static_cast<int64_t>(extent));
    return list;
  };
  Json kernel_list = Json::MakeArray();
  for (const target::Trace::Kernel& kernel : kernels) {
    const double share = kernel.seconds / trace.seconds;
    const std::string name = Printable(kernel.name, 200, Lines::kOne);
    kernel_list.Append(
        Json::Of({{"kernel", name},
                  {"launches", per_run(kernel.launches)},
                  {"seconds", kernel.seconds / runs},
                  {"share", share},
                  {"grid", triple(kernel.grid)},
                  {"block", triple(kernel.block)},
                  {"registers", static_cast<int64_t>(kernel.registers)},
                  {"static_shared_bytes", static_cast<int64_t>(kernel.static_shared_bytes)},
                  {"dynamic_shared_bytes", static_cast<int64_t>(kernel.dynamic_shared_bytes)},
                  {"local_bytes", static_cast<int64_t>(kernel.local_bytes)}}));
    text += fmt::format(
        "  {:5.1f}%  {:.4g} ms in {:.4g} launches  {}  grid {} x {} x {}, block {} x {} x {}, "
        "{} registers, {} + {} bytes shared\n",
        share * 100, kernel.seconds / runs * 1e3, per_run(kernel.launches), name, kernel.grid[0],
        kernel.grid[1], kernel.grid[2], kernel.block[0], kernel.block[1], kernel.block[2],
        kernel.registers, kernel.static_shared_bytes, kernel.dynamic_shared_bytes);
  }
  Json transfer_list = Json::MakeArray();
  for (uint32_t i = 0; i < target::kTransferCount; ++i) {
    const target::Trace::Transfers& moved = trace.transfers[i];
    if (moved.count == 0) continue;
    transfer_list.Append(Json::Of({{"transfer", target::TransferName(i)},
                                   {"count", per_run(moved.count)},
                                   {"bytes", per_run(moved.bytes)},
                                   {"seconds", moved.seconds / runs}}));
    text += fmt::format("  beside them {}: {:.4g} times, {:.4g} bytes, {:.4g} ms\n",
                        target::TransferName(i), per_run(moved.count), per_run(moved.bytes),
                        moved.seconds / runs * 1e3);
  }
  return Json::Of({{"runs", static_cast<int64_t>(trace.runs)},
                   {"launches", per_run(trace.launches)},
                   {"kernel_seconds", trace.seconds / runs},
                   {"kernels", std::move(kernel_list)},
                   {"transfers", std::move(transfer_list)}});
}

// What each kernel uses, and where there is a device, the figures that benchmark gives and what ran
// there.
Result<ProfileReport> ProfileDevice(EvaluateOptions options) {
  SZARENA_TRY(sandbox::Sandbox sandbox, sandbox::Sandbox::Probe());
  SZARENA_TRY(const std::string root, task::FindRoot());
  sandbox.Hide(root);
  const auto candidate = target::ReadCandidate(options.candidate);
  if (!candidate) return Refusal(candidate.error().ToString());
  if (options.on_stage) options.on_stage(Stage::kBuilt);
  SZARENA_TRY(const target::BuildResult built, target::cuda::BuildWithUsage(sandbox, *candidate));
  if (!built.ok)
    return Refusal("it does not build: " + built.reason + "\n" +
                   Printable(built.log, 8000, Lines::kAny));
  ProfileReport report;
  report.ok = true;
  Json kernels = Json::MakeArray();
  const std::string architecture = target::cuda::TargetArchitecture(sandbox);
  for (const target::cuda::KernelUsage& kernel : target::cuda::ReadUsage(built.log)) {
    const std::optional<int64_t> warps = WarpsByRegisters(architecture, kernel.registers);
    const std::string name = Printable(kernel.name, 200, Lines::kOne);
    kernels.Append(Json::Of({{"kernel", name},
                             {"registers", kernel.registers},
                             {"warps_by_registers", warps},
                             {"stack_bytes", kernel.stack_bytes},
                             {"spill_store_bytes", kernel.spill_store_bytes},
                             {"spill_load_bytes", kernel.spill_load_bytes},
                             {"shared_bytes", kernel.shared_bytes}}));
    report.text += fmt::format(
        "{}: {} registers{}, {} bytes of stack, spills {} stored {} loaded, {} bytes shared\n",
        name, kernel.registers,
        warps ? fmt::format(" (room for {} warps in a multiprocessor)", *warps) : "",
        kernel.stack_bytes, kernel.spill_store_bytes, kernel.spill_load_bytes, kernel.shared_bytes);
  }
  report.content = Json::Of({{"target", "cuda"}, {"kernels", std::move(kernels)}});
  options.hidden = false;
  options.until = Stage::kMeasured;
  SZARENA_TRY(const Evaluation evaluation, Evaluate(options));
  const Verdict& verdict = evaluation.verdict;
  report.text += verdict.feedback;
  for (size_t d = 0; d < verdict.directions.size(); ++d) {
    const DirectionResult& result = verdict.directions[d];
    if (!result.candidate) continue;
    const auto median = [](const std::optional<Figure>& figure) {
      return figure ? Json(figure->median) : Json();
    };
    const std::string_view name = DirectionName(verdict.task, static_cast<Direction>(d));
    Json traced;
    if (evaluation.traces[d]) {
      report.text += fmt::format("{}:\n", name);
      traced = DescribeTrace(*evaluation.traces[d], report.text);
    }
    report.content.Set(name, Json::Of({{"kernel_gbs", median(result.candidate->kernel)},
                                       {"device_gbs", median(result.candidate->device)},
                                       {"host_gbs", median(result.candidate->host)},
                                       {"floor_fraction", result.floor_fraction},
                                       {"traced", std::move(traced)}}));
  }
  report.content.Set("copy_bandwidth_gbs", verdict.copy_bandwidth_gbs);
  return report;
}

}  // namespace

std::optional<int64_t> WarpsByRegisters(std::string_view architecture, int64_t registers) {
  // Warps that a multiprocessor has room for; CUDA C++ Programming Guide, "Technical Specifications
  // per Compute Capability". All of these have four parts with 16,384 registers each, given to
  // warps in units of 8 a thread.
  static constexpr std::pair<std::string_view, int64_t> kMost[] = {
      {"sm_75", 32},  {"sm_80", 64},  {"sm_86", 48},  {"sm_87", 48},  {"sm_89", 48},  {"sm_90", 64},
      {"sm_100", 64}, {"sm_103", 64}, {"sm_110", 48}, {"sm_120", 48}, {"sm_121", 48},
  };
  const auto* const most =
      std::ranges::find(kMost, architecture, &std::pair<std::string_view, int64_t>::first);
  if (most == std::end(kMost)) return std::nullopt;
  const int64_t of_a_warp = (std::max<int64_t>(registers, 1) + 7) / 8 * 8 * 32;
  return std::min(most->second, 4 * (16384 / of_a_warp));
}

Result<ProfileReport> ProfileCandidate(const EvaluateOptions& options) {
  if (options.target == "cpu") return CpuProfiler(options).Run();
  if (options.target == "cerebras") return ProfileWafer(options);
  if (options.target == "cuda") return ProfileDevice(options);
  return Refusal("target '" + options.target + "' has no profiler");
}

}  // namespace szarena::judge
