// SPDX-License-Identifier: Apache-2.0
// Under the vendor's SDK.
#include "judge/cerebras_platform.h"

#include <fmt/format.h>

#include <algorithm>

#include "judge/checks.h"

namespace szarena::judge::wafer {

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
    if (got) {
      call.got = *std::move(got);
    } else {
      report.findings.push_back(
          {Stage::kOutputProduced, NameOf(kind) + ": " + got.error().message + where});
    }
  }
  return report;
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
      out.fault = Finding{fault->stage, "in a timed run: " + fault->detail};
      return out;
    }
  }
  out.detail = "outputs verified; cycles, traps, guards and memory are not available with the SDK";
  out.measured_field = fmt::format("{}; {} elements", data.name(), timed.problem.n);
  return out;
}

}  // namespace szarena::judge::wafer
