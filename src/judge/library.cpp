// SPDX-License-Identifier: Apache-2.0
#include "judge/library.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "judge/checks.h"
#include "judge/measure.h"
#include "judge/runner.h"

namespace szarena::judge {
namespace {

class LibraryPlatform final : public Platform {
 public:
  LibraryPlatform(const EvaluateOptions& options, const target::Backend& backend,
                  const sandbox::Sandbox& sandbox, int threads)
      : options_(options), backend_(backend), sandbox_(sandbox), threads_(threads) {}

  Result<std::vector<Case>> Cases(std::optional<uint64_t> hidden_seed) override {
    SZARENA_TRY(std::vector<Case> cases, PublicCases(options_.task, threads_));
    if (hidden_seed) {
      SZARENA_TRY(std::vector<Case> hidden, HiddenCases(options_.task, *hidden_seed, threads_));
      std::move(hidden.begin(), hidden.end(), std::back_inserter(cases));
    }
    return cases;
  }

  Result<Built> Build(const target::Candidate& candidate) override {
    SZARENA_TRY(target::BuildResult built, backend_.build(sandbox_, candidate));
    Built result{built.ok, fmt::format("{} bytes", built.library.size()), built.reason,
                 Printable(built.log, built.log.size(), Lines::kAny)};
    if (!built.ok) return result;
    sha256_ = candidate.sha256;
    subject_ = SubjectFor(std::move(built.library));
    return result;
  }

  std::string CannotRun() override {
    if (backend_.device == nullptr || device_) return "";
    Result<target::DeviceAccess> device = backend_.device(sandbox_);
    if (!device) return device.error().message;
    device_ = *std::move(device);
    subject_.device = &*device_;
    return "";
  }

  Result<RunReport> Run(target::CallKind kind, std::vector<Call>& calls,
                        std::chrono::milliseconds call_timeout) override {
    return RunCalls(subject_, kind, calls, call_timeout);
  }

  Result<std::vector<ToolResult>> RunTools(const std::vector<Case>& cases) override {
    std::vector<ToolResult> results;
    if (backend_.tools == nullptr) return results;
    // Such tools slow a program down a hundredfold.
    constexpr uint64_t kMostElements = 1u << 17;
    const TaskSpec& task = options_.task;
    std::vector<target::ToolCall> calls;
    std::vector<Bytes> payloads;
    payloads.reserve(cases.size());  // calls look at them
    for (const Case& item : cases) {
      if (item.hidden || item.problem.n == 0 || item.problem.n > kMostElements) continue;
      SZARENA_TRY(const uint64_t capacity, ForwardCapacity(task, item.problem));
      calls.push_back({target::CallKind::kForward, item.problem, item.input, capacity});
      if (!task.has_backward) continue;
      SZARENA_TRY(payloads.emplace_back(), ReferenceForward(task, item.problem, item.input));
      calls.push_back(
          {target::CallKind::kBackward, item.problem, payloads.back(), item.input.size()});
    }
    if (calls.empty()) {
      results.push_back({std::string(backend_.name) + " tools", ToolResult::Status::kNotRun,
                         "the task has no public case that is small enough"});
    } else if (device_) {
      SZARENA_TRY(const std::vector<target::ToolReport> reports,
                  backend_.tools(sandbox_, *device_, subject_.library, task.compressor, calls));
      for (const target::ToolReport& report : reports) {
        const auto status =
            report.status == target::ToolReport::Status::kClean      ? ToolResult::Status::kClean
            : report.status == target::ToolReport::Status::kFindings ? ToolResult::Status::kFindings
                                                                     : ToolResult::Status::kNotRun;
        results.push_back({report.tool, status, Printable(report.detail, 1000, Lines::kOne)});
      }
    }
    return results;
  }

  Result<Measurement> Measure(const std::optional<std::string>& baseline) override {
    SZARENA_TRY(std::optional<std::string> library, BuildBaseline(baseline));
    const Subject other = SubjectFor(library.value_or(""));
    MeasureOptions options;
    options.trials = options_.trials;
    options.free_format = options_.free_format;
    return judge::Measure(subject_, library ? &other : nullptr, options);
  }

  void Describe(Verdict& verdict) const override {
    if (device_) verdict.machine += "; " + device_->name;
  }

 private:
  Subject SubjectFor(std::string library) const {
    Subject subject;
    subject.backend = &backend_;
    subject.sandbox = &sandbox_;
    subject.task = &options_.task;
    subject.library = std::move(library);
    subject.threads = threads_;
    subject.device = device_ ? &*device_ : nullptr;
    return subject;
  }

  Result<std::optional<std::string>> BuildBaseline(const std::optional<std::string>& folder) {
    if (!folder) return std::optional<std::string>();
    SZARENA_TRY(const target::Candidate baseline, target::ReadCandidate(*folder));
    if (baseline.sha256 == sha256_) return std::optional(subject_.library);
    // A session compares many candidates with the same baseline: built once in a process.
    static std::mutex mutex;
    static std::map<std::pair<std::string, std::string>, std::string> built_before;
    const std::pair key(options_.target, baseline.sha256);
    const std::lock_guard lock(mutex);
    if (const auto found = built_before.find(key); found != built_before.end())
      return std::optional(found->second);
    SZARENA_TRY(target::BuildResult built, backend_.build(sandbox_, baseline));
    if (!built.ok) {
      return Fail(ErrorCode::kInternal,
                  "the baseline '" + *folder + "' does not build: " + built.reason);
    }
    built_before[key] = built.library;
    return std::optional(std::move(built.library));
  }

  const EvaluateOptions& options_;
  const target::Backend& backend_;
  const sandbox::Sandbox& sandbox_;
  int threads_;
  std::string sha256_;
  std::optional<target::DeviceAccess> device_;
  Subject subject_;
};

}  // namespace

std::unique_ptr<Platform> MakeLibraryPlatform(const EvaluateOptions& options,
                                              const target::Backend& backend,
                                              const sandbox::Sandbox& sandbox, int threads) {
  return std::make_unique<LibraryPlatform>(options, backend, sandbox, threads);
}

}  // namespace szarena::judge
