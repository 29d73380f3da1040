// SPDX-License-Identifier: Apache-2.0
// Timed runs, and what a program did.
#include "judge/cerebras_platform.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>

#include "fabric/model/accuracy.h"
#include "judge/checks.h"

namespace szarena::judge::wafer {

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

Program CerebrasPlatform::TimedProgram() const {
  Program program = programs_[0];
  program.geometry.width = options_.wafer.width;
  program.geometry.height = options_.wafer.height;
  const uint64_t bytes = TimedBytes();
  const uint64_t per_pe = (bytes / 4 + program.pes() - 1) / program.pes();
  // Room for the counts of a histogram, too (MaxWords), however few elements are timed.
  const uint64_t least = std::max<uint64_t>(RoundUp(task_.bins / 2, 128), 128);
  program.max_elems =
      static_cast<uint32_t>(std::clamp<uint64_t>(RoundUp(per_pe, 128), least, kCheckElemsPerPe));
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
  if (const auto found = compiled_before.find(key); found != compiled_before.end()) {
    return std::optional(found->second);
  }
  SZARENA_TRY(CompileResult compiled,
              target::cerebras::Compile(sandbox_, baseline, program.geometry, ParamsOf(program)));
  if (!compiled.ok) {
    return Fail(ErrorCode::kInternal,
                "the baseline '" + path + "' does not build: " + compiled.reason);
  }
  compiled_before[key] = compiled.image;
  return std::optional(std::move(compiled.image));
}

std::optional<Finding> CerebrasPlatform::VerifyTimed(CallKind kind, const Call& call,
                                                     const LaunchResult& result, const Timed& timed,
                                                     size_t i) const {
  if (const auto finding = FindingOf(kind, result)) {
    // What did not end says nothing of outputs.
    return finding->stage >= Stage::kOutputProduced ? *finding
                                                    : Finding{Stage::kMeasured, finding->detail};
  }
  const Result<Bytes> got = Convert(kind, call, result);
  if (!got) return Finding{Stage::kOutputProduced, got.error().message};
  Bytes decoded(timed.inputs[i].size());
  if (kind == CallKind::kBackward) {
    if (const auto status =
            SplitBackward(task_, timed.problem, timed.split, timed.references[i], decoded);
        !status) {
      return Finding{Stage::kMeasured,
                     "our own payload cannot be decoded: " + status.error().message};
    }
    if (*got == decoded) return std::nullopt;
    return Finding{Stage::kDecodable, "the output of a timed run differs from our decoder's"};
  }
  if (!task_.compressor) {
    if (*got == timed.references[i]) return std::nullopt;
    return Finding{Stage::kBoundHeld, "the result of a timed run differs from the definition"};
  }
  const uint64_t own = PayloadSize(timed.split, *got);
  const uint64_t reference = PayloadSize(timed.split, timed.references[i]);
  if (static_cast<double>(own) >
      static_cast<double>(reference) / task_.ratio_rule.min_of_reference) {
    return Finding{Stage::kRatioOk,
                   fmt::format("a timed payload has {} bytes, our encoder's {}", own, reference)};
  }
  if (const auto status = SplitBackward(task_, timed.problem, timed.split, *got, decoded);
      !status) {
    return Finding{Stage::kDecodable,
                   "our decoder refuses a timed payload: " + status.error().message};
  }
  if (CompareFields(timed.problem.dtype, timed.inputs[i], decoded, timed.problem.abs_bound)
          .violations > 0)
    return Finding{Stage::kBoundHeld, "a timed payload breaks the bound"};
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
  // Decompressing may well be nothing but moves, where blocks are raw; and what did not end says
  // nothing.
  if (task_.compressor && kind == CallKind::kForward && answer.state == CallState::kDone &&
      operations < n) {
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
  // The threads of one small machine would wait for each other at every cycle: a single launch runs
  // on one thread, too.
  limits.at_once = many ? 1 : threads_;
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
        return Fail(ErrorCode::kInternal, "the baseline failed while timed: " + fault->detail);
      out.fault = Finding{fault->stage, "in a timed run: " + fault->detail};
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

Result<Measurement> CerebrasPlatform::Measure(const std::optional<std::string>& baseline) {
  if (sdk_) return MeasureWithSdk();
  Measurement out;
  Timed timed;
  timed.program = TimedProgram();
  SZARENA_TRY(const CompileResult compiled,
              target::cerebras::Compile(sandbox_, candidate_, timed.program.geometry,
                                        ParamsOf(timed.program)));
  if (!compiled.ok) {
    out.fault =
        Finding{Stage::kMeasured, fmt::format("for {} x {} PEs: {}", timed.program.geometry.width,
                                              timed.program.geometry.height, compiled.reason)};
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

}  // namespace szarena::judge::wafer
