// SPDX-License-Identifier: Apache-2.0
#include "judge/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "data/json_reader.h"

namespace szarena::judge {
namespace {

using data::Json;
using data::JsonReader;

constexpr std::array<std::string_view, kStageCount> kStageNames = {
    "received",   "built",     "started",  "finished", "output-produced",
    "bound-held", "decodable", "ratio-ok", "measured"};
constexpr std::array<std::string_view, 4> kStatusNames = {"ok", "failed", "n/a", "not-reached"};

Json FigureToJson(const std::optional<Figure>& figure) {
  if (!figure) return nullptr;
  return Json::Of({{"median", figure->median},
                   {"q1", figure->q1},
                   {"q3", figure->q3},
                   {"samples", figure->samples}});
}

Json ThroughputToJson(const std::optional<Throughput>& throughput) {
  if (!throughput) return nullptr;
  return Json::Of({{"kernel", FigureToJson(throughput->kernel)},
                   {"device", FigureToJson(throughput->device)},
                   {"host", FigureToJson(throughput->host)},
                   {"basis", BasisName(throughput->basis)}});
}

Result<std::optional<Figure>> FigureFromJson(const JsonReader& reader, std::string_view key) {
  if (!reader.Has(key)) return std::optional<Figure>();
  SZARENA_TRY(JsonReader object, reader.GetObject(key));
  Figure figure;
  SZARENA_TRY(figure.median, object.GetNumber("median"));
  SZARENA_TRY(figure.q1, object.GetNumber("q1"));
  SZARENA_TRY(figure.q3, object.GetNumber("q3"));
  SZARENA_TRY(int64_t samples, object.GetInt("samples"));
  figure.samples = static_cast<int>(std::clamp<int64_t>(samples, 0, 1 << 30));
  return std::optional<Figure>(figure);
}

Result<std::optional<Throughput>> ThroughputFromJson(const JsonReader& reader,
                                                     std::string_view key) {
  if (!reader.Has(key)) return std::optional<Throughput>();
  SZARENA_TRY(JsonReader object, reader.GetObject(key));
  Throughput throughput;
  SZARENA_TRY(throughput.kernel, FigureFromJson(object, "kernel"));
  SZARENA_TRY(throughput.device, FigureFromJson(object, "device"));
  SZARENA_TRY(throughput.host, FigureFromJson(object, "host"));
  SZARENA_TRY(std::string basis, object.GetString("basis"));
  const auto parsed = ParseBasis(basis);
  if (!parsed) {
    return tl::unexpected(object.Fault("basis", "is none of 'measured', 'estimated', 'synthetic'"));
  }
  throughput.basis = *parsed;
  return std::optional<Throughput>(throughput);
}

Json CaseToJson(const CaseResult& item) {
  return Json::Of({{"name", item.name},
                   {"hidden", item.hidden},
                   {"n", item.n},
                   {"abs_bound", item.abs_bound},
                   {"ratio", item.ratio},
                   {"reference_ratio", item.reference_ratio},
                   {"max_error_over_bound", item.max_error_over_bound},
                   {"psnr", item.psnr},
                   {"nrmse", item.nrmse}});
}

Result<CaseResult> CaseFromJson(const JsonReader& reader) {
  CaseResult item;
  SZARENA_TRY(item.name, reader.GetString("name"));
  SZARENA_TRY(item.hidden, reader.GetBool("hidden"));
  SZARENA_TRY(item.n, reader.GetUnsigned("n"));
  SZARENA_TRY(item.abs_bound, reader.GetNumber("abs_bound"));
  SZARENA_TRY(item.ratio, reader.OptionalNumber("ratio"));
  SZARENA_TRY(item.reference_ratio, reader.OptionalNumber("reference_ratio"));
  SZARENA_TRY(item.max_error_over_bound, reader.OptionalNumber("max_error_over_bound"));
  SZARENA_TRY(item.psnr, reader.OptionalNumber("psnr"));
  SZARENA_TRY(item.nrmse, reader.OptionalNumber("nrmse"));
  return item;
}

Json StagesToJson(const Verdict& verdict) {
  Json stages = Json::MakeArray();
  for (int i = 0; i < kStageCount; ++i) {
    const StageResult& result = verdict.stages[static_cast<size_t>(i)];
    Json ok = nullptr;
    if (result.status == StageStatus::kOk) ok = true;
    if (result.status == StageStatus::kFailed) ok = false;
    stages.Append(Json::Of({{"name", kStageNames[static_cast<size_t>(i)]},
                            {"ok", ok},
                            {"status", StageStatusName(result.status)},
                            {"seconds", result.seconds},
                            {"detail", result.detail}}));
  }
  return stages;
}

Result<void> StagesFromJson(const JsonReader& reader, Verdict& verdict) {
  SZARENA_TRY(std::vector<JsonReader> stages, reader.GetObjects("stages"));
  for (const JsonReader& item : stages) {
    SZARENA_TRY(std::string name, item.GetString("name"));
    const std::optional<Stage> stage = ParseStage(name);
    if (!stage) return tl::unexpected(item.Fault("name", "is not a stage"));
    SZARENA_TRY(std::string status, item.GetString("status"));
    const auto found = std::find(kStatusNames.begin(), kStatusNames.end(), status);
    if (found == kStatusNames.end()) return tl::unexpected(item.Fault("status", "is not known"));
    StageResult& result = verdict.at(*stage);
    result.status = static_cast<StageStatus>(found - kStatusNames.begin());
    SZARENA_TRY(result.seconds, item.GetNumber("seconds"));
    SZARENA_TRY(result.detail, item.GetString("detail"));
  }
  return {};
}

}  // namespace

std::string_view StageName(Stage stage) { return kStageNames[static_cast<size_t>(stage)]; }

std::optional<Stage> ParseStage(std::string_view name) {
  const auto found = std::find(kStageNames.begin(), kStageNames.end(), name);
  if (found == kStageNames.end()) return std::nullopt;
  return static_cast<Stage>(found - kStageNames.begin());
}

std::string_view StageStatusName(StageStatus status) {
  return kStatusNames[static_cast<size_t>(status)];
}

std::string_view BasisName(Basis basis) {
  switch (basis) {
    case Basis::kMeasured:
      return "measured";
    case Basis::kEstimated:
      return "estimated";
    case Basis::kSynthetic:
      return "synthetic";
  }
  return "";
}
std::optional<Basis> ParseBasis(std::string_view name) {
  for (const Basis basis : {Basis::kMeasured, Basis::kEstimated, Basis::kSynthetic}) {
    if (BasisName(basis) == name) return basis;
  }
  return std::nullopt;
}

std::string BasisNote(Basis basis) {
  return basis == Basis::kMeasured ? "" : fmt::format(" ({})", BasisName(basis));
}
std::string RateText(double gbs, Basis basis) {
  return fmt::format("{:.4g} GB/s{}", gbs, BasisNote(basis));
}

std::string_view ToolStatusName(ToolResult::Status status) {
  switch (status) {
    case ToolResult::Status::kClean:
      return "clean";
    case ToolResult::Status::kFindings:
      return "findings";
    case ToolResult::Status::kNotRun:
      return "not-run";
  }
  return "";
}

const Figure* ShownFigure(const std::optional<Throughput>& throughput) {
  if (!throughput) return nullptr;
  for (const auto member : {&Throughput::device, &Throughput::kernel, &Throughput::host}) {
    if ((*throughput).*member) return &*((*throughput).*member);
  }
  return nullptr;
}

bool IsCompressorTask(std::string_view task) { return task == "szp" || task == "szx"; }

std::string_view DirectionName(std::string_view task, Direction direction) {
  const bool forward = direction == Direction::kForward;
  if (IsCompressorTask(task)) return forward ? "compress" : "decompress";
  return forward ? "run" : "inverse";
}

std::optional<Stage> Verdict::Reached() const {
  std::optional<Stage> reached;
  for (int i = 0; i < kStageCount; ++i) {
    const StageStatus status = stages[static_cast<size_t>(i)].status;
    if (status == StageStatus::kOk) reached = static_cast<Stage>(i);
    if (status == StageStatus::kFailed || status == StageStatus::kNotReached) break;
  }
  return reached;
}

std::optional<Stage> Verdict::Failed() const {
  for (int i = 0; i < kStageCount; ++i) {
    if (stages[static_cast<size_t>(i)].status == StageStatus::kFailed) return static_cast<Stage>(i);
  }
  return std::nullopt;
}

bool Verdict::Holds(Stage stage) const {
  for (int i = 0; i <= static_cast<int>(stage); ++i) {
    const StageStatus status = stages[static_cast<size_t>(i)].status;
    if (status == StageStatus::kFailed || status == StageStatus::kNotReached) return false;
  }
  return true;
}

bool Verdict::HasCheatFlag() const {
  return std::any_of(flags.begin(), flags.end(),
                     [](const Flag& flag) { return flag.kind == FlagKind::kCheat; });
}

Figure MakeFigure(std::vector<double> samples) {
  SZARENA_CHECK(!samples.empty(), "a figure needs a sample");
  std::sort(samples.begin(), samples.end());
  const auto at = [&samples](double share) {
    const double place = share * static_cast<double>(samples.size() - 1);
    const auto low = static_cast<size_t>(std::floor(place));
    const size_t high = std::min(low + 1, samples.size() - 1);
    return samples[low] + (place - std::floor(place)) * (samples[high] - samples[low]);
  };
  return {.median = at(0.5),
          .q1 = at(0.25),
          .q3 = at(0.75),
          .samples = static_cast<int>(samples.size())};
}

Json VerdictToJson(const Verdict& verdict) {
  const std::optional<Stage> reached = verdict.Reached();
  const std::optional<Stage> failed = verdict.Failed();
  Json throughput = Json::MakeObject();
  Json baseline = Json::MakeObject();
  Json speedup = Json::MakeObject();
  Json floor = Json::MakeObject();
  for (Direction direction : {Direction::kForward, Direction::kBackward}) {
    const DirectionResult& result = verdict.directions[static_cast<size_t>(direction)];
    const std::string_view name = DirectionName(verdict.task, direction);
    throughput.Set(name, ThroughputToJson(result.candidate));
    baseline.Set(name, ThroughputToJson(result.baseline));
    Json over = FigureToJson(result.speedup);
    if (result.speedup) {
      const Basis basis = result.candidate ? result.candidate->basis : Basis::kMeasured;
      over.Set("basis", BasisName(basis));
    }
    speedup.Set(name, std::move(over));
    floor.Set(name, result.floor_fraction);
  }
  Json flags = Json::MakeArray();
  for (const Flag& flag : verdict.flags) {
    flags.Append(Json::Of({{"name", flag.name},
                           {"kind", flag.kind == FlagKind::kCheat ? "cheat" : "warning"},
                           {"detail", flag.detail}}));
  }
  Json tools = Json::MakeArray();
  for (const ToolResult& result : verdict.tools) {
    tools.Append(Json::Of({{"tool", result.tool},
                           {"status", ToolStatusName(result.status)},
                           {"detail", result.detail}}));
  }
  Json cases = Json::MakeArray();
  for (const CaseResult& item : verdict.cases) cases.Append(CaseToJson(item));
  return Json::Of(
      {{"task", verdict.task},
       {"target", verdict.target},
       {"format", verdict.format},
       {"bound_policy", verdict.bound_policy},
       {"candidate_sha256", verdict.candidate_sha256},
       {"stage", reached ? Json(StageName(*reached)) : Json()},
       {"failed_stage", failed ? Json(StageName(*failed)) : Json()},
       {"runnable", verdict.runnable()},
       {"decodable", verdict.decodable()},
       {"correct", verdict.correct()},
       {"ranked", verdict.ranked()},
       {"stages", StagesToJson(verdict)},
       {"ratio", verdict.ratio},
       {"reference_ratio", verdict.reference_ratio},
       {"max_error_over_bound", verdict.max_error_over_bound},
       {"psnr", verdict.psnr},
       {"nrmse", verdict.nrmse},
       {"peak_memory_bytes", verdict.peak_memory_bytes},
       {"throughput", throughput},
       {"baseline_throughput", baseline},
       {"baseline_speedup", speedup},
       {"floor_fraction", floor},
       {"copy_bandwidth_gbs", verdict.copy_bandwidth_gbs},
       {"measured_field", verdict.measured_field},
       {"threads", verdict.threads},
       {"wafer", verdict.wafer ? WaferRecordToJson(*verdict.wafer) : Json()},
       {"timed_fault", verdict.timed_fault ? Json(StageName(*verdict.timed_fault)) : Json()},
       {"not_run", verdict.not_run},
       {"tools", tools},
       {"flags", flags},
       {"cases", cases},
       {"feedback", verdict.feedback},
       {"sandbox", verdict.sandbox},
       {"machine", verdict.machine},
       {"started_at", verdict.started_at},
       {"seconds", verdict.seconds}});
}

Result<Verdict> VerdictFromJson(const Json& json, const std::string& name) {
  if (!json.is_object()) return Fail(ErrorCode::kCorrupt, name + ": a verdict is an object");
  const JsonReader reader(json, name);
  Verdict verdict;
  SZARENA_TRY(verdict.task, reader.GetString("task"));
  SZARENA_TRY(verdict.target, reader.GetString("target"));
  SZARENA_TRY(verdict.format, reader.GetString("format"));
  SZARENA_TRY(verdict.bound_policy, reader.GetString("bound_policy"));
  SZARENA_TRY(verdict.candidate_sha256, reader.GetString("candidate_sha256"));
  SZARENA_TRY_VOID(StagesFromJson(reader, verdict));
  SZARENA_TRY(verdict.ratio, reader.OptionalNumber("ratio"));
  SZARENA_TRY(verdict.reference_ratio, reader.OptionalNumber("reference_ratio"));
  SZARENA_TRY(verdict.max_error_over_bound, reader.OptionalNumber("max_error_over_bound"));
  SZARENA_TRY(verdict.psnr, reader.OptionalNumber("psnr"));
  SZARENA_TRY(verdict.nrmse, reader.OptionalNumber("nrmse"));
  if (reader.Has("peak_memory_bytes")) {
    SZARENA_TRY(verdict.peak_memory_bytes, reader.GetUnsigned("peak_memory_bytes"));
  }
  SZARENA_TRY(JsonReader throughput, reader.GetObject("throughput"));
  SZARENA_TRY(JsonReader baseline, reader.GetObject("baseline_throughput"));
  SZARENA_TRY(JsonReader speedup, reader.GetObject("baseline_speedup"));
  SZARENA_TRY(JsonReader floor, reader.GetObject("floor_fraction"));
  for (Direction direction : {Direction::kForward, Direction::kBackward}) {
    DirectionResult& result = verdict.directions[static_cast<size_t>(direction)];
    const std::string_view key = DirectionName(verdict.task, direction);
    SZARENA_TRY(result.candidate, ThroughputFromJson(throughput, key));
    SZARENA_TRY(result.baseline, ThroughputFromJson(baseline, key));
    SZARENA_TRY(result.speedup, FigureFromJson(speedup, key));
    SZARENA_TRY(result.floor_fraction, floor.OptionalNumber(key));
  }
  SZARENA_TRY(verdict.copy_bandwidth_gbs, reader.OptionalNumber("copy_bandwidth_gbs"));
  SZARENA_TRY(verdict.measured_field, reader.GetString("measured_field"));
  SZARENA_TRY(int64_t threads, reader.GetInt("threads"));
  verdict.threads = static_cast<int>(std::clamp<int64_t>(threads, 0, 1 << 20));
  if (reader.Has("wafer")) {
    SZARENA_TRY(const JsonReader wafer, reader.GetObject("wafer"));
    SZARENA_TRY(verdict.wafer, WaferRecordFromJson(wafer));
  }
  if (reader.Has("tools")) {  // results of before have none
    SZARENA_TRY(const std::vector<JsonReader> tools, reader.GetObjects("tools"));
    for (const JsonReader& item : tools) {
      ToolResult result;
      SZARENA_TRY(result.tool, item.GetString("tool"));
      SZARENA_TRY(const std::string status, item.GetString("status"));
      bool known = false;
      for (const auto one : {ToolResult::Status::kClean, ToolResult::Status::kFindings,
                             ToolResult::Status::kNotRun}) {
        if (ToolStatusName(one) != status) continue;
        result.status = one;
        known = true;
      }
      if (!known) return tl::unexpected(item.Fault("status", "is not known"));
      SZARENA_TRY(result.detail, item.GetString("detail"));
      verdict.tools.push_back(std::move(result));
    }
  }
  SZARENA_TRY(std::vector<JsonReader> flags, reader.GetObjects("flags"));
  for (const JsonReader& item : flags) {
    Flag flag;
    SZARENA_TRY(flag.name, item.GetString("name"));
    SZARENA_TRY(std::string kind, item.GetString("kind"));
    if (kind != "cheat" && kind != "warning")
      return tl::unexpected(item.Fault("kind", "is not known"));
    flag.kind = kind == "cheat" ? FlagKind::kCheat : FlagKind::kWarning;
    SZARENA_TRY(flag.detail, item.GetString("detail"));
    verdict.flags.push_back(std::move(flag));
  }
  SZARENA_TRY(std::vector<JsonReader> cases, reader.GetObjects("cases"));
  for (const JsonReader& item : cases) {
    SZARENA_TRY(CaseResult result, CaseFromJson(item));
    verdict.cases.push_back(std::move(result));
  }
  if (reader.Has("timed_fault")) {  // results of before have none
    SZARENA_TRY(const std::string stage, reader.GetString("timed_fault"));
    verdict.timed_fault = ParseStage(stage);
    if (!verdict.timed_fault) return tl::unexpected(reader.Fault("timed_fault", "is not a stage"));
  }
  SZARENA_TRY(verdict.not_run, reader.GetString("not_run"));
  SZARENA_TRY(verdict.feedback, reader.GetString("feedback"));
  SZARENA_TRY(verdict.sandbox, reader.GetString("sandbox"));
  SZARENA_TRY(verdict.machine, reader.GetString("machine"));
  SZARENA_TRY(verdict.started_at, reader.GetString("started_at"));
  SZARENA_TRY(verdict.seconds, reader.GetNumber("seconds"));
  return verdict;
}

}  // namespace szarena::judge
